from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import LogCorruptedError
from lakebed.formats.last_checkpoint import LastCheckpoint, canonical, checksums, decode

# From the protocol itself.
SAMPLE = {
    "k0": "'v 0'",
    "checksum": "adsaskfljadfkjadfkj",
    "k1": {"k2": 2, "k3": ["v3", [1, 2], {"k4": "v4", "k5": ["v5", "v6", "v7"]}]},
}


def test_the_example_of_the_protocol_has_its_checksum() -> None:
    content = {name: value for name, value in SAMPLE.items() if name != "checksum"}
    assert canonical(content).startswith('"k0"="%27v%200%27","k1"+"k2"=2,"k1"+"k3"+0="v3"')
    assert checksums(SAMPLE) == {"6a92d155a59bf2eecbd4b4ec7fd1f875"}


def test_a_hint_is_read_as_it_was_written() -> None:
    hint = LastCheckpoint(5, 9, 3, 100, 7, {"type": "struct"}, None, {"a": "b"}, {"future": [1]})
    assert decode(hint.encode(), "hint") == hint


def test_version_size_and_parts_come_first() -> None:
    """Old readers may see only the beginning of a hint that is being replaced."""
    assert LastCheckpoint(5, 9, 3, tags={}).encode().startswith(b'{"version":5,"size":9,"parts":3,')


def test_long_lists_have_two_checksums_both_are_read_and_none_is_written() -> None:
    features = [f"f{number}" for number in range(12)]
    hint = LastCheckpoint(1, 1, v2_checkpoint={"features": features})
    raw = json.loads(hint.encode())
    assert "checksum" not in raw
    both = checksums(raw)
    assert len(both) == 2
    for checksum in both:
        assert decode(json.dumps({**raw, "checksum": checksum}).encode(), "hint") == hint


def test_a_changed_value_does_not_fit_the_checksum() -> None:
    data = LastCheckpoint(5, 9).encode().replace(b'"size":9', b'"size":8')
    with pytest.raises(LogCorruptedError, match="checksum does not match"):
        decode(data, "hint")


@pytest.mark.parametrize(
    "data", [b"", b"null", b"[]", b"{", b'{"version":1}', b'{"version":1,"size":NaN}', b"\xff"]
)
def test_what_is_no_hint_is_an_error(data: bytes) -> None:
    with pytest.raises(LogCorruptedError):
        decode(data, "hint")


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=20,
)


@given(json_values)
def test_any_content_comes_back(value: Any) -> None:
    hint = LastCheckpoint(1, 2, extra={"other": value} if value is not None else {})
    assert decode(hint.encode(), "hint") == hint
