"""What marked rows become in the log, and what readers make of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder

import lakebed
from lakebed.errors import AppendOnlyError, InvalidArgumentError, InvalidCommitError
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Add, CommitInfo
from lakebed.storage import Store, open_store
from lakebed.transaction import Committed, IsolationLevel, Transaction
from lakebed.transaction.row_marks import with_wide_bounds
from testkit.faults import Fault, FaultStore, Mode
from testkit.tables.marked_tables import (
    DELETE,
    ONE,
    TRACKED,
    TWO,
    actions_of,
    delete,
    deletion,
    gone,
    live,
    marked_table,
    rows,
    vector_files,
    vector_path,
)
from testkit.tables.small_tables import IMPATIENT, append, create, file, metadata, removal


def test_a_mark_is_a_remove_and_the_same_file_with_a_vector(store: Store) -> None:
    tagged = replace(ONE, tags={"k": "v"}, extra={"later": 1})
    snapshot = marked_table(store, tagged, TWO)
    delete(snapshot, {"one": [3, 4, 9]})
    remove, add = (next(iter(action.values())) for action in actions_of(store, 1))
    assert (remove["path"], remove["dataChange"]) == ("one", True)
    assert "deletionVector" not in remove
    assert remove["deletionTimestamp"] > 1_600_000_000_000
    assert (add["path"], add["dataChange"], add["tags"]) == ("one", True, {"k": "v"})
    assert add["deletionVector"]["cardinality"] == 3
    assert json.loads(add["stats"]) == {**json.loads(ONE.stats or ""), "tightBounds": False}
    for name in ("size", "modificationTime", "partitionValues"):
        assert add[name] == tagged.to_json()[name]
    assert gone(store) == {"one": {3, 4, 9}, "two": set()}


def test_a_second_mark_names_the_old_vector_and_holds_all_rows(store: Store) -> None:
    snapshot = delete(marked_table(store), {"one": [1]})
    old = actions_of(store, 1)[1]["add"]["deletionVector"]
    delete(snapshot, {"one": [0, 5]})
    remove, add = actions_of(store, 2)
    assert remove["remove"]["deletionVector"] == old
    assert add["add"]["deletionVector"] != old
    assert gone(store)["one"] == {0, 1, 5}


def test_the_vectors_of_a_commit_share_a_file(store: Store) -> None:
    snapshot = marked_table(store, *(file(f"f{n}") for n in range(5)))
    delete(snapshot, {f"f{n}": range(n + 1) for n in range(5)})
    assert gone(store) == {f"f{n}": set(range(n + 1)) for n in range(5)}
    assert len(vector_files(store)) == 1


def test_many_large_vectors_are_split_into_files(
    memory: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakebed.transaction.row_marks._MAX_FILE_BYTES", 200)
    snapshot = marked_table(memory, *(file(f"f{n}", rows=1000) for n in range(7)))
    marks = {f"f{n}": range(n, 1000, 37) for n in range(7)}
    delete(snapshot, marks)
    assert gone(memory) == {path: set(indexes) for path, indexes in marks.items()}
    files = vector_files(memory)
    assert 1 < len(files) <= 7
    assert all(memory.head(path).size <= 200 for path in files)


def test_the_prefix_of_file_names_is_used_where_the_table_wants_one(store: Store) -> None:
    table = metadata(randomizeFilePrefixes="true", randomPrefixLength="3")
    snapshot = delete(marked_table(store, table=table), {"one": [1]})
    vector = live(snapshot, "one").deletion_vector
    assert vector is not None
    path = vector_path(vector.to_json())
    assert path.index("/") == 3
    assert vector_files(store) == [path]
    assert gone(store)["one"] == {1}


def test_a_file_without_rows_left_is_only_removed(store: Store) -> None:
    snapshot = delete(marked_table(store), {"one": range(7)})
    outcome = deletion(snapshot, {"one": [7, 8, 9], "two": [0]}).commit().unwrap()
    kinds = [next(iter(action)) for action in actions_of(store, 2)]
    assert kinds == ["remove", "remove", "add"]
    assert [type(action).__name__ for action in outcome.actions[1:]] == ["Remove", "Remove", "Add"]
    assert gone(store) == {"two": {0}}
    assert outcome.snapshot.totals == TableLog(store).snapshot().totals
    assert outcome.snapshot.totals.num_deleted_records == 1


def test_marks_and_staged_actions_go_together_and_calls_add_up(store: Store) -> None:
    snapshot = marked_table(store)
    transaction = deletion(snapshot, {"one": [1]}, file("new"), removal(TWO))
    transaction.mark_rows(ONE, rows(2))
    outcome = transaction.commit().unwrap()
    assert gone(store) == {"one": {1, 2}, "new": set()}
    info = outcome.actions[0]
    assert isinstance(info, CommitInfo)
    assert info.values["isBlindAppend"] is False
    with pytest.raises(InvalidArgumentError, match="two states of the file"):
        transaction.mark_rows(replace(ONE, stats=None), rows(3))


def test_a_mark_without_rows_changes_nothing(memory: Store) -> None:
    snapshot = marked_table(memory)
    deletion(snapshot, {"one": []}, file("new")).commit().unwrap()
    assert gone(memory) == {"one": set(), "two": set(), "new": set()}
    assert not vector_files(memory)


@pytest.mark.parametrize("action", [removal(ONE), ONE], ids=["remove", "add"])
def test_a_file_is_marked_or_staged_but_not_both(memory: Store, action: Any) -> None:
    transaction = deletion(marked_table(memory), {"one": [1]}, action)
    with pytest.raises(InvalidCommitError, match="rows of one are marked, and"):
        transaction.commit()
    restaged = deletion(TableLog(memory).snapshot(), {"one": [1]})
    restaged.restage(replace(ONE, data_change=False))
    with pytest.raises(InvalidCommitError, match="rows of one are marked, and"):
        restaged.commit()


def test_what_cannot_be_marked_is_refused_before_anything_is_written(memory: Store) -> None:
    snapshot = marked_table(memory, ONE, file("bare", rows=None))
    with pytest.raises(InvalidCommitError, match="no numRecords"):
        deletion(snapshot, {"bare": [1]}).commit()
    with pytest.raises(InvalidCommitError, match="11 rows of one are marked, but it has 10"):
        deletion(snapshot, {"one": range(11)}).commit()
    snapshot = delete(snapshot, {"one": [1]})
    written = vector_files(memory)
    with pytest.raises(InvalidCommitError, match="deleted already"):
        deletion(snapshot, {"one": [1, 2]}).commit()
    assert vector_files(memory) == written
    with pytest.raises(InvalidArgumentError, match="no rows to mark"):
        Transaction(None, store=memory, operation=DELETE).mark_rows(ONE, rows(1))


def test_marks_need_the_table_feature(memory: Store) -> None:
    with pytest.raises(InvalidCommitError, match="needs the table feature deletionVectors"):
        deletion(create(memory, ONE), {"one": [1]}).commit()
    assert not vector_files(memory)


def test_rows_of_an_append_only_table_cannot_be_marked(memory: Store) -> None:
    snapshot = marked_table(memory, table=metadata(appendOnly="true"))
    with pytest.raises(AppendOnlyError, match="DELETE removes one"):
        deletion(snapshot, {"one": [1]}).commit()


def test_marks_alone_have_the_isolation_level_of_the_table(memory: Store) -> None:
    snapshot = marked_table(memory, table=metadata(isolationLevel="Serializable"))
    proposal = deletion(snapshot, {"one": [1]}).proposal()
    assert proposal.isolation is IsolationLevel.SERIALIZABLE
    assert not proposal.is_blind_append


def test_row_ids_stay_with_the_file(memory: Store) -> None:
    names = {
        "rowTracking__materializedRowIdColumnName": "_row_id",
        "rowTracking__materializedRowCommitVersionColumnName": "_row_version",
    }
    table = metadata(enableRowTracking="true", **names)
    snapshot = append(create(memory, TRACKED, table, ONE, TWO), file("three"))
    outcome = deletion(snapshot, {"two": [1], "three": [2]}).commit().unwrap()
    found = [live(outcome.snapshot, path) for path in ("one", "two", "three")]
    assert [add.base_row_id for add in found] == [0, 10, 20]
    assert [add.default_row_commit_version for add in found] == [0, 0, 1]
    assert not any(type(action).__name__ == "DomainMetadata" for action in outcome.actions)
    assert tags(outcome)["delta.rowTracking.preserved"] == "true"
    updated = deletion(outcome.snapshot, {"two": [2]}, file("four")).commit().unwrap()
    assert tags(updated)["delta.rowTracking.preserved"] == "false"


@pytest.mark.parametrize(
    ("stats", "expected"),
    [
        ('{"numRecords":3}', '{"numRecords":3,"tightBounds":false}'),
        ('{"numRecords":3,"tightBounds":true}', '{"numRecords":3,"tightBounds":false}'),
        ('{"tightBounds" : true, "numRecords":3}\n', '{"tightBounds":false, "numRecords":3}\n'),
        ('{"numRecords":3,"tightBounds":false} ', '{"numRecords":3,"tightBounds":false} '),
        (
            '{"maxValues":{"d":12345678901234567890.120,"tightBounds":true},"tightBounds":true}',
            '{"maxValues":{"d":12345678901234567890.120,"tightBounds":true},"tightBounds":false}',
        ),
        (
            '{"maxValues":{"tightBounds":true,"d":1.50} }',
            '{"maxValues":{"tightBounds":true,"d":1.50},"tightBounds":false}',
        ),
        ("{}", '{"tightBounds":false}'),
    ],
)
def test_bounds_become_wide_and_no_number_changes(stats: str, expected: str) -> None:
    assert with_wide_bounds(stats) == expected


# --- tables with data ---------------------------------------------------------------------------


def data_file(folder: Path, path: str, ids: range, p: int | None = None) -> Add:
    columns: dict[str, Any] = {"id": pa.array(ids, pa.int64())}
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), folder / path, row_group_size=4)
    made = file(path, p=p, ids=(ids[0], ids[-1]), rows=len(ids))
    return replace(made, size=(folder / path).stat().st_size)


def ids_of(folder: Path) -> list[int]:
    """By Lakebed's own reader and by delta-rs, which must agree."""
    ours = sorted(lakebed.open(folder).to_arrow().column("id").to_pylist())
    query = QueryBuilder().register("t", DeltaTable(str(folder))).execute("SELECT id FROM t")
    theirs = pa.table(query.read_all()).column("id").to_pylist()
    assert sorted(theirs) == ours
    return ours


