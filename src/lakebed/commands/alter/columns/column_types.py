"""Types of columns as users give them: SQL text, Arrow's, Spark's or Lakebed's own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa

from lakebed.errors import InvalidArgumentError, SchemaError
from lakebed.formats.arrow_types import from_arrow_type
from lakebed.spec.columns.column_metadata import COMMENT
from lakebed.spec.columns.sql_types import parse_sql_type
from lakebed.spec.schema import (
    CHAR_VARCHAR,
    STRING,
    ArrayType,
    DataType,
    MapType,
    Path,
    PrimitiveType,
    StructField,
    StructType,
    parse_type,
    render_path,
    walk_types,
)


def to_type(given: Any) -> DataType:
    """The type that a string (`bigint`, `struct<a:int>`), an Arrow or a Spark type stands for.

    `char(n)` and `varchar(n)` stay in it: `typed_field` puts them where they belong.
    """
    if isinstance(given, DataType):
        return given
    if isinstance(given, str):
        return parse_sql_type(given)
    if isinstance(given, pa.DataType):
        return from_arrow_type(given)
    as_json = getattr(given, "jsonValue", None)
    if callable(as_json):
        return parse_type(as_json())
    raise InvalidArgumentError(
        f"{given!r} is not a type",
        hint='give a text such as "bigint" or "array<string>", or a type of Arrow or Spark',
    )


def typed_field(
    name: str, data_type: DataType, *, nullable: bool = True, comment: str | None = None
) -> StructField:
    """A column; length limits go into its metadata, which is where Spark keeps them."""
    metadata: dict[str, Any] = {}
    if comment is not None:
        metadata[COMMENT] = comment
    if any(map(_is_limited, walk_types(data_type))):
        metadata[CHAR_VARCHAR] = sql_text(data_type)
    return StructField(name, without_limits(data_type), nullable, metadata)


def nested_limit(path: Path) -> SchemaError:
    """Spark keeps limits with the columns at the top, for their whole type."""
    return SchemaError(
        f"{render_path(path)} is inside another column, where char and varchar have no effect",
        hint="give it the type string, or add a CHECK constraint on its length",
    )


def to_field(given: Any) -> StructField:
    """A column of Lakebed, Arrow or Spark, with its comment."""
    if isinstance(given, StructField):
        return given
    if isinstance(given, pa.Field):
        comment = (given.metadata or {}).get(b"comment")
        text = None if comment is None else comment.decode()
        return typed_field(given.name, to_type(given.type), nullable=given.nullable, comment=text)
    as_json = getattr(given, "jsonValue", None)
    parsed = parse_type({"type": "struct", "fields": [as_json()]}) if callable(as_json) else None
    if isinstance(parsed, StructType):
        return parsed.fields[0]
    raise InvalidArgumentError(
        f"{given!r} is not a column", hint="give a field of an Arrow or a Spark schema"
    )


def without_limits(data_type: DataType) -> DataType:
    """The type with plain strings for `char(n)` and `varchar(n)`."""
    if isinstance(data_type, StructType):
        fields = (replace(f, data_type=without_limits(f.data_type)) for f in data_type)
        return StructType(tuple(fields))
    if isinstance(data_type, ArrayType):
        return replace(data_type, element_type=without_limits(data_type.element_type))
    if isinstance(data_type, MapType):
        key, value = without_limits(data_type.key_type), without_limits(data_type.value_type)
        return replace(data_type, key_type=key, value_type=value)
    return STRING if _is_limited(data_type) else data_type


def sql_text(data_type: DataType) -> str:
    """The type in Spark's short SQL spelling, as its column metadata has it."""
    if isinstance(data_type, StructType):
        return f"struct<{','.join(f'{f.name}:{sql_text(f.data_type)}' for f in data_type)}>"
    if isinstance(data_type, ArrayType):
        return f"array<{sql_text(data_type.element_type)}>"
    if isinstance(data_type, MapType):
        return f"map<{sql_text(data_type.key_type)},{sql_text(data_type.value_type)}>"
    return _SHORT.get(str(data_type), str(data_type))


_SHORT = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}


def _is_limited(data_type: DataType) -> bool:
    return isinstance(data_type, PrimitiveType) and data_type.name.startswith(("char(", "varchar("))
