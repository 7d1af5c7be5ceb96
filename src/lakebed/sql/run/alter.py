"""ALTER TABLE: constraints, features and SYNC IDENTITY."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame

from lakebed.commands.alter.columns.alter_column import identity_column, plan_sync_identity
from lakebed.commands.alter.constraints import drop_constraint
from lakebed.commands.alter.features.drop_feature import drop_feature
from lakebed.spark.columns.projection import quote
from lakebed.spark.plane_selection import plane_for
from lakebed.spark.session.session_kind import functions_of
from lakebed.spec.schema import find_path
from lakebed.sql.column_errors import pointing_at
from lakebed.sql.column_lookup import unknown_column
from lakebed.sql.context import SqlContext
from lakebed.sql.grammar.alter import (
    Action,
    AddConstraint,
    AlterTable,
    DropConstraint,
    DropFeature,
    SyncIdentity,
)
from lakebed.sql.open_tables import OpenTable, open_table


def run_alter(context: SqlContext, statement: AlterTable) -> DataFrame | None:
    table = open_table(context, statement)
    if table is None:
        return None
    _RUNNERS[type(statement.action)](context, table, statement.action)
    return context.empty()


def _sync_identity(context: SqlContext, table: OpenTable, action: SyncIdentity) -> None:
    snapshot, column = table.snapshot, action.column
    if find_path(snapshot.schema, column.parts) is None:
        raise unknown_column(context, column, column.parts[-1], snapshot.schema)
    field, identity = identity_column(snapshot, column.parts)
    frame = plane_for(context.session, table.log.store, table.root, {}).scan(snapshot, {})
    f = functions_of(frame)
    furthest = f.max if identity.step > 0 else f.min
    row = frame.agg(furthest(f.col(quote(field.name)))).head()
    change = plan_sync_identity(snapshot, (field.name,), None if row is None else row[0])
    if change is not None:
        table.alter.commit(snapshot, change)


def _add_constraint(context: SqlContext, table: OpenTable, action: AddConstraint) -> None:
    with pointing_at(context, [action.condition]):
        table.delta().addConstraint(action.name, action.condition.text)


def _drop_constraint(_: SqlContext, table: OpenTable, action: DropConstraint) -> None:
    drop_constraint(table.alter, action.name, if_exists=action.if_exists)


def _drop_feature(_: SqlContext, table: OpenTable, action: DropFeature) -> None:
    drop_feature(table.alter, action.name, truncate_history=action.truncate_history)


_RUNNERS: Mapping[type[Action], Callable[[SqlContext, OpenTable, Any], None]] = {
    SyncIdentity: _sync_identity,
    AddConstraint: _add_constraint,
    DropConstraint: _drop_constraint,
    DropFeature: _drop_feature,
}
