"""Statistics from Arrow columns to JSON text (PROTOCOL: Per-file Statistics).

For checkpoints that have statistics only as structs. The texts are put together column by column,
so that a file costs no more than its characters.
"""

from __future__ import annotations

import orjson
import pyarrow as pa
import pyarrow.compute as pc


def write_stats(stats: pa.StructArray | pa.ChunkedArray) -> pa.StringArray:
    """The JSON text of every row; null where the row is null.

    Values that are null are left out, and so are those that JSON or its readers cannot take: NaN,
    infinities, and dates and times outside the years 1 to 9999. Timestamps are cut down to
    milliseconds, decimals keep all their digits.
    """
    if isinstance(stats, pa.ChunkedArray):
        stats = pa.concat_arrays(stats.chunks or [pa.array([], stats.type)])
    if not _is_struct(stats):
        return pa.nulls(len(stats), pa.string())
    members = []
    for field, values in zip(stats.type, stats.flatten(), strict=True):
        text = _text(values)
        # Some readers insist on minValues, maxValues and nullCount, be they empty.
        members.append((field.name, text.fill_null("{}") if _is_struct(values) else text))
    return _null_where(stats.is_null(), _object(members, len(stats)))


def _object(members: list[tuple[str, pa.StringArray]], length: int) -> pa.StringArray:
    # Not null_handling="skip": with it Arrow loses the rows in which all members are null.
    named = [
        pc.binary_join_element_wise(f",{orjson.dumps(name).decode()}:", text, "").fill_null("")
        for name, text in members
    ]
    if not named:
        return pa.repeat("{}", length)
    inner = pc.utf8_replace_slice(pc.binary_join_element_wise(*named, ""), 0, 1, "")
    return pc.binary_join_element_wise("{", inner, "}", "")


def _text(values: pa.Array) -> pa.StringArray:
    """Each value as JSON, null where there is nothing to write."""
    kind = values.type
    if _is_struct(values):
        members = [(f.name, _text(v)) for f, v in zip(kind, values.flatten(), strict=True)]
        return _null_where(values.is_null(), _object(members, len(values)))
    if pa.types.is_floating(kind):
        return _null_where(pc.invert(pc.is_finite(values)), values).cast(pa.string())
    # Nanoseconds come from INT96, and years outside 1677 to 2262 have silently become others.
    if pa.types.is_timestamp(kind) and kind.unit != "ns":
        return _quoted(_timestamps(values))
    if pa.types.is_date(kind):
        days = values.cast(pa.date32()).cast(pa.int32())
        return _quoted(_null_where(_outside(days, _FIRST_DAY, _LAST_DAY), values).cast(pa.string()))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _json_strings(values)
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_boolean(kind):
        return values.cast(pa.string())
    # Statistics of variants are encoded in a way of their own; without them nothing is wrong.
    return pa.nulls(len(values), pa.string())


_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
_MICROS_PER_DAY = 86_400_000_000


def _timestamps(values: pa.TimestampArray) -> pa.StringArray:
    zone = "" if values.type.tz is None else "Z"
    local = values.cast(pa.timestamp("us", tz=values.type.tz)).cast(pa.int64())
    first, last = _FIRST_DAY * _MICROS_PER_DAY, (_LAST_DAY + 1) * _MICROS_PER_DAY - 1
    micros = _null_where(_outside(local, first, last), local).cast(pa.timestamp("us"))
    millis = pc.floor_temporal(micros, unit="millisecond").cast(pa.timestamp("ms"))
    text = pc.utf8_replace_slice(millis.cast(pa.string()), 10, 11, "T")
    return pc.binary_join_element_wise(text, zone, "")


def _json_strings(values: pa.Array) -> pa.StringArray:
    if not pc.any(pc.match_substring_regex(values, r'["\\\x00-\x1f]')).as_py():
        return _quoted(values.cast(pa.string()))
    texts = (None if text is None else orjson.dumps(text).decode() for text in values.to_pylist())
    return pa.array(texts, pa.string())


def _quoted(texts: pa.StringArray) -> pa.StringArray:
    return pc.binary_join_element_wise('"', texts, '"', "")


def _outside(values: pa.Array, first: int, last: int) -> pa.BooleanArray:
    return pc.or_(pc.less(values, first), pc.greater(values, last))


def _null_where(mask: pa.BooleanArray, values: pa.Array) -> pa.Array:
    return pc.if_else(mask.fill_null(False), pa.scalar(None, values.type), values)


def _is_struct(values: pa.Array) -> bool:
    return bool(pa.types.is_struct(values.type))
