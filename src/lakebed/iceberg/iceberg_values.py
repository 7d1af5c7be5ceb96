"""Single values as bytes (Iceberg Spec: Binary single-value serialization), and in Avro.

Values stand here as Arrow stores them: days, microseconds, and decimals as whole numbers of their
last digit.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable
from decimal import Context
from typing import Any

import pyarrow as pa

from lakebed.spec.schema import DataType, DecimalType, PrimitiveType

# Python's own context rounds to 28 digits.
_EXACT = Context(prec=76)


def stored_values(values: pa.Array, data_type: DataType) -> list[Any]:
    """A column as plain values; dates and timestamps may lie beyond the years of Python."""
    if isinstance(data_type, DecimalType):
        scale = data_type.scale
        return [None if v is None else int(v.scaleb(scale, _EXACT)) for v in values.to_pylist()]
    if pa.types.is_date32(values.type):
        values = values.cast(pa.int32())
    elif pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    stored: list[Any] = values.to_pylist()
    return stored


def to_bytes(data_type: DataType) -> Callable[[Any], bytes]:
    """Encodes the stored values of a type."""
    if isinstance(data_type, DecimalType):
        return _decimal_bytes
    assert isinstance(data_type, PrimitiveType)
    return _ENCODERS[data_type.name]


def avro_type(data_type: DataType, field_id: int) -> Any:
    """The type of a partition value in manifests. Names of types must be unique in a file."""
    if isinstance(data_type, DecimalType):
        return {
            "type": "fixed",
            "name": f"decimal_{field_id}",
            "size": _fixed_length(data_type.precision),
            "logicalType": "decimal",
            "precision": data_type.precision,
            "scale": data_type.scale,
        }
    assert isinstance(data_type, PrimitiveType)
    return _AVRO_TYPES[data_type.name]


def to_avro(value: Any, data_type: DataType) -> Any:
    if value is None or not isinstance(data_type, DecimalType):
        return value
    length = _fixed_length(data_type.precision)
    return int(value).to_bytes(length, "big", signed=True)


def from_avro(value: Any, data_type: DataType) -> Any:
    if value is None or not isinstance(data_type, DecimalType):
        return value
    return int.from_bytes(value, "big", signed=True)


def partition_summary(values: Iterable[Any], data_type: DataType) -> dict[str, Any]:
    """What a manifest list says about the values of one partition field in a manifest."""
    distinct = {_bits(value): value for value in values}
    known = [value for value in distinct.values() if value is not None]
    plain = [value for value in known if not (isinstance(value, float) and math.isnan(value))]
    encode = to_bytes(data_type)
    return {
        "contains_null": None in distinct,
        "contains_nan": len(plain) < len(known),
        "lower_bound": encode(lower_zero(min(plain))) if plain else None,
        "upper_bound": encode(upper_zero(max(plain))) if plain else None,
    }


def lower_zero(value: Any) -> Any:
    """Both zeros are equal numbers, but Iceberg's readers put -0.0 first."""
    return -0.0 if isinstance(value, float) and value == 0 else value


def upper_zero(value: Any) -> Any:
    return 0.0 if isinstance(value, float) and value == 0 else value


def _bits(value: Any) -> Any:
    return struct.pack("<d", value) if isinstance(value, float) else value


def _decimal_bytes(value: int) -> bytes:
    """The fewest bytes in two's complement."""
    length = (value if value >= 0 else ~value).bit_length() // 8 + 1
    return value.to_bytes(length, "big", signed=True)


def _fixed_length(precision: int) -> int:
    return int((10**precision - 1).bit_length() // 8 + 1)


def _packer(form: str) -> Callable[[Any], bytes]:
    return struct.Struct(form).pack


_ENCODERS: dict[str, Callable[[Any], bytes]] = {
    "boolean": lambda value: b"\x01" if value else b"\x00",
    **dict.fromkeys(("byte", "short", "integer", "date"), _packer("<i")),
    **dict.fromkeys(("long", "timestamp", "timestamp_ntz"), _packer("<q")),
    "float": _packer("<f"),
    "double": _packer("<d"),
    "string": lambda value: value.encode("utf-8"),
    "binary": bytes,
}
_AVRO_TYPES: dict[str, Any] = {
    "boolean": "boolean",
    **dict.fromkeys(("byte", "short", "integer"), "int"),
    "long": "long",
    "float": "float",
    "double": "double",
    "string": "string",
    "binary": "bytes",
    "date": {"type": "int", "logicalType": "date"},
    "timestamp": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
    "timestamp_ntz": {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
}
