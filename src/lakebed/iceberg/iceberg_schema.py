"""A Delta schema as Iceberg's (Iceberg Spec: Schemas and Data Types; PROTOCOL: IcebergCompatV2).

Field ids are the ids of column mapping: the files carry them. Types that Iceberg's version 2 does
not know are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lakebed.errors import UnsupportedFeatureError
from lakebed.spec.columns.column_mapping import column_id, nested_ids, physical_name
from lakebed.spec.schema import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
)

FIRST_PARTITION_ID = 1000
Json = dict[str, Any]


def iceberg_fields(schema: StructType) -> list[Json]:
    return [_field(field) for field in schema]


def name_mapping(schema: StructType) -> list[Json]:
    """Ids for files without any: those of before column mapping, by their names in the files."""
    return [_mapped(field) for field in schema]


def partition_fields(schema: StructType, partition_columns: tuple[str, ...]) -> list[Json]:
    """Identity partitions; they refer to columns by id."""
    return [
        {
            "name": field.name,
            "transform": "identity",
            "source-id": _id(field),
            "field-id": FIRST_PARTITION_ID + number,
        }
        for number, field in enumerate(schema.field(name) for name in partition_columns)
    ]


def primitive_name(data_type: DataType) -> str | None:
    """Iceberg's name of a primitive type; None for nested and unknown types."""
    if isinstance(data_type, DecimalType):
        return f"decimal({data_type.precision}, {data_type.scale})"
    return _PRIMITIVES.get(data_type.name) if isinstance(data_type, PrimitiveType) else None


def types_by_id(fields: list[Json]) -> dict[int, str]:
    """The primitive types of an Iceberg schema, at any depth."""
    found: dict[int, str] = {}
    for field in fields:
        _collect(field["id"], field["type"], found)
    return found


_PRIMITIVES: Mapping[str, str] = {
    "string": "string",
    "long": "long",
    "integer": "int",
    "short": "int",
    "byte": "int",
    "float": "float",
    "double": "double",
    "boolean": "boolean",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
}


def _field(field: StructField) -> Json:
    known = {
        "id": _id(field),
        "name": field.name,
        "required": not field.nullable,
        "type": _type(field.data_type, field, physical_name(field)),
    }
    comment = field.metadata.get("comment")
    return {**known, "doc": comment} if isinstance(comment, str) else known


def _type(data_type: DataType, field: StructField, path: str) -> str | Json:
    """`path` is where the type is inside the field, as the keys of its nested ids say it."""
    if isinstance(data_type, StructType):
        return {"type": "struct", "fields": iceberg_fields(data_type)}
    if isinstance(data_type, ArrayType):
        inner = f"{path}.element"
        return {
            "type": "list",
            "element-id": _nested_id(field, inner),
            "element": _type(data_type.element_type, field, inner),
            "element-required": not data_type.contains_null,
        }
    if isinstance(data_type, MapType):
        key, value = f"{path}.key", f"{path}.value"
        return {
            "type": "map",
            "key-id": _nested_id(field, key),
            "key": _type(data_type.key_type, field, key),
            "value-id": _nested_id(field, value),
            "value": _type(data_type.value_type, field, value),
            "value-required": not data_type.value_contains_null,
        }
    name = primitive_name(data_type)
    if name is None:
        raise UnsupportedFeatureError(
            f"column {field.name!r} is of type {data_type}, which Iceberg does not know",
            features=["universalFormat"],
            hint="drop the column, or unset delta.universalFormat.enabledFormats",
        )
    return name


def _id(field: StructField) -> int:
    found = column_id(field)
    if found is None:
        raise _without_id(field.name)
    return found


def _nested_id(field: StructField, path: str) -> int:
    found = nested_ids(field).get(path)
    if found is None:
        raise _without_id(path)
    return found


def _without_id(name: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"{name!r} has no id, and Iceberg goes by ids",
        features=["columnMapping", "icebergCompatV2"],
        hint="turn on delta.enableIcebergCompatV2 (REORG TABLE ... APPLY (UPGRADE UNIFORM ...))",
    )


def _mapped(field: StructField) -> Json:
    path = physical_name(field)
    mapped: Json = {"field-id": _id(field), "names": [path]}
    inner = _mapped_inside(field.data_type, field, path)
    return {**mapped, "fields": inner} if inner else mapped


def _mapped_inside(data_type: DataType, field: StructField, path: str) -> list[Json]:
    if isinstance(data_type, StructType):
        return name_mapping(data_type)
    parts: list[tuple[str, DataType]] = []
    if isinstance(data_type, ArrayType):
        parts = [("element", data_type.element_type)]
    elif isinstance(data_type, MapType):
        parts = [("key", data_type.key_type), ("value", data_type.value_type)]
    mapped = []
    for name, kind in parts:
        below = f"{path}.{name}"
        each: Json = {"field-id": _nested_id(field, below), "names": [name]}
        inner = _mapped_inside(kind, field, below)
        mapped.append({**each, "fields": inner} if inner else each)
    return mapped


def _collect(number: int, kind: str | Json, found: dict[int, str]) -> None:
    if isinstance(kind, str):
        found[number] = kind
    elif kind["type"] == "struct":
        found.update(types_by_id(kind["fields"]))
    elif kind["type"] == "list":
        _collect(kind["element-id"], kind["element"], found)
    else:
        _collect(kind["key-id"], kind["key"], found)
        _collect(kind["value-id"], kind["value"], found)
