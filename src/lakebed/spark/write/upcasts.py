"""Which types Spark casts without a possible loss, by its own rules (`Cast.canUpCast`).

Asked in Python because a client of Spark Connect cannot ask Spark. Not `type_widening.is_lossless`:
Spark takes every number as a float, and almost everything as a text.
"""

from __future__ import annotations

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
    PrimitiveType,
    StructType,
)


def can_up_cast(given: DataType, wanted: DataType) -> bool:
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
