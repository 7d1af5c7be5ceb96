"""ALTER COLUMN: comment, position, nullability, default and type of a column, SYNC IDENTITY.

PROTOCOL: Column Metadata, Default Columns, Type Widening, Void Type, Identity Columns. Values of
identity columns that users wrote themselves do not always move the high water mark: as in
delta-spark, SYNC IDENTITY looks at them, and never lowers it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from lakebed.commands.alter.columns.column_default import check_default
from lakebed.commands.alter.columns.column_types import nested_limit, sql_text, to_type, typed_field
from lakebed.commands.alter.columns.dependents import check_nothing_depends
from lakebed.commands.target.column_names import (
    ColumnName,
    as_json,
    described,
    to_path,
    to_position,
)
from lakebed.commands.target.metadata_change import AlterTarget, Change, operation, schema_change
from lakebed.errors import InvalidArgumentError, SchemaError
from lakebed.log.snapshot import Snapshot
from lakebed.spec.columns.column_metadata import (
    COMMENT,
    CURRENT_DEFAULT,
    Identity,
    LengthLimit,
    identity,
    length_limits,
    with_identity,
)
from lakebed.spec.columns.schema_edits import ANYWHERE, Position, edit_type, replace_field
from lakebed.spec.columns.type_widening import can_widen, record_type_changes
from lakebed.spec.features import is_supported
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
    find_path,
    render_path,
    resolve,
)


@dataclass(frozen=True)
class ColumnChange:
    """What changes; None leaves a thing as it is."""

    data_type: DataType | None = None
    nullable: bool | None = None
    comment: str | None = None
    default: str | None = None
    drop_default: bool = False
    position: Position = ANYWHERE

    @property
    def is_empty(self) -> bool:
        return self == ColumnChange()


def alter_column(
    target: AlterTarget,
    name: ColumnName,
    *,
    type: Any = None,
    nullable: bool | None = None,
    comment: str | None = None,
    default: str | None = None,
    drop_default: bool = False,
    first: bool = False,
    after: str | None = None,
) -> Snapshot:
    """Inside arrays and maps the name goes on with `element`, `key` or `value`."""
    change = ColumnChange(
        None if type is None else to_type(type),
        nullable,
        comment,
        default,
        drop_default,
        to_position(first, after),
    )
    _check_arguments(change)
    path = to_path(name)
    return target.apply(lambda snapshot: plan_alter_column(snapshot, path, change))


def plan_alter_column(snapshot: Snapshot, path: Path, change: ColumnChange) -> Change:
    inner = _inside_container(snapshot.schema, path)
    if inner is not None:
        shown, new = inner
        return _inner_change(snapshot, shown, new, change)
    found, old = resolve(snapshot.schema, path)
    field = _changed(snapshot, found, old, change)
    schema = replace_field(snapshot.schema, found, field, change.position)
    return _recorded(snapshot, schema, found[:-1], field, change.position)


def _changed(snapshot: Snapshot, path: Path, old: StructField, change: ColumnChange) -> StructField:
    field = old
    if change.data_type is not None:
        field = retyped(snapshot, path, field, change.data_type)
        if field.data_type != old.data_type:
            check_nothing_depends(snapshot, path, "given another type")
    if change.nullable is not None:
        field = replace(field, nullable=_checked_nullable(path, old, change.nullable))
    if change.comment is not None:
        field = field.with_metadata({COMMENT: change.comment})
    if change.default is not None:
        check_default(path, field, change.default)
        field = field.with_metadata({CURRENT_DEFAULT: change.default})
    if change.drop_default:
        field = field.with_metadata({CURRENT_DEFAULT: None})
    return field


def _inner_change(snapshot: Snapshot, path: Path, old: StructField, change: ColumnChange) -> Change:
    """Elements of arrays, keys and values of maps have a type and nothing else."""
    if change.data_type is None or change != ColumnChange(change.data_type):
        raise SchemaError(
            f"{render_path(path)} is not a column of a struct: only its type can change",
            hint="comments, positions, defaults and nullability belong to columns",
        )
    field = retyped(snapshot, path, old, change.data_type)
    check_nothing_depends(snapshot, path, "given another type")
    schema = edit_type(snapshot.schema, path, lambda _: field.data_type)
    return _recorded(snapshot, schema, path[:-1], field, ANYWHERE)


def _recorded(
    snapshot: Snapshot, schema: StructType, parent: Path, field: StructField, position: Position
) -> Change:
    parameters = {"column": as_json(described(parent, field))}
    if position.is_given:
        parameters["position"] = str(position)
    preview = is_supported(snapshot.protocol, "typeWidening-preview")
    version = snapshot.version + 1 if preview else None
    schema = record_type_changes(snapshot.schema, schema, table_version=version)
    return schema_change(snapshot, schema, operation("CHANGE COLUMN", **parameters))


def _inside_container(schema: StructType, path: Path) -> tuple[Path, StructField] | None:
    """The element, key or value that a path ends with, as a field of its own."""
    outer = find_path(schema, path[:-1])
    if outer is None:
        return None
    kind, last = outer[1].data_type, path[-1].lower()
    found: StructField | None = None
    if isinstance(kind, ArrayType) and last == "element":
        found = StructField(last, kind.element_type, kind.contains_null)
    elif isinstance(kind, MapType) and last == "key":
        found = StructField(last, kind.key_type, False)
    elif isinstance(kind, MapType) and last == "value":
        found = StructField(last, kind.value_type, kind.value_contains_null)
    return None if found is None else ((*outer[0], last), found)


def _checked_nullable(path: Path, old: StructField, nullable: bool) -> bool:
    if old.nullable and not nullable:
        raise SchemaError(
            f"column {render_path(path)} cannot become NOT NULL: it may have nulls",
            hint=f"add a constraint instead: {render_path(path)} IS NOT NULL",
            condition="DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP",
        )
    return nullable


def _check_arguments(change: ColumnChange) -> None:
    if change.is_empty:
        raise InvalidArgumentError(
            "nothing of the column would change",
            hint="give type, nullable, comment, default, drop_default, first or after",
        )
    if change.default is not None and change.drop_default:
        raise InvalidArgumentError("give default or drop_default, not both")
    texts = (change.comment, change.default)
    flags = (change.nullable, change.drop_default)
    if not all(isinstance(text, str | None) for text in texts) or not all(
        isinstance(flag, bool | None) for flag in flags
    ):
        raise InvalidArgumentError(
            "comment and default must be text, nullable and drop_default true or false"
        )


# --- types ----------------------------------------------------------------------------------------


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
            condition="DELTA_CANNOT_UPDATE_STRUCT_FIELD",
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
            condition="DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP",
        )
    if not snapshot.properties.enable_type_widening:
        raise SchemaError(
            f"column {name} cannot change from {before} to {after}: the table does not widen types",
            hint="set the property delta.enableTypeWidening to true first",
            condition="DELTA_UNSUPPORTED_ALTER_TABLE_CHANGE_COL_OP",
        )
    if identity(old) is not None:
        raise SchemaError(
            f"column {name} is an identity column, whose type stays bigint",
            condition="DELTA_IDENTITY_COLUMNS_ALTER_COLUMN_NOT_SUPPORTED",
        )


def _check_limits(path: Path, old: StructField, new: StructField) -> None:
    """A length limit may be raised or removed: existing rows still meet it."""
    before, after = length_limits(old).get(()), length_limits(new).get(())
    if after is not None and (before is None or not _allows(after, before)):
        raise SchemaError(
            f"column {render_path(path)} cannot change from {before or 'string'} to {after}",
            hint="limits of text can only be raised; or add a CHECK constraint",
        )


def _allows(new: LengthLimit, old: LengthLimit) -> bool:
    return new == old or (not new.padded and new.length >= old.length)


# --- SYNC IDENTITY --------------------------------------------------------------------------------


def identity_column(snapshot: Snapshot, path: Path) -> tuple[StructField, Identity]:
    found, field = resolve(snapshot.schema, path)
    marks = identity(field)
    if marks is None or len(found) > 1:
        raise SchemaError(
            f"column {render_path(found)} is no identity column",
            hint="SYNC IDENTITY is for columns that are GENERATED ... AS IDENTITY",
            condition="DELTA_IDENTITY_COLUMNS_ALTER_NON_IDENTITY_COLUMN",
        )
    return field, marks


def plan_sync_identity(snapshot: Snapshot, path: Path, furthest: int | None) -> Change | None:
    """`furthest` is the greatest value in this version, or the least if the steps go down."""
    field, marks = identity_column(snapshot, path)
    new = marks if furthest is None else marks.advanced_to(furthest)
    if new == marks:
        return None
    synced = with_identity(field, new)
    schema = replace_field(snapshot.schema, (field.name,), synced, ANYWHERE)
    done = operation("SYNC IDENTITY", column=as_json(described((), synced)))
    change = schema_change(snapshot, schema, done)
    # Rows that come meanwhile may have values that are further.
    return Change(change.operation, change.metadata, change.protocol, reads_rows=True)
