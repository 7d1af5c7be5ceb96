"""Table schemas as Spark's (PROTOCOL: Schema Serialization Format, which is Spark's own JSON)."""

from __future__ import annotations

from dataclasses import replace

import orjson
from pyspark.sql import DataFrame

from lakebed.spec.columns.column_mapping import column_id, physical_name, strip
from lakebed.spec.columns.column_metadata import COLLATIONS, CURRENT_DEFAULT, EXISTS_DEFAULT
from lakebed.spec.columns.type_widening import type_changes
from lakebed.spec.schema import (
    CHAR_VARCHAR,
    LONG,
    VOID,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    Path,
    PrimitiveType,
    StructField,
    StructType,
    as_nullable,
    parse_schema,
    transform,
)

PARQUET_FIELD_ID = "parquet.field.id"


def type_json(data_type: DataType) -> str:
    return orjson.dumps(data_type.to_json()).decode()


def incoming_schema(frame: DataFrame) -> StructType:
    """The schema of a DataFrame as that of a table: without what only this query means by it.

    As in delta-spark everything may be null: what a query cannot give, a later one may.
    """
    schema = as_nullable(parse_schema(frame.schema.json()))
    return strip(transform(schema, lambda _, field: _without_query_marks(field)))


def visible_schema(schema: StructType) -> StructType:
    """The schema that users see: without what only writers of the table need to know."""
    return transform(schema, lambda _, field: _visible(field))


def stored_schema(schema: StructType, mode: str) -> StructType:
    """The schema to read data files with: physical names and ids, types, no void columns."""
    fields = (_stored(field, mode) for field in schema.fields if has_data(field.data_type))
    return StructType(tuple(fields))


def stored_name(field: StructField, mode: str) -> str:
    """The name of a column in the relation that Spark sees.

    With ids, Spark takes types of fields by name and data by id: no name may be that of a file.
    """
    if mode == "id":
        return f"lakebed-id-{column_id(field)}"
    return field.name if mode == "none" else physical_name(field)


def has_data(data_type: DataType) -> bool:
    """Whether data files have the column: they leave out void ones (PROTOCOL: Void Type)."""
    if isinstance(data_type, StructType):
        return not data_type.fields or any(has_data(each.data_type) for each in data_type)
    return data_type != VOID


def _visible(field: StructField) -> StructField:
    kept = {key: value for key, value in field.metadata.items() if not _is_internal(key)}
    return replace(field, metadata=kept)


def _without_query_marks(field: StructField) -> StructField:
    kept = {key: value for key, value in field.metadata.items() if _is_lasting(key)}
    return replace(field, metadata=kept)


def _is_lasting(key: str) -> bool:
    is_mark = key.startswith("__") and key not in (CHAR_VARCHAR, COLLATIONS)
    return not is_mark and not key.startswith("parquet.field.")


def _is_internal(key: str) -> bool:
    # Spark would fill absent columns with EXISTS_DEFAULT; the protocol says that they are null.
    return key.startswith(("delta.", "parquet.field.")) or key in (CURRENT_DEFAULT, EXISTS_DEFAULT)


def _stored(field: StructField, mode: str) -> StructField:
    found = _visible(field)
    if mode == "id":
        found = found.with_metadata({PARQUET_FIELD_ID: column_id(field)})
    data_type = _stored_type(_readable_type(field), mode)
    return replace(found, name=stored_name(field, mode), data_type=data_type)


def _stored_type(data_type: DataType, mode: str) -> DataType:
    if isinstance(data_type, StructType):
        return stored_schema(data_type, mode)
    if isinstance(data_type, ArrayType):
        return replace(data_type, element_type=_stored_type(data_type.element_type, mode))
    if isinstance(data_type, MapType):
        key, value = (_stored_type(t, mode) for t in (data_type.key_type, data_type.value_type))
        return replace(data_type, key_type=key, value_type=value)
    return data_type


def _readable_type(field: StructField) -> DataType:
    """The type to read a column with whose older files have integers.

    Spark reads integers as decimals only if the decimals hold everything that Parquet's integers
    can, which is also what the protocol demands. The preview of type widening demanded less.
    """
    data_type = field.data_type
    for change in type_changes(field):
        if isinstance(change.from_type, PrimitiveType) and isinstance(change.to_type, DecimalType):
            digits = 20 if change.from_type == LONG else 10
            data_type = _at_least(data_type, change.field_path, digits)
    return data_type


def _at_least(data_type: DataType, path: Path, digits: int) -> DataType:
    if isinstance(data_type, DecimalType):
        whole = max(digits, data_type.precision - data_type.scale)
        return DecimalType(min(38, whole + data_type.scale), data_type.scale)
    if isinstance(data_type, ArrayType) and path:
        inner = _at_least(data_type.element_type, path[1:], digits)
        return replace(data_type, element_type=inner)
    if isinstance(data_type, MapType) and path:
        if path[0] == "key":
            return replace(data_type, key_type=_at_least(data_type.key_type, path[1:], digits))
        return replace(data_type, value_type=_at_least(data_type.value_type, path[1:], digits))
    return data_type
