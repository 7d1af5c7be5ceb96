"""The index of a row in its file, beside the row: what changes of rows need to name them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakebed
from lakebed.arrow.scan import plan_scan, read_batches
from lakebed.errors import SchemaError
from lakebed.expressions import parse_predicate
from lakebed.formats.deletion_vectors import RowIndexSet, encode_bitmap
from lakebed.spec.actions import DeletionVector
from lakebed.spec.schema import STRING
from lakebed.spec.vector_descriptors import inline_vector
from testkit.schemas import column
from testkit.tables.arbitrary_tables import add_file, make_table

# Row `n` of a file has the number FIRST + n.
FIRST, COUNT = 1000, 35
DELETED = [0, 9, 10, 11, 24, 34]


@pytest.fixture(params=["one piece", "a piece for each row group"])
def path(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if request.param != "one piece":
        monkeypatch.setattr("lakebed.arrow.scan._PIECE_BYTES", 1)
    return tmp_path


def vector_of(indexes: list[int]) -> DeletionVector:
    found = RowIndexSet.from_indexes(indexes)
    return inline_vector(encode_bitmap(found), found.cardinality)


def numbered(path: Path, **action: Any) -> None:
    """A table of one file with several row groups."""
    fields = (column("id"), column("p", STRING))
    properties = {"delta.enableDeletionVectors": "true"}
    make_table(path, *fields, partition_by=("p",), properties=properties)
    data = pa.table({"id": pa.array(range(FIRST, FIRST + COUNT), pa.int64())})
    values = {"p": "x"}
    add_file(path, data, partition_values=values, parquet={"row_group_size": 10}, **action)
    assert pq.read_metadata(path / "by-hand.parquet").num_row_groups == 4


def read(path: Path, columns: list[str] | None = None, where: str | None = None) -> pa.Table:
    snapshot = lakebed.open(path).snapshot
    predicate = None if where is None else parse_predicate(where, snapshot.schema)
    plan = plan_scan(snapshot, columns, predicate, position="at")
    return pa.Table.from_batches(read_batches(plan), plan.schema)


def test_rows_are_counted_across_row_groups(path: Path) -> None:
    numbered(path)
    found = read(path)
    assert found.column_names == ["id", "p", "at"]
    assert found.schema.field("at").type == pa.int64()
    assert found["at"].to_pylist() == list(range(COUNT))
    assert [row["id"] - FIRST for row in found.to_pylist()] == list(range(COUNT))


def test_deleted_rows_and_rows_that_do_not_match_are_counted_too(path: Path) -> None:
    numbered(path, deletion_vector=vector_of(DELETED))
    kept = [index for index in range(COUNT) if index not in DELETED]
    found = read(path)
    assert found["at"].to_pylist() == kept
    assert [number - FIRST for number in found["id"].to_pylist()] == kept
    even = read(path, where="id % 2 = 0 AND id >= 1012")
    assert even["at"].to_pylist() == [index for index in kept if index >= 12 and index % 2 == 0]


def test_rows_are_counted_where_no_column_of_the_file_is_read(path: Path) -> None:
    numbered(path, deletion_vector=vector_of(DELETED))
    found = read(path, columns=["p"], where="p = 'x'")
    assert found.column_names == ["p", "at"]
    assert found["at"].to_pylist() == [index for index in range(COUNT) if index not in DELETED]


def test_every_file_is_counted_for_itself(path: Path) -> None:
    for first in (0, 100, 200):
        lakebed.write(path, pa.table({"id": pa.array(range(first, first + 5), pa.int64())}))
    found = read(path)
    assert found.num_rows == 15
    assert all(row["at"] == row["id"] % 100 for row in found.to_pylist())


def test_no_files_give_the_columns_alone(path: Path) -> None:
    make_table(path, column("id"))
    assert read(path).schema.names == ["id", "at"]
    assert read(path).num_rows == 0


def test_a_column_of_that_name_is_refused(tmp_path: Path) -> None:
    lakebed.write(tmp_path, pa.table({"At": [1]}))
    with pytest.raises(SchemaError, match="'At'"):
        read(tmp_path)


def test_a_scan_without_positions_is_as_it_was(tmp_path: Path) -> None:
    lakebed.write(tmp_path, pa.table({"id": [1]}))
    plan = plan_scan(lakebed.open(tmp_path).snapshot)
    assert plan.position is None
    assert plan.schema.names == ["id"]
