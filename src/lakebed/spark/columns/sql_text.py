"""Names, strings and types as SQL that Spark reads back as they are."""

from __future__ import annotations

from lakebed.spec.columns.column_metadata import comment
from lakebed.spec.schema import (
    CHAR_VARCHAR,
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    UserDefinedType,
    parse_schema,
)

_SQL = {"LONG": "BIGINT", "INTEGER": "INT", "SHORT": "SMALLINT", "BYTE": "TINYINT"}


def quoted(name: str) -> str:
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


def quoted_parts(parts: tuple[str, ...]) -> str:
    return ".".join(map(quoted, parts))


def literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def column_list(schema_json: str) -> str:
    """The columns of a schema as CREATE TABLE takes them, without generation and defaults."""
    return ", ".join(map(column_text, parse_schema(schema_json).fields))


def column_text(field: StructField) -> str:
    limits = field.metadata.get(CHAR_VARCHAR)
    kind = str(limits).upper() if isinstance(limits, str) else type_text(field.data_type)
    text = f"{quoted(field.name)} {kind}{'' if field.nullable else ' NOT NULL'}"
    note = comment(field)
    return text if note is None else f"{text} COMMENT {literal(note)}"


def type_text(data_type: DataType) -> str:
    if isinstance(data_type, StructType):
        return f"STRUCT<{', '.join(map(_member, data_type.fields))}>"
    if isinstance(data_type, ArrayType):
        return f"ARRAY<{type_text(data_type.element_type)}>"
    if isinstance(data_type, MapType):
        return f"MAP<{type_text(data_type.key_type)}, {type_text(data_type.value_type)}>"
    if isinstance(data_type, UserDefinedType):
        return type_text(data_type.sql_type)
    name = str(data_type).upper()
    return _SQL.get(name, name)


def _member(field: StructField) -> str:
    """COMMENT and NOT NULL may stand inside of structs too."""
    note = comment(field)
    text = f"{quoted(field.name)}: {type_text(field.data_type)}"
    text = text if field.nullable else f"{text} NOT NULL"
    return text if note is None else f"{text} COMMENT {literal(note)}"
