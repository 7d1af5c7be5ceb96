"""Schemas with a field added, taken out, replaced or moved, at any depth.

Paths are field paths (PROTOCOL: Field Path): names of fields, and `element`, `key` or `value` to
go inside arrays and maps. Names are found in any case.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from lakebed.errors import SchemaError
from lakebed.spec.schema import (
    ArrayType,
    DataType,
    MapType,
    Path,
    StructField,
    StructType,
    quote_name,
    render_path,
)

Edit = Callable[[DataType], DataType]


@dataclass(frozen=True)
class Position:
    """Where a field goes among those of its struct; at the end, or where it was, if neither."""

    first: bool = False
    after: str | None = None

    @property
    def is_given(self) -> bool:
        return self.first or self.after is not None

    def __str__(self) -> str:
        """As delta-spark writes it into the history."""
        return "FIRST" if self.first else f"AFTER {self.after}"


ANYWHERE = Position()


def edit_type(schema: StructType, path: Path, edit: Edit) -> StructType:
    """The schema with the type at a path replaced; `()` is the schema itself."""
    edited = _edited(schema, path, path, edit)
    if not isinstance(edited, StructType):
        raise SchemaError(f"a schema must be a struct, not {edited}")
    return edited


def insert_field(
    schema: StructType, parent: Path, field: StructField, position: Position
) -> StructType:
    """The schema with one more field in the struct at `parent`."""

    def insert(struct: StructType) -> StructType:
        fields = list(struct.fields)
        index = _index(struct, position, parent) if position.is_given else len(fields)
        fields.insert(index, field)
        return StructType(tuple(fields))

    return _edit_struct(schema, parent, insert)


def remove_field(schema: StructType, path: Path) -> StructType:
    """The schema without a field. A struct must keep at least one."""

    def remove(struct: StructType) -> StructType:
        gone = _field(struct, path)
        if len(struct) == 1:
            raise SchemaError(
                f"{render_path(path)} is the only column of "
                f"{render_path(path[:-1]) or 'the table'}, which would be left without any",
                hint="add another column first, or drop the whole column that it is in",
            )
        return StructType(tuple(each for each in struct.fields if each is not gone))

    return _edit_struct(schema, path[:-1], remove)


def replace_field(
    schema: StructType, path: Path, new: StructField, position: Position | None = None
) -> StructType:
    """The schema with another field in the place of one, or in another place of its struct."""

    def put(struct: StructType) -> StructType:
        old = _field(struct, path)
        if position is None or not position.is_given or _is_same(position.after, old.name):
            return StructType(tuple(new if each is old else each for each in struct.fields))
        others = StructType(tuple(each for each in struct.fields if each is not old))
        fields = list(others.fields)
        fields.insert(_index(others, position, path[:-1]), new)
        return StructType(tuple(fields))

    return _edit_struct(schema, path[:-1], put)


def _edit_struct(
    schema: StructType, path: Path, edit: Callable[[StructType], StructType]
) -> StructType:
    def checked(data_type: DataType) -> DataType:
        if not isinstance(data_type, StructType):
            raise SchemaError(
                f"column {render_path(path)} is of type {data_type}, which has no columns inside",
                hint="inside arrays and maps, write for example items.element.price",
            )
        return edit(data_type)

    return edit_type(schema, path, checked)


def _edited(data_type: DataType, path: Path, whole: Path, edit: Edit) -> DataType:
    if not path:
        return edit(data_type)
    step, rest = path[0], path[1:]
    if isinstance(data_type, StructType):
        old = _field(data_type, (*whole[: len(whole) - len(rest)],))
        new = replace(old, data_type=_edited(old.data_type, rest, whole, edit))
        return StructType(tuple(new if each is old else each for each in data_type.fields))
    inner = step.lower()
    if isinstance(data_type, ArrayType) and inner == "element":
        return replace(data_type, element_type=_edited(data_type.element_type, rest, whole, edit))
    if isinstance(data_type, MapType) and inner == "key":
        return replace(data_type, key_type=_edited(data_type.key_type, rest, whole, edit))
    if isinstance(data_type, MapType) and inner == "value":
        return replace(data_type, value_type=_edited(data_type.value_type, rest, whole, edit))
    raise SchemaError(
        f"there is no column {render_path(whole)!r}: {quote_name(step)} is not part of {data_type}",
        hint="inside arrays and maps, write for example items.element.price",
    )


def _field(struct: StructType, path: Path) -> StructField:
    found = struct.find(path[-1])
    if found is None:
        raise SchemaError(
            f"there is no column {render_path(path)!r}",
            hint=f"the columns are: {', '.join(map(quote_name, struct.names))}",
        )
    return found


def _index(struct: StructType, position: Position, parent: Path) -> int:
    if position.first or position.after is None:
        return 0
    return struct.fields.index(_field(struct, (*parent, position.after))) + 1


def _is_same(one: str | None, other: str) -> bool:
    return one is not None and one.lower() == other.lower()
