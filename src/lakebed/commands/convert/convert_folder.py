"""CONVERT: a folder of Parquet files becomes a Delta table where it is.

No data is written: the first commit names the files that are there. Their footers, read once and
in parallel, give the schema and the statistics. The names and the recorded operation are
delta-spark's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from lakebed.commands.convert.parquet_folder import (
    FoundFile,
    SchemaMerge,
    check_partitioned,
    column_names,
    file_schema,
    find_files,
    partition_values,
    with_partitions,
)
from lakebed.commands.target.write_options import WriteOptions
from lakebed.commands.target.write_target import Target, new_table
from lakebed.data_files.file_layout import HANDLED_FEATURES, FileLayout
from lakebed.errors import DataFileError, InvalidArgumentError, StorageError
from lakebed.formats.arrow_types import from_arrow_schema
from lakebed.formats.statistics.footer_stats import collect
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Add
from lakebed.spec.columns.column_mapping import MODE, mapping_mode
from lakebed.spec.columns.sql_types import parse_sql_type
from lakebed.spec.features import is_supported
from lakebed.spec.iceberg_compat import COMPATS
from lakebed.spec.paths import encode_path
from lakebed.spec.schema import StructType
from lakebed.storage.store import Store
from lakebed.transaction import Committed, Operation, Transaction

_WORKERS = 16
# Footers beyond these are read a second time rather than kept.
_KEPT = 10_000

PartitionSchema: TypeAlias = "str | StructType | pa.Schema"
"""`"day DATE, region STRING"`, or a schema."""


@dataclass(frozen=True)
class ConvertOptions:
    """`stats=False` leaves out statistics: the commit gets smaller, and no query skips files."""

    partition_schema: StructType | None = None
    stats: bool = True
    properties: Mapping[str, str] = field(default_factory=dict)
    default_properties: Mapping[str, str] = field(default_factory=dict)
    user_metadata: str | None = None


def convert_folder(log: TableLog, options: ConvertOptions) -> Snapshot:
    """The table that the folder has become; one that is a table already stays as it is."""
    if log.exists():
        return log.snapshot()
    return _Convert(log.store, options).run()


def folder_as_table(store: Store, options: ConvertOptions) -> Snapshot:
    """What the table would be, without a commit: for a clone of the folder."""
    target, _, adds = _Convert(store, options).converted()
    return Snapshot.created(store, [target.protocol, target.metadata, *adds])


def partition_schema(given: PartitionSchema | None) -> StructType | None:
    """The partition columns as a user may give them."""
    if given is None or isinstance(given, StructType):
        return given
    if isinstance(given, pa.Schema):
        return from_arrow_schema(given)
    if not isinstance(given, str):
        raise InvalidArgumentError(
            f"partition_schema is of type {type(given).__name__}",
            hint="give a text such as 'day DATE, region STRING'",
        )
    parsed = parse_sql_type(f"struct<{given}>")
    assert isinstance(parsed, StructType)
    return parsed


class _Convert:
    def __init__(self, store: Store, options: ConvertOptions) -> None:
        self._store = store
        self._options = options
        self._footers: dict[str, pq.FileMetaData] = {}

    def run(self) -> Snapshot:
        return self._commit(*self.converted())

    def converted(self) -> tuple[Target, StructType, list[Add]]:
        """The table, its partition columns and its files."""
        files = find_files(self._store)
        partitions = check_partitioned(files, self._options.partition_schema)
        values = [partition_values(file, partitions) for file in files]
        schemas = self._schemas(files)
        merge = SchemaMerge()
        for file, schema in zip(files, schemas, strict=True):
            merge.add(schema, file.meta.path)
        target = self._target(with_partitions(merge.result, partitions), partitions)
        layout = FileLayout.of(target.metadata, target.protocol)
        # Under another spelling a column would seem to be absent, and all its values null.
        names = column_names(merge.result)
        alike = [column_names(schema) <= names for schema in schemas]
        jobs = list(zip(files, values, alike, strict=True))
        with ThreadPoolExecutor(_WORKERS, thread_name_prefix="lakebed-convert") as pool:
            adds = list(pool.map(lambda job: self._add(layout, *job), jobs))
        return target, partitions, adds

    def _schemas(self, files: Sequence[FoundFile]) -> list[StructType]:
        def read(file: FoundFile) -> StructType:
            footer = self._footer(file.meta.path)
            if len(self._footers) < _KEPT:
                self._footers[file.meta.path] = footer
            return file_schema(footer, file.meta.path)

        with ThreadPoolExecutor(_WORKERS, thread_name_prefix="lakebed-convert") as pool:
            return list(pool.map(read, files))

    def _footer(self, path: str) -> pq.FileMetaData:
        known = self._footers.get(path)
        if known is not None:
            return known
        try:
            return pq.read_metadata(self._store.open_input(path))
        except StorageError:
            raise
        except (pa.ArrowException, OSError) as error:
            raise DataFileError(
                f"this is not a Parquet file: {error}",
                file=path,
                hint="take it out of the folder, or put '_' in front of its name to hide it",
            ) from error

    def _target(self, schema: StructType, partitions: StructType) -> Target:
        options = self._options
        target = new_table(
            schema,
            WriteOptions(
                partition_by=partitions.names or None,
                properties=options.properties,
                default_properties=options.default_properties,
            ),
        )
        if mapping_mode(target.metadata.configuration) != "none":
            raise InvalidArgumentError(
                f"a folder cannot be converted to a table with {MODE}: its files know their "
                "columns by name",
                hint="convert it without the property, and set it afterwards; for Iceberg "
                f"compatibility, which needs it too, run {COMPATS[2].reorg}",
                condition="DELTA_CONVERSION_UNSUPPORTED_COLUMN_MAPPING",
            )
        if not options.stats and is_supported(target.protocol, "rowTracking"):
            raise InvalidArgumentError(
                "a table with row tracking needs to know how many rows its files have",
                hint="convert it with statistics",
                condition="DELTA_CONVERT_TO_DELTA_ROW_TRACKING_WITHOUT_STATS",
            )
        return target

    def _add(
        self,
        layout: FileLayout,
        file: FoundFile,
        values: dict[str, str | None],
        alike: bool,
    ) -> Add:
        stats = None
        if self._options.stats:
            indexed = layout.indexed if alike else StructType(())
            stats = collect(self._footer(file.meta.path), indexed, layout.properties)
        return Add(
            path=encode_path(file.meta.path),
            partition_values=values,
            size=file.meta.size,
            modification_time=file.meta.modified_ms,
            data_change=True,
            stats=stats,
        )

    def _commit(self, target: Target, partitions: StructType, adds: list[Add]) -> Snapshot:
        parameters: dict[str, Any] = {
            "numFiles": len(adds),
            "partitionedBy": list(partitions.names),
            "collectStats": self._options.stats,
            "sourceFormat": "parquet",
        }
        transaction = Transaction(
            None,
            store=self._store,
            operation=Operation("CONVERT", parameters, appends=False),
            user_metadata=self._options.user_metadata,
            handles=HANDLED_FEATURES,
        )
        transaction.metrics({"numConvertedFiles": len(adds)})
        transaction.stage(target.protocol, target.metadata, *adds)
        outcome = transaction.commit().unwrap()
        assert isinstance(outcome, Committed)
        return outcome.snapshot
