"""A look into files that others added, and at rows that are in dispute."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakebed
from lakebed.arrow.file_rows import may_match, rows_at
from lakebed.errors import ConflictError
from lakebed.expressions import parse_predicate
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Add
from lakebed.spec.columns.column_mapping import physical_name
from lakebed.transaction import Operation, Transaction
from lakebed.transaction.conflicts.conflicts import _MOST_BYTES

UPDATE = Operation("UPDATE")


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    rows = pa.table({"id": [1, 50, 99], "p": ["a", "a", "a"], "n": [None, 2.5, 3.5]})
    properties = {"delta.enableDeletionVectors": "true", "delta.columnMapping.mode": "name"}
    lakebed.write(tmp_path, rows, properties=properties, partition_by=["p"])
    return lakebed.open(tmp_path).snapshot


def adds_of(snapshot: Snapshot) -> list[Add]:
    return list(adds_from_table(snapshot.files()))


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("id = 50", True),
        ("id = 51", False),
        ("id IN (2, 98)", False),
        ("n > 3", True),
        ("n > 3 AND id < 99", False),
        ("n IS NULL", True),
        ("p = 'a'", True),
        ("p = 'b'", False),
        ("id = 51 OR p = 'a'", True),
        ("true", True),
        ("false", False),
        ("id / 0 = 1", True),
    ],
)
def test_what_files_have(snapshot: Snapshot, sql: str, found: bool) -> None:
    """The last one cannot be evaluated, so nobody knows."""
    predicate = parse_predicate(sql, snapshot.schema)
    assert may_match(snapshot, adds_of(snapshot), predicate) is found


def test_deleted_rows_do_not_match_and_files_that_are_gone_may(
    snapshot: Snapshot, tmp_path: Path
) -> None:
    (add,) = adds_of(snapshot)
    change = Transaction(snapshot, operation=UPDATE)
    change.mark_rows(add, RowIndexSet.from_indexes([1]))
    after = change.commit().unwrap().snapshot
    predicate = parse_predicate("id = 50", snapshot.schema)
    assert may_match(after, adds_of(after), predicate) is False
    assert may_match(after, [add], predicate) is True
    for file in tmp_path.rglob("*.parquet"):
        file.unlink()
    assert may_match(after, adds_of(after), predicate) is True


def test_rows_by_their_place(snapshot: Snapshot) -> None:
    (add,) = adds_of(snapshot)
    assert rows_at(snapshot, add, [0, 2]) == [
        {"id": 1, "p": "a", "n": None},
        {"id": 99, "p": "a", "n": 3.5},
    ]
    assert rows_at(snapshot, add, [1, 7], ["id"]) == [{"id": 50}]


def updated(snapshot: Snapshot, sql: str, position: int) -> Transaction:
    """An update of one row of the only file; what it looks for is a condition."""
    change = Transaction(snapshot, operation=UPDATE, may_match=may_match)
    change.read_predicate(parse_predicate(sql, snapshot.schema))
    change.mark_rows(adds_of(snapshot)[0], RowIndexSet.from_indexes([position]))
    return change


@pytest.mark.parametrize(("sql", "commits"), [("id = 50", True), ("id IN (50, 98)", False)])
def test_new_rows_of_others_are_looked_at(
    snapshot: Snapshot, tmp_path: Path, sql: str, commits: bool
) -> None:
    """Both ends of the statistics surround what is looked for; only the rows tell."""
    late = updated(snapshot, sql, 1)
    winner = updated(snapshot, "id = 1", 0)
    other = tmp_path / "other"
    lakebed.write(other, pa.table({"id": [2, 98], "p": ["a", "a"], "n": [0.0, 0.0]}))
    (file,) = other.glob("*.parquet")
    winner.stage(_written(snapshot, file, tmp_path))
    winner.commit().unwrap()
    if commits:
        assert late.commit().unwrap().version == 2
    else:
        with pytest.raises(ConflictError, match="added files"):
            late.commit().unwrap()


def test_large_files_are_not_looked_into(snapshot: Snapshot) -> None:
    late = updated(snapshot, "id = 50", 1)
    winner = updated(snapshot, "id = 1", 0)
    (add,) = adds_of(snapshot)
    large = Add("gone", add.partition_values, _MOST_BYTES + 1, 0, data_change=True)
    winner.stage(large)
    winner.commit().unwrap()
    with pytest.raises(ConflictError, match="gone"):
        late.commit().unwrap()


def _written(snapshot: Snapshot, file: Path, folder: Path) -> Add:
    """A file of rows whose statistics say no more than their bounds."""
    names = {field.name: physical_name(field) for field in snapshot.schema.fields}
    table = pq.read_table(file).drop_columns(["p"])
    table = table.rename_columns([names[name] for name in table.column_names])
    pq.write_table(table, folder / "new.parquet")
    ends = {"minValues": {names["id"]: 2}, "maxValues": {names["id"]: 98}}
    stats = json.dumps({"numRecords": 2, **ends})
    size = (folder / "new.parquet").stat().st_size
    return Add("new.parquet", {names["p"]: "a"}, size, 0, data_change=True, stats=stats)
