from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.log.listing.file_keys import canonical_path, file_key, spellings, vector_id

VECTOR = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^"}
PATHS = [
    "a.parquet",
    "p=1/a%20b.parquet",
    "c:d.parquet",
    "/x/a.parquet",
    "file:/x/a.parquet",
    "file:///x/a.parquet",
    "s3://bucket/x/a.parquet",
    "abfss://c@a.dfs.core.windows.net/a",
]


def test_a_file_and_the_same_file_with_a_vector_are_two() -> None:
    keys = {
        file_key("a", None),
        file_key("a", VECTOR),
        file_key("a", {**VECTOR, "offset": 0}),
        file_key("a", {**VECTOR, "offset": 1}),
        file_key("a", {**VECTOR, "storageType": "p"}),
    }
    assert len(keys) == 5


def test_the_id_of_a_vector_is_that_of_the_protocol() -> None:
    assert vector_id(VECTOR) == "uab^-aqEH.-t@S}K{vb[*k^"
    assert vector_id({**VECTOR, "offset": 4}) == "uab^-aqEH.-t@S}K{vb[*k^@4"
    assert vector_id({**VECTOR, "offset": None}) == vector_id(VECTOR)


def test_size_and_cardinality_are_not_part_of_the_identity() -> None:
    assert file_key("a", {**VECTOR, "sizeInBytes": 1}) == file_key(
        "a", {**VECTOR, "cardinality": 9}
    )


@pytest.mark.parametrize("path", ["/x/a", "file:/x/a", "file:///x/a"])
def test_a_local_path_has_one_key_however_it_is_spelled(path: str) -> None:
    assert file_key(path, None) == "/x/a"
    assert canonical_path(path) == "/x/a"


@pytest.mark.parametrize("path", PATHS)
def test_every_spelling_has_the_key_of_the_path_and_is_found(path: str) -> None:
    found = spellings(path)
    assert path in found
    assert {file_key(each, None) for each in found} == {file_key(path, None)}


@given(st.text(min_size=1))
def test_any_text_is_among_its_own_spellings(path: str) -> None:
    assert canonical_path(path) in spellings(path) or path in spellings(path)
    assert file_key(canonical_path(path), None) == file_key(path, None)


@given(st.sampled_from(PATHS), st.sampled_from(PATHS))
def test_paths_have_one_key_exactly_when_they_share_a_spelling(one: str, other: str) -> None:
    same = file_key(one, None) == file_key(other, None)
    assert same == bool(set(spellings(one)) & set(spellings(other)))
