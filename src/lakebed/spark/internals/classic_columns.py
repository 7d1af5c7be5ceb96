"""Columns of classic sessions as trees of Catalyst's expressions (see the package for its rules).

Static methods of Java can be called on columns too. They do without what Spark's own operators do
for every row: checks for overflow, whose errors know the position in the query, and checks for
null. The lookup of a row in a deletion vector is made of them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyspark import SparkContext
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from lakebed.spark.internals.column_reference import Reference, Translate
from lakebed.spark.internals.jvm import JavaObject, Jvm
from lakebed.spark.internals.startup.rules import TEXTS, compiled

_FRAME = "__dataset_id"
"""The metadata by which Spark itself finds out that a self-join is ambiguous."""

BYTE_ARRAY_OFFSET = 16
"""Where the bytes of a Java byte array begin, as `Platform.BYTE_ARRAY_OFFSET` says."""


def frame_number(frame: DataFrame) -> int:
    return int(frame._jdf.id())


def output(frame: DataFrame) -> JavaObject:
    return frame._jdf.queryExecution().analyzed().output()


def output_columns(output: JavaObject) -> list[tuple[int, str]]:
    """The numbers and names of the columns. Takes some calls for each of them."""
    found = [output.apply(place) for place in range(output.length())]
    return [(int(each.exprId().id()), str(each.name())) for each in found]


def java_columns(columns: Mapping[str, Column]) -> dict[str, JavaObject]:
    """The same columns as objects of Java."""
    return {name: column._jc for name, column in columns.items()}


def cast_in_mode(value: Column, kind: DataType, mode: str) -> Column:
    """A cast that is `ansi` or `legacy`, whatever the settings of the session are."""
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


def folded_sql(session: SparkSession, column: Column) -> str:
    """The same, with the values of literals that Spark has cast instead of the casts."""
    tree = session._jsparkSession.expression(column._jc)
    return str(compiled(session, TEXTS).sql(tree))


def column_text(session: SparkSession, column: Column) -> str | None:
    """The column as Spark prints it, without the numbers that it gives to columns; None for one
    that names functions, which are looked up when a query is analyzed."""
    return _text(session, session._jsparkSession.expression(column._jc))


def condition_text(filtered: DataFrame) -> str | None:
    """The same of the condition of a DataFrame that was just filtered."""
    return _text(filtered.sparkSession, filtered._jdf.queryExecution().analyzed().condition())


def _text(session: SparkSession, tree: JavaObject) -> str | None:
    found = compiled(session, TEXTS).of(tree)
    return None if found is None else str(found)


def is_always_true(session: SparkSession, column: Column) -> bool:
    tree = session._jsparkSession.expression(column._jc)
    return str(tree.getClass().getSimpleName()) == "Literal" and tree.value() is True


def rewritten(session: SparkSession, column: Column, translate: Translate) -> Column:
    """The column with its references to DataFrames translated."""
    walk = _Walk(Jvm.of(session), translate)
    tree = session._jsparkSession.expression(column._jc)
    new = walk.rewritten(tree)
    return column if new is None else walk.column(new)


# --- static methods of Java ---------------------------------------------------------------------


def get_long(jvm: Jvm, data: Column, offset: Column) -> Column:
    """Eight bytes of a binary column as a long. Nothing checks that they are inside of it."""
    return _call(jvm, "org.apache.spark.unsafe.Platform", "getLong", "long", data, offset)


def is_bit_set(jvm: Jvm, data: Column, offset: Column, index: Column) -> Column:
    """A bit of a binary column from `offset` on. Nothing checks that it is inside of it."""
    bits = "org.apache.spark.unsafe.bitset.BitSetMethods"
    return _call(jvm, bits, "isSet", "boolean", data, offset, index)


def smaller(jvm: Jvm, one: Column, other: Column) -> Column:
    """The smaller of two longs."""
    return _call(jvm, "java.lang.Math", "min", "long", one, other)


def total(jvm: Jvm, one: Column, other: Column) -> Column:
    """The sum of two longs, which is not to overflow."""
    return _call(jvm, "java.lang.Long", "sum", "long", one, other)


def as_integer(jvm: Jvm, value: Column) -> Column:
    """A long from 0 to 2147483647 as an integer, which is its hash code."""
    return _call(jvm, "java.lang.Long", "hashCode", "integer", value)


def never_null(jvm: Jvm, value: Column) -> Column:
    """The value; the caller makes sure that it is not null."""
    known = jvm._class("org.apache.spark.sql.catalyst.expressions.KnownNotNull")
    return _column(jvm, known(_expression(jvm, value)))


def long(value: int) -> Column:
    return F.lit(value).cast("long")


class _Walk:
    def __init__(self, jvm: Jvm, translate: Translate) -> None:
        self._jvm = jvm
        self._translate = translate
        self._utils: Any = jvm._class(_UTILS)

    def column(self, tree: JavaObject) -> Column:
        return Column(self._utils.column(tree))

    def rewritten(self, tree: JavaObject) -> JavaObject | None:
        """None if there is nothing to rewrite."""
        kind = str(tree.getClass().getSimpleName())
        if kind == "AttributeReference":
            return self._tree(self._translate(_reference(tree)))
        children = self._jvm.expressions(tree.children())
        new = [self.rewritten(child) for child in children]
        if all(each is None for each in new):
            return None
        if kind in _PARTS:
            # Where the field is may differ from what it was in the DataFrame; its name counts.
            return self._tree(self.column(new[0]).getField(_part(kind, tree)))
        pairs = zip(children, new, strict=True)
        changed = [before if after is None else after for before, after in pairs]
        return tree.withNewChildren(self._jvm.seq(changed))

    def _tree(self, column: Column) -> JavaObject:
        return self._jvm.session._jsparkSession.expression(column._jc)


def _reference(attribute: JavaObject) -> Reference:
    metadata = json.loads(attribute.metadata().json())
    return Reference((str(attribute.name()),), metadata.get(_FRAME), int(attribute.exprId().id()))


def _part(kind: str, tree: JavaObject) -> str:
    return str(tree.extractFieldName() if kind == "GetStructField" else tree.field().name())


def _call(jvm: Jvm, class_name: str, method: str, result: str, *arguments: Column) -> Column:
    calls = jvm._class("org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke")
    call = calls(
        jvm._named(class_name),
        jvm.data_type(f'"{result}"'),
        method,
        jvm.seq([_expression(jvm, each) for each in arguments]),
        jvm.seq([]),
        True,
        False,
        True,
        jvm.none(),
    )
    return _column(jvm, call)


def _expression(jvm: Jvm, column: Column) -> object:
    return jvm._class(_UTILS).expression(column._jc)


def _column(jvm: Jvm, expression: object) -> Column:
    return Column(jvm._class(_UTILS).column(expression))


_UTILS = "org.apache.spark.sql.classic.ExpressionUtils"
_MODES = {"ansi": "Cast$Ansi$", "legacy": "Cast$Legacy$"}
_PARTS = ("GetStructField", "GetArrayStructFields")