def test_readers_see_the_rows_that_are_left(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    files = [data_file(tmp_path, "a.parquet", range(10)), data_file(tmp_path, "b", range(10, 20))]
    column = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
    snapshot = marked_table(store, *files, table=metadata(column))
    assert ids_of(tmp_path) == list(range(20))
    snapshot = delete(snapshot, {"a.parquet": [0, 5], "b": [9]})
    assert ids_of(tmp_path) == [1, 2, 3, 4, *range(6, 19)]
    snapshot = delete(snapshot, {"a.parquet": [1, 2, 3, 4, 6, 7, 8, 9], "b": [0]})
    assert ids_of(tmp_path) == list(range(11, 19))


def test_rows_of_partitioned_files_are_marked_by_two_who_started_together(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    files = [data_file(tmp_path, f"p={p}/f", range(p * 10, p * 10 + 10), p) for p in range(3)]
    snapshot = marked_table(store, *files, table=metadata(partition_by=("p",)))
    delete(snapshot, {"p=0/f": [1], "p=1/f": range(10)})
    delete(snapshot, {"p=0/f": [2, 3], "p=2/f": [0]})
    assert ids_of(tmp_path) == [0, *range(4, 10), *range(21, 30)]
    values = {add["path"]: dict(add["partitionValues"]) for add in live_rows(store)}
    assert values == {"p=0/f": {"p": "0"}, "p=2/f": {"p": "2"}}


# --- faults -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["before", "after", "timeout", "late"])
def test_one_fault_at_any_call_neither_loses_nor_doubles_marks(mode: Mode) -> None:
    number = 0
    while True:
        number += 1
        inner = open_store(f"memory://marks-{mode}-{number}/table")
        store = FaultStore(inner)
        snapshot = delete(marked_table(inner), {"one": [0]})
        late = Transaction(TableLog(store).snapshot(), operation=DELETE, retries=IMPATIENT)
        assert late.snapshot is not None
        late.mark_rows(live(late.snapshot, "one"), rows(1, 2))
        delete(snapshot, {"one": [5], "two": [6]})
        store.calls.clear()
        store.counts.clear()
        store.faults = [Fault(None, number, mode)]
        outcome = late.commit()
        store.faults = []
        store.settle()
        assert isinstance(outcome, Committed), (number, outcome)
        assert gone(inner) == {"one": {0, 1, 2, 5}, "two": {6}}
        assert TableLog(inner).snapshot().version == 3
        if not store.raised:
            break
    assert number > 6


def test_vectors_are_written_again_only_if_the_file_has_changed(memory: Store) -> None:
    snapshot = marked_table(memory)
    late = deletion(snapshot, {"one": [1]})
    append(snapshot, file("new"))
    outcome = late.commit().unwrap()
    assert outcome.attempts == 2
    assert len(vector_files(memory)) == 1
    late = deletion(outcome.snapshot, {"one": [2]})
    delete(outcome.snapshot, {"one": [3]})
    late.commit().unwrap()
    assert len(vector_files(memory)) == 4


def tags(outcome: Committed) -> dict[str, str]:
    info = outcome.actions[0]
    assert isinstance(info, CommitInfo)
    return dict(info.values["tags"])


def live_rows(store: Store) -> list[dict[str, Any]]:
    return TableLog(store).snapshot().files(["path", "partitionValues"]).to_pylist()
