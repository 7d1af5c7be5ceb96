"""Overwrites that replace some of the rows: by a predicate, or by partition."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakebed
from lakebed.arrow.table_rows import TableRows
from lakebed.commands.target.write_options import WriteOptions
from lakebed.commands.write.write_rows import write_table
from lakebed.errors import (
    ConflictError,
    ConstraintViolationError,
    InvalidArgumentError,
    PredicateError,
)
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.file_state import ADD_FIELDS
from lakebed.log.table_log import TableLog
from lakebed.storage import open_store
from lakebed.transaction import Transaction
from testkit.faults import Fault, FaultStore, Killed


def rows_of(path: Path) -> list[dict[str, Any]]:
    """By an independent reader."""
    table = deltalake.DeltaTable(str(path)).to_pyarrow_table()
    return sorted(table.to_pylist(), key=lambda row: (row["id"], str(row)))


def table_of(ids: list[int], days: list[str | None]) -> pa.Table:
    return pa.table({"id": ids, "day": pa.array(days, pa.string())})


def test_replace_where_on_partitions_removes_whole_files_and_writes_none_again(
    tmp_path: Path,
) -> None:
    lakebed.write(tmp_path, table_of([1, 2, 3], ["a", "b", None]), partition_by="day")
    new = table_of([9], ["a"])
    done = lakebed.write(tmp_path, new, mode="overwrite", replace_where="day = 'a'")
    assert [row["id"] for row in rows_of(tmp_path)] == [2, 3, 9]
    last = done.history(1).to_pylist()[0]
    assert dict(last["operationParameters"])["predicate"] == "day = 'a'"
    metrics = dict(last["operationMetrics"])
    assert (metrics["numFiles"], metrics["numRemovedFiles"]) == ("1", "1")


def test_replace_where_on_data_columns_keeps_the_other_rows_of_a_file(tmp_path: Path) -> None:
    lakebed.write(tmp_path, table_of([1, 2, 3, 4], ["a", "b", None, "d"]))
    lakebed.write(tmp_path, table_of([50], ["z"]))
    new = table_of([2, 3], ["x", "y"])
    lakebed.write(tmp_path, new, mode="overwrite", replace_where="id >= 2 AND id < 10")
    assert [(row["id"], row["day"]) for row in rows_of(tmp_path)] == [
        (1, "a"),
        (2, "x"),
        (3, "y"),
        (50, "z"),
    ]


def test_a_row_whose_predicate_is_null_is_not_replaced(tmp_path: Path) -> None:
    lakebed.write(tmp_path, table_of([1, 2], ["a", None]))
    lakebed.write(tmp_path, table_of([9], ["a"]), mode="overwrite", replace_where="day = 'a'")
    assert [row["id"] for row in rows_of(tmp_path)] == [2, 9]


def test_new_rows_outside_the_predicate_are_refused_and_nothing_changes(tmp_path: Path) -> None:
    before = lakebed.write(tmp_path, table_of([1], ["a"]), partition_by="day")
    with pytest.raises(ConstraintViolationError, match="day = 'a'"):
        lakebed.write(tmp_path, table_of([9], ["b"]), mode="overwrite", replace_where="day = 'a'")
    assert lakebed.open(tmp_path).version == before.version
    assert [row["id"] for row in rows_of(tmp_path)] == [1]


def test_replace_where_creates_a_table_that_does_not_exist(tmp_path: Path) -> None:
    lakebed.write(tmp_path, table_of([1], ["a"]), mode="overwrite", replace_where="id = 1")
    assert [row["id"] for row in rows_of(tmp_path)] == [1]


def actions(path: Path, version: int) -> list[dict[str, Any]]:
    log = path / "_delta_log" / f"{version:020}.json"
    return [json.loads(line) for line in log.read_text().splitlines()]


def changes_of(path: Path, version: int) -> set[tuple[int, str | None, str]]:
    """The change feed of one version, by an independent reader."""
    feed = deltalake.DeltaTable(str(path)).load_cdf(version, version)
    rows = pa.table(feed.read_all()).to_pylist()
    return {(row["id"], row["day"], row["_change_type"]) for row in rows}


@pytest.mark.parametrize("mapping", ["none", "name"])
def test_rows_that_are_replaced_are_in_the_change_feed(tmp_path: Path, mapping: str) -> None:
    feed = {"delta.enableChangeDataFeed": "true", "delta.columnMapping.mode": mapping}
    lakebed.write(tmp_path, table_of([1, 2, 3], ["a", "b", "c"]), properties=feed)
    lakebed.write(tmp_path, table_of([50], ["z"]))
    done = lakebed.write(
        tmp_path, table_of([2, 4], ["x", "y"]), mode="overwrite", replace_where="id BETWEEN 2 AND 9"
    )
    assert [row["id"] for row in done.to_arrow().sort_by("id").to_pylist()] == [1, 2, 4, 50]
    kinds = [next(iter(action)) for action in actions(tmp_path, 2)]
    assert kinds.count("cdc") == 1
    assert kinds.count("remove") == 1
    cdc = next(action["cdc"] for action in actions(tmp_path, 2) if "cdc" in action)
    assert cdc["path"].startswith("_change_data/")
    if mapping == "none":
        assert changes_of(tmp_path, 2) == {
            (2, "b", "delete"),
            (3, "c", "delete"),
            (2, "x", "insert"),
            (4, "y", "insert"),
        }
    metrics = dict(done.history(1).to_pylist()[0]["operationMetrics"])
    assert (metrics["numOutputRows"], metrics["numCopiedRows"]) == ("3", "1")
    assert (metrics["numDeletedRows"], metrics["numAddedChangeFiles"]) == ("2", "1")


def test_whole_files_that_are_replaced_need_no_change_files(tmp_path: Path) -> None:
    feed = {"delta.enableChangeDataFeed": "true"}
    lakebed.write(tmp_path, table_of([1], ["a"]), properties=feed)
    lakebed.write(tmp_path, table_of([5, 6], ["b", "c"]))
    lakebed.write(tmp_path, table_of([7], ["x"]), mode="overwrite", replace_where="id > 3")
    assert not any("cdc" in action for action in actions(tmp_path, 2))
    assert changes_of(tmp_path, 2) == {(5, "b", "delete"), (6, "c", "delete"), (7, "x", "insert")}


def test_rows_that_stay_keep_their_ids(tmp_path: Path) -> None:
    tracked = {"delta.enableRowTracking": "true"}
    lakebed.write(tmp_path, table_of([0, 1, 2, 3], ["a"] * 4), properties=tracked)
    for replaced in (1, 3):
        new = table_of([replaced], ["new"])
        lakebed.write(tmp_path, new, mode="overwrite", replace_where=f"id = {replaced}")
    found = ids_of(tmp_path)
    assert {row: found[row] for row in (0, 2)} == {0: (0, 0), 2: (2, 0)}
    assert [found[row][1] for row in (1, 3)] == [1, 2]
    assert len({row_id for row_id, _ in found.values()}) == 4
    assert min(found[row][0] for row in (1, 3)) > 3
    info = next(action["commitInfo"] for action in actions(tmp_path, 2) if "commitInfo" in action)
    assert info["tags"]["delta.rowTracking.preserved"] == "true"


def ids_of(path: Path) -> dict[int, tuple[int, int]]:
    """The ids and versions of the rows, from the files themselves."""
    snapshot = lakebed.open(path).snapshot
    prefix = "delta.rowTracking.materialized"
    names = [
        snapshot.metadata.configuration[f"{prefix}{each}ColumnName"]
        for each in ("RowId", "RowCommitVersion")
    ]
    found = {}
    for add in adds_from_table(snapshot.files(list(ADD_FIELDS))):
        rows = pq.read_table(path / add.path).to_pylist()
        for place, row in enumerate(rows):
            row_id, version = (row.get(name) for name in names)
            found[row["id"]] = (
                add.base_row_id + place if row_id is None else row_id,
                add.default_row_commit_version if version is None else version,
            )
    return found


def test_with_deletion_vectors_rows_are_marked_and_no_file_is_written_again(
    tmp_path: Path,
) -> None:
    marks = {"delta.enableDeletionVectors": "true", "delta.enableChangeDataFeed": "true"}
    lakebed.write(tmp_path, table_of([1, 2, 3], ["a", "b", "c"]), properties=marks)
    new = table_of([9], ["x"])
    done = lakebed.write(tmp_path, new, mode="overwrite", replace_where="id IN (2, 9)")
    assert sorted(done.to_arrow()["id"].to_pylist()) == [1, 3, 9]
    adds = [action["add"] for action in actions(tmp_path, 1) if "add" in action]
    assert sorted("deletionVector" in add for add in adds) == [False, True]
    assert not any("cdc" in action for action in actions(tmp_path, 1))
    metrics = dict(done.history(1).to_pylist()[0]["operationMetrics"])
    assert (metrics["numDeletedRows"], metrics["numCopiedRows"]) == ("1", "0")


def test_a_commit_that_changes_other_rows_of_the_file_is_no_conflict_with_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both replace a row of the same file, the second one while the first one is at work."""
    marks = {"delta.enableDeletionVectors": "true"}
    lakebed.write(tmp_path, table_of([1, 2, 3], ["a", "b", "c"]), properties=marks)
    original = Transaction.commit

    def replace(number: int) -> None:
        new = table_of([number], ["new"])
        lakebed.write(tmp_path, new, mode="overwrite", replace_where=f"id = {number}")

    def late(self: Transaction) -> Any:
        monkeypatch.setattr(Transaction, "commit", original)
        replace(3)
        return original(self)

    monkeypatch.setattr(Transaction, "commit", late)
    replace(1)
    rows = lakebed.open(tmp_path).to_arrow().sort_by("id")
    assert rows["day"].to_pylist() == ["new", "b", "new"]


