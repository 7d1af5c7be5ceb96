"""Partition values as the text that the log holds (PROTOCOL: Partition Value Serialization).

Null and the empty string are null for every type. Spark's name for a null directory,
`__HIVE_DEFAULT_PARTITION__`, is null too except for strings, where it is text: so delta-spark
reads it. What is written is what delta-spark writes: timestamps in UTC as ISO 8601, floating-point
numbers as Java prints them, decimals with all digits of their scale.

The functions on columns look at each distinct value once; a table has far more files than values.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Context, Decimal, DecimalException, Inexact, InvalidOperation
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import PartitionValueError
from lakebed.spec.paths import DEFAULT_PARTITION
from lakebed.spec.schema import DataType, DecimalType, PrimitiveType
from lakebed.spec.timestamps import (
    format_date,
    format_local_timestamp,
    format_timestamp,
    parse_date,
    parse_local_timestamp,
    parse_timestamp,
)


def parse_value(text: str | None, data_type: DataType, *, column: str | None = None) -> Any:
    """The Python value of one partition value; `column` only makes the error clearer."""
    codec = _codec(data_type, column)
    raw = None if text is None else _read(codec, text, column)
    if raw is None:
        return None
    try:
        return codec.to_python(raw)
    except OverflowError as error:
        raise PartitionValueError(
            f"{_subject(codec, column)}: {text!r} lies outside the years 1 to 9999 of Python",
            hint="Read it as an Arrow column; Arrow holds such values.",
        ) from error


def serialize_value(value: Any, data_type: DataType, *, column: str | None = None) -> str | None:
    """The text of one Python value. Null and empty values are None."""
    codec = _codec(data_type, column)
    if value is None:
        return None
    if type(value) not in codec.accepts or not codec.has_right_zone(value):
        raise _not_a_value(codec, column, value)
    try:
        if isinstance(value, datetime) and value.tzinfo is not None:
            # pyarrow ignores zones where PYARROW_IGNORE_TIMEZONE is set, as by pandas on Spark.
            value = value.astimezone(timezone.utc)
        array = pa.array([value], codec.arrow)
    except (pa.ArrowException, OverflowError) as error:
        raise _not_a_value(codec, column, value) from error
    text: str | None = serialize_column(array, data_type, column=column)[0].as_py()
    return text


def parse_column(
    texts: pa.Array | pa.ChunkedArray, data_type: DataType, *, column: str | None = None
) -> pa.Array:
    """A column of texts as an array of the type's Arrow type."""
    codec = _codec(data_type, column)
    if codec.arrow == pa.string():
        return _nulls_for_empty(_one_array(texts).cast(pa.string()))
    encoded = _one_array(texts).dictionary_encode()
    typed = _read_by_arrow(codec, encoded.dictionary)
    if typed is None:
        typed = _read_one_by_one(codec, encoded.dictionary, column)
    return typed.take(encoded.indices)


def serialize_column(
    values: pa.Array | pa.ChunkedArray, data_type: DataType, *, column: str | None = None
) -> pa.Array:
    """A column of values as an array of texts. Null and empty values are null."""
    codec = _codec(data_type, column)
    array = _typed(_one_array(values), codec, column)
    if codec.arrow == pa.string():
        return _nulls_for_empty(array)
    # 0.0 and -0.0 are equal numbers with different texts: tell floats apart by their bits.
    encoded = array.view(codec.bits).dictionary_encode()
    distinct = encoded.dictionary.view(codec.storage).to_pylist()
    texts = [_write(codec, value, column) for value in distinct]
    return pa.array(texts, pa.string()).take(encoded.indices)


# --- one codec per type -------------------------------------------------------------------------


@dataclass(frozen=True)
class _Codec:
    """How a type is read and written. `read` gives None for text that is not a value.

    `storage` is what Arrow builds from the results of `read`: the integers behind dates and
    timestamps, since Python's own classes end at the year 9999. `plain` lists forms of text that
    Arrow reads by itself, with the type to read them as.
    """

    name: str
    arrow: pa.DataType
    read: Callable[[str], Any]
    write: Callable[[Any], str | None]
    accepts: tuple[type, ...]
    storage_type: pa.DataType | None = None
    bit_type: pa.DataType | None = None
    to_python: Callable[[Any], Any] = lambda raw: raw
    has_right_zone: Callable[[Any], bool] = lambda _: True
    plain: tuple[tuple[str, pa.DataType], ...] = ()

    @property
    def storage(self) -> pa.DataType:
        return self.arrow if self.storage_type is None else self.storage_type

    @property
    def bits(self) -> pa.DataType:
        return self.storage if self.bit_type is None else self.bit_type


def _codec(data_type: DataType, column: str | None) -> _Codec:
    if isinstance(data_type, DecimalType):
        return _decimal_codec(data_type)
    codec = _CODECS.get(data_type.name) if isinstance(data_type, PrimitiveType) else None
    if codec is None:
        where = "A column" if column is None else f"Column {column!r}"
        raise PartitionValueError(
            f"{where} of type {data_type} cannot be a partition column",
            hint="Partition by strings, numbers, booleans, dates, timestamps or binaries.",
            condition="INVALID_PARTITION_COLUMN_DATA_TYPE",
        )
    return codec


