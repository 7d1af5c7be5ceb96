"""DELETE, UPDATE, MERGE and TRUNCATE, as Spark has parsed them."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.log.table_log import TableLog
from lakebed.sessions.native.question import JavaObject, Question, column
from lakebed.spark.internals.classic_columns import is_always_true
from lakebed.spark.stores.location import open_location
from lakebed.spark.write.generated_values import default_value
from lakebed.tables.delta_table import DeltaTable
from lakebed.tables.merge_builder import DeltaMergeBuilder


def delete(asked: Question) -> DataFrame:
    condition = column(asked.given[0])
    if condition is not None and is_always_true(asked.session, condition):
        return _table(asked)._deleted(None, condition)
    return _table(asked).delete(condition)


def truncate(asked: Question) -> None:
    _table(asked).delete()


def update(asked: Question) -> DataFrame:
    table = _table(asked)
    values = _values(asked, asked.given[1], fills=True)
    return table.update(column(asked.given[0]), values)


def merge(asked: Question) -> DataFrame:
    source = asked.frame(asked.given[0]).alias(str(asked.request["source"]))
    builder = _table(asked).merge(source, Column(asked.given[1]))
    for clause in asked.given[2]:
        builder = _with(builder, asked, clause)
    if asked.request["evolves"]:
        builder = builder.withSchemaEvolution()
    return builder.execute()


def _with(builder: DeltaMergeBuilder, asked: Question, clause: JavaObject) -> DeltaMergeBuilder:
    kind, action = str(clause["kind"]), str(clause["action"])
    condition = column(clause["condition"])
    values = _values(asked, clause["values"], fills=action == "update")
    if action == "update_all":
        return builder.whenMatchedUpdateAll(condition)
    if action == "insert_all":
        return builder.whenNotMatchedInsertAll(condition)
    if action == "insert":
        return builder.whenNotMatchedInsert(condition, values)
    if kind == "matched":
        if action == "delete":
            return builder.whenMatchedDelete(condition)
        return builder.whenMatchedUpdate(condition, values)
    if action == "delete":
        return builder.whenNotMatchedBySourceDelete(condition)
    return builder.whenNotMatchedBySourceUpdate(condition, values)


def _values(asked: Question, given: JavaObject, *, fills: bool) -> dict[str, str | Column]:
    """By columns. DEFAULT is the default of the column, where a new row does not get it anyway."""
    found: dict[str, str | Column] = {}
    for name in given:
        value = given[name]
        if value is not None:
            found[str(name)] = Column(value)
        elif fills:
            found[str(name)] = _default(asked, str(name))
    return found


def _default(asked: Question, name: str) -> Column:
    store, _ = open_location(asked.session, asked.path, {})
    unquoted = name[1:-1].replace("``", "`")
    field = TableLog(store).snapshot().schema.find(unquoted)
    return F.lit(None) if field is None else default_value(asked.session, field)


def _table(asked: Question) -> DeltaTable:
    table = DeltaTable.forPath(asked.session, asked.path)
    alias: Any = asked.request.get("alias")
    return table if alias is None else table.alias(str(alias))