def test_a_row_that_another_commit_adds_to_the_replaced_ones_is_a_conflict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lakebed.write(tmp_path, table_of([1, 2], ["a", "b"]))
    original = Transaction.commit

    def late(self: Transaction) -> Any:
        monkeypatch.setattr(Transaction, "commit", original)
        lakebed.write(tmp_path, table_of([2], ["late"]))
        return original(self)

    monkeypatch.setattr(Transaction, "commit", late)
    with pytest.raises(ConflictError):
        lakebed.write(tmp_path, table_of([2], ["x"]), mode="overwrite", replace_where="id = 2")
    assert [row["day"] for row in rows_of(tmp_path)] == ["a", "b", "late"]


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_a_replacement_that_is_killed_at_any_call_is_done_or_not_done(
    tmp_path: Path, vectors: str
) -> None:
    properties = {
        "delta.enableChangeDataFeed": "true",
        "delta.enableRowTracking": "true",
        "delta.enableDeletionVectors": vectors,
    }
    new = table_of([2], ["x"])
    options = WriteOptions(mode="overwrite", replace_where="id = 2")
    outcomes = set()
    for number in range(1, 60):
        path = tmp_path / str(number)
        lakebed.write(path, table_of([1, 2, 3], ["a", "b", "c"]), properties=properties)
        store = FaultStore(open_store(str(path)), Fault(None, number, "before", Killed()))
        try:
            write_table(TableLog(store), TableRows(store, new), options)
        except Killed:
            pass
        else:
            break
        days = lakebed.open(path).to_arrow().sort_by("id")["day"].to_pylist()
        outcomes.add(tuple(days))
        lakebed.write(path, new, mode="overwrite", replace_where="id = 2")
        after = lakebed.open(path).to_arrow().sort_by("id")["day"].to_pylist()
        assert after == ["a", "x", "c"]
    assert not store.raised
    assert ("a", "b", "c") in outcomes
    assert outcomes <= {("a", "b", "c"), ("a", "x", "c")}


