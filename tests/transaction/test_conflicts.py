"""Each conflict rule by the table of cases, and what an error tells."""

from __future__ import annotations

import pytest
from conflict_cases import (
    CASES,
    METADATA,
    NEW,
    ONE,
    OTHER,
    PROTOCOL,
    SERIALIZABLE,
    TWO,
    WRITE_SERIALIZABLE,
    Case,
    reads,
    reads_everything,
    run,
    stages,
)

from lakebed.errors import (
    ConcurrentAppendError,
    ConcurrentDeleteDeleteError,
    ConcurrentWriteError,
    ProtocolChangedError,
)
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Add
from lakebed.storage import Store
from lakebed.transaction import (
    Committed,
    Conflict,
    IsolationLevel,
    Operation,
    Retries,
    Transaction,
)
from testkit.tables.small_tables import create, features, file, removal


@pytest.mark.parametrize(
    ("case", "level"),
    [(case, level) for case in CASES for level in case.levels],
    ids=lambda each: each.name if isinstance(each, Case) else each.value,
)
def test_rule(case: Case, level: IsolationLevel, memory: Store) -> None:
    outcome = run(memory, case.winner, case.loser, level)
    opened = TableLog(memory).snapshot()
    if case.error is None:
        assert isinstance(outcome, Committed), outcome
        assert (outcome.version, outcome.attempts, opened.version) == (2, 2, 2)
        assert paths(opened) == paths(outcome.snapshot)
        return
    assert isinstance(outcome, Conflict), outcome
    error = outcome.error
    assert error.code == case.error.code
    assert (error.version, error.operation) == (1, "FIRST")
    assert error.files == case.files
    assert "version 1 (FIRST)" in error.message
    assert all(name in error.message for name in case.files)
    assert error.hint
    assert opened.version == 1


def test_a_protocol_that_lakebed_cannot_write_is_a_conflict_that_names_the_feature(
    memory: Store,
) -> None:
    snapshot = create(memory, PROTOCOL, METADATA)
    late = Transaction(snapshot, operation=Operation("LATE"))
    late.stage(OTHER)
    body = b'{"protocol":{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":["future"]}}\n'
    memory.put_if_absent("_delta_log/00000000000000000001.json", body)
    outcome = late.commit()
    assert isinstance(outcome, Conflict)
    assert isinstance(outcome.error, ProtocolChangedError)
    assert "future" in outcome.error.message
    assert (outcome.error.version, outcome.error.operation) == (1, None)


def test_dropping_a_feature_conflicts_with_whatever_may_use_it(memory: Store) -> None:
    def drop(snapshot: Snapshot) -> Transaction:
        operation = Operation("DROP FEATURE", changes_data=False, drops_features=True)
        transaction = Transaction(snapshot, operation=operation)
        transaction.stage(features("domainMetadata"))
        return transaction

    snapshot = create(memory, features("domainMetadata", "clustering"), METADATA)
    late = drop(snapshot)
    first = Transaction(snapshot, operation=Operation("FIRST"))
    first.stage(NEW)
    snapshot = first.commit().unwrap().snapshot
    outcome = late.commit()
    assert isinstance(outcome, Conflict)
    assert isinstance(outcome.error, ProtocolChangedError)
    assert "clustering" in outcome.error.message
    # And the other way round: who meant to write under the feature finds it gone.
    late = Transaction(snapshot, operation=Operation("LATE"))
    late.stage(OTHER)
    drop(snapshot).commit().unwrap()
    outcome = late.commit()
    assert isinstance(outcome, Conflict)
    assert isinstance(outcome.error, ProtocolChangedError)
    assert "dropped" in outcome.error.message


def test_a_commit_without_commit_info_counts_as_no_blind_append(memory: Store) -> None:
    snapshot = create(memory, PROTOCOL, METADATA, ONE)
    late = Transaction(snapshot, operation=Operation("LATE"), isolation=WRITE_SERIALIZABLE)
    reads("p = 1", ONE)(late)
    body = (
        b'{"add":{"path":"foreign","partitionValues":{"p":"1"},"size":1,"modificationTime":1,'
        b'"dataChange":true}}\n'
    )
    memory.put_if_absent("_delta_log/00000000000000000001.json", body)
    outcome = late.commit()
    assert isinstance(outcome, Conflict)
    assert isinstance(outcome.error, ConcurrentAppendError)
    assert outcome.error.files == ("foreign",)
    assert outcome.error.operation is None
    assert "did not give its name" in outcome.error.message


def test_one_file_under_two_absolute_spellings_is_one_file(memory: Store) -> None:
    def absolute(path: str) -> Add:
        return file(path, p=1)

    snapshot = create(memory, METADATA, absolute("file:/data/x"))
    late = Transaction(snapshot, operation=Operation("LATE"))
    late.stage(removal(absolute("/data/x")))
    first = Transaction(snapshot, operation=Operation("FIRST"))
    first.stage(removal(absolute("file:///data/x")))
    first.commit().unwrap()
    outcome = late.commit()
    assert isinstance(outcome, Conflict)
    assert isinstance(outcome.error, ConcurrentDeleteDeleteError)


def test_every_commit_in_between_is_checked_and_the_first_in_the_way_is_named(
    memory: Store,
) -> None:
    snapshot = create(memory, PROTOCOL, METADATA, ONE, TWO)
    late = Transaction(snapshot, operation=Operation("LATE"))
    reads("p = 1", ONE, TWO)(late)
    late.stage(OTHER)
    for number in range(5):
        other = Transaction(snapshot, operation=Operation(f"COMMIT {number}"))
        other.stage(file(f"file-{number}", p=1 if number == 3 else 2))
        snapshot = other.commit().unwrap().snapshot
    outcome = late.commit()
    assert isinstance(outcome, Conflict)
    assert (outcome.error.version, outcome.error.operation) == (4, "COMMIT 3")
    assert outcome.error.files == ("file-3",)


def test_a_long_list_of_files_is_whole_in_the_error_and_short_in_its_message(
    memory: Store,
) -> None:
    many = [file(f"file-{number}", p=1) for number in range(9)]
    outcome = run(memory, (reads_everything, stages(*many)), (reads_everything,), SERIALIZABLE)
    assert isinstance(outcome, Conflict)
    assert len(outcome.error.files) == 9
    assert "file-4 and 4 more" in outcome.error.message


def test_the_number_of_attempts_can_be_bounded(memory: Store) -> None:
    snapshot = create(memory, PROTOCOL, METADATA)
    late = Transaction(snapshot, operation=Operation("LATE"), retries=Retries(attempts=1))
    late.stage(OTHER)
    first = Transaction(snapshot, operation=Operation("FIRST"))
    first.stage(NEW)
    first.commit().unwrap()
    outcome = late.commit()
    assert isinstance(outcome, Conflict)
    assert isinstance(outcome.error, ConcurrentWriteError)
    assert "gave up after 1 attempts" in outcome.error.message
    late = Transaction(snapshot, operation=Operation("LATE"), retries=Retries(seconds=0))
    assert isinstance(late.commit(), Conflict)


def paths(snapshot: Snapshot) -> list[str]:
    return sorted(snapshot.files(["path"]).column("path").to_pylist())
