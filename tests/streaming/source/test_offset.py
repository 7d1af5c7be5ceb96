"""Offsets, letter by letter as delta-spark writes them."""

from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import LakebedError, SourceReplacedError, StreamOffsetError
from lakebed.streaming.source.offset import (
    AFTER_SCHEMA_CHANGE,
    BEGIN,
    END,
    SCHEMA_CHANGE,
    SourceOffset,
)

INDEXES = st.sampled_from([BEGIN, SCHEMA_CHANGE, AFTER_SCHEMA_CHANGE]) | st.integers(0, END - 1)


def test_the_start_of_a_version_is_written_as_minus_one() -> None:
    assert SourceOffset("t", 7).to_json() == (
        '{"sourceVersion":1,"reservoirId":"t","reservoirVersion":7,"index":-1,'
        '"isStartingVersion":false}'
    )


def test_a_file_of_the_initial_version_is_written_with_its_number() -> None:
    assert SourceOffset("t", 7, 12, is_initial=True).to_json() == (
        '{"sourceVersion":1,"reservoirId":"t","reservoirVersion":7,"index":12,'
        '"isStartingVersion":true}'
    )


@pytest.mark.parametrize("index", [SCHEMA_CHANGE, AFTER_SCHEMA_CHANGE])
def test_a_change_of_the_schema_needs_format_3(index: int) -> None:
    assert SourceOffset("t", 7, index).to_json() == (
        f'{{"sourceVersion":3,"reservoirId":"t","reservoirVersion":7,"index":{index},'
        '"isStartingVersion":false}'
    )


@given(st.integers(0, 2**62), INDEXES, st.booleans())
def test_what_is_written_is_read_again(version: int, index: int, is_initial: bool) -> None:
    offset = SourceOffset("t", version, index, is_initial)
    assert SourceOffset.parse(offset.to_json(), "t") == offset


def test_an_offset_of_another_table_says_that_the_table_was_replaced() -> None:
    with pytest.raises(SourceReplacedError, match="replaced by another table"):
        SourceOffset.parse(SourceOffset("other", 7).to_json(), "t")


def test_the_end_of_a_version_is_the_start_of_the_next() -> None:
    before = SourceOffset("t", 3, 1, is_initial=True)
    assert SourceOffset.after("t", 3, END, before) == SourceOffset("t", 4)
    assert SourceOffset.after("t", 3, 2, before) == SourceOffset("t", 3, 2, is_initial=True)
    assert SourceOffset.after("t", 4, 0, before) == SourceOffset("t", 4, 0)


@pytest.mark.parametrize("version", [0, 2, 4])
def test_unknown_formats_are_refused(version: int) -> None:
    text = SourceOffset("t", 7).to_json().replace(':1,"res', f':{version},"res')
    with pytest.raises(StreamOffsetError, match=f"the format {version}"):
        SourceOffset.parse(text, "t")


@pytest.mark.parametrize(
    "text",
    [
        "7",
        "[]",
        "{}",
        "{",
        '{"logOffset":3}',
        offset := '{"sourceVersion":3,"reservoirId":"t","reservoirVersion":7,"index":-1}',
        offset.replace("-1", '"0"'),
        offset.replace("7", "-1"),
        offset.replace("7", "1.5"),
    ],
)
def test_what_is_no_offset_of_a_delta_table_is_refused(text: str) -> None:
    with pytest.raises(StreamOffsetError):
        SourceOffset.parse(text, "t")


@given(st.text() | st.binary().map(repr))
def test_any_text_is_an_offset_or_a_named_error(text: str) -> None:
    with pytest.raises(LakebedError):
        SourceOffset.parse(text, "t")


@given(
    st.fixed_dictionaries(
        {},
        optional={
            name: st.none() | st.integers() | st.text() | st.booleans()
            for name in orjson.loads(SourceOffset("t", 7).to_json())
        },
    )
)
def test_any_object_is_an_offset_or_a_named_error(raw: dict[str, object]) -> None:
    try:
        text = orjson.dumps(raw).decode()
    except TypeError:
        return
    try:
        found = SourceOffset.parse(text, "t")
    except LakebedError:
        return
    assert found.table_id == "t"
