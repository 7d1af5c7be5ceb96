"""What the statistics of a file hold (PROTOCOL: Per-file Statistics).

Which columns have statistics, which of them bounds, and how a bound is written so that it stays a
bound. Values stand here as in Arrow and Parquet: dates are days and timestamps microseconds since
1970-01-01. JSON and Arrow are the business of `formats.statistics`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import (
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
)
from lakebed.spec.timestamps import MICROS_PER_DAY, format_date, format_timestamp

NUM_RECORDS = "numRecords"
MIN_VALUES = "minValues"
MAX_VALUES = "maxValues"
NULL_COUNT = "nullCount"
TIGHT_BOUNDS = "tightBounds"

STRING_PREFIX_LENGTH = 32

Bound = int | float | Decimal | str
"""A value as Arrow stores it: days for a date, microseconds for a timestamp."""


# --- which columns -----------------------------------------------------------------------------


def indexed_columns(
    schema: StructType, properties: TableProperties, partition_columns: Sequence[str] = ()
) -> StructType:
    """The columns whose statistics a writer collects, by their names in `schema`.

    Those of `delta.dataSkippingStatsColumns` if it is set, else the first
    `delta.dataSkippingNumIndexedCols` leaves. A struct counts as its leaves; an array, a map or a
    variant is one leaf. Partition columns neither count nor have statistics.
    """
    folded = {name.lower() for name in partition_columns}
    data = StructType(tuple(field for field in schema if field.name.lower() not in folded))
    named = properties.data_skipping_stats_columns
    if named is not None:
        return _named(data, [tuple(step.lower() for step in path) for path in named])
    limit = properties.data_skipping_num_indexed_cols
    return data if limit < 0 else _first_leaves(data, limit)[0]


def string_prefix_length(properties: TableProperties) -> int:
    """How many characters of a string's bounds are kept."""
    length = properties.data_skipping_string_prefix_length
    return STRING_PREFIX_LENGTH if length is None else length


def has_bounds(data_type: DataType) -> bool:
    """Whether minimum and maximum of the type are collected: as in delta-spark, not booleans."""
    return isinstance(data_type, DecimalType) or data_type in _BOUNDED


def may_have_bounds(data_type: DataType) -> bool:
    """Whether other writers put bounds of the type into the log: those of booleans too."""
    return has_bounds(data_type) or data_type == BOOLEAN


def leaves(columns: StructType, parent: Path = ()) -> Iterator[tuple[Path, StructField]]:
    """The columns that have statistics of their own: all but structs, which have their fields'."""
    for field in columns:
        path = (*parent, field.name)
        if isinstance(field.data_type, StructType):
            yield from leaves(field.data_type, path)
        else:
            yield path, field


def stats_schema(
    columns: StructType, *, tight_bounds: bool = True, booleans: bool = False
) -> StructType:
    """The schema of the statistics of `columns`, which carry their physical names.

    This is the schema of `stats_parsed` in checkpoints. `tight_bounds` is for tables that support
    deletion vectors; `booleans` is for reading bounds that delta-spark would not write.
    """
    wanted = may_have_bounds if booleans else has_bounds
    bounds = _mirror(columns, lambda kind: kind if wanted(kind) else None)
    counts = _mirror(columns, lambda _: LONG)
    fields = [(NUM_RECORDS, LONG), (MIN_VALUES, bounds), (MAX_VALUES, bounds)]
    fields += [(NULL_COUNT, counts), (TIGHT_BOUNDS, BOOLEAN if tight_bounds else None)]
    return StructType(tuple(StructField(name, kind) for name, kind in fields if kind is not None))


# --- bounds ------------------------------------------------------------------------------------


def minimum_to_json(
    value: Bound, data_type: DataType, prefix_length: int = STRING_PREFIX_LENGTH
) -> Bound | None:
    """What JSON holds for a minimum, or None if nothing that it can hold is a bound.

    Decimals stay decimals: they are to be written with all their digits.
    """
    if isinstance(value, str):
        return truncate_minimum(value, prefix_length)
    # Both zeros are equal, but some readers put -0.0 first.
    return _to_json(-0.0 if isinstance(value, float) and value == 0 else value, data_type)


