"""Columns that rows can be arranged by, as values that have an order everywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column

from lakebed.errors import SchemaError
from lakebed.spark.columns.projection import quote
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


@dataclass(frozen=True)
class CurveColumn:
    """`kind` is the type that executors read: long, double or text."""

    path: Path
    data_type: DataType
    kind: str

    def value(self, f: Any) -> Column:
        column = f.col(".".join(map(quote, self.path)))
        if self.data_type == DATE:
            return f.unix_date(column).cast("long")
        if self.data_type in (TIMESTAMP, TIMESTAMP_NTZ):
            return f.unix_micros(column.cast("timestamp"))
        if self.data_type == BOOLEAN:
            return column.cast("int").cast("long")
        if self.data_type == BINARY:
            return f.hex(column)
        return column.cast(_SPARK_TYPES[self.kind])

    def arrow_value(self, rows: pa.Table) -> pa.ChunkedArray:
        """The same of Arrow rows, but for bytes, which have an order of their own there."""
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


def _has_order(field: StructField) -> bool:
    return _kind(field.data_type) is not None and not collations(field)


def _kind(data_type: DataType) -> str | None:
    if isinstance(data_type, DecimalType):
        return "double"
    return _KINDS.get(data_type)


_CONVERTED = frozenset([DATE, TIMESTAMP, TIMESTAMP_NTZ, BOOLEAN, BINARY])
_SPARK_TYPES = {"long": "long", "double": "double", "text": "string"}
_LONGS = (BYTE, SHORT, INTEGER, LONG, DATE, TIMESTAMP, TIMESTAMP_NTZ, BOOLEAN)
_KINDS: dict[DataType, str] = {
    **dict.fromkeys(_LONGS, "long"),
    **dict.fromkeys((FLOAT, DOUBLE), "double"),
    **dict.fromkeys((STRING, BINARY), "text"),
}
