"""Writing Arrow tables as data files of a table: the second data plane.

PROTOCOL: Data Files, Partition Value Serialization, Writer Requirements for Column Mapping.
Nothing here is visible to readers: files count once a commit names them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.arrow.relabel import relabel
from lakebed.arrow.write.parquet_bytes import ParquetBytes
from lakebed.errors import ConstraintViolationError, SchemaError
from lakebed.formats.arrow_types import cast_table, parquet_schema
from lakebed.formats.codecs import arrow_codec
from lakebed.formats.statistics.footer_stats import FloatWatch, collect
from lakebed.spec.actions import Add, Metadata, Protocol
from lakebed.spec.columns.column_mapping import (
    mapping_mode,
    nested_ids,
    physical_name,
    physical_schema,
)
from lakebed.spec.columns.column_metadata import identity
from lakebed.spec.columns.schema_validation import validate_void
from lakebed.spec.features import is_supported
from lakebed.spec.iceberg_compat import active_compat
from lakebed.spec.partition_values import serialize_column
from lakebed.spec.paths import data_file_name, data_file_path, encode_path
from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import (
    BINARY,
    STRING,
    StructField,
    StructType,
    parse_schema,
    walk,
    without_void,
)
from lakebed.spec.stats import indexed_columns
from lakebed.storage.store import Store

# Table features that ask something of whoever writes rows, and that `arrow.rows` and this module
# take care of (see `spec.features.check_writable`).
HANDLED_FEATURES = frozenset(
    [
        "allowColumnDefaults",
        "generatedColumns",
        "identityColumns",
        "variantType",
        "variantType-preview",
    ]
)
_WORKERS = 4
_GROUP_BYTES = 64 * 1024 * 1024
_DEFAULT_FILE_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True)
class FileLayout:
    """How the files of a table look: schema, partitions and settings, as its metadata has them."""

    schema: StructType
    partition_columns: tuple[str, ...]
    configuration: Mapping[str, str]
    keeps_partitions: bool = False
    unindexed: frozenset[str] = frozenset()
    """Columns without statistics, whatever the settings say."""
    needs_statistics: bool = False
    """Of clustered tables: whoever writes to them must not leave statistics out."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """What the log says about files that are as a feature of the table wants them."""

    @classmethod
    def of(cls, metadata: Metadata, protocol: Protocol) -> FileLayout:
        """Some tables want partition columns in the files too, behind the others."""
        asked = TableProperties(metadata.configuration).write_partition_columns_to_parquet
        compat = active_compat(protocol, metadata)
        supported = is_supported(protocol, "materializePartitionColumns")
        return cls(
            parse_schema(metadata.schema_string),
            metadata.partition_columns,
            metadata.configuration,
            bool(asked) or supported or compat is not None,
            needs_statistics=is_supported(protocol, "clustering"),
            tags={} if compat is None else compat.file_tags,
        )

    @cached_property
    def properties(self) -> TableProperties:
        return TableProperties(self.configuration)

    @cached_property
    def mode(self) -> str:
        return mapping_mode(self.configuration)

    @cached_property
    def stored(self) -> StructType:
        """The columns that go into the files."""
        partitions = [self.schema.field(name) for name in self.partition_columns]
        data = [field for field in self.schema.fields if field not in partitions]
        validate_void(StructType(tuple(data)))
        return without_void(StructType((*data, *(partitions if self.keeps_partitions else ()))))

    @cached_property
    def physical(self) -> StructType:
        return physical_schema(self.stored, self.mode)

    @cached_property
    def indexed(self) -> StructType:
        """The columns that have statistics, by their physical names."""
        known = tuple(field for field in self.schema.fields if field.name not in self.unindexed)
        chosen = indexed_columns(StructType(known), self.properties, self.partition_columns)
        return physical_schema(without_void(self._with_identity(chosen)), self.mode)

    def _with_identity(self, chosen: StructType) -> StructType:
        """The marks of identity columns are read from the statistics of new files."""
        found = (field for field in self.schema.fields if identity(field) is not None)
        missing = (field for field in found if field.name not in chosen)
        return StructType((*chosen.fields, *missing))

    def with_columns(self, columns: Sequence[StructField]) -> FileLayout:
        """The same with more columns in the files than the table has, without statistics."""
        schema = StructType((*self.schema.fields, *columns))
        names = self.unindexed.union(field.name for field in columns)
        return replace(self, schema=schema, unindexed=names)

    def with_codec(self, codec: str | None) -> FileLayout:
        """The same with another codec than the table's, if one is given."""
        if codec is None:
            return self
        key = TableProperties.parquet_compression_codec.key
        return replace(self, configuration={**self.configuration, key: codec})

    @cached_property
    def has_nested_ids(self) -> bool:
        """Whether elements of arrays or entries of maps need ids, which Spark cannot write."""
        return bool(self.tags) and any(nested_ids(each) for _, each in walk(self.physical))

    @cached_property
    def may_be_empty(self) -> frozenset[str]:
        """Partition columns in the files where an empty value must be null, as it is in the log."""
        if not self.keeps_partitions:
            return frozenset()
        fields = [self.schema.field(name) for name in self.partition_columns]
        return frozenset(each.name for each in fields if each.data_type in (STRING, BINARY))

    @property
    def codec(self) -> str:
        return self.properties.parquet_compression_codec.lower()


