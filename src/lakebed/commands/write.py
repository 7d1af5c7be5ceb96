"""Writing Arrow data to a table: create, append, overwrite, with the schema enforced.

The names of the modes and of the recorded operation are delta-spark's.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any, Literal, TypedDict

import pyarrow as pa

from lakebed.arrow.rows import PreparedRows, prepare_rows
from lakebed.arrow.write import FileLayout, write_files
from lakebed.errors import (
    ConcurrentWriteError,
    InvalidArgumentError,
    MetadataChangedError,
    SchemaMismatchError,
    TableExistsError,
    TableNotFoundError,
)
from lakebed.formats.arrow_types import from_arrow_schema
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Action, Add, Metadata, Protocol, Remove, Txn
from lakebed.spec.column_mapping import assign_column_mapping
from lakebed.spec.column_metadata import identity
from lakebed.spec.features import (
    protocol_for,
    upgraded_for,
    without_protocol_properties,
)
from lakebed.spec.properties import TableProperties, check_together, validated
from lakebed.spec.schema import StructType, parse_schema, schema_to_json
from lakebed.spec.schema_evolution import check_compatible, merge_schemas
from lakebed.spec.schema_validation import validate
from lakebed.transaction import Committed, Operation, Transaction

Mode = Literal["append", "overwrite", "error", "errorifexists", "ignore"]

_SPARK_NAMES = {
    "append": "Append",
    "overwrite": "Overwrite",
    "error": "ErrorIfExists",
    "errorifexists": "ErrorIfExists",
    "ignore": "Ignore",
}
_ATTEMPTS = 20


class WriteKeywords(TypedDict, total=False):
    """The keywords of `lakebed.write`."""

    mode: Mode
    partition_by: str | Sequence[str] | None
    merge_schema: bool
    overwrite_schema: bool
    properties: Mapping[str, str]
    name: str | None
    description: str | None
    user_metadata: str | None
    txn: tuple[str, int] | None
    max_rows_per_file: int | None


@dataclass(frozen=True)
class WriteOptions:
    """How to write. Names follow delta-spark's options, in Python's spelling."""

    mode: Mode = "append"
    partition_by: tuple[str, ...] | None = None
    merge_schema: bool = False
    overwrite_schema: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    description: str | None = None
    user_metadata: str | None = None
    txn: tuple[str, int] | None = None
    max_rows_per_file: int | None = None

    @classmethod
    def of(cls, keywords: WriteKeywords) -> WriteOptions:
        known = {each.name for each in fields(cls)}
        for name in keywords:
            if name not in known:
                near = get_close_matches(name, known, n=1)
                raise InvalidArgumentError(
                    f"there is no option {name!r}",
                    hint=f"did you mean {near[0]!r}?" if near else f"options: {sorted(known)}",
                )
        columns = keywords.get("partition_by")
        rest = {name: value for name, value in keywords.items() if name != "partition_by"}
        partitions = (columns,) if isinstance(columns, str) else columns
        return cls(
            partition_by=None if partitions is None else tuple(partitions),
            **rest,  # type: ignore[arg-type]
        )


def write_table(
    log: TableLog, data: pa.Table, options: WriteOptions, known: Snapshot | None = None
) -> Snapshot:
    """Write `data`; the snapshot after it. `known` saves opening a table that is open already."""
    _check_options(options)
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
        except MetadataChangedError:
            # Identity marks are metadata: two writers that draw values take turns.
            if snapshot is None or not _has_identity(snapshot):
                raise
        known = None
    raise ConcurrentWriteError(
        f"gave up after {_ATTEMPTS} attempts: other writers kept changing the table",
        hint="try again when the table is less busy",
    )


def to_arrow_table(data: Any) -> pa.Table:
    """A table from whatever holds Arrow data: tables, batches, readers, streams, data frames."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, pa.RecordBatchReader):
        return data.read_all()
    try:
        if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
            return pa.table(data)
        if isinstance(data, Mapping):
            return pa.table(dict(data))
        if isinstance(data, Sequence) and all(isinstance(row, Mapping) for row in data) and data:
            return pa.Table.from_pylist(list(data))
        if hasattr(data, "iloc"):
            return pa.Table.from_pandas(data, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidArgumentError(f"the data cannot be turned into Arrow: {error}") from error
    raise InvalidArgumentError(
        f"cannot write a {type(data).__name__}",
        hint="give a pyarrow Table, a data frame, anything with __arrow_c_stream__, a dict of "
        "columns or a list of dicts",
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
        self._incoming = from_arrow_schema(data.schema)

    def run(self) -> Snapshot:
        metadata, protocol = self._target()
        rows = self._rows(metadata)
        if rows.schema_changed:
            metadata = replace(metadata, schema_string=schema_to_json(rows.schema))
        transaction = self._transaction()
        adds = self._write(metadata, rows)
        removes = self._removes(transaction)
        transaction.stage(*self._changes(metadata, protocol), *removes, *adds)
        transaction.metrics(_metrics(adds, removes, rows.table.num_rows))
        outcome = transaction.commit().unwrap()
        assert isinstance(outcome, Committed)
        return outcome.snapshot

    def _target(self) -> tuple[Metadata, Protocol]:
        """The metadata and protocol that the table will have."""
        if self._snapshot is None:
            return _new_table(self._incoming, self._options)
        old, options = self._snapshot.metadata, self._options
        _check_partitioning(old, options)
        if options.mode == "overwrite" and options.overwrite_schema:
            return self._replaced(old)
        schema = self._snapshot.schema
        if not options.merge_schema:
            check_compatible(schema, self._incoming)
            return old, self._snapshot.protocol
        widening = self._snapshot.properties.enable_type_widening
        merged = merge_schemas(schema, self._incoming, allow_widening=widening)
        return self._with_schema(old, merged)

    def _replaced(self, old: Metadata) -> tuple[Metadata, Protocol]:
        partitions = self._options.partition_by
        columns = old.partition_columns if partitions is None else partitions
        _check_partition_columns(self._incoming, columns)
        return self._with_schema(replace(old, partition_columns=columns), self._incoming)

    def _with_schema(self, old: Metadata, schema: StructType) -> tuple[Metadata, Protocol]:
        assert self._snapshot is not None
        if schema == self._snapshot.schema and old == self._snapshot.metadata:
            return old, self._snapshot.protocol
        validate(schema)
        schema, configuration = assign_column_mapping(schema, old.configuration)
        metadata = replace(old, schema_string=schema_to_json(schema), configuration=configuration)
        return metadata, upgraded_for(self._snapshot.protocol, metadata)

    def _rows(self, metadata: Metadata) -> PreparedRows:
        return prepare_rows(
            self._data, _schema_of(metadata), TableProperties(metadata.configuration)
        )

    def _transaction(self) -> Transaction:
        options = self._options
        partitions = options.partition_by or ()
        parameters = {"mode": _SPARK_NAMES[options.mode], "partitionBy": list(partitions)}
        return Transaction(
            self._snapshot,
            store=self._log.store,
            operation=Operation("WRITE", parameters),
            user_metadata=options.user_metadata,
        )

    def _write(self, metadata: Metadata, rows: PreparedRows) -> list[Add]:
        if not rows.table.num_rows:
            return []
        layout = FileLayout(
            _schema_of(metadata), metadata.partition_columns, dict(metadata.configuration)
        )
        limit = self._options.max_rows_per_file
        return write_files(self._log.store, layout, rows.table, max_rows_per_file=limit)

    def _removes(self, transaction: Transaction) -> list[Remove]:
        if self._snapshot is None or self._options.mode != "overwrite":
            return []
        transaction.read_whole_table()
        now = int(time.time() * 1000)
        return [Remove.of(add, timestamp=now) for add in adds_from_table(self._snapshot.files())]

    def _changes(self, metadata: Metadata, protocol: Protocol) -> list[Action]:
        actions: list[Action] = []
        if self._snapshot is None or protocol != self._snapshot.protocol:
            actions.append(protocol)
        if self._snapshot is None or metadata != self._snapshot.metadata:
            actions.append(metadata)
        if self._options.txn is not None:
            app_id, version = self._options.txn
            actions.append(Txn(app_id, version, last_updated=int(time.time() * 1000)))
        return actions


def _new_table(schema: StructType, options: WriteOptions) -> tuple[Metadata, Protocol]:
    validate(schema)
    columns = tuple(schema.field(name).name for name in options.partition_by or ())
    _check_partition_columns(schema, columns)
    configuration = validated(options.properties)
    protocol = protocol_for(schema, columns, configuration)
    configuration = without_protocol_properties(configuration)
    check_together(configuration)
    schema, configuration = assign_column_mapping(schema, configuration)
    metadata = Metadata(
        id=str(uuid.uuid4()),
        schema_string=schema_to_json(schema),
        partition_columns=columns,
        configuration=configuration,
        name=options.name,
        description=options.description,
        created_time=int(time.time() * 1000),
    )
    return metadata, protocol


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


def _has_identity(snapshot: Snapshot) -> bool:
    return any(identity(column) is not None for column in snapshot.schema.fields)


def _check_options(options: WriteOptions) -> None:
    if options.mode not in _SPARK_NAMES:
        raise InvalidArgumentError(
            f"there is no mode {options.mode!r}", hint=f"modes are {', '.join(_SPARK_NAMES)}"
        )
    if options.overwrite_schema and options.mode != "overwrite":
        raise InvalidArgumentError("overwrite_schema=True goes with mode='overwrite' alone")
    limit = options.max_rows_per_file
    if limit is not None and limit < 1:
        raise InvalidArgumentError(f"max_rows_per_file={limit} is not a positive number")


def _check_partitioning(old: Metadata, options: WriteOptions) -> None:
    asked = options.partition_by
    if asked is None or (options.mode == "overwrite" and options.overwrite_schema):
        return
    if [name.lower() for name in asked] != [name.lower() for name in old.partition_columns]:
        raise SchemaMismatchError(
            f"the table is partitioned by {list(old.partition_columns)}, not by {list(asked)}",
            hint="leave partition_by out, or overwrite with overwrite_schema=True",
        )


def _check_partition_columns(schema: StructType, columns: Sequence[str]) -> None:
    for name in columns:
        schema.field(name)
    if columns and len(set(columns)) != len(columns):
        raise InvalidArgumentError(f"partition_by={list(columns)} names a column twice")
    if columns and len(columns) >= len(schema.fields):
        raise InvalidArgumentError(
            "a table needs at least one column that is not a partition column",
            hint="leave a column out of partition_by",
        )


def _schema_of(metadata: Metadata) -> StructType:
    return parse_schema(metadata.schema_string)


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
