from __future__ import annotations

import pytest

from lakebed.errors import VersionNotFoundError
from lakebed.log.maintenance.checkpoint_writer import write_checkpoint
from lakebed.log.table_log import TableLog
from lakebed.log.versions.history import HISTORY_SCHEMA
from lakebed.spec.actions import CommitInfo, Protocol
from lakebed.storage import Store
from testkit.tables.log_tables import (
    create,
    file,
    forget_commits,
    grow,
    memory_store,
    metadata,
    write_commit,
)
from testkit.timed_store import TimedStore


def commit(store: Store, version: int, **info: object) -> None:
    first = [Protocol(1, 2), metadata()] if version == 0 else []
    write_commit(store, version, CommitInfo(info), *first, info=False)


def test_history_is_newest_first_with_the_columns_of_delta_spark(memory: Store) -> None:
    commit(memory, 0, operation="CREATE TABLE", engineInfo="Other/1")
    commit(memory, 1, operation="WRITE", operationMetrics={"numFiles": "3"}, isBlindAppend=True)
    found = TableLog(memory).history()
    assert found.schema.equals(HISTORY_SCHEMA)
    rows = found.to_pylist()
    assert [(row["version"], row["operation"]) for row in rows] == [
        (1, "WRITE"),
        (0, "CREATE TABLE"),
    ]
    assert rows[0]["operationMetrics"] == [("numFiles", "3")]
    assert rows[0]["isBlindAppend"] is True
    assert rows[1]["engineInfo"] == "Other/1"


def test_a_limit_takes_the_newest(memory: Store) -> None:
    grow(memory, 5)
    assert TableLog(memory).history(2).column("version").to_pylist() == [5, 4]
    assert TableLog(memory).history(0).num_rows == 0
    assert TableLog(memory).history(99).num_rows == 6


def test_what_does_not_fit_its_column_is_shown_as_text_or_left_out(memory: Store) -> None:
    commit(
        memory,
        0,
        operation={"nested": 1},
        operationParameters={"mode": "Append", "predicate": ["a", 1], "none": None},
        operationMetrics="not a map",
        readVersion="not a number",
        isBlindAppend="yes",
        userMetadata=5,
        job={"jobId": 7},
    )
    (row,) = TableLog(memory).history().to_pylist()
    assert row["operation"] == '{"nested": 1}'
    assert row["operationParameters"] == [
        ("mode", "Append"),
        ("predicate", '["a", 1]'),
        ("none", None),
    ]
    assert (row["operationMetrics"], row["readVersion"], row["isBlindAppend"]) == (None, None, None)
    assert row["userMetadata"] == "5"
    assert row["job"] == [("jobId", "7")]


def test_a_number_of_more_than_64_bits_is_left_out(memory: Store) -> None:
    commit(memory, 0, readVersion=2**63)
    (row,) = TableLog(memory).history().to_pylist()
    assert row["readVersion"] is None


def test_a_commit_without_provenance_has_its_row(memory: Store) -> None:
    create(memory)
    write_commit(memory, 1, file(1), info=False)
    rows = TableLog(memory).history().to_pylist()
    assert (rows[0]["version"], rows[0]["operation"]) == (1, None)


def test_times_are_those_of_the_commits_moved_forward_where_clocks_went_back() -> None:
    clock = {0: 5000, 1: 4000, 2: 9000}
    store = TimedStore(memory_store(), clock.__getitem__)
    grow(store, 2)
    stamps = TableLog(store).history().column("timestamp").cast("int64").to_pylist()
    assert stamps == [9000, 5001, 5000]


def test_history_begins_with_the_oldest_commit_that_is_left(memory: Store) -> None:
    write_checkpoint(grow(memory, 6))
    forget_commits(memory, range(4))
    assert TableLog(memory).history().column("version").to_pylist() == [6, 5, 4]
    forget_commits(memory, range(4, 7))
    with pytest.raises(VersionNotFoundError, match="no commits"):
        TableLog(memory).history()
