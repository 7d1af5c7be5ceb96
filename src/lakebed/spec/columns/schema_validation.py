"""What a schema must satisfy before it, or data under it, is written.

PROTOCOL: Schema Serialization Format, Void Type, Column Mapping.
"""

from __future__ import annotations

import re

from lakebed.errors import SchemaError, UnsupportedFeatureError
from lakebed.spec.schema import (
    VOID,
    ArrayType,
    DataType,
    MapType,
    Path,
    StructType,
    UserDefinedType,
    render_path,
    walk,
    walk_structs,
    walk_types,
)


def refuse_user_types(schema: StructType) -> None:
    """A type of a user's names a class, which Spark loads when it sees the schema."""
    for field in schema.fields:
        if any(isinstance(each, UserDefinedType) for each in walk_types(field.data_type)):
            raise UnsupportedFeatureError(
                f"column {field.name!r} has a user-defined type, whose class Spark would load",
                hint="the table was opened as untrusted; open it without that if you trust it",
            )


def validate(schema: StructType) -> None:
    """Refuses columns without a name, and two columns of one name in any case."""
    for path, struct in walk_structs(schema):
        _validate_names(struct, path)


def validate_plain_names(schema: StructType) -> None:
    """Refuses names that delta-spark keeps out of Parquet files unless columns are mapped."""
    bad = [render_path(path) for path, each in walk(schema) if _UNSAFE_NAME.search(each.name)]
    if bad:
        raise SchemaError(
            f"column names must not have a blank, tab, new line or any of ,;{{}}()= : {bad}",
            hint="rename the columns, or create the table with delta.columnMapping.mode = name",
            condition="DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES",
        )


def validate_void(schema: StructType) -> None:
    """Refuses data for schemas whose void parts cannot be left out of the data files."""
    for path, each in walk(schema):
        if _cannot_leave_out(each.data_type):
            raise SchemaError(
                f"no data can be written: column {render_path(path)} is {each.data_type}",
                hint="give the void part of the column a type first",
            )
    if len(schema) and all(each.data_type == VOID for each in schema):
        raise SchemaError(
            "no data can be written: every column of the table is void",
            hint="add a column, or give one of them a type first",
        )


_UNSAFE_NAME = re.compile(r"[ ,;{}()\n\t=]")


def _validate_names(schema: StructType, path: Path) -> None:
    seen: set[str] = set()
    for each in schema.fields:
        name = each.name.lower()
        if not name:
            raise SchemaError(f"a column has no name: {render_path(path) or schema}")
        if name in seen:
            raise SchemaError(
                f"two columns have the name {render_path((*path, each.name))}",
                hint="names that differ only in case count as the same; rename one of them",
                condition="DELTA_DUPLICATE_COLUMNS_FOUND",
            )
        seen.add(name)


def _cannot_leave_out(data_type: DataType) -> bool:
    if isinstance(data_type, ArrayType | MapType):
        return any(inner == VOID for inner in walk_types(data_type))
    if isinstance(data_type, StructType) and len(data_type):
        return all(each.data_type == VOID for each in data_type)
    return False
