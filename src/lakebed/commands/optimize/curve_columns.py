"""Columns that rows can be arranged by, as values that have an order everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.data_files.curves import MOST_KEY_BITS
from lakebed.errors import InvalidArgumentError, SchemaError
from lakebed.log.snapshot import Snapshot
from lakebed.settings.setting_table import ZORDER_CHECK_STATS
from lakebed.spec.columns.column_metadata import collations
from lakebed.spec.schema import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
    Path,
    StructField,
    StructType,
    find_path,
    render_path,
    resolve,
)
from lakebed.spec.stats import indexed_columns


@dataclass(frozen=True)
class CurveColumn:
    """`kind` is the type that executors read: long, double or text."""

    path: Path
    data_type: DataType
    kind: str

    def arrow_value(self, rows: pa.Table) -> pa.ChunkedArray:
        """Values of rows, all of a kind that has an order."""
        values = rows.column(self.path[0])
        for step in self.path[1:]:
            values = pc.struct_field(values, step)
        if self.data_type in (STRING, BINARY):
            return values
        if self.data_type in (DATE, BOOLEAN):
            values = values.cast(pa.int32())
        return values.cast(pa.float64() if self.kind == "double" else pa.int64())


def find_curve_columns(schema: StructType, paths: Sequence[Path]) -> list[CurveColumn] | None:
    """As `curve_columns`; None if one of them is not there or has no order."""
    found = [find_path(schema, path) for path in paths]
    if not all(each is not None and _has_order(each[1]) for each in found):
        return None
    return curve_columns(schema, paths)


def same_values(one: CurveColumn, other: CurveColumn) -> bool:
    """Whether what is equal in two columns is equal on a curve too."""
    return one.data_type == other.data_type or (
        one.kind == other.kind and not {one.data_type, other.data_type} & _CONVERTED
    )


def curve_columns(schema: StructType, paths: Sequence[Path]) -> list[CurveColumn]:
    found = []
    for path in paths:
        spelled, field = resolve(schema, path)
        kind = _kind(field.data_type)
        if kind is None or not _has_order(field):
            raise SchemaError(
                f"rows cannot be arranged by {render_path(path)}, which is {field.data_type}",
                hint="choose numbers, texts, dates, timestamps or booleans",
            )
        found.append(CurveColumn(spelled, field.data_type, kind))
    return found


def checked_curve_columns(
    snapshot: Snapshot, paths: Sequence[Path], *, indexed: bool
) -> list[CurveColumn]:
    """As `curve_columns`; refuses columns by which arranging rows would not help a query.

    `indexed`: files must have statistics of them.
    """
    partitions = {name.lower() for name in snapshot.partition_columns}
    columns = curve_columns(snapshot.schema, paths)
    known = indexed_columns(snapshot.schema, snapshot.properties, ())
    for column in columns:
        if column.path[0].lower() in partitions:
            raise InvalidArgumentError(
                f"{column.path[0]} is a partition column. Z-Ordering can only be performed on data "
                "columns",
                hint="leave it out of ZORDER BY",
                condition="DELTA_ZORDERING_ON_PARTITION_COLUMN",
            )
        if indexed and find_path(known, column.path) is None:
            raise SchemaError(
                f"files have no statistics of {render_path(column.path)}: to arrange rows by "
                "it would not help a query",
                hint="name it in delta.dataSkippingStatsColumns, or move it among the first; "
                f"{ZORDER_CHECK_STATS.name} = false arranges rows all the same",
                condition="DELTA_ZORDERING_ON_COLUMN_WITHOUT_STATS",
            )
    # With less than two bits of the key a column has no ranges to tell rows apart by.
    return columns[: MOST_KEY_BITS // 2]


def _has_order(field: StructField) -> bool:
    return _kind(field.data_type) is not None and not collations(field)


def _kind(data_type: DataType) -> str | None:
    if isinstance(data_type, DecimalType):
        return "double"
    return _KINDS.get(data_type)


_CONVERTED = frozenset([DATE, TIMESTAMP, TIMESTAMP_NTZ, BOOLEAN, BINARY])
_LONGS = (BYTE, SHORT, INTEGER, LONG, DATE, TIMESTAMP, TIMESTAMP_NTZ, BOOLEAN)
_KINDS: dict[DataType, str] = {
    **dict.fromkeys(_LONGS, "long"),
    **dict.fromkeys((FLOAT, DOUBLE), "double"),
    **dict.fromkeys((STRING, BINARY), "text"),
}
