"""Columns of classic sessions as trees of expressions (see the package for its rules)."""

from __future__ import annotations

import json
from typing import Any

from pyspark import SparkContext
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import DataType

from lakebed.spark.internals.jvm import JavaObject, Jvm
from lakebed.spark.session.column_reference import Reference, Translate

_FRAME = "__dataset_id"
"""The metadata by which Spark itself finds out that a self-join is ambiguous."""


def frame_number(frame: DataFrame) -> int:
    return int(frame._jdf.id())


def output(frame: DataFrame) -> JavaObject:
    return frame._jdf.queryExecution().analyzed().output()


def output_columns(output: JavaObject) -> list[tuple[int, str]]:
    """The numbers and names of the columns. Takes some calls for each of them."""
    found = [output.apply(place) for place in range(output.length())]
    return [(int(each.exprId().id()), str(each.name())) for each in found]


def cast_in_mode(value: Column, kind: DataType, mode: str) -> Column:
    """A cast that is `ansi` or `legacy`, whatever the session says of casts."""
    tried: Any = value.try_cast(kind)._jc
    node = tried.node()
    context: Any = SparkContext._active_spark_context
    spark = context._jvm.org.apache.spark.sql
    chosen = getattr(spark.internal, _MODES[mode])
    option = context._jvm.scala.Some(getattr(chosen, "MODULE$"))
    return Column(spark.Column(node.copy(node.child(), node.dataType(), option, node.origin())))


def column_sql(session: SparkSession, column: Column) -> str:
    """The column as SQL text."""
    return str(session._jsparkSession.expression(column._jc).sql())


def is_always_true(session: SparkSession, column: Column) -> bool:
    tree = session._jsparkSession.expression(column._jc)
    return str(tree.getClass().getSimpleName()) == "Literal" and tree.value() is True


def rewritten(session: SparkSession, column: Column, translate: Translate) -> Column:
    """The column with others in the place of references to DataFrames."""
    walk = _Walk(Jvm.of(session), translate)
    tree = session._jsparkSession.expression(column._jc)
    made = walk.rewritten(tree)
    return column if made is None else walk.column(made)


class _Walk:
    def __init__(self, jvm: Jvm, translate: Translate) -> None:
        self._jvm = jvm
        self._translate = translate
        self._utils: Any = jvm._class("org.apache.spark.sql.classic.ExpressionUtils")

    def column(self, tree: JavaObject) -> Column:
        return Column(self._utils.column(tree))

    def rewritten(self, tree: JavaObject) -> JavaObject | None:
        """None if there is nothing to rewrite."""
        kind = str(tree.getClass().getSimpleName())
        if kind == "AttributeReference":
            return self._tree(self._translate(_reference(tree)))
        children = self._jvm.expressions(tree.children())
        made = [self.rewritten(child) for child in children]
        if all(each is None for each in made):
            return None
        if kind in _PARTS:
            # Where the field is may differ from what it was in the DataFrame; its name counts.
            return self._tree(self.column(made[0]).getField(_part(kind, tree)))
        both = zip(children, made, strict=True)
        changed = [old if new is None else new for old, new in both]
        return tree.withNewChildren(self._jvm.seq(changed))

    def _tree(self, column: Column) -> JavaObject:
        return self._jvm.session._jsparkSession.expression(column._jc)


def _reference(attribute: JavaObject) -> Reference:
    metadata = json.loads(attribute.metadata().json())
    return Reference((str(attribute.name()),), metadata.get(_FRAME), int(attribute.exprId().id()))


def _part(kind: str, tree: JavaObject) -> str:
    return str(tree.extractFieldName() if kind == "GetStructField" else tree.field().name())


_MODES = {"ansi": "Cast$Ansi$", "legacy": "Cast$Legacy$"}
_PARTS = ("GetStructField", "GetArrayStructFields")
