"""`SET column = expression`: new values for columns and for fields inside of them.

As in delta-spark a name may carry the alias of the table, fields of structs are named with dots,
and a value is converted to the type of its column by store assignment (`spark.write.store_casts`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from lakebed.errors import InvalidArgumentError, SchemaError
from lakebed.spec.columns.column_metadata import identity
from lakebed.spec.columns.column_names import split_name
from lakebed.spec.schema import DataType, Path, StructField, StructType, render_path


@dataclass(frozen=True)
class Assignment:
    """A new value for a column of the table, or for a field in it."""

    path: Path
    data_type: DataType
    value: Any
    """SQL text, on Spark also a Column, without it also a `Constant`."""


def assignments(
    values: Mapping[str, Any], schema: StructType, aliases: Sequence[str] = ()
) -> list[Assignment]:
    """The values by the columns that they are for, checked against the schema."""
    found: dict[Path, Assignment] = {}
    for name, value in values.items():
        path, data_type = _resolve(name, schema, aliases)
        for other in found:
            shared = min(len(other), len(path))
            if other[:shared] == path[:shared]:
                raise InvalidArgumentError(
                    f"both {render_path(other)} and {render_path(path)} are given a value",
                    hint="set a column or its fields, each of them once",
                    condition="DELTA_CONFLICT_SET_COLUMN",
                )
        found[path] = Assignment(path, data_type, value)
    return list(found.values())


def check_identity(given: Sequence[Assignment], schema: StructType) -> None:
    for each in given:
        field = schema.field(each.path[0])
        if identity(field) is not None:
            raise InvalidArgumentError(
                f"column {field.name!r} is an identity column: its values cannot be updated",
                hint=f"leave {field.name!r} out of the values to set",
                condition="DELTA_IDENTITY_COLUMNS_UPDATE_NOT_SUPPORTED",
            )


def name_parts(name: str, schema: StructType, aliases: Sequence[str]) -> Sequence[str]:
    """The name of a column or a field in it, without the alias of the table."""
    parts = split_name(name)
    folded = {alias.lower() for alias in aliases}
    has_alias = len(parts) > 1 and parts[0].lower() in folded and parts[0] not in schema
    return parts[1:] if has_alias else parts


def _resolve(name: str, schema: StructType, aliases: Sequence[str]) -> tuple[Path, DataType]:
    parts = name_parts(name, schema, aliases)
    path: list[str] = []
    data_type: DataType = schema
    for part in parts:
        field = data_type.find(part) if isinstance(data_type, StructType) else None
        if field is None:
            raise _unknown(name, part, data_type)
        path.append(field.name)
        data_type = field.data_type
    return tuple(path), data_type


def _unknown(name: str, part: str, inside: DataType) -> SchemaError:
    known = list(inside.names) if isinstance(inside, StructType) else []
    near = get_close_matches(part, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {known}"
    return SchemaError(
        f"the table has no column {name!r}",
        hint=hint,
        condition="UNRESOLVED_COLUMN.WITH_SUGGESTION",
    )


def is_generated(field: StructField) -> bool:
    return "delta.generationExpression" in field.metadata
