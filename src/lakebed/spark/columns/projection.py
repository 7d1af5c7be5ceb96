"""The table's columns over those of its data files (PROTOCOL: Column Mapping, Void Type).

Only native expressions that Spark's optimizer takes apart: a filter on a renamed field of a struct
still reaches the Parquet reader, a field that is not selected is still not read, and a struct that
is null stays null.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType as SparkDataType
from pyspark.sql.types import StructType as SparkStructType

from lakebed.spark.columns.spark_types import has_data, stored_schema, visible_schema
from lakebed.spec.schema import (
    VOID,
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    walk_types,
)


def logical_columns(schema: StructType, mode: str) -> list[Column] | None:
    """The columns of the table; None if the data files have them as they are."""
    shown, stored = visible_schema(schema), stored_schema(schema, mode)
    if is_same_type(shown, stored):
        return None
    if mode == "id":
        named = iter(stored_schema(schema, "none").fields)
        return [_whole(one, other, named) for one, other in _pairs(shown, stored)]
    return [_column(*pair) for pair in _pairs(shown, stored)]


def quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _column(shown: StructField, stored: StructField | None) -> Column:
    if stored is None:
        return _null(shown).alias(shown.name)
    return _aliased(F.col(quote(stored.name)), shown, stored.data_type)


def _whole(shown: StructField, stored: StructField | None, named: Iterator[StructField]) -> Column:
    """The same for columns that are found by id: never a part of a column.

    Where Spark reads only some fields of a struct, it forgets the ids of these. It cannot look
    through a cast, and reads all of them.
    """
    if stored is None:
        return _null(shown).alias(shown.name)
    kind = next(named).data_type
    value = F.col(quote(stored.name))
    is_named = is_same_type(kind, stored.data_type)
    return _aliased(value if is_named else value.cast(spark_type(kind)), shown, kind)


def _aliased(value: Column, shown: StructField, stored: DataType) -> Column:
    converted = _converted(value, shown.data_type, stored)
    return converted.alias(shown.name, metadata=dict(shown.metadata))


def _converted(value: Column, shown: DataType, stored: DataType) -> Column:
    if is_same_type(shown, stored):
        return value
    if isinstance(shown, StructType) and isinstance(stored, StructType):
        return _converted_struct(value, shown, stored)
    if _has_void(shown) and isinstance(shown, ArrayType) and isinstance(stored, ArrayType):
        inner = (shown.element_type, stored.element_type)
        return F.transform(value, lambda element: _converted(element, *inner))
    # By position, in one step for all elements.
    return value.cast(spark_type(shown))


def _converted_struct(value: Column, shown: StructType, stored: StructType) -> Column:
    """A struct of which every field is replaced; the optimizer resolves fields through it.

    New names may be names of other fields, so all old ones go first. A struct cannot be without
    fields, which is what the placeholder is for.
    """
    old = [quote(field.name) for field in stored.fields]
    result = value.withField(_PLACEHOLDER, F.lit(0)).dropFields(*old)
    for field, source in _pairs(shown, stored):
        result = result.withField(quote(field.name), _field(value, field, source))
    return result.dropFields(_PLACEHOLDER)


def _field(value: Column, shown: StructField, stored: StructField | None) -> Column:
    if stored is None:
        return _null(shown)
    return _converted(value.getField(stored.name), shown.data_type, stored.data_type)


def _null(shown: StructField) -> Column:
    return F.lit(None).cast(spark_type(shown.data_type))


def _pairs(shown: StructType, stored: StructType) -> list[tuple[StructField, StructField | None]]:
    """The fields of the table with those of the data files, which leave some out."""
    sources = iter(stored.fields)
    return [(field, next(sources) if has_data(field.data_type) else None) for field in shown.fields]


def is_same_type(shown: DataType, stored: DataType) -> bool:
    """Whether names and types are equal; metadata does not matter."""
    if isinstance(shown, StructType) and isinstance(stored, StructType):
        return shown.names == stored.names and all(
            is_same_type(one.data_type, other.data_type)
            for one, other in zip(shown.fields, stored.fields, strict=True)
        )
    if isinstance(shown, ArrayType) and isinstance(stored, ArrayType):
        return is_same_type(shown.element_type, stored.element_type)
    if isinstance(shown, MapType) and isinstance(stored, MapType):
        same_keys = is_same_type(shown.key_type, stored.key_type)
        return same_keys and is_same_type(shown.value_type, stored.value_type)
    return shown == stored


def _has_void(data_type: DataType) -> bool:
    return any(each == VOID for each in walk_types(data_type))


def spark_type(data_type: DataType) -> SparkDataType:
    holder = StructType((StructField("value", data_type),))
    return SparkStructType.fromJson(holder.to_json()).fields[0].dataType


_PLACEHOLDER = "__lakebed_placeholder"
