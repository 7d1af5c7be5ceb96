"""ADD COLUMNS: more columns, at the top or inside structs, where one wants them.

PROTOCOL: Schema Serialization Format. Rows that are there have nulls in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from lakebed.commands.alter.columns.column_types import nested_limit, to_field, to_type, typed_field
from lakebed.commands.target.column_names import as_json, described, to_path, to_position
from lakebed.commands.target.metadata_change import AlterTarget, Change, operation, schema_change
from lakebed.errors import InvalidArgumentError, SchemaError
from lakebed.log.snapshot import Snapshot
from lakebed.spec.columns.column_mapping import strip
from lakebed.spec.columns.column_metadata import CURRENT_DEFAULT, is_filled_by_writer
from lakebed.spec.columns.schema_edits import ANYWHERE, Position, insert_field
from lakebed.spec.schema import (
    CHAR_VARCHAR,
    Path,
    StructField,
    StructType,
    find_path,
    render_path,
    walk,
)

NewColumns: TypeAlias = "Mapping[str, Any] | pa.Schema | Sequence[Any]"


@dataclass(frozen=True)
class NewColumn:
    """A column to be added to the struct at `parent`; `()` is the table itself."""

    field: StructField
    parent: Path = ()
    position: Position = ANYWHERE

    @property
    def path(self) -> Path:
        return (*self.parent, self.field.name)


def add_columns(
    target: AlterTarget, columns: NewColumns, *, first: bool = False, after: str | None = None
) -> Snapshot:
    """`columns` maps names, dotted where they are inside a struct, to types; or it is a schema.

    They come one after the other, behind the last column unless `first` or `after` says otherwise.
    """
    chosen = _placed(list(_parsed(columns)), to_position(first, after))
    return target.apply(lambda snapshot: plan_add_columns(snapshot, chosen))


def plan_add_columns(snapshot: Snapshot, columns: Sequence[NewColumn]) -> Change:
    if not columns:
        raise InvalidArgumentError("there are no columns to add", hint="name at least one")
    schema = snapshot.schema
    for column in columns:
        _check(column, schema)
        schema = insert_field(schema, column.parent, column.field, column.position)
    shown = [_described(column) for column in columns]
    return schema_change(snapshot, schema, operation("ADD COLUMNS", columns=as_json(shown)))


def _parsed(columns: NewColumns) -> Iterable[NewColumn]:
    if isinstance(columns, Mapping):
        for name, kind in columns.items():
            path = to_path(name)
            yield NewColumn(typed_field(path[-1], to_type(kind)), path[:-1])
        return
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise InvalidArgumentError(
            f"{columns!r} are not columns",
            hint='give a mapping such as {"price": "double"}, or a schema',
        )
    for each in columns:
        yield NewColumn(strip(StructType((to_field(each),))).fields[0])


def _placed(columns: list[NewColumn], position: Position) -> list[NewColumn]:
    """The first one goes to the position, each other one behind the one before it."""
    if not position.is_given:
        return columns
    placed: list[NewColumn] = []
    for column in columns:
        if placed and placed[-1].parent != column.parent:
            raise InvalidArgumentError(
                "columns of different structs cannot have one position",
                hint="add them by several calls",
            )
        here = Position(after=placed[-1].field.name) if placed else position
        placed.append(NewColumn(column.field, column.parent, here))
    return placed


def _check(column: NewColumn, schema: StructType) -> None:
    path = render_path(column.path)
    if find_path(schema, column.path) is not None:
        raise SchemaError(
            f"the table has a column {path} already",
            hint="names that differ only in case count as the same; choose another name",
            condition="DELTA_DUPLICATE_COLUMNS_FOUND",
        )
    if column.parent and CHAR_VARCHAR in column.field.metadata:
        raise nested_limit(column.path)
    fields = [column.field, *(field for _, field in walk(column.field.data_type))]
    if any(not field.nullable for field in fields):
        raise SchemaError(
            f"column {path} cannot be added as NOT NULL: rows that are there have no value for it",
            hint=f"add it as nullable, fill it, and add the constraint {path} IS NOT NULL",
            condition="DELTA_OPERATION_NOT_ALLOWED",
        )
    if any(CURRENT_DEFAULT in field.metadata for field in fields):
        raise SchemaError(
            f"column {path} cannot be added with a default: rows that are there would be null",
            hint="add it without one, then set the default by alter_column",
            condition="WRONG_COLUMN_DEFAULTS_FOR_DELTA_ALTER_TABLE_ADD_COLUMN_NOT_SUPPORTED",
        )
    if any(map(is_filled_by_writer, fields)):
        raise SchemaError(
            f"column {path} cannot be added as a generated or identity column",
            hint="such columns are made with the table",
        )


def _described(column: NewColumn) -> dict[str, Any]:
    shown: dict[str, Any] = {"column": described(column.parent, column.field)}
    return {**shown, "position": str(column.position)} if column.position.is_given else shown
