"""Values as values of a column's type: Spark's store assignment.

As in delta-spark `spark.sql.storeAssignmentPolicy` decides how an INSERT, UPDATE or MERGE converts
a value of another type, whatever `spark.sql.ansi.enabled` says of casts elsewhere:

- ANSI: a cast that fails where the value is out of range.
- STRICT: only casts that lose nothing; others are refused before any row is read.
- LEGACY: Spark's old cast, where values out of range become null or another number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, SparkSession

from lakebed.errors import SchemaMismatchError
from lakebed.settings.setting_table import CASTS_FOLLOW_ANSI, STORE_ASSIGNMENT
from lakebed.spark.columns.projection import spark_type
from lakebed.spark.session.session_kind import is_connect
from lakebed.spec.schema import (
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
    VARIANT,
    VOID,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    Path,
    PrimitiveType,
    StructType,
    render_path,
)

Cast = Callable[[Column, DataType, DataType, Path], Column]
"""From a value, its type, the wanted type and the place of the value to the converted value."""


def exact_cast(value: Column, given: DataType, wanted: DataType, path: Path) -> Column:  # noqa: ARG001
    """For types where every value can be converted."""
    return value.cast(spark_type(wanted))


def insert_cast(session: SparkSession) -> Cast:
    """How INSERT converts values."""
    return StoreCast(STORE_ASSIGNMENT.of(session))


def change_cast(session: SparkSession) -> Cast:
    """How UPDATE and MERGE convert values."""
    if CASTS_FOLLOW_ANSI.of(session):
        return exact_cast
    return StoreCast(STORE_ASSIGNMENT.of(session))


@dataclass(frozen=True)
class StoreCast:
    policy: str

    def __call__(self, value: Column, given: DataType, wanted: DataType, path: Path) -> Column:
        if self.policy == "STRICT" and not can_up_cast(given, wanted):
            raise SchemaMismatchError(
                f"{render_path(path)}: {given} cannot be stored as {wanted} without a possible "
                f"loss, and {STORE_ASSIGNMENT.name} is STRICT",
                hint=f"cast the value in the statement, or set {STORE_ASSIGNMENT.name} to ANSI",
                condition="CANNOT_UP_CAST_DATATYPE",
            )
        kind = spark_type(wanted)
        mode = "legacy" if self.policy == "LEGACY" else "ansi"
        if is_connect(value):
            from lakebed.spark.internals.connect import connect_columns

            return connect_columns.cast_in_mode(value, kind, mode)
        from lakebed.spark.internals import classic_columns as columns

        return columns.cast_in_mode(value, kind, mode)


def can_up_cast(given: DataType, wanted: DataType) -> bool:
    """Whether Spark casts without a possible loss, by its own rules (`Cast.canUpCast`).

    Asked in Python because a client of Spark Connect cannot ask Spark. Not
    `type_widening.is_lossless`: Spark takes every number as a float, and almost everything as a
    string.
    """
    if given in (wanted, VOID):
        return True
    if isinstance(given, StructType) and isinstance(wanted, StructType):
        return len(given) == len(wanted) and all(
            can_up_cast(one.data_type, other.data_type)
            for one, other in zip(given.fields, wanted.fields, strict=True)
        )
    if isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
        return can_up_cast(given.element_type, wanted.element_type)
    if isinstance(given, MapType) and isinstance(wanted, MapType):
        keys = can_up_cast(given.key_type, wanted.key_type)
        return keys and can_up_cast(given.value_type, wanted.value_type)
    return _can_up_cast_leaf(given, wanted)


def _can_up_cast_leaf(given: DataType, wanted: DataType) -> bool:
    if (given, wanted) in _TIMES:
        return True
    if wanted == STRING:
        if isinstance(given, PrimitiveType):
            return given != VARIANT and not given.is_geospatial
        return isinstance(given, DecimalType)
    before, after = _as_decimal(given), _as_decimal(wanted)
    if isinstance(wanted, DecimalType):
        return before is not None and _holds(wanted, before)
    if isinstance(given, DecimalType):
        # With as many digits there are values that the integer does not have.
        return after is not None and given.scale == 0 and given.precision < after.precision
    if given in _NUMBERS and wanted in _NUMBERS:
        return _NUMBERS.index(given) < _NUMBERS.index(wanted)
    return False


def _as_decimal(data_type: DataType) -> DecimalType | None:
    """The decimal that Spark takes an integer for."""
    if isinstance(data_type, DecimalType):
        return data_type
    is_integer = data_type in (BYTE, SHORT, INTEGER, LONG)
    return DecimalType(_DIGITS[str(data_type)], 0) if is_integer else None


def _holds(one: DecimalType, other: DecimalType) -> bool:
    return one.precision - one.scale >= other.precision - other.scale and one.scale >= other.scale


_NUMBERS: tuple[DataType, ...] = (BYTE, SHORT, INTEGER, LONG, FLOAT, DOUBLE)
_DIGITS = {str(BYTE): 3, str(SHORT): 5, str(INTEGER): 10, str(LONG): 20}
_TIMES: tuple[tuple[DataType, DataType], ...] = (
    (DATE, TIMESTAMP),
    (DATE, TIMESTAMP_NTZ),
    (TIMESTAMP, TIMESTAMP_NTZ),
    (TIMESTAMP_NTZ, TIMESTAMP),
    (TIMESTAMP, LONG),
    (LONG, TIMESTAMP),
)
