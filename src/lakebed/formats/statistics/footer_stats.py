"""Statistics of files that are being added (PROTOCOL: Per-file Statistics).

Either from the footer of a Parquet file, whoever wrote it, or from Arrow data at hand. A bound is
left out when it is not known to be one; a wrong one would hide rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import (
    DATE,
    DOUBLE,
    FLOAT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    DataType,
    DecimalType,
    Path,
    StructField,
    StructType,
)
from lakebed.spec.stats import (
    MAX_VALUES,
    MIN_VALUES,
    NULL_COUNT,
    NUM_RECORDS,
    TIGHT_BOUNDS,
    Bound,
    has_bounds,
    leaves,
    maximum_to_json,
    minimum_to_json,
    string_prefix_length,
)
from lakebed.spec.timestamps import MICROS_PER_DAY


def collect(
    metadata: pq.FileMetaData,
    columns: StructType,
    properties: TableProperties | None = None,
    *,
    tight_bounds: bool = False,
    data: pa.Table | FloatWatch | None = None,
) -> str:
    """The statistics of a Parquet file as JSON, from its footer.

    `columns` are the indexed columns (see `spec.stats.indexed_columns`) by their physical names.
    Most writers leave NaN out of a footer's bounds, so that a maximum of floating-point numbers is
    used only from those that do not. With `data`, the rows of the file or a watch that saw them
    all, floating-point columns have the statistics of the rows.
    """
    stats = _FileStats(metadata.num_rows, properties, tight_bounds)
    if isinstance(data, pa.Table):
        watch = FloatWatch(columns)
        watch.see(data)
        data = watch
    footer = _Footer(metadata, data)
    for path, column in leaves(columns):
        stats.add(path, column, footer.column(path, column))
    return stats.to_json()


def collect_table(
    table: pa.Table,
    columns: StructType,
    properties: TableProperties | None = None,
    *,
    tight_bounds: bool = False,
) -> str:
    """The statistics of rows in memory as JSON; `table` and `columns` have physical names."""
    stats = _FileStats(table.num_rows, properties, tight_bounds)
    for path, column in leaves(columns):
        stats.add(path, column, _of_rows(_values(table, path), column, table.num_rows))
    return stats.to_json()


class FloatWatch:
    """Sees the rows of a file pass, for the statistics of floating-point columns outside arrays.

    The footer does not have them: it says nothing about columns with NaN.
    """

    def __init__(self, columns: StructType) -> None:
        found = (leaf for leaf in leaves(columns) if leaf[1].data_type in _FLOATING)
        self._seen: dict[Path, _SeenFloats] = {path: _SeenFloats() for path, _ in found}

    def see(self, rows: pa.Table) -> None:
        """`rows` have the columns by their physical names."""
        for path, seen in self._seen.items():
            seen.see(_values(rows, path), rows.num_rows)

    def stats(self, path: Path) -> _ColumnStats | None:
        """None for columns that are not watched."""
        seen = self._seen.get(path)
        return None if seen is None else seen.stats()


@dataclass
class _SeenFloats:
    """NaN, which is the greatest value, makes the maximum unknown."""

    minimum: float | None = None
    maximum: float | None = None
    null_count: int = 0
    has_nan: bool = False

    def see(self, values: pa.ChunkedArray | None, num_rows: int) -> None:
        if values is None:
            self.null_count += num_rows
            return
        self.null_count += values.null_count
        self.has_nan = self.has_nan or bool(pc.any(pc.is_nan(values)).as_py())
        bounds = pc.min_max(values)
        low, high = bounds["min"].as_py(), bounds["max"].as_py()
        # Arrow passes over NaN, unless there is nothing else.
        if low is not None and low == low:
            self.minimum = low if self.minimum is None else min(self.minimum, low)
            self.maximum = high if self.maximum is None else max(self.maximum, high)

    def stats(self) -> _ColumnStats:
        maximum = None if self.has_nan else self.maximum
        return _ColumnStats(self.minimum, maximum, self.null_count)


@dataclass(frozen=True)
class _ColumnStats:
    """What is known of a column of a file; None is unknown."""

    minimum: Bound | None = None
    maximum: Bound | None = None
    null_count: int | None = None


@dataclass
class _FileStats:
    """The statistics of one file as they grow."""

    num_records: int
    properties: TableProperties | None
    tight_bounds: bool
    minimums: dict[str, Any] = field(default_factory=dict)
    maximums: dict[str, Any] = field(default_factory=dict)
    null_counts: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        properties = TableProperties({}) if self.properties is None else self.properties
        self._prefix_length = string_prefix_length(properties)

    def add(self, path: Path, column: StructField, stats: _ColumnStats) -> None:
        kind, length = column.data_type, self._prefix_length
        low, high = stats.minimum, stats.maximum
        _put(self.minimums, path, None if low is None else minimum_to_json(low, kind, length))
        _put(self.maximums, path, None if high is None else maximum_to_json(high, kind, length))
        _put(self.null_counts, path, stats.null_count)

    def to_json(self) -> str:
        stats: dict[str, Any] = {
            NUM_RECORDS: self.num_records,
            MIN_VALUES: self.minimums,
            MAX_VALUES: self.maximums,
            NULL_COUNT: self.null_counts,
        }
        if self.tight_bounds:
            stats[TIGHT_BOUNDS] = True
        return orjson.dumps(stats, default=_all_digits).decode()


def _put(values: dict[str, Any], path: Path, value: Any) -> None:
    if value is None:
        return
    for step in path[:-1]:
        values = values.setdefault(step, {})
    values[path[-1]] = value


def _all_digits(value: Any) -> orjson.Fragment:
    if isinstance(value, Decimal):
        return orjson.Fragment(f"{value:f}")
    raise TypeError(value)


_FLOATING = (FLOAT, DOUBLE)


# --- footers -----------------------------------------------------------------------------------


class _Footer:
    def __init__(self, metadata: pq.FileMetaData, watch: FloatWatch | None) -> None:
        groups = (metadata.row_group(i) for i in range(metadata.num_row_groups))
        self._groups = [group for group in groups if group.num_rows]
        self._num_rows = metadata.num_rows
        self._watch = watch
        # parquet-mr, which Spark uses, sorts NaN last: its maximum is NaN if there is one.
        self._bounds_nan = (metadata.created_by or "").startswith("parquet-mr")
        self._columns = dict(_parquet_columns(metadata.schema.to_arrow_schema()))

    def column(self, path: Path, column: StructField) -> _ColumnStats:
        watched = None if self._watch is None else self._watch.stats(path)
        if watched is not None:
            return watched
        if any(path[:depth] not in self._columns for depth in range(1, len(path) + 1)):
            return _ColumnStats(null_count=self._num_rows)
        if column.data_type == VARIANT:
            # A variant is a group; its first part is never null by itself.
            path = (*path, "metadata")
        index, kind = self._columns.get(path, (None, None))
        if index is None or kind is None:
            return _ColumnStats()
        return self._leaf(index, kind, column.data_type)

    def _leaf(self, index: int, kind: pa.DataType, data_type: DataType) -> _ColumnStats:
        chunks = [_Chunk(group.num_rows, group.column(index)) for group in self._groups]
        counts = [chunk.null_count for chunk in chunks]
        total = None if None in counts else sum(count for count in counts if count is not None)
        read = _reader(data_type, kind)
        # What is null in a whole row group has no bounds there, and needs none.
        used = [chunk for chunk in chunks if chunk.null_count != chunk.num_rows]
        if read is None or not used or not all(chunk.has_bounds for chunk in used):
            return _ColumnStats(null_count=total)
        low = _merged([read(chunk.stats.min_raw) for chunk in used], min)
        high = _merged([read(chunk.stats.max_raw) for chunk in used], max)
        if pa.types.is_floating(kind) and not self._bounds_nan:
            high = None
        return _ColumnStats(_lower_text(low), _upper_text(high), total)


class _Chunk:
    """A column in one row group."""

    def __init__(self, num_rows: int, chunk: pq.ColumnChunkMetaData) -> None:
        self.num_rows = num_rows
        # Every access to the attribute decodes the statistics again.
        stats = self.stats = chunk.statistics
        known = stats is not None
        self.null_count = stats.null_count if known and stats.has_null_count else None
        self.has_bounds = known and stats.has_min_max and chunk.physical_type != "INT96"


def _parquet_columns(
    fields: pa.Schema | pa.DataType, parent: Path = (), start: int = 0
) -> Iterator[tuple[Path, tuple[int | None, pa.DataType | None]]]:
    """Every column outside arrays and maps, by path: a leaf with its number and type."""
    for each in fields:
        path, kind = (*parent, each.name), _storage(each.type)
        if pa.types.is_struct(kind):
            yield path, (None, None)
            yield from _parquet_columns(kind, path, start)
        elif _is_nested(kind):
            yield path, (None, None)
        else:
            yield path, (start, kind)
        start += _width(kind)


def _width(kind: pa.DataType) -> int:
    """How many leaves of the file a column takes."""
    kind = _storage(kind)
    if not _is_nested(kind):
        return 1
    return sum(_width(kind.field(i).type) for i in range(kind.num_fields))


def _is_nested(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind) and not pa.types.is_dictionary(kind))


def _storage(kind: pa.DataType) -> pa.DataType:
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def _merged(values: list[Any], choose: Callable[[list[Any]], Any]) -> Any:
    """The smallest or largest, or None if NaN is among them: it has no place in an order."""
    return None if any(value != value for value in values) else choose(values)


def _lower_text(value: Any) -> Any:
    """Writers may cut a text anywhere, also inside a character: its valid beginning is smaller."""
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        return value[: error.start].decode()


def _upper_text(value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _reader(data_type: DataType, kind: pa.DataType) -> Callable[[Any], Any] | None:
    """From a footer's raw value to a value of the column, if the file's type gives one."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if isinstance(data_type, DecimalType):
        return _decimal_reader(kind)
    if data_type in (TIMESTAMP, TIMESTAMP_NTZ):
        return _timestamp_reader(kind)
    if data_type == DATE:
        return int if pa.types.is_date32(kind) else None
    if data_type == STRING:
        return bytes if _is_text(kind) else None
    number = pa.types.is_signed_integer(kind) or pa.types.is_float32(kind)
    number = number or pa.types.is_float64(kind)
    return (lambda raw: raw) if has_bounds(data_type) and number else None


