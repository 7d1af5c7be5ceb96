"""Minimum and maximum as true bounds (PROTOCOL: Per-file Statistics).

What a writer put into the log may lie just inside the range of the file's values: timestamps are
cut down to milliseconds, and some numbers went through a floating-point type on their way. Here
such values are moved outwards until no row can lie beyond them.
"""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.spec.columns.type_widening import type_changes
from lakebed.spec.schema import (
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DecimalType,
    StructField,
)


def lower_bound(values: pa.Array, field: StructField) -> pa.Array:
    """Values that no row of the column is below, from the minimums in the log."""
    if _went_through_float(field):
        return pc.min_element_wise(values, _rounded_to_float(values))
    if isinstance(field.data_type, DecimalType):
        return _widened_decimals(values, field.data_type, upwards=False)
    return values


def upper_bound(values: pa.Array, field: StructField) -> pa.Array:
    """Values that no row of the column is above, from the maximums in the log."""
    if field.data_type in (TIMESTAMP, TIMESTAMP_NTZ):
        return _end_of_millisecond(values)
    if _went_through_float(field):
        return pc.max_element_wise(values, _rounded_to_float(values))
    if isinstance(field.data_type, DecimalType):
        return _widened_decimals(values, field.data_type, upwards=True)
    return values


def exact_values(values: pa.Array, field: StructField) -> pa.BooleanArray:
    """Whether a bound in the log is known to be the value itself, neither cut nor rounded.

    Never for strings and timestamps, which writers cut off at lengths of their own; never for
    floating-point columns, whose NaN many writers leave out.
    """
    data_type = field.data_type
    if isinstance(data_type, DecimalType):
        return pc.and_(values.is_valid(), pc.invert(_beyond_float(values, data_type)))
    if data_type in (BYTE, SHORT, INTEGER, LONG, DATE):
        return values.is_valid()
    return pa.repeat(False, len(values))


_LAST_MICRO = 2**63 - 1
_MICROS_PER_MILLI = 1000
# Decimal digits that every number in double precision keeps.
_DOUBLE_DIGITS = 15
_WIDE_PRECISION = 60


def _end_of_millisecond(values: pa.TimestampArray) -> pa.TimestampArray:
    more = _MICROS_PER_MILLI - 1
    micros = pc.min_element_wise(
        values.cast(pa.int64()), pa.scalar(_LAST_MICRO - more, pa.int64()), skip_nulls=False
    )
    return pc.add(micros, pa.scalar(more, pa.int64())).cast(values.type)


def _went_through_float(field: StructField) -> bool:
    """Whether some files hold floats in what is now a column of doubles.

    Their statistics show the fewest digits that tell floats apart: 0.1, where the value is
    0.100000001490116.
    """
    return field.data_type == DOUBLE and any(
        change.from_type == FLOAT for change in type_changes(field)
    )


def _rounded_to_float(values: pa.DoubleArray) -> pa.DoubleArray:
    return values.cast(pa.float32(), safe=False).cast(pa.float64())


def _beyond_float(values: pa.Decimal128Array, data_type: DecimalType) -> pa.BooleanArray:
    """Which values have more digits than a double keeps. Several writers go through doubles."""
    limit = 10.0 ** (_DOUBLE_DIGITS - data_type.scale)
    return pc.greater_equal(pc.abs(values.cast(pa.float64())), limit * (1 - 1e-9)).fill_null(False)


def _widened_decimals(
    values: pa.Decimal128Array, data_type: DecimalType, *, upwards: bool
) -> pa.Decimal128Array:
    """Moves long values outwards by more than a double can be off."""
    if data_type.precision <= _DOUBLE_DIGITS:
        return values
    beyond = _beyond_float(values, data_type)
    if not pc.any(beyond).as_py():
        return values
    wide = pa.decimal256(_WIDE_PRECISION, data_type.scale)
    steps = pc.multiply(pc.abs(values.cast(pa.float64())), 2 * 10.0**-_DOUBLE_DIGITS)
    distance = pc.add(steps, 10.0**-data_type.scale).cast(wide)
    moved = (pc.add if upwards else pc.subtract)(values.cast(wide), distance)
    return pc.if_else(beyond, _clamped(moved, data_type), values)


def _clamped(values: pa.Decimal256Array, data_type: DecimalType) -> pa.Decimal128Array:
    """No value of the column lies beyond what its precision can hold, so no bound has to."""
    largest = pa.scalar(Decimal((0, (9,) * data_type.precision, -data_type.scale)), values.type)
    smallest = pa.scalar(largest.as_py().copy_negate(), values.type)
    low = pc.if_else(pc.less(values, smallest), smallest, values)
    clamped = pc.if_else(pc.greater(low, largest), largest, low)
    return clamped.cast(pa.decimal128(data_type.precision, data_type.scale))
