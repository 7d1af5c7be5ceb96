"""Statistics from JSON text to Arrow columns (PROTOCOL: Per-file Statistics).

A million files have a million texts. Arrow's JSON reader parses them in large pieces into typed
columns, exactly. It gives up on a piece when a single value in it is not what the schema says; such
a piece is then read text by text, where a value that is no value of its column is no statistic.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from decimal import Context, Decimal, DecimalException
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from lakebed.formats.arrow_types import to_arrow_type
from lakebed.spec.schema import (
    DATE,
    DOUBLE,
    FLOAT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
    StructType,
    walk_types,
)
from lakebed.spec.stats import NULL_COUNT, NUM_RECORDS, leaves
from lakebed.spec.timestamps import parse_date, parse_local_timestamp, parse_timestamp


def parse_stats(texts: pa.Array | pa.ChunkedArray, schema: StructType) -> pa.StructArray:
    """The statistics in JSON texts, of the Arrow type of `schema` (see `spec.stats.stats_schema`).

    What is missing, not JSON, or not a value of its column is null. So are NaN and infinities:
    they bound nothing.
    """
    reader = _Reader(schema)
    chunks = texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]
    pieces = [
        reader.read(piece) for chunk in chunks for piece in _pieces(chunk.cast(pa.string()), _PIECE)
    ]
    return pa.concat_arrays(pieces or [reader.read_each(pa.array([], pa.string()))])


class _Reader:
    def __init__(self, schema: StructType) -> None:
        self._schema = schema
        row = pa.struct([("row", pa.int64()), ("stats", _reading_type(schema))])
        self._parse_options = pj.ParseOptions(
            explicit_schema=pa.schema(list(row)), unexpected_field_behavior="ignore"
        )
        # Decimals must not go through floating point, and only the slower parser can do that.
        exact = any(isinstance(kind, DecimalType) for kind in walk_types(schema))
        self._decode = _decode_exactly if exact else _decode
        self._not_finite = _not_finite(schema)

    def read(self, texts: pa.StringArray) -> pa.StructArray:
        read = self._read_all(texts)
        if read is not None:
            return read
        if self._not_finite is not None:
            texts = pc.replace_substring_regex(texts, self._not_finite, r"\1null")
        return self._read_in_pieces(texts)

    def _read_in_pieces(self, texts: pa.StringArray) -> pa.StructArray:
        read = self._read_all(texts)
        if read is not None:
            return read
        if len(texts) <= _SMALLEST_PIECE:
            return self.read_each(texts)
        step = max(len(texts) // 32, _SMALLEST_PIECE)
        smaller = (texts[start : start + step] for start in range(0, len(texts), step))
        return pa.concat_arrays([self._read_in_pieces(piece) for piece in smaller])

    def read_each(self, texts: pa.StringArray) -> pa.StructArray:
        return _build([self._decode(text) for text in texts.to_pylist()], self._schema)

    def _read_all(self, texts: pa.StringArray) -> pa.StructArray | None:
        """All texts at once, or None if one of them is not just what the schema says."""
        numbers = pa.array(range(len(texts)), pa.int64())
        lines = pc.binary_join_element_wise(
            '{"row":', numbers.cast(pa.string()), ',"stats":', texts.fill_null("null"), "}\n", ""
        )
        longest = pc.max(pc.binary_length(lines)).as_py() or 0
        options = pj.ReadOptions(block_size=max(_BLOCK, 2 * longest))
        try:
            table = pj.read_json(pa.BufferReader(_content(lines)), options, self._parse_options)
            # Texts that are JSON only together would not have the numbers of all rows.
            if not pa.concat_arrays(table.column("row").chunks).equals(numbers):
                return None
            return _finish(pa.concat_arrays(table.column("stats").chunks), self._schema)
        except pa.ArrowException:
            return None


# A sign behind a colon can only begin the offset of a zone.
_ZONE = re.compile(":.*[+-]")

# Large enough for the reader to use all cores, small enough to lose little when one value is odd.
_PIECE = 16 * 1024 * 1024
_SMALLEST_PIECE = 256
_BLOCK = 2 * 1024 * 1024


def _not_finite(schema: StructType) -> str | None:
    """Finds what Spark writes for NaN and infinities: texts, where the reader wants numbers.

    They bound nothing. Columns that share their name with a column of strings are not looked for.
    """
    columns = [(path[-1], field.data_type) for path, field in leaves(schema)]
    names = {name for name, kind in columns if kind in (FLOAT, DOUBLE)}
    names -= {name for name, kind in columns if kind == STRING}
    quoted = "|".join(re.escape(orjson.dumps(name).decode()) for name in sorted(names))
    return f'((?:{quoted}):)"(?:NaN|-?Infinity)"' if names else None


def _pieces(texts: pa.StringArray, size: int) -> Iterator[pa.StringArray]:
    if not len(texts):
        return
    rows = max(1, len(texts) * size // max(texts.nbytes, 1))
    for start in range(0, len(texts), rows):
        yield texts[start : start + rows]


def _content(lines: pa.StringArray) -> pa.Buffer:
    """The characters of all texts, one after the other."""
    _, offsets, data = lines.buffers()
    ends = pa.Array.from_buffers(pa.int32(), len(lines) + 1, [None, offsets], offset=lines.offset)
    first = ends[0].as_py()
    return data.slice(first, ends[-1].as_py() - first)


def _reading_type(data_type: DataType) -> pa.DataType:
    """What the reader is asked for. It has no dates, and takes every zone to be UTC's."""
    if isinstance(data_type, StructType):
        return pa.struct([(field.name, _reading_type(field.data_type)) for field in data_type])
    if data_type == DATE:
        return pa.timestamp("s")
    return pa.string() if data_type == TIMESTAMP_NTZ else to_arrow_type(data_type)


