"""Every conflict rule: what came first x what wants to follow x isolation level -> outcome.

The table has four files: `one` and `two` in partition p=1 with ids 0..9 and 10..19, `three` and
`four` in partition p=2 with ids 20..29 and 30..39.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from lakebed.errors import (
    ConcurrentAppendError,
    ConcurrentDeleteDeleteError,
    ConcurrentDeleteReadError,
    ConcurrentDomainError,
    ConcurrentTransactionError,
    ConflictError,
    MetadataChangedError,
    ProtocolChangedError,
)
from lakebed.expressions import parse_predicate
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Action, DomainMetadata, Txn
from lakebed.storage import Store
from lakebed.transaction import Committed, Conflict, IsolationLevel, Operation, Transaction
from testkit.tables.small_tables import column, create, features, file, metadata, removal, vector

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