def test_a_predicate_that_cannot_be_parsed_is_refused(tmp_path: Path) -> None:
    lakebed.write(tmp_path, table_of([1], ["a"]))
    with pytest.raises(PredicateError):
        lakebed.write(tmp_path, table_of([1], ["a"]), mode="overwrite", replace_where="id ==== 1")


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "append", "replace_where": "id = 1"},
        {"mode": "append", "partition_overwrite": "dynamic"},
        {"mode": "overwrite", "replace_where": "id = 1", "overwrite_schema": True},
        {"mode": "overwrite", "replace_where": "id = 1", "partition_overwrite": "dynamic"},
        {"mode": "overwrite", "partition_overwrite": "sometimes"},
        {"mode": "overwrite", "replace_where": 7},
    ],
)
def test_options_that_contradict_each_other_are_refused(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    if options == {"mode": "append", "partition_overwrite": "dynamic"}:
        # As in Spark: a setting that says how to overwrite does not matter to an append.
        lakebed.write(tmp_path, table_of([1], ["a"]), **options)
        return
    with pytest.raises(InvalidArgumentError):
        lakebed.write(tmp_path, table_of([1], ["a"]), **options)
    assert not lakebed.is_delta_table(tmp_path)


@pytest.mark.parametrize("mapping", ["none", "name"])
def test_a_dynamic_overwrite_replaces_the_partitions_that_have_new_rows(
    tmp_path: Path, mapping: str
) -> None:
    properties = {"delta.columnMapping.mode": mapping}
    data = pa.table(
        {"id": [1, 2, 3, 4], "day": ["a", "b", None, "a"], "hour": pa.array([1, 1, 2, 2])}
    )
    lakebed.write(tmp_path, data, partition_by=["day", "hour"], properties=properties)
    new = pa.table(
        {"id": [7, 8], "day": pa.array(["a", None]), "hour": pa.array([1, 2], pa.int64())}
    )
    done = lakebed.write(tmp_path, new, mode="overwrite", partition_overwrite="dynamic")
    assert sorted(done.to_arrow()["id"].to_pylist()) == [2, 4, 7, 8]


def test_a_dynamic_overwrite_without_rows_changes_no_file(tmp_path: Path) -> None:
    lakebed.write(tmp_path, table_of([1], ["a"]), partition_by="day")
    none = table_of([1], ["a"]).slice(0, 0)
    lakebed.write(tmp_path, none, mode="overwrite", partition_overwrite="dynamic")
    assert [row["id"] for row in rows_of(tmp_path)] == [1]


def test_a_dynamic_overwrite_of_a_table_without_partitions_replaces_all(tmp_path: Path) -> None:
    lakebed.write(tmp_path, table_of([1], ["a"]))
    lakebed.write(tmp_path, table_of([2], ["b"]), mode="overwrite", partition_overwrite="dynamic")
    assert [row["id"] for row in rows_of(tmp_path)] == [2]
