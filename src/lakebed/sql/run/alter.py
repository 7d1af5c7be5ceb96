"""ALTER TABLE and COMMENT ON."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType as SparkType

from lakebed.commands.alter.add_columns import NewColumn, plan_add_columns
from lakebed.commands.alter.alter_column import ColumnChange as PlannedChange
from lakebed.commands.alter.alter_column import alter_column, plan_alter_column
from lakebed.commands.alter.cluster_by import cluster_by
from lakebed.commands.alter.column_names import to_position
from lakebed.commands.alter.column_types import to_type, typed_field
from lakebed.commands.alter.drop_columns import drop_columns
from lakebed.commands.alter.drop_feature import drop_feature
from lakebed.commands.alter.properties import set_comment, set_properties, unset_properties
from lakebed.commands.alter.rename_column import rename_column
from lakebed.commands.alter.replace_columns import replace_columns
from lakebed.commands.alter.sync_identity import identity_column, plan_sync_identity
from lakebed.errors import SchemaError, SqlError, UnsupportedFeatureError
from lakebed.spark.functions import functions_of
from lakebed.spark.planes import plane_for
from lakebed.spark.projection import quote
from lakebed.spec.column_metadata import CURRENT_DEFAULT
from lakebed.spec.schema import DataType, StructType, find_path
from lakebed.sql.column_errors import pointing_at
from lakebed.sql.context import SqlContext
from lakebed.sql.grammar.alter import (
    AddColumns,
    AddConstraint,
    AlterColumns,
    ClusterBy,
    ColumnChange,
    DropColumns,
    DropConstraint,
    DropFeature,
    RefusedChange,
    RenameColumn,
    ReplaceColumns,
    SetProperties,
    SyncIdentity,
    UnsetProperties,
)
from lakebed.sql.grammar.column_definitions import ColumnDefinition
from lakebed.sql.grammar.column_names import ColumnRef
from lakebed.sql.grammar.describe import CommentOn
from lakebed.sql.names_in import unknown_column
from lakebed.sql.statement import Slice
from lakebed.sql.tables import OpenTable, open_table


def run_set_properties(context: SqlContext, statement: SetProperties) -> DataFrame | None:
    found = open_table(context, statement)
    if found is None:
        return None
    set_properties(found.alter, statement.properties)
    return context.empty()


def run_unset_properties(context: SqlContext, statement: UnsetProperties) -> DataFrame | None:
    found = open_table(context, statement)
    if found is None:
        return None
    unset_properties(found.alter, statement.keys, if_exists=statement.if_exists)
    return context.empty()


def run_add_columns(context: SqlContext, statement: AddColumns) -> DataFrame | None:
    found = open_table(context, statement)
    if found is None:
        return None
    schema = found.snapshot.schema
    new = [
        _new_column(context, each, schema)
        for each in statement.columns
        if not (statement.if_not_exists and find_path(schema, each.column.parts) is not None)
    ]
    if new:
        found.alter.apply(lambda snapshot: plan_add_columns(snapshot, new))
    return context.empty()


def run_replace_columns(context: SqlContext, statement: ReplaceColumns) -> DataFrame | None:
    found = open_table(context, statement)
    if found is None:
        return None
    fields = []
    for each in statement.columns:
        if len(each.column.parts) > 1:
            message = f"{each.column} is a field of a column, and comes with its column"
            raise SqlError(message, sql=context.sql, position=each.column.position)
        fields.append(_new_column(context, each, found.snapshot.schema).field)
    replace_columns(found.alter, fields)
    return context.empty()


def run_sync_identity(context: SqlContext, statement: SyncIdentity) -> DataFrame | None:
    found = open_table(context, statement)
    if found is None:
        return None
    snapshot = found.snapshot
    _check_known(context, statement.column, snapshot.schema)
    field, marks = identity_column(snapshot, statement.column.parts)
    frame = plane_for(context.session, found.log.store, found.root, {}).scan(snapshot, {})
    f = functions_of(frame)
    furthest = f.max if marks.step > 0 else f.min
    row = frame.agg(furthest(f.col(quote(field.name)))).head()
    change = plan_sync_identity(snapshot, (field.name,), None if row is None else row[0])
    if change is not None:
        found.alter.commit(snapshot, change)
    return context.empty()


def run_refused(context: SqlContext, statement: RefusedChange) -> DataFrame | None:
    """None if it is about another kind of table."""
    if open_table(context, statement) is None:
        return None
    raise UnsupportedFeatureError(statement.message, hint=statement.hint)


def _new_column(context: SqlContext, given: ColumnDefinition, schema: StructType) -> NewColumn:
    *parent, name = given.column.parts
    if parent:
        _check_known(context, ColumnRef(tuple(parent), given.column.position), schema)
    kind = _type(context, given.data_type)
    field = typed_field(name, kind, nullable=given.nullable, comment=given.comment)
    if given.default is not None:
        field = field.with_metadata({CURRENT_DEFAULT: given.default.text})
    return NewColumn(field, tuple(parent), to_position(given.first, given.after))


def run_rename_column(context: SqlContext, statement: RenameColumn) -> DataFrame | None:
    found = open_table(context, statement)
    if found is None:
        return None
    _check_known(context, statement.column, found.snapshot.schema)
    rename_column(found.alter, statement.column.parts, statement.new_name)
    return context.empty()


def run_drop_columns(context: SqlContext, statement: DropColumns) -> DataFrame | None:
    found = open_table(context, statement)
    if found is None:
        return None
    schema = found.snapshot.schema
    refs = [
        ref
        for ref in statement.columns
        if not (statement.if_exists and find_path(schema, ref.parts) is None)
    ]
    for ref in refs:
        _check_known(context, ref, schema)
    if refs:
        drop_columns(found.alter, [ref.parts for ref in refs])
    return context.empty()


def run_alter_columns(context: SqlContext, statement: AlterColumns) -> DataFrame | None:
    """Several changes are several commits; none is made if one of them cannot be."""
    found = open_table(context, statement)
    if found is None:
        return None
    for change in statement.changes:
        _check_known(context, change.column, found.snapshot.schema)
        plan_alter_column(found.snapshot, change.column.parts, _planned(context, change))
    for change in statement.changes:
        _alter_column(context, found, change)
    return context.empty()


def _planned(context: SqlContext, change: ColumnChange) -> PlannedChange:
    return PlannedChange(
        None if change.data_type is None else _type(context, change.data_type),
        change.nullable,
        change.comment,
        None if change.default is None else change.default.text,
        change.drop_default,
        to_position(change.first, change.after),
    )


def _alter_column(context: SqlContext, found: OpenTable, change: ColumnChange) -> None:
    alter_column(
        found.alter,
        change.column.parts,
        type=None if change.data_type is None else _type(context, change.data_type),
        nullable=change.nullable,
        comment=change.comment,
        default=None if change.default is None else change.default.text,
        drop_default=change.drop_default,
        first=change.first,
        after=change.after,
    )


def run_add_constraint(context: SqlContext, statement: AddConstraint) -> DataFrame | None:
    found = open_table(context, statement)
    if found is None:
        return None
    with pointing_at(context, [statement.condition]):
        found.delta().addConstraint(statement.name, statement.condition.text)
    return context.empty()


def run_drop_constraint(context: SqlContext, statement: DropConstraint) -> DataFrame | None:
    found = open_table(context, statement)
    if found is None:
        return None
    found.delta().dropConstraint(statement.name, statement.if_exists)
    return context.empty()


def run_cluster_by(context: SqlContext, statement: ClusterBy) -> DataFrame | None:
    found = open_table(context, statement)
    if found is None:
        return None
    for ref in statement.columns:
        _check_known(context, ref, found.snapshot.schema)
    cluster_by(found.alter, [ref.parts for ref in statement.columns] or None)
    return context.empty()


def run_drop_feature(context: SqlContext, statement: DropFeature) -> DataFrame | None:
    found = open_table(context, statement)
    if found is None:
        return None
    drop_feature(found.alter, statement.name, truncate_history=statement.truncate_history)
    return context.empty()


def run_comment(context: SqlContext, statement: CommentOn) -> DataFrame | None:
    found = open_table(context, statement)
    if found is None:
        return None
    if statement.column is None:
        set_comment(found.alter, statement.comment)
    else:
        _check_known(context, statement.column, found.snapshot.schema)
        alter_column(found.alter, statement.column.parts, comment=statement.comment or "")
    return context.empty()


def _check_known(context: SqlContext, ref: ColumnRef, schema: StructType) -> None:
    if find_path(schema, ref.parts) is not None or _is_inner(schema, ref.parts):
        return
    before = find_path(schema, ref.parts[:-1])
    inside: DataType = schema if before is None else before[1].data_type
    raise unknown_column(context, ref, ref.parts[-1], inside)


def _is_inner(schema: StructType, parts: tuple[str, ...]) -> bool:
    """`items.element`, `tags.key` and `tags.value` are no fields, but their types may change."""
    is_part = parts[-1].lower() in ("element", "key", "value")
    return is_part and find_path(schema, parts[:-1]) is not None


def _type(context: SqlContext, text: Slice) -> DataType:
    try:
        return to_type(text.text)
    except SchemaError as error:
        try:
            # Spark's own grammar takes more, comments of fields for example.
            return to_type(SparkType.fromDDL(text.text))
        except Exception:  # noqa: BLE001 - whatever Spark says, ours has the place
            message = f"{text.text} is not a type"
            position = text.position
            raise SqlError(message, sql=context.sql, position=position) from error
