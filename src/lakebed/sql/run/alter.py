"""ALTER TABLE: constraints, features and SYNC IDENTITY."""

from __future__ import annotations

from pyspark.sql import DataFrame

from lakebed.commands.alter.columns.alter_column import identity_column, plan_sync_identity
from lakebed.commands.alter.features.drop_feature import drop_feature
from lakebed.spark.columns.projection import quote
from lakebed.spark.plane_selection import plane_for
from lakebed.spark.session.session_kind import functions_of
from lakebed.spec.schema import find_path
from lakebed.sql.column_errors import pointing_at
from lakebed.sql.column_lookup import unknown_column
from lakebed.sql.context import SqlContext
from lakebed.sql.grammar.alter import AddConstraint, DropConstraint, DropFeature, SyncIdentity
from lakebed.sql.open_tables import open_table


def run_sync_identity(context: SqlContext, statement: SyncIdentity) -> DataFrame | None:
    found = open_table(context, statement)
    if found is None:
        return None
    snapshot = found.snapshot
    column = statement.column
    if find_path(snapshot.schema, column.parts) is None:
        raise unknown_column(context, column, column.parts[-1], snapshot.schema)
    field, marks = identity_column(snapshot, column.parts)
    frame = plane_for(context.session, found.log.store, found.root, {}).scan(snapshot, {})
    f = functions_of(frame)
    furthest = f.max if marks.step > 0 else f.min
    row = frame.agg(furthest(f.col(quote(field.name)))).head()
    change = plan_sync_identity(snapshot, (field.name,), None if row is None else row[0])
    if change is not None:
        found.alter.commit(snapshot, change)
    return context.empty()


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


def run_drop_feature(context: SqlContext, statement: DropFeature) -> DataFrame | None:
    found = open_table(context, statement)
    if found is None:
        return None
    drop_feature(found.alter, statement.name, truncate_history=statement.truncate_history)
    return context.empty()