@dataclass(frozen=True)
class Written:
    """The files of a write, and the schema of the table, where identity marks moved on."""

    adds: list[Add]
    schema: StructType
    num_rows: int


def write_files(
    store: Store,
    layout: FileLayout,
    table: pa.Table,
    *,
    data_change: bool = True,
    max_rows_per_file: int | None = None,
    folder: str | None = None,
) -> list[Add]:
    """Write all rows; `table` has the columns of the schema, in its order and types.

    `folder` is the one of the table for the files, if not that of all its data files.
    """
    jobs = [
        (values, part)
        for values, rows in rows_by_partition(layout, table)
        for part in _chunks(layout, rows, max_rows_per_file)
    ]

    def write_one(job: tuple[dict[str, str | None], pa.Table]) -> Add:
        return write_file(store, layout, *job, data_change=data_change, folder=folder)

    if len(jobs) == 1:
        return [write_one(jobs[0])]
    with ThreadPoolExecutor(_WORKERS, thread_name_prefix="lakebed-write") as pool:
        return list(pool.map(write_one, jobs))


def write_file(
    store: Store,
    layout: FileLayout,
    values: dict[str, str | None],
    table: pa.Table,
    *,
    data_change: bool = True,
    folder: str | None = None,
) -> Add:
    """Write one file of rows of one partition, as `rows_by_partition` gives them."""
    file = FileWriter(layout, values)
    file.write(table)
    return file.finish(store, data_change=data_change, folder=folder)


class FileWriter:
    """One file of rows of one partition, which come piece by piece.

    Rows are held until there are enough for a row group, and the file until it is finished.
    """

    def __init__(self, layout: FileLayout, values: Mapping[str, str | None]) -> None:
        self._layout = layout
        self._values = dict(values)
        self._file: ParquetBytes | None = None
        self._watch = FloatWatch(layout.indexed)
        self._held: list[pa.Table] = []
        self._held_bytes = 0

    def write(self, rows: pa.Table) -> None:
        """`rows` are as `stored_rows` gives them."""
        self._held.append(rows)
        self._held_bytes += rows.nbytes
        if self._held_bytes >= _GROUP_BYTES:
            self._flush()

    def finish(self, store: Store, *, data_change: bool = True, folder: str | None = None) -> Add:
        """At least one piece was written, if only one without rows."""
        self._flush()
        assert self._file is not None
        with _writing():
            data, footer = self._file.finish()
        layout = self._layout
        path = "/".join(filter(None, [folder, _new_path(layout, self._values)]))
        store.put(path, memoryview(data))
        return Add(
            path=encode_path(path),
            partition_values=self._values,
            size=data.size,
            modification_time=int(time.time() * 1000),
            data_change=data_change,
            stats=collect(footer, layout.indexed, layout.properties, data=self._watch),
            tags=layout.tags or None,
        )

    def _flush(self) -> None:
        if not self._held:
            return
        rows = pa.concat_tables(self._held)
        self._held, self._held_bytes = [], 0
        self._watch.see(rows)
        with _writing():
            if self._file is None:
                self._file = ParquetBytes(rows.schema, _parquet_options(self._layout))
            self._file.write(rows)


