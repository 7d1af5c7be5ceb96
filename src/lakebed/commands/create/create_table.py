"""CREATE and REPLACE TABLE: a table without rows.

PROTOCOL: Change Metadata, Protocol Evolution.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from lakebed.commands.target.clustering_columns import (
    DOMAIN,
    FEATURE,
    check_clustering_columns,
    clustering_domain,
)
from lakebed.commands.target.metadata_change import HANDLED, AlterTarget
from lakebed.commands.target.write_options import WriteOptions
from lakebed.commands.target.write_target import Target, new_table, replaced_table
from lakebed.errors import (
    ConcurrentWriteError,
    InvalidArgumentError,
    TableExistsError,
    TableNotFoundError,
)
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Action, Remove
from lakebed.spec.columns.column_mapping import (
    mapping_mode,
)
from lakebed.spec.features import upgraded
from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import Path, StructType, render_path
from lakebed.storage.store import Store
from lakebed.transaction import Committed, Operation, Transaction

Mode = Literal["create", "create_if_not_exists", "replace", "create_or_replace"]
MODES: tuple[Mode, ...] = get_args(Mode)
_NAMES: Mapping[Mode, str] = {
    "create": "CREATE TABLE",
    "create_if_not_exists": "CREATE TABLE",
    "replace": "REPLACE TABLE",
    "create_or_replace": "CREATE OR REPLACE TABLE",
}
_ATTEMPTS = 20


@dataclass(frozen=True)
class TableDefinition:
    """What a new table is to be. `default_properties` are those of the session."""

    schema: StructType
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[Path, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    default_properties: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    comment: str | None = None
    is_managed: bool = False
    """Its folder is the table's own: what a dead writer left there is no reason to refuse."""


def create_table(target: AlterTarget, definition: TableDefinition, mode: Mode) -> Snapshot:
    """The table after it. Replacing a table keeps its history, and its features."""
    _check_layout(definition)
    for _ in range(_ATTEMPTS):
        snapshot = _open(target)
        if snapshot is not None and mode == "create":
            raise TableExistsError(
                f"the Delta table {target.log.store.url} already exists",
                hint="use createIfNotExists or createOrReplace, or another location",
            )
        if snapshot is not None and mode == "create_if_not_exists":
            return snapshot
        if snapshot is None and mode == "replace":
            raise TableNotFoundError(
                f"{target.log.store.url} is not a Delta table",
                hint="use createOrReplace",
                condition="DELTA_CANNOT_REPLACE_MISSING_TABLE",
            )
        try:
            return _Creation(target, definition, mode, snapshot).run()
        except ConcurrentWriteError:
            # Somebody created the table meanwhile: go by the mode and what it is now.
            if snapshot is not None:
                raise
    raise ConcurrentWriteError(
        f"gave up after {_ATTEMPTS} attempts: other writers kept creating the table",
        hint="try again when the table is less busy",
    )


class _Creation:
    """One attempt."""

    def __init__(
        self,
        target: AlterTarget,
        definition: TableDefinition,
        mode: Mode,
        snapshot: Snapshot | None,
    ) -> None:
        self._target = target
        self._definition = definition
        self._mode = mode
        self._snapshot = snapshot

    def run(self) -> Snapshot:
        new = self._new_table()
        actions = [*self._clustering(new), *self._removes()]
        transaction = self._transaction(new)
        if self._snapshot is None:
            if not self._definition.is_managed:
                self._check_empty()
        else:
            transaction.read_whole_table()
        if self._snapshot is None or new.protocol != self._snapshot.protocol:
            transaction.stage(new.protocol)
        transaction.stage(new.metadata, *actions)
        outcome = transaction.commit().unwrap()
        assert isinstance(outcome, Committed)
        return outcome.snapshot

    def _check_empty(self) -> None:
        """A new table must not take in files that are in its location already."""
        log = self._target.log
        found = _first_file(log.store)
        if found is None:
            return
        if log.exists():
            raise ConcurrentWriteError(f"somebody else has created {log.store.url}")
        raise TableExistsError(
            f"{log.store.url} is not empty: it has {found}, and is not a Delta table",
            hint="convert the files to a Delta table, or choose another location",
            condition="DELTA_CREATE_TABLE_WITH_NON_EMPTY_LOCATION",
        )

    def _new_table(self) -> Target:
        wanted = self._definition
        options = WriteOptions(
            partition_by=wanted.partition_by,
            properties=wanted.properties,
            default_properties=wanted.default_properties,
            name=wanted.name,
            description=wanted.comment,
        )
        new = new_table(wanted.schema, options)
        if wanted.cluster_by:
            new = replace(new, protocol=upgraded(new.protocol, [FEATURE]))
        return new if self._snapshot is None else replaced_table(new, self._snapshot)

    def _clustering(self, new: Target) -> list[Action]:
        columns = self._definition.cluster_by
        before = None if self._snapshot is None else self._snapshot.domains.get(DOMAIN)
        if not columns and before is None:
            return []
        configuration = new.metadata.configuration
        paths = check_clustering_columns(new.schema, columns, TableProperties(configuration))
        return [clustering_domain(new.schema, paths, mapping_mode(configuration))]

    def _removes(self) -> list[Remove]:
        if self._snapshot is None:
            return []
        now = int(time.time() * 1000)
        return [Remove.of(add, timestamp=now) for add in adds_from_table(self._snapshot.files())]

    def _transaction(self, new: Target) -> Transaction:
        metadata = new.metadata
        parameters: dict[str, Any] = {
            "isManaged": str(self._definition.is_managed).lower(),
            "description": metadata.description,
            "partitionBy": list(metadata.partition_columns),
            "clusterBy": [render_path(path) for path in self._definition.cluster_by],
            "properties": dict(metadata.configuration),
        }
        replaces = self._mode in ("replace", "create_or_replace")
        return Transaction(
            self._snapshot,
            store=self._target.log.store,
            operation=Operation(_NAMES[self._mode], parameters, changes_data=replaces),
            user_metadata=self._target.user_metadata,
            handles=HANDLED,
        )


def _open(target: AlterTarget) -> Snapshot | None:
    try:
        return target.log.snapshot()
    except TableNotFoundError:
        return None


def _check_layout(definition: TableDefinition) -> None:
    if definition.partition_by and definition.cluster_by:
        raise InvalidArgumentError(
            "a table can be partitioned or clustered, not both",
            hint="leave out partitionedBy or clusterBy",
            condition="DELTA_CLUSTER_BY_WITH_PARTITIONED_BY",
        )


def _first_file(store: Store) -> str | None:
    """Of those that are not hidden."""
    names = (found.path for found in store.list_all())
    return next((n for n in names if not any(p[:1] in "_." for p in n.split("/"))), None)
