"""Row ids and row commit versions (PROTOCOL: Row Tracking)."""

from __future__ import annotations

import json

import pytest

from lakebed.errors import InvalidCommitError, LogCorruptedError
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import CommitInfo, DomainMetadata
from lakebed.storage import Store
from lakebed.transaction import Operation, Transaction
from lakebed.transaction.row_tracking import high_water_mark
from testkit.tables.small_tables import WRITE, append, create, features, file, metadata, removal

TRACKED = features("domainMetadata", "rowTracking")
COLUMNS = {
    "rowTracking__materializedRowIdColumnName": "_row_id",
    "rowTracking__materializedRowCommitVersionColumnName": "_row_version",
}


def ids(snapshot: Snapshot) -> dict[str, tuple[int | None, int | None]]:
    fields = ["path", "baseRowId", "defaultRowCommitVersion"]
    rows = snapshot.files(fields).to_pylist()
    return {row["path"]: (row["baseRowId"], row["defaultRowCommitVersion"]) for row in rows}


def preserved(snapshot: Snapshot) -> str | None:
    assert isinstance(snapshot.commit_info, CommitInfo)
    return snapshot.commit_info.values.get("tags", {}).get("delta.rowTracking.preserved")


def test_new_files_get_the_next_ids_and_the_version(store: Store) -> None:
    snapshot = create(store, TRACKED, file("a", rows=10))
    snapshot = append(snapshot, file("b", rows=5), file("c", rows=1))
    for each in (snapshot, TableLog(store).snapshot()):
        assert ids(each) == {"a": (0, 0), "b": (10, 1), "c": (15, 1)}
        assert high_water_mark(each.domains) == 15
        assert json.loads(each.domains["delta.rowTracking"].configuration) == {
            "rowIdHighWaterMark": 15
        }


def test_without_the_feature_nothing_is_assigned(memory: Store) -> None:
    snapshot = create(memory, file("a"))
    assert ids(snapshot) == {"a": (None, None)}
    assert snapshot.domains == {}


def test_files_that_have_ids_keep_them_and_the_mark_stays_above(memory: Store) -> None:
    snapshot = create(memory, TRACKED, file("a", rows=10))
    kept = file("b", rows=10, base_row_id=0, default_row_commit_version=0)
    snapshot = append(snapshot, removal(file("a")), kept)
    assert ids(snapshot) == {"b": (0, 0)}
    assert high_water_mark(snapshot.domains) == 9
    clone = file("c", rows=10, base_row_id=100, default_row_commit_version=1)
    snapshot = append(snapshot, clone, file("d", rows=1))
    assert ids(snapshot)["d"] == (110, 2)
    assert high_water_mark(snapshot.domains) == 110


def test_a_commit_without_new_files_does_not_repeat_the_mark(memory: Store) -> None:
    snapshot = create(memory, TRACKED, file("a"))
    transaction = Transaction(snapshot, operation=WRITE)
    transaction.stage(removal(file("a")))
    assert not any(isinstance(a, DomainMetadata) for a in transaction.commit().unwrap().actions)


def test_a_lost_race_takes_the_next_ids(store: Store) -> None:
    snapshot = create(store, TRACKED, file("a", rows=10))
    late = Transaction(snapshot, operation=WRITE)
    late.stage(file("c", rows=7))
    append(snapshot, file("b", rows=5))
    outcome = late.commit().unwrap()
    assert outcome.attempts == 2
    assert ids(outcome.snapshot) == {"a": (0, 0), "b": (10, 1), "c": (15, 2)}
    assert high_water_mark(TableLog(store).snapshot().domains) == 21


def test_ids_need_the_number_of_rows(memory: Store) -> None:
    with pytest.raises(InvalidCommitError, match="a has no numRecords"):
        create(memory, TRACKED, file("a", rows=None))
    with pytest.raises(InvalidCommitError, match="a has no numRecords"):
        create(memory, TRACKED, file("a", rows=None, base_row_id=3))


def test_while_suspended_nobody_assigns_ids(memory: Store) -> None:
    snapshot = create(memory, TRACKED, metadata(rowTrackingSuspended="true"), file("a"))
    assert ids(snapshot) == {"a": (None, None)}
    snapshot = append(snapshot, file("b", base_row_id=4, default_row_commit_version=1))
    assert ids(snapshot)["b"] == (None, None)


def test_a_broken_high_water_mark_is_an_error_not_a_restart_from_zero() -> None:
    for text in ("", "{}", "[1]", '{"rowIdHighWaterMark":"9"}', '{"rowIdHighWaterMark":true}'):
        with pytest.raises(LogCorruptedError, match=r"delta\.rowTracking"):
            high_water_mark({"delta.rowTracking": DomainMetadata("delta.rowTracking", text)})


def test_a_backfill_that_wins_gives_its_ids_to_files_removed_or_committed_again(
    memory: Store,
) -> None:
    snapshot = create(memory, features("domainMetadata"), file("a"), file("b"))
    snapshot = append(snapshot, TRACKED)
    late = Transaction(snapshot, operation=Operation("DELETE"))
    late.stage(removal(file("a")))
    late.restage(file("b", ids=(1, 2), data_change=False))
    backfill = Transaction(snapshot, operation=Operation("ROW TRACKING BACKFILL"))
    backfill.restage(file("a", data_change=False), file("b", data_change=False))
    backfill.commit().unwrap()
    outcome = late.commit().unwrap()
    removed = next(action for action in outcome.actions if type(action).__name__ == "Remove")
    assert (removed.base_row_id, removed.default_row_commit_version) == (0, 2)
    assert ids(outcome.snapshot) == {"b": (10, 2)}


def test_whether_rows_kept_their_ids_is_tagged_where_the_table_promises_ids(
    memory: Store,
) -> None:
    snapshot = create(memory, TRACKED, metadata(enableRowTracking="true", **COLUMNS), file("a"))
    assert preserved(snapshot) == "true"
    snapshot = append(snapshot, file("b"), removal(file("a")))
    assert preserved(snapshot) == "false"
    rewriting = Operation("UPDATE", tags={"delta.rowTracking.preserved": "true"})
    snapshot = append(snapshot, file("c"), removal(file("b")), operation=rewriting)
    assert preserved(snapshot) == "true"