def _read(codec: _Codec, text: str, column: str | None) -> Any:
    if text == "" or (text == DEFAULT_PARTITION and codec.arrow != pa.string()):
        return None
    raw = codec.read(text)
    if raw is None:
        raise PartitionValueError(
            f"{_subject(codec, column)}: {text!r} in the log is not a valid value",
            hint="The table's writer broke the protocol's rules for partition values.",
        )
    return raw


def _read_by_arrow(codec: _Codec, texts: pa.Array) -> pa.Array | None:
    """Ten times as fast, for columns with nothing but the usual forms; else None."""
    for pattern, form in codec.plain:
        if pc.all(pc.match_substring_regex(texts, pattern)).as_py():
            try:
                return texts.cast(form).cast(codec.storage).cast(codec.arrow)
            except pa.ArrowInvalid:
                return None
    return None


def _read_one_by_one(codec: _Codec, texts: pa.Array, column: str | None) -> pa.Array:
    values = [None if text is None else _read(codec, text, column) for text in texts.to_pylist()]
    return pa.array(values, codec.storage).cast(codec.arrow)


def _write(codec: _Codec, value: Any, column: str | None) -> str | None:
    if value is None:
        return None
    try:
        return codec.write(value)
    except UnicodeDecodeError as error:
        raise PartitionValueError(
            f"{_subject(codec, column)}: {value!r} is not UTF-8, so the log cannot hold it",
            hint="Partition by its hexadecimal or base64 text instead.",
        ) from error