# --- columns from the reader --------------------------------------------------------------------


def _finish(array: pa.StructArray, schema: StructType, counts: bool = False) -> pa.StructArray:
    children = []
    for field, values in zip(schema, array.flatten(), strict=True):
        is_count = counts or field.name in (NUM_RECORDS, NULL_COUNT)
        if isinstance(field.data_type, StructType):
            children.append(_finish(values, field.data_type, is_count))
        else:
            children.append(_finish_leaf(values, field.data_type, is_count))
    return _struct(children, schema, array.is_null())


def _finish_leaf(values: pa.Array, data_type: DataType, is_count: bool) -> pa.Array:
    if data_type == DATE:
        return values.cast(pa.date32())
    if data_type == TIMESTAMP_NTZ:
        return _local_timestamps(values)
    if is_count:
        return _null_where(pc.less(values, 0), values)
    if isinstance(data_type, DecimalType):
        # The reader takes numbers that are too large for the precision.
        values.validate(full=True)
    if pa.types.is_floating(values.type):
        # JSON has no infinities: here they are numbers too large for the column.
        return _null_where(pc.invert(pc.is_finite(values)), values)
    return values


def _local_timestamps(texts: pa.StringArray) -> pa.TimestampArray:
    """A local time has no zone; some writers add a `Z` all the same."""
    plain = pc.utf8_rtrim(_null_where(pc.match_substring_regex(texts, _ZONE.pattern), texts), "Z")
    kind = to_arrow_type(TIMESTAMP_NTZ)
    try:
        return plain.cast(kind)
    except pa.ArrowInvalid:
        convert = _converter(TIMESTAMP_NTZ)
        return pa.array([convert(text) for text in plain.to_pylist()], pa.int64()).cast(kind)


def _null_where(mask: pa.BooleanArray, values: pa.Array) -> pa.Array:
    if not pc.any(mask).as_py():
        return values
    return pc.if_else(mask.fill_null(False), pa.scalar(None, values.type), values)


def _struct(children: list[pa.Array], schema: StructType, nulls: pa.BooleanArray) -> pa.StructArray:
    fields = [pa.field(f.name, child.type) for f, child in zip(schema, children, strict=True)]
    return pa.StructArray.from_arrays(children, fields=fields, mask=nulls)


# --- text by text -------------------------------------------------------------------------------


