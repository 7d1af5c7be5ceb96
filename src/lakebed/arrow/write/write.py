"""Writing Arrow tables as data files of a table: the second data plane.

PROTOCOL: Data Files, Partition Value Serialization, Writer Requirements for Column Mapping.
Nothing here is visible to readers: files count once a commit names them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.arrow.relabel import relabel
from lakebed.arrow.write.parquet_bytes import ParquetBytes
from lakebed.data_files.file_layout import FileLayout
from lakebed.errors import ConstraintViolationError, SchemaError
from lakebed.formats.arrow_cast import cast_table
from lakebed.formats.arrow_types import parquet_schema
from lakebed.formats.codecs import arrow_codec
from lakebed.formats.statistics.footer_stats import FloatWatch, collect
from lakebed.spec.actions import Add
from lakebed.spec.columns.column_mapping import (
    physical_name,
)
from lakebed.spec.partition_values import serialize_column
from lakebed.spec.paths import data_file_name, data_file_path, encode_path
from lakebed.spec.schema import (
    StructField,
)
from lakebed.storage.store import Store

_WORKERS = 4
_GROUP_BYTES = 64 * 1024 * 1024
_DEFAULT_FILE_BYTES = 512 * 1024 * 1024


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