def _decimal_reader(kind: pa.DataType) -> Callable[[Any], Decimal] | None:
    if pa.types.is_signed_integer(kind):
        return Decimal
    if not pa.types.is_decimal(kind):
        return None
    scale = kind.scale

    def read(raw: int | bytes) -> Decimal:
        unscaled = raw if isinstance(raw, int) else int.from_bytes(raw, "big", signed=True)
        digits = tuple(map(int, str(abs(unscaled))))
        return Decimal((int(unscaled < 0), digits, -scale))

    return read


def _timestamp_reader(kind: pa.DataType) -> Callable[[int], int] | None:
    if pa.types.is_date32(kind):
        return lambda days: days * MICROS_PER_DAY
    if not pa.types.is_timestamp(kind):
        return None
    if kind.unit == "ns":
        return lambda nanos: nanos // 1000
    return int if kind.unit == "us" else lambda millis: millis * 1000


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )


# --- rows in memory ----------------------------------------------------------------------------


def _values(table: pa.Table, path: Path) -> pa.ChunkedArray | None:
    """The column at a path, null where a struct around it is; None if there is no such column."""
    kind: Any = table.schema
    values = None
    for step in path:
        kind = _storage(kind) if isinstance(kind, pa.DataType) else kind
        is_group = isinstance(kind, pa.Schema) or pa.types.is_struct(kind)
        index = kind.get_field_index(step) if is_group else -1
        if index < 0:
            return None
        values = table.column(index) if values is None else pc.struct_field(values, index)
        kind = kind.field(index).type
    return values


def _of_rows(values: pa.ChunkedArray | None, column: StructField, num_records: int) -> _ColumnStats:
    if values is None:
        return _ColumnStats(null_count=num_records)
    count = values.null_count
    if not has_bounds(column.data_type) or count == num_records:
        return _ColumnStats(null_count=count)
    if pa.types.is_dictionary(values.type) or pa.types.is_string_view(values.type):
        values = values.cast(pa.large_string())
    has_nan = False
    if pa.types.is_floating(values.type):
        nan = pc.is_nan(values)
        has_nan = bool(pc.any(nan).as_py())
        values = values.filter(pc.invert(nan)) if has_nan else values
    bounds = pc.min_max(values)
    low, high = _stored(bounds["min"]), _stored(bounds["max"])
    return _ColumnStats(low, None if has_nan else high, count)


def _stored(value: pa.Scalar) -> Any:
    """A Python value, with dates as days and timestamps as microseconds."""
    if not value.is_valid:
        return None
    if pa.types.is_timestamp(value.type):
        unit = pa.timestamp("us", tz=value.type.tz)
        return pc.floor_temporal(value, unit="microsecond").cast(unit).value
    return value.cast(pa.date32()).value if pa.types.is_date(value.type) else value.as_py()