def _one_array(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values


def _typed(array: pa.Array, codec: _Codec, column: str | None) -> pa.Array:
    if array.type == codec.arrow:
        return array
    try:
        return array.cast(codec.arrow)
    except pa.ArrowException as error:
        raise PartitionValueError(
            f"{_subject(codec, column)}: values of the Arrow type {array.type} do not fit: {error}"
        ) from error


def _nulls_for_empty(array: pa.Array) -> pa.Array:
    empty = pc.equal(array, "")
    if not pc.any(empty).as_py():
        return array
    return pc.if_else(empty, pa.scalar(None, pa.string()), array)


def _subject(codec: _Codec, column: str | None) -> str:
    return f"Partition column {'' if column is None else f'{column!r} '}of type {codec.name}"


def _not_a_value(codec: _Codec, column: str | None, value: Any) -> PartitionValueError:
    wanted = " or ".join(kind.__name__ for kind in codec.accepts)
    zone = {"timestamp": " with a time zone", "timestamp_ntz": " without a time zone"}
    return PartitionValueError(
        f"{_subject(codec, column)}: {value!r} ({type(value).__name__}) is not a value of it",
        hint=f"Pass a {wanted}{zone.get(codec.name, ' within its range')}.",
    )


# --- numbers ------------------------------------------------------------------------------------

# Spark's cast takes "2021.0" for the integer 2021; whole numbers from pandas look like that.
_INTEGER = re.compile(r"([+-]?[0-9]+)(?:\.0*)?")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE = {
    "nan": math.nan,
    "inf": math.inf,
    "+inf": math.inf,
    "infinity": math.inf,
    "+infinity": math.inf,
    "-inf": -math.inf,
    "-infinity": -math.inf,
}
_TRUE = frozenset(["true", "t", "yes", "y", "1"])
_FALSE = frozenset(["false", "f", "no", "n", "0"])


def _integer_reader(bits: int) -> Callable[[str], int | None]:
    limit = 1 << (bits - 1)

    def read(text: str) -> int | None:
        match = _INTEGER.fullmatch(text.strip())
        value = limit if match is None or len(match[1]) > 40 else int(match[1])
        return value if -limit <= value < limit else None

    return read


def _read_boolean(text: str) -> bool | None:
    lowered = text.strip().lower()
    return True if lowered in _TRUE else False if lowered in _FALSE else None


def _read_double(text: str) -> float | None:
    stripped = text.strip()
    if _NUMBER.fullmatch(stripped):
        return float(stripped)
    return _NOT_FINITE.get(stripped.lower())


def _read_float(text: str) -> float | None:
    stripped = text.strip()
    if _NUMBER.fullmatch(stripped):
        # Through a double it would be rounded twice.
        value: float = pa.scalar(stripped).cast(pa.float32()).as_py()
        return value
    return _NOT_FINITE.get(stripped.lower())


def _write_double(value: float) -> str:
    return _java_number(value, repr(value), _is_same_double)


def _write_float(value: float) -> str:
    candidates = (f"{value:.{digits}e}" for digits in range(9))
    shortest = next((text for text in candidates if _is_same_float(value, text)), "nan")
    return _java_number(value, shortest, _is_same_float)


def _is_same_double(value: float, text: str) -> bool:
    return float(text) == value


def _is_same_float(value: float, text: str) -> bool:
    try:
        (rounded,) = struct.unpack("f", struct.pack("f", float(text)))
    except OverflowError:
        return False
    return bool(rounded == value)


def _java_number(value: float, shortest: str, is_same: Callable[[float, str], bool]) -> str:
    """Java's `toString`: plain from 0.001 to 10 million, else as in 1.0E7."""
    if value != value or value in (math.inf, -math.inf):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    number = Decimal(shortest).normalize()
    if len(number.as_tuple().digits) == 1 and is_same(value, two_digits := f"{value:.1e}"):
        # Java prints at least two digits, and if so the nearest two: 4.9E-324, not 5.0E-324.
        number = Decimal(two_digits).normalize()
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        whole, _, fraction = f"{number:f}".partition(".")
        return f"{whole}.{fraction or '0'}"
    sign, digits, exponent = number.as_tuple()
    first, *rest = map(str, digits)
    scientific = int(exponent) + len(rest)
    return f"{'-' if sign else ''}{first}.{''.join(rest) or '0'}E{scientific}"


def _decimal_codec(data_type: DecimalType) -> _Codec:
    precision, scale = data_type.precision, data_type.scale
    context = Context(prec=precision, traps=[Inexact, InvalidOperation])
    unit = Decimal(1).scaleb(-scale)

    def read(text: str) -> Decimal | None:
        stripped = text.strip()
        if not _NUMBER.fullmatch(stripped):
            return None
        try:
            return Decimal(stripped).quantize(unit, context=context)
        except DecimalException:
            return None

    return _Codec(
        name=f"decimal({precision},{scale})",
        arrow=pa.decimal128(precision, scale),
        read=read,
        write=lambda value: f"{value:f}",
        accepts=(Decimal, int),
    )


# --- dates and timestamps -----------------------------------------------------------------------


def _in_range(bits: int, read: Callable[[str], int | None]) -> Callable[[str], int | None]:
    limit = 1 << (bits - 1)

    def checked(text: str) -> int | None:
        value = read(text.strip())
        return value if value is not None and -limit <= value < limit else None

    return checked


def _to_date(days: int) -> date:
    return date(1970, 1, 1) + timedelta(days=days)


def _to_timestamp(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=micros)


def _to_local_timestamp(micros: int) -> datetime:
    return datetime(1970, 1, 1) + timedelta(microseconds=micros)


# --- the table of codecs ------------------------------------------------------------------------


def _integer_codec(name: str, arrow: pa.DataType) -> _Codec:
    plain = ((r"^-?[0-9]{1,18}$", arrow),)
    return _Codec(name, arrow, _integer_reader(arrow.bit_width), str, (int,), plain=plain)


_PLAIN_NUMBER = r"^-?[0-9]{1,300}(\.[0-9]{1,300})?(E-?[0-9]{1,5})?$"
_PLAIN_DATE = "[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}"
_PLAIN_TIME = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_ZONED = (f"^{_PLAIN_DATE}T{_PLAIN_TIME}Z$", pa.timestamp("us", tz="UTC"))
_ZONELESS = (f"^{_PLAIN_DATE} {_PLAIN_TIME}$", pa.timestamp("us"))

_CODECS = {
    codec.name: codec
    for codec in [
        _Codec("string", pa.string(), str, str, (str,)),
        _integer_codec("long", pa.int64()),
        _integer_codec("integer", pa.int32()),
        _integer_codec("short", pa.int16()),
        _integer_codec("byte", pa.int8()),
        _Codec(
            name="float",
            arrow=pa.float32(),
            read=_read_float,
            write=_write_float,
            accepts=(float, int),
            bit_type=pa.int32(),
            plain=((_PLAIN_NUMBER, pa.float32()),),
        ),
        _Codec(
            name="double",
            arrow=pa.float64(),
            read=_read_double,
            write=_write_double,
            accepts=(float, int),
            bit_type=pa.int64(),
            plain=((_PLAIN_NUMBER, pa.float64()),),
        ),
        _Codec("boolean", pa.bool_(), _read_boolean, lambda value: str(value).lower(), (bool,)),
        _Codec(
            name="binary",
            arrow=pa.binary(),
            read=lambda text: text.encode("utf-8"),
            write=lambda value: value.decode("utf-8") or None,
            accepts=(bytes,),
        ),
        _Codec(
            name="date",
            arrow=pa.date32(),
            read=_in_range(32, parse_date),
            write=format_date,
            accepts=(date,),
            storage_type=pa.int32(),
            to_python=_to_date,
            plain=((f"^{_PLAIN_DATE}$", pa.date32()),),
        ),
        _Codec(
            name="timestamp",
            arrow=pa.timestamp("us", tz="UTC"),
            read=_in_range(64, parse_timestamp),
            write=format_timestamp,
            accepts=(datetime,),
            storage_type=pa.int64(),
            to_python=_to_timestamp,
            has_right_zone=lambda value: value.tzinfo is not None,
            plain=(_ZONED, _ZONELESS),
        ),
        _Codec(
            name="timestamp_ntz",
            arrow=pa.timestamp("us"),
            read=_in_range(64, parse_local_timestamp),
            write=format_local_timestamp,
            accepts=(datetime,),
            storage_type=pa.int64(),
            to_python=_to_local_timestamp,
            has_right_zone=lambda value: value.tzinfo is None,
            plain=(_ZONELESS,),
        ),
    ]
}
