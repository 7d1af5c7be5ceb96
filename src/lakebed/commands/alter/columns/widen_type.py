"""Which other type a column may get (PROTOCOL: Type Widening, Void Type)."""

from __future__ import annotations

from dataclasses import replace

from lakebed.commands.alter.columns.column_types import nested_limit, sql_text, typed_field
from lakebed.errors import SchemaError
from lakebed.log.snapshot import Snapshot
from lakebed.spec.columns.column_metadata import LengthLimit, identity, length_limits
from lakebed.spec.columns.type_widening import can_widen
from lakebed.spec.schema import (
    CHAR_VARCHAR,
    STRING,
    VOID,
    ArrayType,
    DataType,
    MapType,
    Path,
    StructField,
    StructType,
    render_path,
)


def retyped(snapshot: Snapshot, path: Path, old: StructField, wanted: DataType) -> StructField:
    """The column with the wanted type, or an error if its values would not all fit."""
    new = typed_field(old.name, wanted)
    limit = new.metadata.get(CHAR_VARCHAR)
    if limit is not None and len(path) > 1:
        raise nested_limit(path)
    if old.data_type == new.data_type == STRING:
        _check_limits(path, old, new)
        return old.with_metadata({CHAR_VARCHAR: limit})
    if old.data_type == new.data_type:
        return old
    if isinstance(old.data_type, StructType | ArrayType | MapType):
        raise SchemaError(
            f"column {render_path(path)} is of type {old.data_type}, which changes part by part",
            hint="name the part, such as address.city or items.element; or add and drop columns",
        )
    if old.data_type != VOID:
        _check_widening(snapshot, path, old, new.data_type)
    return replace(old, data_type=new.data_type).with_metadata({CHAR_VARCHAR: limit})


def _check_widening(snapshot: Snapshot, path: Path, old: StructField, wanted: DataType) -> None:
    name, before, after = render_path(path), sql_text(old.data_type), sql_text(wanted)
    if not can_widen(old.data_type, wanted):
        raise SchemaError(
            f"column {name} cannot change from {before} to {after}",
            hint="types can only become wider; else add a column and fill it",
        )
    if not snapshot.properties.enable_type_widening:
        raise SchemaError(
            f"column {name} cannot change from {before} to {after}: the table does not widen types",
            hint="set the property delta.enableTypeWidening to true first",
        )
    if identity(old) is not None:
        raise SchemaError(f"column {name} is an identity column, whose type stays bigint")


def _check_limits(path: Path, old: StructField, new: StructField) -> None:
    """A limit of text may be raised or lifted: rows that are there meet it still."""
    before, after = length_limits(old).get(()), length_limits(new).get(())
    if after is not None and (before is None or not _allows(after, before)):
        raise SchemaError(
            f"column {render_path(path)} cannot change from {before or 'string'} to {after}",
            hint="limits of text can only be raised; or add a CHECK constraint",
        )


def _allows(new: LengthLimit, old: LengthLimit) -> bool:
    return new == old or (not new.padded and new.length >= old.length)
