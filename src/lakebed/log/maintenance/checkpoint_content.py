"""What a checkpoint of a version holds (PROTOCOL: Checkpoints, Action Reconciliation).

As in delta-spark: tombstones leave after `delta.deletedFileRetentionDuration`, transaction
identifiers after `delta.setTransactionRetentionDuration` where that is set, and no file says that
it changes data. Statistics go in as JSON, as columns, or both, as the table's properties ask.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.formats.arrow_types import to_arrow_type
from lakebed.formats.checkpoint_encoder import ADD_COLUMNS, PARSED_PARTITION_VALUES, PARSED_STATS
from lakebed.formats.file_actions import ADD_SCHEMA, REMOVE_SCHEMA, map_values
from lakebed.formats.statistics.stats_from_json import parse_stats
from lakebed.formats.statistics.stats_from_structs import conform_stats
from lakebed.formats.statistics.stats_to_json import write_stats
from lakebed.log.file_state import FileState, MemoryFiles, empty_tail
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Action, Protocol, Txn
from lakebed.spec.columns.column_mapping import mapping_mode, physical_name, physical_schema
from lakebed.spec.features import is_supported
from lakebed.spec.partition_values import parse_column
from lakebed.spec.schema import StructType
from lakebed.spec.stats import indexed_columns, stats_schema

_MANY_CHUNKS = 32


@dataclass(frozen=True)
class CheckpointContent:
    """All actions of a version: those about the table as values, those about files as columns."""

    version: int
    actions: tuple[Action, ...]
    adds: pa.Table
    removes: pa.Table

    @property
    def num_actions(self) -> int:
        return len(self.actions) + int(self.adds.num_rows) + int(self.removes.num_rows)

    def file_state(self) -> FileState:
        """The same files as the base of the versions to come, parsed statistics included."""
        adds = self.adds
        if PARSED_PARTITION_VALUES in adds.column_names:
            adds = adds.drop_columns([PARSED_PARTITION_VALUES])
        if "stats" not in adds.column_names:
            adds = adds.append_column("stats", pa.nulls(adds.num_rows, pa.string()))
        return FileState(MemoryFiles(adds, self.removes), empty_tail())


def content_of(snapshot: Snapshot, now_ms: int) -> CheckpointContent:
    return CheckpointContent(
        version=snapshot.version,
        actions=(
            _with_lists(snapshot.protocol),
            snapshot.metadata,
            *_transactions(snapshot, now_ms),
            *snapshot.domains.values(),
        ),
        adds=_in_few_chunks(_adds(snapshot)),
        removes=_in_few_chunks(_removes(snapshot, now_ms)),
    )


def parsed_stats_schema(snapshot: Snapshot) -> StructType:
    """The schema of `stats_parsed`: the columns with statistics, by their physical names."""
    columns = indexed_columns(snapshot.schema, snapshot.properties, snapshot.partition_columns)
    mode = mapping_mode(snapshot.metadata.configuration)
    vectors = is_supported(snapshot.protocol, "deletionVectors")
    return stats_schema(physical_schema(columns, mode), tight_bounds=vectors)


def _in_few_chunks(files: pa.Table) -> pa.Table:
    """A writer that goes on adds chunks with every commit, and every chunk has its price."""
    many = any(column.num_chunks > _MANY_CHUNKS for column in files.columns)
    return files.combine_chunks() if many else files


def _with_lists(protocol: Protocol) -> Protocol:
    """PROTOCOL: from reader version 3 and writer version 7 on, the lists must not be null."""
    readers = protocol.reader_features
    writers = protocol.writer_features
    return replace(
        protocol,
        reader_features=() if readers is None and protocol.min_reader_version >= 3 else readers,
        writer_features=() if writers is None and protocol.min_writer_version >= 7 else writers,
    )


def _transactions(snapshot: Snapshot, now_ms: int) -> Iterator[Txn]:
    kept_for = snapshot.properties.set_transaction_retention_ms
    for txn in snapshot.transactions.values():
        updated = txn.last_updated
        if kept_for is None or (updated is not None and updated > now_ms - kept_for):
            yield txn


def _removes(snapshot: Snapshot, now_ms: int) -> pa.Table:
    oldest = now_ms - snapshot.properties.deleted_file_retention_ms
    removes = snapshot.tombstones()
    # A tombstone without a time counts as made in 1970, as in delta-spark.
    times = pc.fill_null(removes.column("deletionTimestamp"), 0)
    kept = removes.filter(pc.greater(times, oldest)) if removes.num_rows else removes
    return _unchanging(kept)


def _adds(snapshot: Snapshot) -> pa.Table:
    plain = [name for name in ADD_SCHEMA.names if name != "stats"]
    adds = _unchanging(snapshot.files(plain))
    columns = dict(zip(adds.column_names, adds.columns, strict=True))
    columns.update(_stats(snapshot))
    if snapshot.properties.checkpoint_write_stats_as_struct and snapshot.partition_columns:
        columns[PARSED_PARTITION_VALUES] = _partition_values(snapshot)
    return pa.table({name: columns[name] for name in ADD_COLUMNS if name in columns})


def _unchanging(files: pa.Table) -> pa.Table:
    schema = REMOVE_SCHEMA if "deletionTimestamp" in files.column_names else ADD_SCHEMA
    index = schema.get_field_index("dataChange")
    unchanged = pa.repeat(pa.scalar(False), files.num_rows)
    return files.set_column(index, schema.field(index), unchanged)


def _partition_values(snapshot: Snapshot) -> pa.StructArray:
    values = snapshot.files(["partitionValues"]).column("partitionValues").combine_chunks()
    fields = [snapshot.schema.field(name) for name in snapshot.partition_columns]
    mapped = mapping_mode(snapshot.metadata.configuration) != "none"
    names = [physical_name(field) if mapped else field.name for field in fields]
    arrays = [
        parse_column(map_values(values, name), field.data_type, column=field.name)
        for name, field in zip(names, fields, strict=True)
    ]
    return pa.StructArray.from_arrays(arrays, names=names)


# --- statistics ---------------------------------------------------------------------------------


def _stats(snapshot: Snapshot) -> dict[str, pa.ChunkedArray]:
    """The columns `stats` and `stats_parsed`, as far as the table wants them."""
    properties = snapshot.properties
    schema = parsed_stats_schema(snapshot)
    known = ["stats", PARSED_STATS] if snapshot.has_parsed_stats else ["stats"]
    parts = [_Statistics(batch, schema) for batch in _runs(snapshot.files(known))]
    result: dict[str, pa.ChunkedArray] = {}
    if properties.checkpoint_write_stats_as_json:
        result["stats"] = pa.chunked_array([part.as_json() for part in parts], pa.string())
    if properties.checkpoint_write_stats_as_struct and len(schema.fields):
        kind = to_arrow_type(schema)
        result[PARSED_STATS] = pa.chunked_array([part.as_struct() for part in parts], kind)
    return result


def _runs(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """Few large batches: what a checkpoint told stays as it is, what commits told is together."""
    for _, batches in groupby(table.to_batches(), key=_is_parsed):
        yield from pa.Table.from_batches(list(batches)).combine_chunks().to_batches()


def _is_parsed(batch: pa.RecordBatch) -> bool:
    if PARSED_STATS not in batch.schema.names:
        return False
    return bool(batch.column(PARSED_STATS).null_count < batch.num_rows)


class _Statistics:
    """Statistics of some files: as JSON where a commit told them, parsed where a checkpoint did."""

    def __init__(self, batch: pa.RecordBatch, schema: StructType) -> None:
        self._schema = schema
        self._kind = to_arrow_type(schema)
        self._json = batch.column("stats")
        names = batch.schema.names
        self._parsed = batch.column(PARSED_STATS) if PARSED_STATS in names else None

    def as_json(self) -> pa.Array:
        missing = self._json.is_null()
        if self._parsed is None or not pc.any(missing).as_py():
            return self._json
        found = self._parsed.filter(missing)
        if found.null_count == len(found):
            return self._json
        return _merge(self._json, missing, write_stats(found))

    def as_struct(self) -> pa.Array:
        parsed = self._of_schema()
        if parsed is None:
            return parse_stats(self._json, self._schema)
        if parsed.null_count == len(parsed):
            return parse_stats(self._json, self._schema)
        missing = pc.and_(parsed.is_null(), self._json.is_valid())
        if not pc.any(missing).as_py():
            return parsed
        return _merge(parsed, missing, parse_stats(self._json.filter(missing), self._schema))

    def _of_schema(self) -> pa.Array | None:
        """What the older checkpoint knows, unless JSON says more or its types do not fit."""
        if self._parsed is None or self._parsed.type == self._kind:
            return self._parsed
        if pc.all(pc.or_(self._json.is_valid(), self._parsed.is_null())).as_py():
            return None
        return conform_stats(self._parsed, self._schema)


def _merge(values: pa.Array, missing: pa.BooleanArray, others: pa.Array) -> pa.Array:
    """`values`, with `others` one after the other at the positions that are missing."""
    both = pa.concat_arrays([values, others])
    positions = pc.add(pc.cumulative_sum(missing.cast(pa.int64())), len(values) - 1)
    own = pc.indices_nonzero(pa.repeat(pa.scalar(True), len(values))).cast(pa.int64())
    return both.take(pc.if_else(missing, positions, own))
