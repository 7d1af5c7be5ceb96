"""The rows of a write that are a DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import orjson
import pyarrow as pa
from pyspark.sql import DataFrame

from lakebed.arrow.table_rows import TableRows
from lakebed.data_files.file_layout import FileLayout, WrittenFiles
from lakebed.data_files.identity_high_water_marks import (
    generated_identity_columns,
    with_new_high_water_marks,
)
from lakebed.spark.columns.projection import quote
from lakebed.spark.columns.spark_types import incoming_schema
from lakebed.spark.plane.plane import FileSettings, Plane
from lakebed.spark.read.command_reads import CommandReads
from lakebed.spark.session.session_kind import functions_of, is_connect
from lakebed.spark.write.rows import prepare_frame
from lakebed.spec.actions import Add
from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import (
    VARIANT,
    VOID,
    DataType,
    StructType,
    UserDefinedType,
    walk,
    walk_types,
)
from lakebed.spec.stats import NUM_RECORDS
from lakebed.storage.store import Store
from lakebed.transaction import Transaction

Arrange = Callable[[DataFrame, DataFrame, FileLayout], DataFrame | None]
"""Gives the rows of a write in a better order, if there is one."""
T = TypeVar("T", bound="FrameRows")
MOST_LOCAL_ROWS = 10_000
"""As many rows that are in the plan itself are written without a Spark job."""


@dataclass(frozen=True)
class FrameRows:
    """A DataFrame, and the plane that writes it. `optimize` None leaves it to the table."""

    frame: DataFrame
    plane: Plane
    store: Store
    settings: FileSettings = field(default_factory=FileSettings)
    optimize: bool | None = None
    collect_stats: bool = True
    default_compression: str | None = None
    arrange: Arrange | None = None

    @property
    def spark_zone(self) -> str:
        return str(self.frame.sparkSession.conf.get("spark.sql.session.timeZone"))

    @cached_property
    def schema(self) -> StructType:
        return incoming_schema(self.frame)

    def pinned(self: T, transaction: Transaction) -> T:
        """The rows for one attempt, from one version of each table that they are read from."""
        frame = CommandReads.of_write(transaction).pinned(self.frame)
        return self if frame is self.frame else replace(self, frame=frame)

    def write(self, layout: FileLayout, rule: str | None = None) -> WrittenFiles:
        """Prepares the rows for the table and writes them. `rule` must be true for each of them."""
        local = None if rule is not None else self._local_rows(layout)
        if local is not None:
            settings = self._settings(layout)
            rows = TableRows(self.store, local, settings.max_rows_per_file)
            return self._finished(rows.write(layout.with_codec(settings.compression)), layout)
        drawn = generated_identity_columns(self.schema, layout.schema)
        numbering = self.plane.num_partitions(self.frame, layout) if drawn else None
        ready = prepare_frame(self.frame, self.schema, layout, numbering=numbering, condition=rule)
        rows, rebalanced = (ready, False) if drawn else self._balanced(ready, layout)
        settings = replace(
            self._settings(layout),
            fixed_partitions=numbering is not None,
            # Without it a shuffle of a few rows ends in hundreds of files.
            adaptive=rebalanced,
        )
        return self._written(self.plane.write_files(rows, layout, settings), layout, drawn)

    def _settings(self, layout: FileLayout, folder: str | None = None) -> FileSettings:
        """The write decides on the codec, else the table, else the session."""
        asked = layout.configuration.get(TableProperties.parquet_compression_codec.key)
        codec = self.settings.compression or asked or self.default_compression
        return replace(self.settings, compression=codec, folder=folder)

    def _local_rows(self, layout: FileLayout) -> pa.Table | None:
        """The rows, if they are in the plan and Arrow alone can prepare them for the table."""
        if is_connect(self.frame) or _needs_spark(self.schema, layout):
            return None
        from lakebed.spark.internals.parquet_sink import local_rows

        return local_rows(self.frame, self.schema, MOST_LOCAL_ROWS)

    def _balanced(self, rows: DataFrame, layout: FileLayout) -> tuple[DataFrame, bool]:
        """Clustering on write, or optimized writes: rows of one partition in few good files.

        Also whether Spark is to decide on the number of files.
        """
        if self.arrange is not None:
            arranged = self.arrange(self.frame, rows, layout)
            if arranged is not None:
                return arranged, False
        asked = layout.properties.optimize_write
        wanted = bool(asked) if self.optimize is None else self.optimize
        if not wanted:
            return rows, False
        f = functions_of(self.frame)
        columns = [f.col(quote(name)) for name in layout.partition_columns]
        return rows.hint("rebalance", *columns), True

    def _written(
        self, adds: Sequence[Add], layout: FileLayout, drawn: Sequence[str]
    ) -> WrittenFiles:
        count = sum(orjson.loads(add.stats or "{}")[NUM_RECORDS] for add in adds)
        schema = with_new_high_water_marks(layout.schema, drawn, adds)
        return self._finished(WrittenFiles(list(adds), schema, count), layout)

    def _finished(self, written: WrittenFiles, layout: FileLayout) -> WrittenFiles:
        if self.collect_stats or layout.needs_statistics:
            return written
        return replace(written, adds=[_counted(add) for add in written.adds])


def _counted(add: Add) -> Add:
    """With no statistics but the number of rows, which row ids depend on."""
    count = orjson.loads(add.stats or "{}")[NUM_RECORDS]
    return replace(add, stats=orjson.dumps({NUM_RECORDS: count}).decode())


def _needs_spark(given: StructType, layout: FileLayout) -> bool:
    """Whether the table has rules or values that are expressions, or draws identity values."""
    has_no_rules = not layout.properties.constraints and all(
        not any(key.startswith(_EXPRESSIONS) for key in column.metadata)
        for _, column in walk(layout.schema)
    )
    others = (each for column in given.fields for each in walk_types(column.data_type))
    return not has_no_rules or any(not _is_arrow(each) for each in others)


def _is_arrow(data_type: DataType) -> bool:
    return data_type not in (VARIANT, VOID) and not isinstance(data_type, UserDefinedType)


_EXPRESSIONS = ("delta.invariants", "delta.generationExpression", "delta.identity", "CURRENT_")
