"""Data files as Iceberg describes them (Iceberg Spec: Manifests, `data_file`).

Bounds are written only where they are values of rows: some readers answer MIN and MAX from them.
So timestamps, which Delta cuts off at milliseconds, have none, and floating-point columns no upper
one: writers leave NaN out, which Spark sorts last. Bounds of strings may be cut off, and readers
know that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.errors import DataFileError
from lakebed.formats.statistics.file_statistics import FileColumns
from lakebed.iceberg.iceberg_schema import primitive_name
from lakebed.iceberg.iceberg_table import IcebergTable
from lakebed.iceberg.iceberg_values import lower_zero, stored_values, to_avro, to_bytes
from lakebed.iceberg.manifests import Record, partition_names
from lakebed.log.listing.file_locations import hadoop_location
from lakebed.spec.columns.column_mapping import column_id
from lakebed.spec.columns.type_widening import type_changes
from lakebed.spec.schema import DOUBLE, FLOAT, STRING, Path, StructField
from lakebed.spec.stats import leaves
from lakebed.storage.store import Store

COLUMNS = ("path", "partitionValues", "size", "deletionVector")
"""What `data_files` needs of a file, besides its statistics."""

_WORKERS = 16


def data_files(store: Store, table: IcebergTable, files: pa.Table) -> list[Record]:
    """`files` has the columns of the log, with statistics as text, as structs or both."""
    columns = FileColumns(files, table.schema, table.partition_columns, table.mode)
    metrics = list(_metrics(table, columns))
    partitions = _partitions(table, columns)
    counts = _record_counts(store, files, columns)
    paths, sizes = files.column("path").to_pylist(), files.column("size").to_pylist()
    return [
        {
            "content": 0,
            "file_path": hadoop_location(paths[row], table.url),
            "file_format": "PARQUET",
            "partition": partitions[row],
            "record_count": counts[row],
            "file_size_in_bytes": sizes[row],
            "value_counts": [_pair(m.id, counts[row]) for m in metrics if m.nulls[row] is not None],
            "null_value_counts": _pairs(metrics, "nulls", row),
            "lower_bounds": _pairs(metrics, "lower", row),
            "upper_bounds": _pairs(metrics, "upper", row),
        }
        for row in range(files.num_rows)
    ]


@dataclass(frozen=True)
class _Metrics:
    """Of one column: a value for each file, or None."""

    id: int
    nulls: Sequence[int | None]
    lower: Sequence[bytes | None]
    upper: Sequence[bytes | None]


def _pair(key: int, value: Any) -> Record:
    return {"key": key, "value": value}


def _pairs(metrics: Sequence[_Metrics], kind: str, row: int) -> list[Record]:
    found = ((each.id, getattr(each, kind)[row]) for each in metrics)
    return [_pair(number, value) for number, value in found if value is not None]


def _metrics(table: IcebergTable, columns: FileColumns) -> Iterator[_Metrics]:
    partitions = {name.lower() for name in table.partition_columns}
    wanted = [
        (path, field)
        for path, field in leaves(table.schema)
        if path[0].lower() not in partitions and primitive_name(field.data_type) is not None
    ]
    columns.prefetch(path for path, _ in wanted)
    for path, field in wanted:
        number, nulls = column_id(field), columns.null_count(path)
        if number is None or nulls is None:
            continue
        lower, upper = _bounds(columns, path, field)
        yield _Metrics(number, nulls.to_pylist(), lower, upper)


def _bounds(
    columns: FileColumns, path: Path, field: StructField
) -> tuple[Sequence[bytes | None], Sequence[bytes | None]]:
    low, high = columns.minimum(path), columns.maximum(path)
    none: list[bytes | None] = [None] * columns.num_files
    if low is None or high is None:
        return none, none
    kind = field.data_type
    if kind in (FLOAT, DOUBLE):
        # Files from before a widening have bounds with the digits of a float.
        certain = none if type_changes(field) else _encoded(low, columns.tight(), field)
        return certain, none
    known = columns.tight() if kind == STRING else columns.exact(path)
    return _encoded(low, known, field), _encoded(high, known, field)


def _encoded(values: pa.Array, known: pa.Array, field: StructField) -> list[bytes | None]:
    encode = to_bytes(field.data_type)
    chosen = pc.if_else(known, values, pa.scalar(None, values.type))
    stored = stored_values(chosen, field.data_type)
    return [None if value is None else encode(lower_zero(value)) for value in stored]


def _partitions(table: IcebergTable, columns: FileColumns) -> list[Record]:
    rows: list[Record] = [{} for _ in range(columns.num_files)]
    for column, name in zip(table.partition_columns, partition_names(table), strict=True):
        kind = table.schema.field(column).data_type
        values = stored_values(columns.partition(column), kind)
        for row, value in zip(rows, values, strict=True):
            row[name] = to_avro(value, kind)
    return rows


def _record_counts(store: Store, files: pa.Table, columns: FileColumns) -> list[int]:
    """From the statistics; from the footers of files that have none, since Iceberg needs it."""
    counts: list[int | None] = columns.num_records().to_pylist()
    unknown = [row for row, count in enumerate(counts) if count is None]
    if unknown:
        paths = files.column("path").take(pa.array(unknown)).to_pylist()
        with ThreadPoolExecutor(min(_WORKERS, len(unknown))) as pool:
            found = list(pool.map(lambda path: _footer(store, path), paths))
        for row, count in zip(unknown, found, strict=True):
            counts[row] = count
    return [count for count in counts if count is not None]


def _footer(store: Store, path: str) -> int:
    home, inside = store.resolve(path)
    try:
        return int(pq.read_metadata(home.open_input(inside)).num_rows)
    except pa.ArrowException as error:
        raise DataFileError(f"its footer cannot be read: {error}", file=path) from error
