"""Rows of a query of a script, read when the query runs: later statements may change its tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as t

from lakebed.spark.sql_text import quoted


class Rows(Protocol):
    schema: t.StructType

    def frame(self) -> DataFrame:
        """All of them."""

    def each(self) -> Iterator[DataFrame]:
        """DataFrames of one row, in the order of the query."""


def read_rows(session: SparkSession, frame: DataFrame) -> Rows:
    schema = frame.schema
    if _travels(schema):
        return _OnClient(session, frame.toArrow(), schema)
    return _OnServer(frame.localCheckpoint(), schema)


def type_text(kind: t.DataType) -> str:
    """A type as SQL; names of fields may have any letters."""
    if isinstance(kind, t.StructType):
        return f"STRUCT<{', '.join(map(_field, kind.fields))}>"
    if isinstance(kind, t.ArrayType):
        return f"ARRAY<{type_text(kind.elementType)}>"
    if isinstance(kind, t.MapType):
        return f"MAP<{type_text(kind.keyType)}, {type_text(kind.valueType)}>"
    return str(kind.simpleString())


def _field(field: t.StructField) -> str:
    rule = "" if field.nullable else " NOT NULL"
    return f"{quoted(field.name)}: {type_text(field.dataType)}{rule}"


class _OnClient:
    def __init__(self, session: SparkSession, rows: pa.Table, schema: t.StructType) -> None:
        self._session = session
        self._rows = rows
        self.schema = schema

    def frame(self) -> DataFrame:
        return self._made(self._rows)

    def each(self) -> Iterator[DataFrame]:
        for place in range(self._rows.num_rows):
            yield self._made(self._rows.slice(place, 1))

    def _made(self, rows: pa.Table) -> DataFrame:
        return self._session.createDataFrame(rows, self.schema)


class _OnServer:
    """For types that the client cannot send back as they are, such as intervals."""

    def __init__(self, rows: DataFrame, schema: t.StructType) -> None:
        self._rows = rows
        self.schema = schema

    def frame(self) -> DataFrame:
        return self._rows

    def each(self) -> Iterator[DataFrame]:
        for place in range(self._rows.count()):
            yield self._rows.offset(place).limit(1)


_TRAVEL: tuple[type[Any], ...] = (
    *(t.BooleanType, t.ByteType, t.ShortType, t.IntegerType, t.LongType, t.FloatType),
    *(t.DoubleType, t.DecimalType, t.StringType, t.BinaryType, t.DateType, t.TimestampType),
    t.TimestampNTZType,
)


def _travels(kind: t.DataType) -> bool:
    if isinstance(kind, t.StructType):
        return all(_travels(each.dataType) for each in kind.fields)
    if isinstance(kind, t.ArrayType):
        return _travels(kind.elementType)
    if isinstance(kind, t.MapType):
        return _travels(kind.keyType) and _travels(kind.valueType)
    return isinstance(kind, _TRAVEL)