def maximum_to_json(
    value: Bound, data_type: DataType, prefix_length: int = STRING_PREFIX_LENGTH
) -> Bound | None:
    """As `minimum_to_json`, for a maximum.

    A timestamp is cut down to milliseconds as the protocol asks for; its readers know that the
    value may be up to a millisecond larger.
    """
    if isinstance(value, str):
        return truncate_maximum(value, prefix_length)
    return _to_json(0.0 if isinstance(value, float) and value == 0 else value, data_type)


def truncate_minimum(text: str, length: int = STRING_PREFIX_LENGTH) -> str | None:
    """A prefix, which sorts before every text that it begins."""
    return text[:length] if length > 0 or not text else None


def truncate_maximum(text: str, length: int = STRING_PREFIX_LENGTH) -> str | None:
    """A text not less than `text` in UTF-8 order, of about `length` characters, if there is one.

    As in delta-spark, a tie-breaker follows the prefix: the last ASCII character if it is larger
    than the one it replaces, else the last of Unicode. Where the text has that one itself, the
    prefix grows up to twice its length. Java counts characters outside the BMP twice.
    """
    if _java_length(text) <= length:
        return text
    if length <= 0:
        return None
    taken = units = 0
    for taken, character in enumerate(text):
        if units > 2 * length:
            return None
        if units >= length and character != _LAST_OF_UNICODE:
            tie_breaker = _LAST_OF_ASCII if character < _LAST_OF_ASCII else _LAST_OF_UNICODE
            return text[:taken] + tie_breaker
        units += _java_length(character)
    return text if units <= 2 * length else None


_BOUNDED = (BYTE, SHORT, INTEGER, LONG, FLOAT, DOUBLE, DATE, TIMESTAMP, TIMESTAMP_NTZ, STRING)
_LAST_OF_ASCII = "\x7f"
_LAST_OF_UNICODE = "\U0010ffff"
# JSON has no room for other years: readers parse four digits.
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896


def _to_json(value: Bound, data_type: DataType) -> Bound | None:
    if isinstance(value, float):
        # JSON has no NaN and no infinities, and not every reader takes them as strings.
        return value if math.isfinite(value) else None
    if data_type == DATE and isinstance(value, int):
        return format_date(value) if _FIRST_DAY <= value <= _LAST_DAY else None
    if data_type in (TIMESTAMP, TIMESTAMP_NTZ) and isinstance(value, int):
        return _milliseconds(value, "Z" if data_type == TIMESTAMP else "")
    return value


def _milliseconds(micros: int, zone: str) -> str | None:
    if not _FIRST_DAY <= micros // MICROS_PER_DAY <= _LAST_DAY:
        return None
    return format_timestamp(micros)[: len("2024-01-31T23:59:59.123")] + zone


def _java_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _named(columns: StructType, paths: Sequence[Path]) -> StructType:
    """The columns at the paths; a struct that is named itself keeps all its fields."""
    fields = []
    for field in columns:
        rests = [path[1:] for path in paths if path[:1] == (field.name.lower(),)]
        if () in rests:
            fields.append(field)
        elif rests and isinstance(field.data_type, StructType):
            fields.append(replace(field, data_type=_named(field.data_type, rests)))
    return StructType(tuple(fields))


def _first_leaves(columns: StructType, limit: int) -> tuple[StructType, int]:
    """The columns up to the leaf with which `limit` is reached, and how many leaves they have."""
    fields: list[StructField] = []
    count = 0
    for field in columns:
        if count >= limit:
            break
        if isinstance(field.data_type, StructType):
            inner, taken = _first_leaves(field.data_type, limit - count)
            field = replace(field, data_type=inner)
            count += taken
        else:
            count += 1
        fields.append(field)
    return StructType(tuple(fields)), count


def _mirror(
    columns: StructType, kind_of: Callable[[DataType], DataType | None]
) -> StructType | None:
    """The same structs with other types in the leaves; without leaves there is no struct."""
    fields = []
    for field in columns:
        kind = field.data_type
        inner = _mirror(kind, kind_of) if isinstance(kind, StructType) else kind_of(kind)
        if inner is not None:
            fields.append(StructField(field.name, inner))
    return StructType(tuple(fields)) if fields else None
