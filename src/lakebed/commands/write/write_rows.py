"""Writing rows to a table: create, append, overwrite, with the schema enforced.

The names of the modes and of the recorded operation are delta-spark's. The rows may be on any data
plane; this decides what the table becomes, and commits.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, TypeVar

from lakebed.commands.target.write_options import SPARK_MODES, WriteOptions
from lakebed.commands.target.write_target import Target, changed_table, new_table
from lakebed.commands.write.clustering import clustered_target, clustering_actions
from lakebed.commands.write.replace_rows import Replaced, Replacing
from lakebed.commands.write.row_source import Rows
from lakebed.data_files.file_layout import HANDLED_FEATURES, FileLayout, WrittenFiles
from lakebed.errors import (
    ConcurrentTransactionError,
    ConcurrentWriteError,
    MetadataChangedError,
    ProtocolChangedError,
    TableExistsError,
    TableNotFoundError,
)
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Action, Add, Remove, Txn
from lakebed.spec.columns.column_metadata import identity
from lakebed.spec.schema import schema_to_json
from lakebed.transaction import Committed, Operation, Transaction
from lakebed.transaction.row_tracking import PRESERVED_TAG

_ATTEMPTS = 20
File = TypeVar("File", Add, Remove)


def write_table(
    log: TableLog, rows: Rows, options: WriteOptions, known: Snapshot | None = None
) -> Snapshot:
    """Write the rows; the snapshot after it. `known` saves opening a table that is open already."""
    for _ in range(_ATTEMPTS):
        snapshot = known if known is not None else _open(log)
        if snapshot is not None and options.mode in ("error", "errorifexists"):
            raise TableExistsError(
                f"{log.store.url} is already a Delta table",
                hint="use mode='append' or mode='overwrite', or another path",
            )
        if snapshot is not None and options.mode == "ignore":
            return snapshot
        if snapshot is not None and _done_before(snapshot, options):
            return snapshot
        if snapshot is not None:
            _check_loads(snapshot, options)
        try:
            return _Write(log, rows, options, snapshot).run()
        except ConcurrentWriteError:
            # Somebody created the table meanwhile: go by the mode and what it is now.
            if snapshot is not None:
                raise
        except (MetadataChangedError, ProtocolChangedError):
            if snapshot is None or not _may_look_again(snapshot, known, options):
                raise
        except ConcurrentTransactionError:
            # The same application was here: maybe with this very write, which is then done.
            if options.txn is None:
                raise
        known = None
    raise ConcurrentWriteError(
        f"gave up after {_ATTEMPTS} attempts: other writers kept changing the table",
        hint="try again when the table is less busy",
    )


class _Write:
    """One attempt."""

    def __init__(
        self, log: TableLog, rows: Rows, options: WriteOptions, snapshot: Snapshot | None
    ) -> None:
        self._log = log
        self._options = options
        self._snapshot = snapshot
        self._rows = rows

    def run(self) -> Snapshot:
        target = self._target()
        layout = FileLayout.of(target.metadata, target.protocol)
        transaction = self._transaction()
        if self._options.reads_table:
            transaction.read_whole_table()
        self._rows = self._rows.pinned(transaction)
        written = self._rows.write(layout, self._rule())
        if written.schema != target.schema:
            marked = replace(target.metadata, schema_string=schema_to_json(written.schema))
            target = replace(target, metadata=marked)
        replaced = self._replaced(transaction, written, target, layout)
        removes = self._marked(replaced.removes)
        adds = self._marked([*replaced.adds, *written.adds])
        transaction.stage(*self._changes(target), *removes, *adds, *replaced.changes)
        transaction.metrics(_metrics(written, replaced))
        outcome = transaction.commit().unwrap()
        assert isinstance(outcome, Committed)
        return outcome.snapshot

    def _target(self) -> Target:
        if self._snapshot is None:
            target = new_table(self._rows.schema, self._options)
        else:
            target = changed_table(self._snapshot, self._rows.schema, self._options)
        return clustered_target(self._snapshot, target, self._options)

    def _rule(self) -> str | None:
        return self._options.replace_where if self._options.check_replaced else None

    def _transaction(self) -> Transaction:
        options = self._options
        partitions = list(options.partition_by or ())
        parameters: dict[str, Any] = {"mode": SPARK_MODES[options.mode], "partitionBy": partitions}
        if options.cluster_by:
            parameters["clusterBy"] = list(options.cluster_by)
        name = "WRITE"
        if options.operation is not None:
            parameters = dict(options.operation)
            name = parameters.pop("name")
        if options.replace_where is not None:
            parameters["predicate"] = options.replace_where
        if options.replaces_partitions:
            parameters["isDynamicPartitionOverwrite"] = True
        return Transaction(
            self._snapshot,
            store=self._log.store,
            operation=Operation(name, parameters, tags=self._tags()),
            user_metadata=options.user_metadata,
            handles=HANDLED_FEATURES,
        )

    def _tags(self) -> dict[str, str]:
        """Rows that a replaceWhere leaves in the table keep their ids."""
        tracks = self._snapshot is not None and self._snapshot.properties.enable_row_tracking
        return {PRESERVED_TAG: "true"} if tracks and self._options.replace_where else {}

    def _replaced(
        self, transaction: Transaction, written: WrittenFiles, target: Target, layout: FileLayout
    ) -> Replaced:
        if self._snapshot is None or self._options.mode != "overwrite":
            return Replaced()
        overwrite = Replacing(
            self._snapshot, transaction, self._options, self._rows, target, layout
        )
        return overwrite.replace(written.adds)

    def _marked(self, files: list[File]) -> list[File]:
        """A write that only arranges the rows anew says so to those who follow the changes."""
        if self._options.data_change:
            return files
        return [replace(file, data_change=False) for file in files]

    def _changes(self, target: Target) -> list[Action]:
        snapshot = self._snapshot
        actions: list[Action] = []
        if snapshot is None or target.protocol != snapshot.protocol:
            actions.append(target.protocol)
        if snapshot is None or target.metadata != snapshot.metadata:
            actions.append(target.metadata)
        actions += clustering_actions(snapshot, target, self._options)
        if self._options.txn is not None:
            app_id, version = self._options.txn
            actions.append(Txn(app_id, version, last_updated=int(time.time() * 1000)))
        now = int(time.time() * 1000)
        actions += [Txn(app, version, now) for app, version in self._options.loads.items()]
        return actions


def _open(log: TableLog) -> Snapshot | None:
    try:
        return log.snapshot()
    except TableNotFoundError:
        return None


def _done_before(snapshot: Snapshot, options: WriteOptions) -> bool:
    if options.txn is None:
        return False
    app_id, version = options.txn
    last = snapshot.transactions.get(app_id)
    return last is not None and last.version >= version


def _check_loads(snapshot: Snapshot, options: WriteOptions) -> None:
    """Another commit with one of the applications would be a conflict; so is one from before."""
    for app_id, version in options.loads.items():
        last = snapshot.transactions.get(app_id)
        if last is not None and last.version >= version:
            raise ConcurrentTransactionError(
                f"version {snapshot.version} has a write of {app_id} already",
                version=snapshot.version,
            )


def _may_look_again(snapshot: Snapshot, known: Snapshot | None, options: WriteOptions) -> bool:
    """Identity marks are metadata: two writers that draw values take turns. And rows for a table
    that was opened long ago are checked against what it is now. Rows that were read from the table
    itself would be those of an older version.
    """
    if options.reads_table:
        return False
    return _has_identity(snapshot) or (known is not None and options.mode == "append")


def _has_identity(snapshot: Snapshot) -> bool:
    return any(identity(column) is not None for column in snapshot.schema.fields)


def _metrics(written: WrittenFiles, replaced: Replaced) -> dict[str, int]:
    adds = [*written.adds, *replaced.adds]
    metrics = {
        "numFiles": len(adds),
        "numOutputBytes": sum(add.size for add in adds),
        "numOutputRows": written.num_rows,
    }
    if replaced.removes:
        metrics["numRemovedFiles"] = len(replaced.removes)
        metrics["numRemovedBytes"] = sum(remove.size or 0 for remove in replaced.removes)
    metrics["numOutputRows"] += replaced.metrics.get("numCopiedRows", 0)
    return {**metrics, **replaced.metrics}
