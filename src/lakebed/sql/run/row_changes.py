"""DELETE and UPDATE."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame

from lakebed.spark.generated import default_value
from lakebed.spec.schema import StructType
from lakebed.sql.column_errors import pointing_at
from lakebed.sql.context import SqlContext
from lakebed.sql.grammar.row_changes import Assigned, DeleteStatement, UpdateStatement
from lakebed.sql.names_in import Qualifier, check_once, column_path, has_subquery, renamed
from lakebed.sql.statement import Slice
from lakebed.sql.subqueries import with_views
from lakebed.sql.tables import OpenTable, open_table


def run_delete(context: SqlContext, statement: DeleteStatement) -> DataFrame | None:
    found = open_table(context, statement)
    if found is None:
        return None
    names = _names(found, statement.alias)
    texts = [statement.where]
    alias, (where,) = _as_local(found, names, texts)
    views = with_views(context, [where], statement.ctes)
    with pointing_at(context, texts), views as (condition,):
        return found.delta(alias).delete(condition)


def run_update(context: SqlContext, statement: UpdateStatement) -> DataFrame | None:
    found = open_table(context, statement)
    if found is None:
        return None
    names = _names(found, statement.alias)
    texts = [statement.where, *(each.value for each in statement.assigned)]
    alias, (where, *values) = _as_local(found, names, texts)
    columns = assigned_columns(context, statement.assigned, found.snapshot.schema, names)
    schema = found.snapshot.schema
    views = with_views(context, [where, *values], statement.ctes)
    with pointing_at(context, texts), views as (condition, *new):
        changes = {
            name: value or default_column(context, schema, name)
            for name, value in zip(columns, new, strict=True)
        }
        return found.delta(alias).update(condition, changes)


def assigned_columns(
    context: SqlContext,
    assigned: Sequence[Assigned],
    schema: StructType,
    names: Sequence[Qualifier],
) -> list[str]:
    """The columns as the table spells them; an error at the place of one that it has not."""
    refs = [each.column for each in assigned]
    paths = [column_path(context, ref, schema, names) for ref in refs]
    check_once(context, refs, paths)
    return [rendered(path) for path in paths]


def default_column(context: SqlContext, schema: StructType, name: str) -> str | Column:
    """What DEFAULT stands for."""
    field = next((each for each in schema.fields if rendered((each.name,)) == name), None)
    return "NULL" if field is None else default_value(context.session, field)


def rendered(path: Sequence[str]) -> str:
    return ".".join("`" + part.replace("`", "``") + "`" for part in path)


def _names(found: OpenTable, alias: str | None) -> tuple[Qualifier, ...]:
    return found.names if alias is None else ((alias,),)


def _as_local(
    found: OpenTable, names: Sequence[Qualifier], texts: Sequence[Slice | None]
) -> tuple[str | None, list[str | None]]:
    """The texts as the only table in sight would have them, and the alias that they need.

    Without an alias Lakebed itself may understand a condition, and leave files unread.
    """
    given = [text for text in texts if text is not None]
    is_field = any(name[-1] in found.snapshot.schema for name in names)
    alias = names[-1][-1] if names[-1] != found.ref.parts or found.ref.path is None else None
    chosen = alias if is_field or any(map(has_subquery, given)) else None
    return chosen, [None if text is None else renamed(text, names, chosen) for text in texts]
