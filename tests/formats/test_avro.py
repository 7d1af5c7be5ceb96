"""Avro files: read back by Lakebed, and by fastavro, which shares no code with it."""

from __future__ import annotations

import io
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.errors import LogCorruptedError
from lakebed.formats import avro

PAIR = {
    "type": "record",
    "name": "pair",
    "fields": [{"name": "key", "type": "int"}, {"name": "value", "type": "bytes"}],
}
SCHEMA: Any = {
    "type": "record",
    "name": "entry",
    "fields": [
        {"name": "flag", "type": "boolean"},
        {"name": "whole", "type": "long"},
        {"name": "maybe", "type": ["null", "string"], "default": None},
        {"name": "single", "type": "float"},
        {"name": "double", "type": ["null", "double"], "default": None},
        {"name": "pairs", "type": ["null", {"type": "array", "items": PAIR}], "default": None},
        {"name": "fixed", "type": {"type": "fixed", "name": "four", "size": 4}},
        {"name": "day", "type": ["null", {"type": "int"}], "default": None},
    ],
}
INTS = st.integers(-(2**31), 2**31 - 1)
RECORDS = st.fixed_dictionaries(
    {
        "flag": st.booleans(),
        "whole": st.integers(-(2**63), 2**63 - 1),
        "maybe": st.none() | st.text(),
        "single": st.floats(allow_nan=False, width=32),
        "double": st.none() | st.floats(allow_nan=False),
        "pairs": st.none()
        | st.lists(st.fixed_dictionaries({"key": INTS, "value": st.binary(max_size=300)})),
        "fixed": st.binary(min_size=4, max_size=4),
        "day": st.none() | INTS,
    }
)


@settings(max_examples=30)
@given(st.lists(RECORDS, max_size=5))
def test_records_come_back_here_and_elsewhere(records: list[dict[str, Any]]) -> None:
    data = avro.encode(SCHEMA, records, {"more": "ü"})
    header, found = avro.decode(data, "f")
    assert found == records
    assert header["more"] == "ü"
    assert list(fastavro.reader(io.BytesIO(data))) == records


@settings(max_examples=20)
@given(st.lists(RECORDS, max_size=3), st.sampled_from(["null", "deflate"]))
def test_files_of_another_writer_are_read(records: list[dict[str, Any]], codec: str) -> None:
    out = io.BytesIO()
    fastavro.writer(out, SCHEMA, records, codec=codec)
    assert avro.decode(out.getvalue(), "f")[1] == records


def test_many_records_make_many_blocks() -> None:
    texts = [str(number) * 50 for number in range(2_000)]
    data = avro.encode("string", texts, {})
    assert avro.decode(data, "f")[1] == texts
    assert list(fastavro.reader(io.BytesIO(data))) == texts
    assert len(list(avro.decoded_blocks(data, "f"))) > 2


@pytest.mark.parametrize("cut", [0, 3, 40, -1, -17])
def test_a_damaged_file_is_named(cut: int) -> None:
    data = avro.encode(SCHEMA["fields"][1]["type"], [1, 2, 3], {})
    with pytest.raises(LogCorruptedError, match=r"here\.avro"):
        avro.decode(data[:cut], "here.avro")
