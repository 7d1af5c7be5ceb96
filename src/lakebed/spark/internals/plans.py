"""What analyzed and optimized plans say (see the package for its rules)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame

from lakebed.spark.internals.jvm import JavaObject, Jvm
from lakebed.spark.internals.startup.rules import DELTA_FILES


def is_deterministic(frame: DataFrame) -> bool:
    """Whether the operator on top of a DataFrame gives the same rows for the same input."""
    return bool(frame._jdf.queryExecution().analyzed().deterministic())


def is_stable(frame: DataFrame) -> bool:
    """Whether a DataFrame certainly has the same rows each time it is asked.

    That is so for rows that are in the plan and for files of a version of a Delta table, if no
    expression on the way is random.
    """
    plan = frame._jdf.queryExecution().optimizedPlan()
    return _is_stable(plan)


def _is_stable(plan: JavaObject) -> bool:
    if not plan.deterministic():
        return False
    children = plan.children()
    if children.isEmpty():
        return _is_fixed(plan)
    return all(_is_stable(children.apply(i)) for i in range(children.length()))


def _is_fixed(leaf: JavaObject) -> bool:
    kind = leaf.getClass().getSimpleName()
    if kind == "LogicalRelation":
        relation = leaf.relation()
        is_file = relation.getClass().getSimpleName() == "HadoopFsRelation"
        # Lakebed's file index is that of a pinned version.
        return is_file and relation.location().getClass().getName() == DELTA_FILES
    return kind in ("LocalRelation", "Range", "OneRowRelation")


def top_condition(filtered: DataFrame) -> JavaObject:
    """The condition of a DataFrame that was just filtered."""
    return filtered._jdf.queryExecution().analyzed().condition()


def equal_keys(joined: DataFrame) -> list[tuple[str, Column]]:
    """The columns of the left side that a join compares with values of the right side alone."""
    join = joined._jdf.queryExecution().analyzed()
    condition = join.condition()
    if condition.isEmpty():
        return []
    left, right = join.left().outputSet(), join.right().outputSet()
    jvm = Jvm.of(joined.sparkSession)
    utils = jvm._class("org.apache.spark.sql.classic.ExpressionUtils")
    found = []
    for each in jvm.conjuncts(condition.get()):
        if each.getClass().getSimpleName() != "EqualTo":
            continue
        for one, other in ((each.left(), each.right()), (each.right(), each.left())):
            is_column = one.getClass().getSimpleName() == "AttributeReference"
            if is_column and left.contains(one) and _reads(other, right):
                found.append((str(one.name()), Column(utils.column(other))))
                break
    return found


def _reads(expression: JavaObject, columns: JavaObject) -> bool:
    read = expression.references()
    return bool(expression.deterministic() and read.nonEmpty() and read.subsetOf(columns))


def estimated_bytes(frame: DataFrame) -> int:
    """What Spark thinks is the size of the rows; far too much where it knows nothing."""
    plan = frame._jdf.queryExecution().optimizedPlan()
    return int(str(plan.stats().sizeInBytes()))


def is_cheap(frame: DataFrame) -> bool:
    """Whether a DataFrame only reads some columns of columnar files, of memory or of the plan."""
    return _is_cheap(frame._jdf.queryExecution().optimizedPlan())


def _is_cheap(plan: JavaObject) -> bool:
    children = plan.children()
    kind = plan.getClass().getSimpleName()
    if children.isEmpty():
        return kind in _IN_MEMORY or (kind == "LogicalRelation" and _is_columnar(plan.relation()))
    return kind in _NARROW and all(_is_cheap(children.apply(i)) for i in range(children.length()))


def _is_columnar(relation: JavaObject) -> bool:
    if relation.getClass().getSimpleName() != "HadoopFsRelation":
        return False
    return any(name in str(relation.fileFormat().getClass().getName()) for name in _COLUMNAR)


_IN_MEMORY = ("LocalRelation", "Range", "OneRowRelation", "InMemoryRelation")
_NARROW = ("Project", "Filter", "Union")
_COLUMNAR = ("Parquet", "Orc")
