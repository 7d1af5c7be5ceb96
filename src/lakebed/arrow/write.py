"""Writing Arrow tables as data files of a table: the second data plane.

PROTOCOL: Data Files, Partition Value Serialization, Writer Requirements for Column Mapping.
Nothing here is visible to readers: files count once a commit names them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.arrow.relabel import relabel
from lakebed.formats.arrow_types import parquet_schema
from lakebed.formats.footer_stats import collect
from lakebed.spec.actions import Add
from lakebed.spec.column_mapping import mapping_mode, physical_name, physical_schema
from lakebed.spec.partition_values import serialize_column
from lakebed.spec.paths import data_file_name, data_file_path, encode_path
from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import VOID, StructType
from lakebed.storage.store import Store

_WORKERS = 4
_DEFAULT_FILE_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True)
class FileLayout:
    """How the files of a table look: schema, partitions and settings, as its metadata has them."""

    schema: StructType
    partition_columns: tuple[str, ...]
    configuration: dict[str, str]

    @cached_property
    def properties(self) -> TableProperties:
        return TableProperties(self.configuration)

    @cached_property
    def mode(self) -> str:
        return mapping_mode(self.configuration)

    @cached_property
    def partitions(self) -> frozenset[str]:
        return frozenset(name.lower() for name in self.partition_columns)

    @cached_property
    def stored(self) -> StructType:
        """The columns that go into the files."""
        return StructType(
            tuple(
                field
                for field in self.schema.fields
                if field.name.lower() not in self.partitions and field.data_type != VOID
            )
        )

    @cached_property
    def physical(self) -> StructType:
        return physical_schema(self.stored, self.mode)

    @property
    def codec(self) -> str:
        return self.properties.parquet_compression_codec.lower()


def write_files(
    store: Store,
    layout: FileLayout,
    table: pa.Table,
    *,
    data_change: bool = True,
    max_rows_per_file: int | None = None,
) -> list[Add]:
    """Write all rows; `table` has the columns of the schema, in its order and types."""
    jobs = [
        (values, part)
        for values, rows in _by_partition(layout, table)
        for part in _chunks(layout, rows, max_rows_per_file)
    ]

    def write_one(job: tuple[dict[str, str | None], pa.Table]) -> Add:
        return _write_file(store, layout, *job, data_change)

    if len(jobs) == 1:
        return [write_one(jobs[0])]
    with ThreadPoolExecutor(_WORKERS, thread_name_prefix="lakebed-write") as pool:
        return list(pool.map(write_one, jobs))


def _write_file(
    store: Store,
    layout: FileLayout,
    values: dict[str, str | None],
    table: pa.Table,
    data_change: bool,
) -> Add:
    path = _new_path(layout, values)
    sink = pa.BufferOutputStream()
    footers: list[pq.FileMetaData] = []
    pq.write_table(
        table,
        sink,
        compression="NONE" if layout.codec in ("uncompressed", "none") else layout.codec,
        store_schema=False,
        metadata_collector=footers,
        data_page_version=layout.properties.parquet_format_version[:3].replace("2.1", "2.0"),
    )
    data = sink.getvalue()
    store.put(path, memoryview(data))
    return Add(
        path=encode_path(path),
        partition_values=values,
        size=data.size,
        modification_time=int(time.time() * 1000),
        data_change=data_change,
        stats=collect(footers[0], layout.physical, layout.properties, data=table),
    )


def _new_path(layout: FileLayout, values: dict[str, str | None]) -> str:
    random = layout.properties.randomize_file_prefixes or layout.mode != "none"
    length = layout.properties.random_prefix_length if random else 0
    return data_file_path(data_file_name(layout.codec), values, random_prefix_length=length)


def _by_partition(
    layout: FileLayout, table: pa.Table
) -> Iterator[tuple[dict[str, str | None], pa.Table]]:
    """The rows of each partition, with its values as the log has them."""
    stored = _stored_table(layout, table)
    if not layout.partition_columns:
        yield {}, stored
        return
    fields = [layout.schema.field(name) for name in layout.partition_columns]
    texts = [serialize_column(table.column(field.name), field.data_type) for field in fields]
    keys = pa.table(texts, names=[physical_name(field) for field in fields])
    names = keys.column_names
    numbered = keys.append_column("#row", _numbers(table.num_rows))
    groups = numbered.group_by(names, use_threads=False).aggregate([("#row", "list")])
    for group in groups.to_batches(max_chunksize=1):
        rows = pc.list_flatten(group.column(groups.column_names.index("#row_list")))
        values = {name: group.column(name)[0].as_py() for name in names}
        yield values, stored.take(rows)


def _numbers(count: int) -> pa.Array:
    return pa.array(range(count), pa.int64())


def _stored_table(layout: FileLayout, table: pa.Table) -> pa.Table:
    """The columns of the files, under their physical names and ids."""
    schema = parquet_schema(layout.physical, with_field_ids=layout.mode != "none")
    columns = [
        relabel(table.column(logical.name), field.type)
        for logical, field in zip(layout.stored.fields, schema, strict=True)
    ]
    return pa.table(columns, schema=schema)


def _chunks(layout: FileLayout, table: pa.Table, max_rows: int | None) -> Iterator[pa.Table]:
    target = layout.properties.target_file_size or _DEFAULT_FILE_BYTES
    pieces = max(1, -(-table.nbytes // target))
    rows = -(-table.num_rows // pieces)
    if max_rows is not None:
        rows = min(rows, max_rows)
    for start in range(0, max(table.num_rows, 1), max(rows, 1)):
        yield table.slice(start, rows)
