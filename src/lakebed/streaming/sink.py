"""The sink of a stream: one commit for each micro-batch, exactly once.

PROTOCOL: Transaction Identifiers. The application is the id of the query, the version the number of
the batch; both survive a restart in the checkpoint. A batch that Spark repeats is recognized by
them and skipped before its rows are computed.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from lakebed.commands.target.write_options import WriteOptions
from lakebed.commands.write.write_frame import FrameWrite, write_frame
from lakebed.errors import (
    ConcurrentTransactionError,
    ConcurrentWriteError,
    MetadataChangedError,
    ProtocolChangedError,
    SchemaMismatchError,
    TableNotFoundError,
)
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spark.columns.projection import is_same_type
from lakebed.spark.columns.spark_types import incoming_schema
from lakebed.spark.session.session_settings import all_settings
from lakebed.spark.stores.location import open_location
from lakebed.spark.write.insert_columns import copied_by_name
from lakebed.spec.columns.column_metadata import generation_expression
from lakebed.spec.schema import VOID, StructType, render_path, walk, walk_types
from lakebed.streaming.sink_request import check_partitioning, of_batches

_log = logging.getLogger("lakebed")
_ATTEMPTS = 20


@dataclass(frozen=True)
class BatchRead:
    """A table that a batch reads, by its URL; `version` is None where Spark has not chosen one."""

    url: str
    version: int | None = None


@dataclass(frozen=True)
class Batch:
    """`mode` is Spark's name of the output mode. `query` is the id that the checkpoint has."""

    query: str
    number: int
    mode: str
    reads: Sequence[BatchRead] = ()

    def is_written(self, snapshot: Snapshot) -> bool:
        return snapshot.has_transaction(self.query, self.number)

    def options(self, asked: WriteOptions, *, reads_table: bool = False) -> WriteOptions:
        """How the batch is written, for a query with these options."""
        return replace(
            of_batches(asked, reads_table=reads_table),
            txn=(self.query, self.number),
            operation={
                "name": "STREAMING UPDATE",
                "outputMode": self.mode,
                "queryId": self.query,
                "epochId": str(self.number),
            },
            metric_names=_METRICS,
        )


def write_batch(batch: Batch, write: FrameWrite) -> Snapshot:
    """Commits the rows of a batch, if no commit has them yet; the table after it."""
    session = write.frame.sparkSession
    store, _ = open_location(session, write.location, write.store)
    log = TableLog(store)
    reads = [read for read in batch.reads if read.url == store.url]
    for _ in range(_ATTEMPTS):
        snapshot = _open(log)
        if snapshot is not None and batch.is_written(snapshot):
            _log.info("%s has batch %d of query %s already", store.url, batch.number, batch.query)
            return snapshot
        try:
            return _Attempt(log, batch, write, reads, snapshot).run()
        except ConcurrentWriteError:
            # Another writer created the table: the rows have to fit what it is now.
            if snapshot is not None:
                raise
        except (MetadataChangedError, ProtocolChangedError, ConcurrentTransactionError):
            # The rows are made fit once more. Those that were read from the table itself would be
            # rows of an older version.
            if reads:
                raise
    raise ConcurrentWriteError(
        f"gave up on batch {batch.number} after {_ATTEMPTS} attempts: other writers kept changing "
        "the metadata of the table",
        hint="start the query again when they are done; it goes on with this batch",
    )


@dataclass(frozen=True)
class _Attempt:
    """Writes a batch on top of a version. `reads` are those of the table itself."""

    log: TableLog
    batch: Batch
    write: FrameWrite
    reads: Sequence[BatchRead]
    snapshot: Snapshot | None

    def run(self) -> Snapshot:
        known = self._known()
        options = self.batch.options(self.write.options, reads_table=bool(self.reads))
        given = incoming_schema(self.write.frame)
        _refuse_void(given, known)
        frame = self.write.frame
        if known is not None:
            check_partitioning(known.partition_columns, options)
            frame = _as_stored(frame, given, known, options)
        write = replace(self.write, frame=frame, options=options)
        return write_frame(write, all_settings(frame.sparkSession), known)

    def _known(self) -> Snapshot | None:
        """What the batch has read of the table has to be there still when it commits.

        Spark planned the batch before it came here; the table may be newer by now.
        """
        read = [each.version for each in self.reads if each.version is not None]
        if self.snapshot is None or not read or min(read) >= self.snapshot.version:
            return self.snapshot
        return self.log.at_version(min(read))


def _open(log: TableLog) -> Snapshot | None:
    try:
        return log.snapshot()
    except TableNotFoundError:
        return None


def _as_stored(
    frame: DataFrame, given: StructType, snapshot: Snapshot, options: WriteOptions
) -> DataFrame:
    """The values as the types of the table, by the same casts as those of an INSERT.

    A write of a DataFrame refuses other types; a stream whose source has an `int` today and a
    `long` tomorrow would stop for good.
    """
    if options.replaces_schema or _fits(given, snapshot.schema):
        return frame
    widens = options.merge_schema and bool(snapshot.properties.enable_type_widening)
    return copied_by_name(frame, snapshot.schema, widens=widens)


def _fits(given: StructType, schema: StructType) -> bool:
    pairs = ((field, schema.find(field.name)) for field in given.fields)
    return all(to is None or is_same_type(field.data_type, to.data_type) for field, to in pairs)


def _refuse_void(given: StructType, snapshot: Snapshot | None) -> None:
    """No later batch could give such a column a type: the columns of a query never change."""
    for path, field in walk(given):
        if VOID in walk_types(field.data_type):
            raise SchemaMismatchError(
                f"column {render_path(path)} is of type void, which a stream cannot write",
                hint="give it a type: F.lit(None).cast('string')",
            )
    for column in () if snapshot is None else snapshot.schema.fields:
        if generation_expression(column) is not None and VOID in walk_types(column.data_type):
            raise SchemaMismatchError(
                f"the generated column {column.name!r} of the table is of type void, which a "
                "stream cannot write",
                hint="drop the column, or generate a value of another type",
            )


_METRICS = {
    "numFiles": "numAddedFiles",
    "numRemovedFiles": "numRemovedFiles",
    "numOutputRows": "numOutputRows",
    "numOutputBytes": "numOutputBytes",
}
