"""Every conflict rule: what came first x what wants to follow x isolation level -> outcome.

The table has four files: `one` and `two` in partition p=1 with ids 0..9 and 10..19, `three` and
`four` in partition p=2 with ids 20..29 and 30..39.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from small_tables import column, create, features, file, metadata, removal, vector

from lakebed.errors import (
    ConcurrentAppendError,
    ConcurrentDeleteDeleteError,
    ConcurrentDeleteReadError,
    ConcurrentDomainError,
    ConcurrentTransactionError,
    ConcurrentWriteError,
    ConflictError,
    MetadataChangedError,
    ProtocolChangedError,
)
from lakebed.expressions import parse_predicate
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Action, DomainMetadata, Protocol, Txn
from lakebed.storage import Store
from lakebed.transaction import (
    Committed,
    Conflict,
    IsolationLevel,
    Operation,
    Retries,
    Transaction,
)

SERIALIZABLE, WRITE_SERIALIZABLE, SNAPSHOT = IsolationLevel
EVERY = (SERIALIZABLE, WRITE_SERIALIZABLE, SNAPSHOT)

ONE = file("one", p=1, ids=(0, 9))
TWO = file("two", p=1, ids=(10, 19))
THREE = file("three", p=2, ids=(20, 29))
FOUR = file("four", p=2, ids=(30, 39))
NEW = file("new", p=1, ids=(100, 109))
OTHER = file("other", p=1, ids=(200, 209))

PROTOCOL = features(
    "domainMetadata",
    "deletionVectors",
    "rowTracking",
    "inCommitTimestamp",
    "columnMapping",
    "v2Checkpoint",
    reader=("deletionVectors", "columnMapping", "v2Checkpoint"),
)
METADATA = metadata(partition_by=("p",))

Step = Callable[[Transaction], None]


def stages(*actions: Action) -> Step:
    return lambda transaction: transaction.stage(*actions)


def restages(*adds) -> Step:
    return lambda transaction: transaction.restage(*adds)


def reads(sql: str, *files) -> Step:
    def step(transaction: Transaction) -> None:
        assert transaction.snapshot is not None
        transaction.read_files(parse_predicate(sql, transaction.snapshot.schema), files)

    return step


def reads_only(*files) -> Step:
    return lambda transaction: transaction.read_paths(files)


def reads_everything(transaction: Transaction) -> None:
    transaction.read_whole_table()


def reads_all_files(transaction: Transaction) -> None:
    transaction.read_files(None, [ONE, TWO, THREE, FOUR])


def reads_app(transaction: Transaction) -> None:
    transaction.read_txn("app")


def sets(**configuration: str) -> Step:
    """New metadata that differs in these properties alone."""
    added = {f"delta.{key.replace('__', '.')}": value for key, value in configuration.items()}
    return stages(replace(METADATA, configuration=added))


@dataclass(frozen=True)
class Case:
    name: str
    winner: tuple[Step, ...]
    loser: tuple[Step, ...]
    error: type[ConflictError] | None
    levels: tuple[IsolationLevel, ...] = EVERY
    files: tuple[str, ...] = ()


APPENDED = (stages(NEW),)
REWROTE = (reads_everything, stages(NEW))
DELETED_ONE = (reads("id < 10", ONE), stages(removal(ONE)))
MARKED_ONE = (reads("id < 10", ONE), stages(removal(ONE), replace(ONE, deletion_vector=vector())))
MOVED_ONE = (
    reads_only(ONE),
    stages(removal(ONE, data_change=False), replace(NEW, data_change=False)),
)
APPENDS = stages(OTHER)

CASES = [
    # --- files added ----------------------------------------------------------------------------
    Case("append, then append", APPENDED, (APPENDS,), None),
    Case("rewrite, then append", REWROTE, (APPENDS,), None),
    Case(
        "append, then a read of its partition",
        APPENDED,
        (reads("p = 1", ONE, TWO), APPENDS),
        ConcurrentAppendError,
        (SERIALIZABLE,),
        ("new",),
    ),
    Case(
        "append, then a read of its partition",
        APPENDED,
        (reads("p = 1", ONE, TWO), APPENDS),
        None,
        (WRITE_SERIALIZABLE, SNAPSHOT),
    ),
    Case(
        "rewrite, then a read of its partition",
        REWROTE,
        (reads("p = 1", ONE, TWO), APPENDS),
        ConcurrentAppendError,
        (SERIALIZABLE, WRITE_SERIALIZABLE),
        ("new",),
    ),
    Case(
        "rewrite, then a read of its partition",
        REWROTE,
        (reads("p = 1", ONE, TWO), APPENDS),
        None,
        (SNAPSHOT,),
    ),
    Case(
        "append, then new metadata after a read of its partition",
        APPENDED,
        (reads("p = 1", ONE, TWO), sets(appendOnly="true")),
        ConcurrentAppendError,
        (SERIALIZABLE, WRITE_SERIALIZABLE),
        ("new",),
    ),
    Case(
        "rewrite, then a read of another partition", REWROTE, (reads("p = 2", THREE, FOUR),), None
    ),
    Case("rewrite, then a read of other ids", REWROTE, (reads("id < 100", ONE),), None),
    Case(
        "rewrite, then a read of its ids",
        REWROTE,
        (reads("id < 101", ONE, TWO, THREE, FOUR),),
        ConcurrentAppendError,
        (SERIALIZABLE, WRITE_SERIALIZABLE),
        ("new",),
    ),
    Case(
        "a file without bounds, then a read by id",
        (reads_everything, stages(file("bare", p=1))),
        (reads("id = 5", ONE),),
        ConcurrentAppendError,
        (SERIALIZABLE, WRITE_SERIALIZABLE),
        ("bare",),
    ),
    Case(
        "a file without bounds, then a read by id in another partition",
        (reads_everything, stages(file("bare", p=1))),
        (reads("id = 25 AND p = 2", THREE),),
        None,
    ),
    Case(
        "two files, then two reads of which each covers one",
        (reads_everything, stages(NEW, OTHER, file("third", p=9, ids=(7, 7)))),
        (reads("id = 100"), reads("id = 200")),
        ConcurrentAppendError,
        (SERIALIZABLE, WRITE_SERIALIZABLE),
        ("new", "other"),
    ),
    Case(
        "rewrite, then a read of everything",
        REWROTE,
        (reads_everything,),
        ConcurrentAppendError,
        (SERIALIZABLE, WRITE_SERIALIZABLE),
        ("new",),
    ),
    Case(
        "append, then a read of all files",
        APPENDED,
        (reads_all_files,),
        ConcurrentAppendError,
        (SERIALIZABLE,),
        ("new",),
    ),
    Case("rewrite, then a read of single files", REWROTE, (reads_only(ONE, TWO), APPENDS), None),
    # --- files removed --------------------------------------------------------------------------
    Case("delete, then append", DELETED_ONE, (APPENDS,), None),
    Case(
        "delete, then a read of the file",
        DELETED_ONE,
        (reads("p = 1", ONE, TWO), APPENDS),
        ConcurrentDeleteReadError,
        EVERY,
        ("one",),
    ),
    Case("delete, then a read of another file", DELETED_ONE, (reads("id > 9", TWO), APPENDS), None),
    Case(
        "delete, then a read of everything",
        DELETED_ONE,
        (reads_everything, APPENDS),
        ConcurrentDeleteReadError,
        EVERY,
        ("one",),
    ),
    Case(
        "delete, then the same delete",
        DELETED_ONE,
        (stages(removal(ONE)),),
        ConcurrentDeleteDeleteError,
        EVERY,
        ("one",),
    ),
    Case("delete, then another delete", DELETED_ONE, (stages(removal(TWO)),), None),
    Case(
        "deletion vector, then a delete of the whole file",
        MARKED_ONE,
        (stages(removal(ONE)),),
        ConcurrentDeleteDeleteError,
        EVERY,
        ("one",),
    ),
    Case(
        "deletion vector, then another one for the same file",
        MARKED_ONE,
        (stages(removal(ONE), replace(ONE, deletion_vector=vector("zzzzzzzzzzzzzzzzzzzz"))),),
        ConcurrentDeleteDeleteError,
        EVERY,
        ("one",),
    ),
    Case(
        "deletion vector, then the file is committed again without it",
        MARKED_ONE,
        (restages(replace(ONE, data_change=False)),),
        ConcurrentDeleteReadError,
        EVERY,
        ("one",),
    ),
    Case(
        "delete, then the file is committed again",
        DELETED_ONE,
        (restages(replace(ONE, data_change=False)),),
        ConcurrentDeleteReadError,
        EVERY,
        ("one",),
    ),
    Case(
        "optimize, then a delete of a file that it moved",
        MOVED_ONE,
        (reads("id = 5", ONE), stages(removal(ONE))),
        ConcurrentDeleteReadError,
        EVERY,
        ("one",),
    ),
    Case("optimize, then append", MOVED_ONE, (APPENDS,), None),
    Case("append, then optimize", APPENDED, (*MOVED_ONE[:1], stages(removal(ONE))), None),
    # --- metadata -------------------------------------------------------------------------------
    Case(
        "property, then append",
        (sets(appendOnly="true"),),
        (APPENDS,),
        MetadataChangedError,
    ),
    Case(
        "two properties",
        (sets(checkpointInterval="5"),),
        (sets(appendOnly="true"),),
        MetadataChangedError,
    ),
    Case(
        "the same property twice",
        (sets(checkpointInterval="5"),),
        (sets(checkpointInterval="5"),),
        MetadataChangedError,
    ),
    Case("append, then a property", APPENDED, (sets(appendOnly="true"),), None),
    Case("the metadata as it was, then append", (stages(METADATA),), (APPENDS,), None),
    Case(
        "new column, then append",
        (stages(replace(metadata(column("p"), column("id"), column("x")), id=METADATA.id)),),
        (APPENDS,),
        MetadataChangedError,
    ),
    Case(
        "new name, then append",
        (stages(replace(METADATA, name="renamed")),),
        (APPENDS,),
        MetadataChangedError,
    ),
    # --- transactions and domains ---------------------------------------------------------------
    Case(
        "transaction, then one of the same application",
        (stages(Txn("app", 1)),),
        (stages(Txn("app", 2)),),
        ConcurrentTransactionError,
    ),
    Case(
        "transaction, then a commit that has read the application's version",
        (stages(Txn("app", 1)),),
        (reads_app, APPENDS),
        ConcurrentTransactionError,
    ),
    Case(
        "transaction, then one of another application",
        (stages(Txn("app", 1)),),
        (stages(Txn("other", 1)),),
        None,
    ),
    Case(
        "domain, then the same domain",
        (stages(DomainMetadata("d", "1")),),
        (stages(DomainMetadata("d", "2")),),
        ConcurrentDomainError,
    ),
    Case(
        "domain, then its removal",
        (stages(DomainMetadata("d", "1")),),
        (stages(DomainMetadata("d", "1", removed=True)),),
        ConcurrentDomainError,
    ),
    Case(
        "domain, then another domain",
        (stages(DomainMetadata("d", "1")),),
        (stages(DomainMetadata("e", "1")),),
        None,
    ),
    Case("row ids, then row ids", (stages(NEW),), (stages(OTHER),), None),
    # --- protocol -------------------------------------------------------------------------------
    Case(
        "a feature that asks nothing of files, then append",
        (stages(replace(PROTOCOL, writer_features=(*PROTOCOL.writer_features, "changeDataFeed"))),),
        (APPENDS,),
        None,
    ),
    Case(
        "a feature that asks something of files, then append",
        (
            stages(
                replace(PROTOCOL, writer_features=(*PROTOCOL.writer_features, "checkConstraints"))
            ),
        ),
        (APPENDS,),
        ProtocolChangedError,
    ),
    Case(
        "two upgrades",
        (stages(replace(PROTOCOL, writer_features=(*PROTOCOL.writer_features, "changeDataFeed"))),),
        (stages(replace(PROTOCOL, writer_features=(*PROTOCOL.writer_features, "clustering"))),),
        ProtocolChangedError,
    ),
    Case(
        "append, then an upgrade",
        APPENDED,
        (stages(replace(PROTOCOL, writer_features=(*PROTOCOL.writer_features, "clustering"))),),
        None,
    ),
]

# Features that were turned on meanwhile, and what a commit prepared before makes of it.
TURNED_ON = [
    ({"enableDeletionVectors": "true"}, True),
    ({"enableDeletionVectors": "false"}, False),
    ({"enableInCommitTimestamps": "true"}, True),
    ({"checkpointPolicy": "v2"}, True),
    ({"checkpointPolicy": "classic"}, False),
    (
        {
            "enableRowTracking": "true",
            "rowTracking__materializedRowIdColumnName": "r",
            "rowTracking__materializedRowCommitVersionColumnName": "v",
        },
        True,
    ),
    ({"rowTracking__materializedRowIdColumnName": "r"}, False),
    ({"logRetentionDuration": "interval 60 days"}, False),
]


def run(
    store: Store,
    winner: tuple[Step, ...],
    loser: tuple[Step, ...],
    level: IsolationLevel,
    before: Snapshot | None = None,
) -> Committed | Conflict:
    snapshot = before or create(store, PROTOCOL, METADATA, ONE, TWO, THREE, FOUR)
    late = Transaction(snapshot, operation=Operation("LATE"), isolation=level)
    for step in loser:
        step(late)
    first = Transaction(snapshot, operation=Operation("FIRST"))
    for step in winner:
        step(first)
    first.commit().unwrap()
    outcome = late.commit()
    assert isinstance(outcome, Committed | Conflict)
    return outcome


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
    assert type(error) is case.error
    assert (error.version, error.operation) == (1, "FIRST")
    assert error.files == case.files
    assert "version 1 (FIRST)" in error.message
    assert all(name in error.message for name in case.files)
    assert error.hint
    assert opened.version == 1


@pytest.mark.parametrize(("configuration", "goes_on"), TURNED_ON, ids=str)
def test_a_feature_turned_on_meanwhile(
    configuration: dict[str, str], goes_on: bool, memory: Store
) -> None:
    outcome = run(memory, (sets(**configuration),), (APPENDS,), SERIALIZABLE)
    assert isinstance(outcome, Committed) is goes_on
    if goes_on:
        assert isinstance(outcome, Committed)
        assert outcome.snapshot.metadata.configuration.keys() >= {
            f"delta.{key.replace('__', '.')}" for key in configuration
        }
    else:
        assert isinstance(outcome, Conflict)
        assert isinstance(outcome.error, MetadataChangedError)


def test_a_feature_in_the_metadata_but_not_in_the_protocol_is_a_conflict(memory: Store) -> None:
    plain = create(memory, features("domainMetadata"), METADATA, ONE)
    upgrade = stages(features("domainMetadata", "inCommitTimestamp"))
    both = (upgrade, sets(enableInCommitTimestamps="true"))
    outcome = run(memory, both, (APPENDS,), SERIALIZABLE, plain)
    assert isinstance(outcome, Committed), outcome
    assert outcome.snapshot.commit_info is not None
    assert outcome.snapshot.commit_info.in_commit_timestamp is not None


def mapped(name: str, number: int) -> dict:
    return column(
        name,
        **{"delta.columnMapping.id": number, "delta.columnMapping.physicalName": name},
    )


def test_columns_that_were_mapped_by_name_meanwhile_are_no_conflict(memory: Store) -> None:
    new = metadata(
        mapped("p", 1),
        mapped("id", 2),
        partition_by=("p",),
        columnMapping__mode="name",
        columnMapping__maxColumnId="2",
    )
    outcome = run(memory, (stages(replace(new, id=METADATA.id)),), (APPENDS,), SERIALIZABLE)
    assert isinstance(outcome, Committed), outcome


def test_columns_that_were_mapped_by_id_meanwhile_are_a_conflict(memory: Store) -> None:
    new = metadata(
        mapped("p", 1),
        mapped("id", 2),
        partition_by=("p",),
        columnMapping__mode="id",
        columnMapping__maxColumnId="2",
    )
    outcome = run(memory, (stages(replace(new, id=METADATA.id)),), (APPENDS,), SERIALIZABLE)
    assert isinstance(outcome, Conflict)
    assert isinstance(outcome.error, MetadataChangedError)


def identity(mark: int) -> dict:
    return column(
        "id",
        **{
            "delta.identity.start": 1,
            "delta.identity.step": 1,
            "delta.identity.highWaterMark": mark,
            "delta.identity.allowExplicitInsert": False,
        },
    )


@pytest.mark.parametrize("draws", [True, False])
def test_values_drawn_from_an_identity_column_conflict_only_with_others_that_draw(
    draws: bool, memory: Store
) -> None:
    def drawn(mark: int) -> Step:
        return stages(replace(metadata(identity(mark)), id="table"))

    create_table = Transaction(
        None, store=memory, operation=Operation("CREATE TABLE"), handles=["identityColumns"]
    )
    create_table.stage(Protocol(1, 6), replace(metadata(identity(1)), id="table"))
    snapshot = create_table.commit().unwrap().snapshot
    late = Transaction(snapshot, operation=Operation("LATE"), handles=["identityColumns"])
    late.stage(file("late"))
    if draws:
        drawn(20)(late)
    first = Transaction(snapshot, operation=Operation("FIRST"), handles=["identityColumns"])
    drawn(10)(first)
    first.stage(file("first"))
    first.commit().unwrap()
    outcome = late.commit()
    if draws:
        assert isinstance(outcome, Conflict)
        assert isinstance(outcome.error, MetadataChangedError)
    else:
        assert isinstance(outcome, Committed)
        assert '"delta.identity.highWaterMark": 10' in outcome.snapshot.metadata.schema_string


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
    def absolute(path: str):
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
