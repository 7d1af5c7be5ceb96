"""Writing Arrow data to a table: create, append, overwrite, with the schema enforced.

The names of the modes and of the recorded operation are delta-spark's.
"""

from __future__ import annotations

import time
from dataclasses import replace

import pyarrow as pa

from lakebed.arrow.rows import PreparedRows, prepare_rows
from lakebed.arrow.write import HANDLED_FEATURES, FileLayout, write_files
from lakebed.commands.write_options import SPARK_MODES, WriteOptions
from lakebed.commands.write_target import Target, changed_table, new_table
from lakebed.errors import (
    ConcurrentTransactionError,
    ConcurrentWriteError,
    MetadataChangedError,
    ProtocolChangedError,
    TableExistsError,
    TableNotFoundError,
)
from lakebed.formats.arrow_types import from_arrow_schema
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Action, Add, Remove, Txn
from lakebed.spec.column_metadata import identity
from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import schema_to_json
from lakebed.transaction import Committed, Operation, Transaction

_ATTEMPTS = 20


def write_table(
    log: TableLog, data: pa.Table, options: WriteOptions, known: Snapshot | None = None
) -> Snapshot:
    """Write `data`; the snapshot after it. `known` saves opening a table that is open already."""
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
        try:
            return _Write(log, data, options, snapshot).run()
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
        self, log: TableLog, data: pa.Table, options: WriteOptions, snapshot: Snapshot | None
    ) -> None:
        self._log = log
        self._options = options
        self._snapshot = snapshot
        self._data = data

    def run(self) -> Snapshot:
        target = self._target()
        rows = self._rows(target)
        if rows.schema != target.schema:
            marked = replace(target.metadata, schema_string=schema_to_json(rows.schema))
            target = replace(target, metadata=marked)
        transaction = self._transaction()
        removes = self._removes(transaction)
        adds = self._write(target, rows)
        transaction.stage(*self._changes(target), *removes, *adds)
        transaction.metrics(_metrics(adds, removes, rows.table.num_rows))
        outcome = transaction.commit().unwrap()
        assert isinstance(outcome, Committed)
        return outcome.snapshot

    def _target(self) -> Target:
        incoming = from_arrow_schema(self._data.schema)
        if self._snapshot is None:
            return new_table(incoming, self._options)
        return changed_table(self._snapshot, incoming, self._options)

    def _rows(self, target: Target) -> PreparedRows:
        properties = TableProperties(target.metadata.configuration)
        return prepare_rows(self._data, target.schema, properties)

    def _transaction(self) -> Transaction:
        options = self._options
        partitions = list(options.partition_by or ())
        parameters = {"mode": SPARK_MODES[options.mode], "partitionBy": partitions}
        return Transaction(
            self._snapshot,
            store=self._log.store,
            operation=Operation("WRITE", parameters),
            user_metadata=options.user_metadata,
            handles=HANDLED_FEATURES,
        )

    def _write(self, target: Target, rows: PreparedRows) -> list[Add]:
        if not rows.table.num_rows:
            return []
        layout = FileLayout.of(target.metadata, target.protocol)
        limit = self._options.max_rows_per_file
        return write_files(self._log.store, layout, rows.table, max_rows_per_file=limit)

    def _removes(self, transaction: Transaction) -> list[Remove]:
        if self._snapshot is None or self._options.mode != "overwrite":
            return []
        transaction.read_whole_table()
        now = int(time.time() * 1000)
        return [Remove.of(add, timestamp=now) for add in adds_from_table(self._snapshot.files())]

    def _changes(self, target: Target) -> list[Action]:
        snapshot = self._snapshot
        actions: list[Action] = []
        if snapshot is None or target.protocol != snapshot.protocol:
            actions.append(target.protocol)
        if snapshot is None or target.metadata != snapshot.metadata:
            actions.append(target.metadata)
        if self._options.txn is not None:
            app_id, version = self._options.txn
            actions.append(Txn(app_id, version, last_updated=int(time.time() * 1000)))
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


def _may_look_again(snapshot: Snapshot, known: Snapshot | None, options: WriteOptions) -> bool:
    """Identity marks are metadata: two writers that draw values take turns. And rows for a table
    that was opened long ago are checked against what it is now.
    """
    return _has_identity(snapshot) or (known is not None and options.mode == "append")


def _has_identity(snapshot: Snapshot) -> bool:
    return any(identity(column) is not None for column in snapshot.schema.fields)


def _metrics(adds: list[Add], removes: list[Remove], rows: int) -> dict[str, int]:
    metrics = {
        "numFiles": len(adds),
        "numOutputBytes": sum(add.size for add in adds),
        "numOutputRows": rows,
    }
    if removes:
        metrics["numRemovedFiles"] = len(removes)
        metrics["numRemovedBytes"] = sum(remove.size or 0 for remove in removes)
    return metrics
