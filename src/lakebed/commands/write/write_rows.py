"""Writing rows to a table: create, append, overwrite, with the schema enforced.

The names of the modes and of the recorded operation are delta-spark's. The rows may be on any data
plane; this decides what the table becomes, and commits.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeGuard, TypeVar

from lakebed.commands.target.clustering_columns import (
    DOMAIN,
    FEATURE,
    check_clustering_columns,
    clustering_columns,
    clustering_domain,
    to_paths,
)
from lakebed.commands.target.write_options import SPARK_MODES, WriteOptions
from lakebed.commands.target.write_target import Target, changed_table, new_table
from lakebed.commands.write.overwrite import Overwrite, OverwriteRows, Overwritten
from lakebed.data_files.file_layout import HANDLED_FEATURES, FileLayout, WrittenFiles
from lakebed.errors import (
    ConcurrentTransactionError,
    ConcurrentWriteError,
    InvalidArgumentError,
    MetadataChangedError,
    ProtocolChangedError,
    SchemaError,
    SchemaMismatchError,
    TableExistsError,
    TableNotFoundError,
)
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Action, Add, Metadata, Remove, Txn
from lakebed.spec.columns.column_mapping import mapping_mode
from lakebed.spec.columns.column_metadata import identity
from lakebed.spec.features import is_supported, upgraded
from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import Path, StructType, find_path, render_path, schema_to_json
from lakebed.transaction import Committed, Operation, Transaction
from lakebed.transaction.row_tracking import PRESERVED_TAG

_ATTEMPTS = 20
File = TypeVar("File", Add, Remove)


class Rows(Protocol):
    """The rows of a write, on any data plane."""

    @property
    def spark_zone(self) -> str | None:
        """The time zone in which Spark reads rules and predicates; None if Lakebed reads them."""
        ...

    @property
    def schema(self) -> StructType:
        """The columns as they come."""
        ...

    def pinned(self, transaction: Transaction) -> Rows:
        """The same rows for one attempt: each table that they are read from at one version.

        The transaction learns what they are read from.
        """
        ...

    def write(self, layout: FileLayout, rule: str | None = None) -> WrittenFiles:
        """Makes the rows fit the table and writes them as files that no commit names yet.

        `rule` is a SQL condition that must be true for each of them.
        """
        ...


def write_table(
    log: TableLog, rows: Rows, options: WriteOptions, known: Snapshot | None = None
) -> Snapshot:
    """Write the rows; the snapshot after it. `known` saves opening a table that is open already."""
    for _ in range(_ATTEMPTS):
        snapshot = known if known is not None else _open(log)
        if snapshot is not None and options.mode in ("error", "errorifexists"):
            raise TableExistsError(
                f"the Delta table {log.store.url} already exists",
                hint="use mode='append' or mode='overwrite', or another path",
                condition="DELTA_PATH_EXISTS",
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
            if snapshot is not None or not options.retries:
                raise
        except (MetadataChangedError, ProtocolChangedError):
            if snapshot is None or not _may_retry(snapshot, known, options):
                raise
        except ConcurrentTransactionError:
            # The same application was here: maybe with this very write, which is then done.
            if options.txn is None or not options.retries:
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
        transaction = self._transaction(target)
        if self._options.reads_table:
            transaction.read_whole_table()
        self._rows = self._rows.pinned(transaction)
        written = self._rows.write(layout, self._rule())
        if written.schema != target.schema:
            marked = replace(target.metadata, schema_string=schema_to_json(written.schema))
            target = replace(target, metadata=marked)
        overwritten = self._overwritten(transaction, written, target, layout)
        removes = self._with_data_change(overwritten.removes)
        adds = self._with_data_change([*overwritten.adds, *written.adds])
        changes: list[Action] = [*self._changes(target), *removes, *adds, *overwritten.changes]
        if self._snapshot is not None and not changes and not overwritten.marks:
            # As in delta-spark a write that changes nothing is no version.
            return self._snapshot
        transaction.stage(*changes)
        transaction.metrics(_named(_metrics(written, overwritten), self._options))
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

    def _transaction(self, target: Target) -> Transaction:
        name, parameters = _operation(self._options, target.metadata)
        return Transaction(
            self._snapshot,
            store=self._log.store,
            operation=Operation(name, parameters, tags=self._tags()),
            user_metadata=self._options.user_metadata,
            handles=HANDLED_FEATURES,
        )

    def _tags(self) -> dict[str, str]:
        """Rows that a replaceWhere leaves in the table keep their ids."""
        tracks = self._snapshot is not None and self._snapshot.properties.enable_row_tracking
        return {PRESERVED_TAG: "true"} if tracks and self._options.replace_where else {}

    def _overwritten(
        self, transaction: Transaction, written: WrittenFiles, target: Target, layout: FileLayout
    ) -> Overwritten:
        if self._snapshot is None or self._options.mode != "overwrite":
            return Overwritten()
        rows = self._rows
        assert _can_overwrite(rows)
        overwrite = Overwrite(self._snapshot, transaction, self._options, rows, target, layout)
        return overwrite.replace(written.adds)

    def _with_data_change(self, files: list[File]) -> list[File]:
        """A write that only rearranges the rows has `dataChange` false, so streams skip it."""
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


def _operation(options: WriteOptions, metadata: Metadata) -> tuple[str, dict[str, Any]]:
    """The name and the parameters, as delta-spark records them."""
    name, parameters = "WRITE", _parameters_of_write(options)
    if options.operation is not None:
        parameters = dict(options.operation)
        name = parameters.pop("name")
    if name.endswith("TABLE AS SELECT"):
        parameters["partitionBy"] = list(metadata.partition_columns)
        parameters["clusterBy"] = list(options.cluster_by or ())
        parameters["description"] = metadata.description
        parameters["properties"] = dict(metadata.configuration)
    if options.replace_where is not None:
        parameters["predicate"] = options.replace_where
    if options.replaces_partitions:
        parameters["isDynamicPartitionOverwrite"] = True
    if options.replaces_table:
        return name, parameters
    if options.overwrite_schema:
        parameters["canOverwriteSchema"] = True
    if options.merge_schema and name != "CREATE TABLE AS SELECT":
        parameters["canMergeSchema"] = True
    return name, parameters


def _parameters_of_write(options: WriteOptions) -> dict[str, Any]:
    partitions = list(options.partition_by or ())
    found: dict[str, Any] = {"mode": SPARK_MODES[options.mode], "partitionBy": partitions}
    if options.cluster_by:
        found["clusterBy"] = list(options.cluster_by)
    return found


def _can_overwrite(rows: Rows) -> TypeGuard[OverwriteRows]:
    return hasattr(rows, "rewrite")


def _open(log: TableLog) -> Snapshot | None:
    try:
        return log.snapshot()
    except TableNotFoundError:
        return None


def _done_before(snapshot: Snapshot, options: WriteOptions) -> bool:
    return options.txn is not None and snapshot.has_transaction(*options.txn)


def _check_loads(snapshot: Snapshot, options: WriteOptions) -> None:
    """Another commit with one of the applications would be a conflict; so is one from before."""
    for app_id, version in options.loads.items():
        if snapshot.has_transaction(app_id, version):
            raise ConcurrentTransactionError(
                f"version {snapshot.version} has a write of {app_id} already",
                version=snapshot.version,
            )


def _may_retry(snapshot: Snapshot, known: Snapshot | None, options: WriteOptions) -> bool:
    """Identity marks are metadata: two writers that draw values take turns. And rows for a table
    that was opened long ago are checked against what it is now. Rows that were read from the table
    itself would be those of an older version.
    """
    if options.reads_table or not options.retries:
        return False
    return _has_identity(snapshot) or (known is not None and options.mode == "append")


def _has_identity(snapshot: Snapshot) -> bool:
    return any(identity(column) is not None for column in snapshot.schema.fields)


def _metrics(written: WrittenFiles, overwritten: Overwritten) -> dict[str, int]:
    adds = [*written.adds, *overwritten.adds]
    metrics = {
        "numFiles": len(adds),
        "numOutputBytes": sum(add.size for add in adds),
        "numOutputRows": written.num_rows,
    }
    if overwritten.removes:
        metrics["numRemovedFiles"] = len(overwritten.removes)
        metrics["numRemovedBytes"] = sum(remove.size or 0 for remove in overwritten.removes)
    metrics["numOutputRows"] += overwritten.metrics.get("numCopiedRows", 0)
    return {**metrics, **overwritten.metrics}


def _named(metrics: dict[str, int], options: WriteOptions) -> dict[str, int]:
    """Under other names, if the operation has its own; what did not happen is 0 then."""
    if not options.metric_names:
        return metrics
    return {name: metrics.get(known, 0) for known, name in options.metric_names.items()}


# --- clustering -----------------------------------------------------------------------------------


def clustered_target(snapshot: Snapshot | None, target: Target, options: WriteOptions) -> Target:
    """The table after the write, with the feature if it is to be clustered; refuses what cannot be.

    PROTOCOL: Clustered Table. A new table, and one whose schema is replaced, may get clustering
    columns. Other writes may repeat those of the table, and change nothing. Decided before any file
    is written.
    """
    asked = options.cluster_by
    before = None if snapshot is None else clustering_columns(snapshot)
    if snapshot is not None and not options.replaces_schema:
        if asked is not None:
            _check_same(before or (), to_paths(asked))
        return target
    columns = to_paths(asked) if asked is not None else list(before or ())
    # The feature alone makes a table a clustered one, with or without columns.
    if target.metadata.partition_columns and (columns or is_supported(target.protocol, FEATURE)):
        raise InvalidArgumentError(
            f"a clustered table cannot be partitioned by "
            f"{', '.join(target.metadata.partition_columns)}",
            hint="cluster it by these columns instead, or choose another location",
        )
    if not columns:
        return target
    _checked(target, columns, asked is None)
    return replace(target, protocol=upgraded(target.protocol, [FEATURE]))


def clustering_actions(
    snapshot: Snapshot | None, target: Target, options: WriteOptions
) -> list[Action]:
    """The action that names the columns, if they are new or may have other physical names now."""
    if snapshot is not None and not options.replaces_schema:
        return []
    asked = options.cluster_by
    if asked is None and (snapshot is None or snapshot.domains.get(DOMAIN) is None):
        return []
    before = () if snapshot is None else clustering_columns(snapshot) or ()
    columns = before if asked is None else to_paths(asked)
    if not columns and not before:
        return []
    mode = mapping_mode(target.metadata.configuration)
    return [clustering_domain(target.schema, _checked(target, columns, asked is None), mode)]


def _checked(target: Target, columns: Sequence[Path], kept: bool) -> list[Path]:
    gone = [path for path in columns if find_path(target.schema, path) is None]
    if gone and kept:
        raise SchemaError(
            f"the table is clustered by {_shown(columns)}, and the new schema has no "
            f"{_shown(gone)}",
            hint="say by which columns it is to be clustered (cluster_by, or clusterBy on Spark)",
        )
    properties = TableProperties(target.metadata.configuration)
    return check_clustering_columns(target.schema, columns, properties)


def _check_same(before: Sequence[Path], asked: Sequence[Path]) -> None:
    if [_shown([path]).lower() for path in before] != [_shown([path]).lower() for path in asked]:
        raise SchemaMismatchError(
            f"the table is clustered by {_shown(before) or 'nothing'}, not by {_shown(asked)}",
            hint="leave it out of the write; cluster_by changes the columns of a table that exists",
            condition="DELTA_CLUSTERING_COLUMNS_MISMATCH",
        )


def _shown(columns: Sequence[Path]) -> str:
    return ", ".join(map(render_path, columns))
