from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import LogCorruptedError
from lakebed.formats import checkpoint_encoder, parquet_digest
from lakebed.formats.checkpoint_decoder import ParquetCheckpoint
from lakebed.formats.checkpoint_encoder import SIDECAR_KINDS, V1_KINDS, V2_KINDS
from lakebed.formats.file_actions import (
    STRING_MAP,
    adds_to_table,
    map_values,
    removes_to_table,
)
from lakebed.spec.actions import (
    Add,
    CheckpointMetadata,
    DomainMetadata,
    Format,
    Metadata,
    Protocol,
    Remove,
    Sidecar,
    Txn,
    wrap,
)

ACTIONS = [
    CheckpointMetadata(3, {"a": "b"}),
    Protocol(3, 7, ("deletionVectors",), ()),
    Metadata("id", "{}", ("p",), {"k": "v"}, Format("parquet", {"o": "x"}), "name", "text", 5),
    Txn("app", 1, 2),
    DomainMetadata("d", "{}"),
    Sidecar("s.parquet", 1, 2, {"t": "u"}),
]
ADDS = adds_to_table([Add(f"{n}.parquet", {"p": str(n)}, n, n, False, "{}") for n in range(5)])
REMOVES = removes_to_table([Remove("r", False, 7)])


def test_everything_that_is_written_is_read_back() -> None:
    data = checkpoint_encoder.encode("x", V2_KINDS, ACTIONS, ADDS, REMOVES)
    found = ParquetCheckpoint(data, "x")
    assert sorted(
        map(str, found.actions([kind for kind in V2_KINDS if kind not in SIDECAR_KINDS]))
    ) == (sorted(str(next(iter(wrap(action).items()))) for action in ACTIONS))
    assert found.files("add", ADDS.column_names).equals(ADDS)
    assert found.files("remove", REMOVES.column_names).equals(REMOVES)


def test_columns_are_those_of_the_kinds_asked_for() -> None:
    def columns(kinds: tuple[str, ...]) -> list[str]:
        data = checkpoint_encoder.encode("x", kinds, (), ADDS, REMOVES)
        return list(pq.read_schema(pa.BufferReader(data)).names)

    assert columns(SIDECAR_KINDS) == ["add", "remove"]
    assert "checkpointMetadata" not in columns(V1_KINDS)
    assert set(columns(V2_KINDS)) >= {"checkpointMetadata", "sidecar"}


def test_row_groups_are_of_one_kind_and_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_encoder, "ROWS_PER_GROUP", 2)
    monkeypatch.setattr(checkpoint_encoder, "FILES_WITH_THE_REST", 0)
    data = checkpoint_encoder.encode("x", V2_KINDS, ACTIONS, ADDS, REMOVES)
    meta = pq.ParquetFile(pa.BufferReader(data)).metadata
    sizes = [meta.row_group(number).num_rows for number in range(meta.num_row_groups)]
    assert sizes == [2, 2, 2, 2, 2, 1, 1]
    assert ParquetCheckpoint(data, "x").files("add", ["path"]).num_rows == 5


def test_a_small_checkpoint_is_one_row_group() -> None:
    data = checkpoint_encoder.encode("x", V2_KINDS, ACTIONS, ADDS, REMOVES)
    meta = pq.ParquetFile(pa.BufferReader(data)).metadata
    assert (meta.num_row_groups, meta.num_rows) == (1, 12)


def test_adds_in_many_small_chunks_are_written_whole() -> None:
    chunked = pa.concat_tables([ADDS.slice(number, 1) for number in range(5)])
    assert chunked.column("path").num_chunks == 5
    data = checkpoint_encoder.encode("x", SIDECAR_KINDS, (), chunked, REMOVES.slice(0, 0))
    assert ParquetCheckpoint(data, "x").files("add", ADDS.column_names).equals(ADDS)


def test_an_empty_checkpoint_is_a_file_without_rows() -> None:
    data = checkpoint_encoder.encode("x", SIDECAR_KINDS, (), ADDS.slice(0, 0), REMOVES.slice(0, 0))
    assert ParquetCheckpoint(data, "x").num_rows == 0


@given(st.data())
def test_a_changed_byte_is_an_error_or_changes_nothing(data: st.DataObject) -> None:
    body = checkpoint_encoder.encode("x", V1_KINDS, ACTIONS[1:5], ADDS, REMOVES)
    at = data.draw(st.integers(0, len(body) - 1))
    changed = bytearray(body)
    changed[at] ^= 1 << data.draw(st.integers(0, 7))
    try:
        found = ParquetCheckpoint(bytes(changed), "x.parquet").files("add", ADDS.column_names)
    except LogCorruptedError as error:
        file = error.file
    else:
        # Only the name of the digest may go unseen: then the file is that of another writer.
        assert parquet_digest.KEY.encode() not in changed
        assert found.equals(ADDS)
        file = "x.parquet"
    assert file == "x.parquet"


def test_files_of_other_writers_have_no_digest_and_are_read() -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"add": ADDS.to_struct_array()}), sink)
    found = ParquetCheckpoint(sink.getvalue().to_pybytes(), "x")
    assert found.files("add", ["path"]).num_rows == 5


# --- values of maps -----------------------------------------------------------------------------


@given(
    st.lists(st.none() | st.dictionaries(st.sampled_from("abc"), st.none() | st.text())),
    st.sampled_from("abcd"),
    st.integers(0, 3),
)
def test_values_are_found_in_maps_of_any_shape(
    maps: list[dict[str, str | None] | None], key: str, skipped: int
) -> None:
    entries = [None if each is None else list(each.items()) for each in maps]
    array = pa.array(entries, STRING_MAP).slice(skipped)
    expected = [None if each is None else each.get(key) for each in maps[skipped:]]
    assert map_values(array, key).to_pylist() == expected


@given(st.lists(st.tuples(st.text(), st.none() | st.text())), st.integers(0, 3))
def test_values_are_found_in_maps_of_one_shape(
    rows: list[tuple[str, str | None]], skipped: int
) -> None:
    array = pa.array([[("p", one), ("q", other)] for one, other in rows], STRING_MAP)
    array = array.slice(skipped)
    assert map_values(array, "p").to_pylist() == [one for one, _ in rows[skipped:]]
    assert map_values(array, "q").to_pylist() == [other for _, other in rows[skipped:]]
    looked_up = pc.map_lookup(array, query_key=pa.scalar("r"), occurrence="first")
    assert map_values(array, "r").to_pylist() == looked_up.to_pylist()