def rows_by_partition(
    layout: FileLayout, table: pa.Table
) -> Iterator[tuple[dict[str, str | None], pa.Table]]:
    """The rows of each partition, with its values as the log has them."""
    stored = stored_rows(layout, table)
    if not layout.partition_columns:
        yield {}, stored
        return
    fields = [layout.schema.field(name) for name in layout.partition_columns]
    texts = [_partition_values(table.column(field.name), field) for field in fields]
    names = [physical_name(field) for field in fields]
    # By number, since a partition column may have any name.
    numbers = [str(number) for number in range(len(fields))]
    keys = pa.table([*texts, _numbers(table.num_rows)], names=[*numbers, "row"])
    groups = keys.group_by(numbers, use_threads=False).aggregate([("row", "list")])
    for group, rows in zip(groups.select(numbers).to_pylist(), groups["row_list"], strict=True):
        yield dict(zip(names, group.values(), strict=True)), stored.take(rows.values)


def _parquet_options(layout: FileLayout) -> dict[str, str]:
    version = layout.properties.parquet_format_version[:3].replace("2.1", "2.0")
    return {"compression": arrow_codec(layout.codec), "data_page_version": version}


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except pa.ArrowException as error:
        raise SchemaError(
            f"the rows cannot be written as Parquet: {error}",
            hint="nothing was committed; give the column another type, or leave it out",
        ) from error


def _new_path(layout: FileLayout, values: dict[str, str | None]) -> str:
    random = layout.properties.randomize_file_prefixes or layout.mode != "none"
    length = layout.properties.random_prefix_length if random else 0
    return data_file_path(data_file_name(layout.codec), values, random_prefix_length=length)


def _partition_values(column: pa.ChunkedArray, field: StructField) -> pa.Array:
    values = serialize_column(column, field.data_type, column=field.name)
    if not field.nullable and values.null_count:
        raise ConstraintViolationError(
            f"partition column {field.name!r} is NOT NULL, but an empty value is stored as null",
            hint="nothing was written; give the column values that are not empty",
        )
    return values


def _numbers(count: int) -> pa.Array:
    return pc.indices_nonzero(pa.repeat(pa.scalar(True), count))


def stored_rows(layout: FileLayout, table: pa.Table) -> pa.Table:
    """The columns of the files, under their physical names and ids."""
    schema = parquet_schema(layout.physical, with_field_ids=layout.mode != "none")
    rows = cast_table(table, layout.stored)
    may_be_empty = frozenset(layout.may_be_empty)
    columns = [
        relabel(_without_empty(column) if name in may_be_empty else column, field.type)
        for name, column, field in zip(rows.column_names, rows.columns, schema, strict=True)
    ]
    return pa.table(columns, schema=schema)


def _without_empty(column: pa.ChunkedArray) -> pa.ChunkedArray:
    is_empty = pc.equal(pc.binary_length(column), 0)
    return pc.if_else(is_empty, pa.scalar(None, column.type), column)


def _chunks(layout: FileLayout, table: pa.Table, max_rows: int | None) -> Iterator[pa.Table]:
    target = layout.properties.target_file_size or _DEFAULT_FILE_BYTES
    pieces = max(1, -(-table.nbytes // target))
    rows = -(-table.num_rows // pieces)
    if max_rows is not None:
        rows = min(rows, max_rows)
    for start in range(0, max(table.num_rows, 1), max(rows, 1)):
        yield table.slice(start, rows)
