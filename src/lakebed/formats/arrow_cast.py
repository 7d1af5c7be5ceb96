"""Converting Arrow values without parts from one type to another, or refusing; never rounding.

PROTOCOL: Reader Requirements for Type Widening, Delta Data Type to Parquet Type Mappings. Beside
the widenings this takes the other spellings of a type that Arrow and Parquet have: wider offsets,
units, zones, unsigned integers.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import SchemaMismatchError
from lakebed.spec.schema import Path, render_path


def cast_values(array: pa.Array, target: pa.DataType, path: Path) -> pa.Array:
    """The same values in the target type; every one of them, or an error that names the column."""
    if array.type == target:
        return array
    if not can_cast(array.type, target):
        raise mismatch(path, array.type, target)
    try:
        return array.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise mismatch(path, array.type, target, str(error)) from error


def can_cast(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether values of one type can be values of the other; single values may still not fit."""
    takes = _TAKES.get(target.id)
    return takes is not None and takes(source, target)


def decoded(array: pa.Array) -> pa.Array:
    """The array without encodings and extensions that only say how its values are meant."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return decoded(array.storage)
    if pa.types.is_dictionary(kind):
        return decoded(array.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return decoded(pc.run_end_decode(array))
    return array


def mismatch(
    path: Path, source: object, target: object, reason: str | None = None
) -> SchemaMismatchError:
    message = f"column {render_path(path)}: data of type {source} cannot be taken as {target}"
    return SchemaMismatchError(
        f"{message}: {reason}" if reason else message,
        hint="convert the column to the type of the table, losing nothing",
    )


def _text(source: pa.DataType, _: pa.DataType) -> bool:
    # Writers differ in whether they annotate bytes as text; what is not UTF-8 is refused.
    return source.id in _TEXTS


def _integer(source: pa.DataType, _: pa.DataType) -> bool:
    return bool(pa.types.is_integer(source))


def _float(source: pa.DataType, target: pa.DataType) -> bool:
    if pa.types.is_floating(source):
        return bool(source.bit_width <= target.bit_width)
    # All integers of half the width or less have an exact float.
    return bool(pa.types.is_integer(source) and source.bit_width * 2 <= target.bit_width)


def _decimal(source: pa.DataType, _: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(source) or pa.types.is_integer(source))


def _boolean(source: pa.DataType, _: pa.DataType) -> bool:
    return bool(pa.types.is_boolean(source))


def _date(source: pa.DataType, _: pa.DataType) -> bool:
    return bool(pa.types.is_date(source))


def _timestamp(source: pa.DataType, target: pa.DataType) -> bool:
    if pa.types.is_date32(source):
        return target.tz is None
    if not pa.types.is_timestamp(source):
        return False
    # Parquet's int96 has no zone and counts as UTC. A wall clock of another zone would shift.
    return target.tz is not None or source.tz is None or source.tz in _UTC


_TEXTS = frozenset(
    kind.id
    for kind in (
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.binary(),
        pa.large_binary(),
        pa.binary_view(),
        pa.binary(1),
    )
)
_UTC = frozenset(["UTC", "Etc/UTC", "GMT", "Z", "+00:00", "-00:00"])
_TAKES: dict[int, Callable[[pa.DataType, pa.DataType], bool]] = {
    pa.string().id: _text,
    pa.binary().id: _text,
    pa.int8().id: _integer,
    pa.int16().id: _integer,
    pa.int32().id: _integer,
    pa.int64().id: _integer,
    pa.float32().id: _float,
    pa.float64().id: _float,
    pa.decimal128(1).id: _decimal,
    pa.bool_().id: _boolean,
    pa.date32().id: _date,
    pa.timestamp("us").id: _timestamp,
}