def _decode(text: str | None) -> Any:
    try:
        return None if text is None else orjson.loads(text)
    except orjson.JSONDecodeError:
        # It may still be JSON with NaN in it, or with an unpaired surrogate.
        return _decode_exactly(text)


def _decode_exactly(text: str | None) -> Any:
    try:
        return None if text is None else _EXACT.decode(text)
    except (ValueError, DecimalException, RecursionError):
        return None


_EXACT = json.JSONDecoder(parse_float=Decimal, parse_constant=lambda _: None)


def _build(rows: list[Any], schema: StructType, counts: bool = False) -> pa.StructArray:
    """Columns from decoded objects; whatever is not an object has no statistics."""
    children = []
    for field in schema:
        values = [row.get(field.name) if isinstance(row, dict) else None for row in rows]
        is_count = counts or field.name in (NUM_RECORDS, NULL_COUNT)
        if isinstance(field.data_type, StructType):
            children.append(_build(values, field.data_type, is_count))
            continue
        convert = _count if is_count else _converter(field.data_type)
        kind = to_arrow_type(field.data_type)
        storage = pa.int32() if kind == pa.date32() else kind
        storage = pa.int64() if pa.types.is_timestamp(kind) else storage
        children.append(pa.array([convert(value) for value in values], storage).cast(kind))
    nulls = pa.array([not isinstance(row, dict) for row in rows], pa.bool_())
    return _struct(children, schema, nulls)


def _converter(data_type: DataType) -> Callable[[Any], Any]:
    """From a decoded value to one that Arrow takes for the type, or None if it is none."""
    kind = to_arrow_type(data_type)
    if isinstance(data_type, DecimalType):
        return _decimal_converter(data_type)
    if pa.types.is_integer(kind):
        return _integer_converter(kind.bit_width)
    if pa.types.is_floating(kind):
        return _float_converter(kind.bit_width)
    if pa.types.is_boolean(kind):
        return lambda value: value if isinstance(value, bool) else None
    if pa.types.is_temporal(kind):
        return _temporal_converter(data_type)
    return _text if pa.types.is_string(kind) else lambda _: None


def _integer_converter(bits: int) -> Callable[[Any], int | None]:
    limit = 1 << (bits - 1)

    def convert(value: Any) -> int | None:
        if isinstance(value, float | Decimal):
            value = int(value) if -(2**53) < value < 2**53 and value == int(value) else None
        if not isinstance(value, int) or isinstance(value, bool):
            return None
        return value if -limit <= value < limit else None

    return convert


_whole_number = _integer_converter(64)


def _count(value: Any) -> int | None:
    number = _whole_number(value)
    return None if number is None or number < 0 else number


def _float_converter(bits: int) -> Callable[[Any], float | None]:
    limit = _LARGEST_FLOAT if bits == 32 else float("inf")

    def convert(value: Any) -> float | None:
        if not isinstance(value, int | float | Decimal) or isinstance(value, bool):
            return None
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if abs(number) <= limit and abs(number) != float("inf") else None

    return convert


# What lies below this is rounded to a float that is not infinite.
_LARGEST_FLOAT = 3.4028235677973362e38


def _decimal_converter(data_type: DecimalType) -> Callable[[Any], Decimal | None]:
    context = Context(prec=data_type.precision)
    unit = Decimal(1).scaleb(-data_type.scale)

    def convert(value: Any) -> Decimal | None:
        if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
            return None
        try:
            # Writers that went through floating point have digits beyond the scale.
            number = Decimal(value).quantize(unit, context=context)
        except DecimalException:
            return None
        return number if number.is_finite() else None

    return convert


def _temporal_converter(data_type: DataType) -> Callable[[Any], int | None]:
    parse = _parse_local
    if data_type in (DATE, TIMESTAMP):
        parse = parse_date if data_type == DATE else parse_timestamp
    limit = 1 << (31 if data_type == DATE else 63)

    def convert(value: Any) -> int | None:
        number = parse(value) if isinstance(value, str) else None
        return number if number is not None and -limit <= number < limit else None

    return convert


def _parse_local(text: str) -> int | None:
    return None if _ZONE.search(text) else parse_local_timestamp(text)


def _text(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return value
