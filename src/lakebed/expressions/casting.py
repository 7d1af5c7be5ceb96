"""Casts between atomic types, with the results and the errors of Spark's ANSI mode.

Conversions that Arrow does as Spark does them run on whole arrays. The others, from and to text
above all, look at each distinct value once.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import EvaluationError
from lakebed.expressions.string_casts import reader, round_decimal
from lakebed.expressions.values import FLOATING, INTEGRAL, TEMPORAL, Datum, arrow_type
from lakebed.spec.schema import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    DataType,
    DecimalType,
)
from lakebed.spec.timestamps import format_date, format_local_timestamp

# How many digits a decimal needs to hold every value of an integral type.
DIGITS = {"byte": 3, "short": 5, "integer": 10, "long": 20}


def can_cast(source: DataType, target: DataType) -> bool:
    return source in (target, VOID) or _conversion(source, target) is not None


def cast(values: Datum, source: DataType, target: DataType) -> Datum:
    """The values in the Arrow type of `target`; a value that does not fit is an error."""
    if source == target:
        return values
    if isinstance(values, pa.Scalar):
        return cast(pa.repeat(values, 1), source, target)[0]
    if source == VOID:
        return pa.nulls(len(values), arrow_type(target))
    convert = _conversion(source, target)
    if convert is None:
        raise EvaluationError(f"a {source} cannot be cast to a {target}")
    return _converted(values, convert, source, target)


def never_fails(source: DataType, target: DataType) -> bool:
    """Whether the cast has a result for every value."""
    if source in (target, VOID) or is_widening(source, target):
        return True
    if source == STRING:
        return target == BINARY
    if source == BOOLEAN:
        return not isinstance(target, DecimalType) or target.precision > target.scale
    return target in (BOOLEAN, STRING) and source != BINARY


def is_widening(source: DataType, target: DataType) -> bool:
    """Whether the cast keeps the order of all values (equal results allowed) and never fails."""
    if isinstance(source, DecimalType):
        return target in FLOATING or _holds(target, source.precision, source.scale)
    if source in INTEGRAL:
        wider = target in INTEGRAL and INTEGRAL.index(source) <= INTEGRAL.index(target)
        return wider or target in FLOATING or _holds(target, DIGITS[str(source)], 0)
    kinds = FLOATING if source in FLOATING else TEMPORAL
    return source in kinds and target in kinds


def align_decimals(left: Datum, right: Datum) -> tuple[Datum, Datum]:
    """Two decimals in one Arrow type that holds all values of both."""
    for one, other in ((left, right), (right, left)):
        if isinstance(one, pa.Scalar) and (fitted := _fitted(one, other.type)) is not None:
            return (fitted, right) if one is left else (left, fitted)
    scale = max(left.type.scale, right.type.scale)
    whole = max(each.type.precision - each.type.scale for each in (left, right))
    common = wide_decimal(whole + scale, scale)
    return pc.cast(left, common), pc.cast(right, common)


def _fitted(value: pa.Scalar, wanted: pa.DataType) -> pa.Scalar | None:
    """The constant in the type of the column, which then need not be converted."""
    try:
        return value.cast(wanted)
    except pa.ArrowInvalid:
        return None


def fit_decimal(values: pa.Array, target: DecimalType) -> pa.Array:
    """Decimals of any Arrow type, rounded to the type; a value with too many digits is an error."""
    return _converted(values, _decimal_to_decimal, target, target)


def wide_decimal(precision: int, scale: int) -> pa.DataType:
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)


def map_distinct(values: pa.Array, function: Callable[[Any], Any], result: pa.DataType) -> pa.Array:
    """The function on every distinct value; None for null."""
    encoded = values.dictionary_encode()
    results = [None if each is None else function(each) for each in encoded.dictionary.to_pylist()]
    return pa.array(results, result).take(encoded.indices)


# --- finding the conversion --------------------------------------------------------------------

Conversion = Callable[[pa.Array, DataType, DataType], pa.Array]


def _conversion(source: DataType, target: DataType) -> Conversion | None:
    return _CONVERSIONS.get((_kind(source), _kind(target)))


def _kind(data_type: DataType) -> str:
    if isinstance(data_type, DecimalType):
        return "decimal"
    if data_type in INTEGRAL:
        return "long" if data_type == LONG else "integral"
    return "floating" if data_type in FLOATING else str(data_type)


def _holds(target: DataType, precision: int, scale: int) -> bool:
    return (
        isinstance(target, DecimalType)
        and target.scale >= scale
        and target.precision - target.scale >= precision - scale
    )


def _converted(
    values: pa.Array, convert: Conversion, source: DataType, target: DataType
) -> pa.Array:
    try:
        return convert(values, source, target)
    except (pa.ArrowException, OverflowError) as error:
        culprit = _culprit(values, lambda part: convert(part, source, target))
        # Python has no dates after the year 9999: show those as numbers.
        shown = culprit.value if source in TEMPORAL else culprit.as_py()
        raise _misfit(shown, source, target) from error


def _culprit(values: pa.Array, convert: Callable[[pa.Array], pa.Array]) -> pa.Scalar:
    """A value that the conversion fails on, found by halving."""
    while len(values) > 1:
        half = values.slice(0, len(values) // 2)
        try:
            convert(half)
        except (pa.ArrowException, OverflowError):
            values = half
        else:
            values = values.slice(len(half))
    return values[0]


def _misfit(value: Any, source: DataType, target: DataType) -> EvaluationError:
    return EvaluationError(
        f"{value!r} of type {source} cannot be cast to {target}",
        hint=f"Exclude such rows first, or compare without a cast to {target}.",
    )


# --- conversions -------------------------------------------------------------------------------


def _checked(values: pa.Array, _: DataType, target: DataType) -> pa.Array:
    return pc.cast(values, arrow_type(target))


def _unchecked(values: pa.Array, _: DataType, target: DataType) -> pa.Array:
    return pc.cast(values, arrow_type(target), safe=False)


def _is_not_zero(values: pa.Array, _: DataType, __: DataType) -> pa.Array:
    return pc.not_equal(values, pa.scalar(0, values.type))


def _integral_to_decimal(values: pa.Array, source: DataType, target: DataType) -> pa.Array:
    if is_widening(source, target):
        return pc.cast(values, arrow_type(target))
    wide = pc.cast(values, pa.decimal256(76, arrow_type(target).scale))
    return pc.cast(wide, arrow_type(target))


def _boolean_to_decimal(values: pa.Array, _: DataType, target: DataType) -> pa.Array:
    return _integral_to_decimal(pc.cast(values, pa.int8()), BYTE, target)


def _floating_to_integral(values: pa.Array, _: DataType, target: DataType) -> pa.Array:
    return pc.cast(pc.trunc(values), arrow_type(target))


def _floating_to_decimal(values: pa.Array, source: DataType, target: DataType) -> pa.Array:
    assert isinstance(target, DecimalType)

    def convert(value: float) -> Decimal:
        # Spark goes by the shortest text of the double: 1.005 is one and five thousandths.
        rounded = round_decimal(Decimal(repr(value)), target)
        if rounded is None:
            raise _misfit(value, source, target)
        return rounded

    doubles = pc.cast(values, pa.float64())
    return map_distinct(doubles, convert, arrow_type(target))


def _decimal_to_integral(values: pa.Array, _: DataType, target: DataType) -> pa.Array:
    options = pc.CastOptions(arrow_type(target), allow_decimal_truncate=True)
    return pc.cast(values, options=options)


def _decimal_to_floating(values: pa.Array, _: DataType, target: DataType) -> pa.Array:
    # Arrow's own conversion is not always the nearest number.
    doubles = map_distinct(values, float, pa.float64())
    return doubles if target == DOUBLE else pc.cast(doubles, arrow_type(target), safe=False)


def _decimal_to_decimal(values: pa.Array, _: DataType, target: DataType) -> pa.Array:
    scale = arrow_type(target).scale
    if values.type.scale > scale:
        wide = pc.cast(values, pa.decimal256(76, values.type.scale))
        values = pc.round(wide, ndigits=scale, round_mode="half_towards_infinity")
    return pc.cast(values, arrow_type(target))


def _decimal_to_text(values: pa.Array, _: DataType, __: DataType) -> pa.Array:
    return map_distinct(values, lambda value: f"{value:f}", pa.string())


def _text_to_value(values: pa.Array, source: DataType, target: DataType) -> pa.Array:
    read = reader(target)
    assert read is not None

    def convert(text: str) -> Any:
        value = read(text)
        if value is None:
            raise _misfit(text, source, target)
        return value

    return map_distinct(values, convert, arrow_type(target))


def _date_to_text(values: pa.Array, _: DataType, __: DataType) -> pa.Array:
    return map_distinct(values.view(pa.int32()), format_date, pa.string())


def _timestamp_to_text(values: pa.Array, _: DataType, __: DataType) -> pa.Array:
    return map_distinct(values.view(pa.int64()), format_local_timestamp, pa.string())


def _timestamp_to_seconds(values: pa.Array, _: DataType, __: DataType) -> pa.Array:
    floored = pc.floor_temporal(values, unit="second").view(pa.int64())
    return pc.divide(floored, pa.scalar(1_000_000, pa.int64()))


def _timestamp_to_date(values: pa.Array, _: DataType, __: DataType) -> pa.Array:
    # Arrow looks up the zone of every single value, were there one.
    return pc.cast(values.view(pa.timestamp("us")), pa.date32())


def _other_zone(values: pa.Array, _: DataType, target: DataType) -> pa.Array:
    # The session's time zone is UTC: local clocks and instants have the same numbers.
    return values.view(arrow_type(target))


_NUMERIC = {
    ("whole", "whole"): _checked,
    ("whole", "floating"): _unchecked,
    ("whole", "decimal"): _integral_to_decimal,
    ("whole", "boolean"): _is_not_zero,
    ("whole", "string"): _checked,
    ("floating", "whole"): _floating_to_integral,
    ("floating", "floating"): _unchecked,
    ("floating", "decimal"): _floating_to_decimal,
    ("floating", "boolean"): _is_not_zero,
    ("decimal", "whole"): _decimal_to_integral,
    ("decimal", "floating"): _decimal_to_floating,
    ("decimal", "decimal"): _decimal_to_decimal,
    ("decimal", "boolean"): _is_not_zero,
    ("decimal", "string"): _decimal_to_text,
    ("boolean", "whole"): _checked,
    ("boolean", "floating"): _checked,
    ("boolean", "decimal"): _boolean_to_decimal,
    ("string", "whole"): _text_to_value,
    ("string", "floating"): _text_to_value,
    ("string", "decimal"): _text_to_value,
}
_WHOLE = {"whole": ("integral", "long")}
_CONVERSIONS: dict[tuple[str, str], Conversion] = {
    **{
        (source, target): convert
        for (from_kind, to_kind), convert in _NUMERIC.items()
        for source in _WHOLE.get(from_kind, (from_kind,))
        for target in _WHOLE.get(to_kind, (to_kind,))
    },
    ("boolean", "string"): _checked,
    ("string", "boolean"): _text_to_value,
    ("string", str(DATE)): _text_to_value,
    ("string", str(TIMESTAMP)): _text_to_value,
    ("string", str(TIMESTAMP_NTZ)): _text_to_value,
    ("string", "binary"): _checked,
    ("binary", "string"): _checked,
    (str(DATE), "string"): _date_to_text,
    (str(DATE), str(TIMESTAMP)): _checked,
    (str(DATE), str(TIMESTAMP_NTZ)): _checked,
    (str(TIMESTAMP), str(DATE)): _timestamp_to_date,
    (str(TIMESTAMP), str(TIMESTAMP_NTZ)): _other_zone,
    (str(TIMESTAMP), "string"): _timestamp_to_text,
    (str(TIMESTAMP), "long"): _timestamp_to_seconds,
    (str(TIMESTAMP_NTZ), str(DATE)): _timestamp_to_date,
    (str(TIMESTAMP_NTZ), str(TIMESTAMP)): _other_zone,
    (str(TIMESTAMP_NTZ), "string"): _timestamp_to_text,
}
