"""Static methods of Java on columns, compiled into queries (see the package for its rules).

They do without what Spark's own operators do for every row: checks for overflow, whose errors know
the place in the query, and checks for null. The lookup of a row in a deletion vector is made of
them.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from lakebed.spark.internals.jvm import Jvm

BYTE_ARRAY_OFFSET = 16
"""Where the bytes of a Java byte array begin, as `Platform.BYTE_ARRAY_OFFSET` says."""


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
    """A value of which somebody else has seen to it that it is not null here."""
    known = jvm._class("org.apache.spark.sql.catalyst.expressions.KnownNotNull")
    return _column(jvm, known(_expression(jvm, value)))


def long(value: int) -> Column:
    return F.lit(value).cast("long")


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
