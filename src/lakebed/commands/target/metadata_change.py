"""One change of a table's metadata or protocol, from the newest version to its commit.

PROTOCOL: Change Metadata, Protocol Evolution. A change is planned on the newest version, whole:
whatever is wrong with it is found before anything is written.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from lakebed.commands.target.clustering_columns import DOMAIN as CLUSTERING
from lakebed.commands.target.clustering_columns import check_still_clustered
from lakebed.data_files.file_layout import HANDLED_FEATURES
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.settings.setting import Session
from lakebed.settings.setting_table import USER_METADATA
from lakebed.spec.actions import Action, DomainMetadata, Metadata, Protocol
from lakebed.spec.columns.column_mapping import assign_column_mapping, check_assigned, mapping_mode
from lakebed.spec.columns.schema_validation import validate, validate_plain_names
from lakebed.spec.features import upgraded_for
from lakebed.spec.schema import LONG, StructField, StructType, find_path, schema_to_json, walk
from lakebed.transaction import Committed, IsolationLevel, Operation, Transaction

# These features have rules for rows alone, and a change of metadata writes none.
HANDLED = HANDLED_FEATURES | {"collations", "collations-preview"}


@dataclass(frozen=True)
class Change:
    """What is to be committed. `reads_rows`: it is right only for the rows that are there now."""

    operation: Operation
    metadata: Metadata | None = None
    protocol: Protocol | None = None
    actions: tuple[Action, ...] = ()
    reads_rows: bool = False


@dataclass(frozen=True)
class AlterTarget:
    """The table that changes. `user_metadata` is what its commits carry."""

    log: TableLog
    user_metadata: str | None = None

    @classmethod
    def of(cls, session: Session, log: TableLog) -> AlterTarget:
        """With the metadata that the session wants its commits to carry."""
        return cls(log, USER_METADATA.of(session))

    def apply(self, plan: Callable[[Snapshot], Change | None]) -> Snapshot:
        """Plan a change on the newest version and commit it; nothing to do if the plan is None.

        Writers that only append may commit meanwhile. Another change of the metadata, or rows
        that a change depends on, are conflicts.
        """
        snapshot = self.log.snapshot()
        change = plan(snapshot)
        return snapshot if change is None else self.commit(snapshot, change)

    def commit(self, snapshot: Snapshot, change: Change) -> Snapshot:
        transaction = Transaction(
            snapshot,
            operation=change.operation,
            isolation=IsolationLevel.SERIALIZABLE if change.reads_rows else None,
            user_metadata=self.user_metadata,
            handles=HANDLED,
        )
        if change.metadata is not None and not _clusters(change):
            check_still_clustered(snapshot, change.metadata)
        if change.reads_rows:
            transaction.read_whole_table()
        if change.protocol is not None and change.protocol != snapshot.protocol:
            transaction.stage(change.protocol)
        if change.metadata is not None:
            transaction.stage(change.metadata)
        transaction.stage(*change.actions)
        outcome = transaction.commit().unwrap()
        assert isinstance(outcome, Committed)
        return outcome.snapshot


def schema_change(
    snapshot: Snapshot, schema: StructType, operation: Operation, metadata: Metadata | None = None
) -> Change:
    """The change to another schema: names checked, ids given, the protocol upgraded if needed.

    `metadata` has what else changes.
    """
    base = snapshot.metadata if metadata is None else metadata
    validate(schema)
    if mapping_mode(base.configuration) == "none":
        validate_plain_names(_new_names(snapshot.schema, schema))
    mapped, configuration = assign_column_mapping(schema, base.configuration)
    check_assigned(mapped, configuration)
    new = replace(base, schema_string=schema_to_json(mapped), configuration=configuration)
    return Change(operation, new, upgraded_for(snapshot.protocol, new))


def operation(name: str, /, **parameters: object) -> Operation:
    """An operation of the history that changes no rows."""
    return Operation(name, parameters, changes_data=False)


def _clusters(change: Change) -> bool:
    """Whether it says by itself by which columns the table is clustered."""
    domains = [each for each in change.actions if isinstance(each, DomainMetadata)]
    return any(each.domain == CLUSTERING for each in domains)


def _new_names(before: StructType, after: StructType) -> StructType:
    """The table may have names already that cannot be in files; no more are added."""
    new = [each.name for path, each in walk(after) if find_path(before, path) is None]
    return StructType(tuple(StructField(name, LONG) for name in new))
