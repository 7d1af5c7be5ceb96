"""What it costs to read a DataFrame, by its optimized plan (see the package for its rules)."""

from __future__ import annotations

from pyspark.sql import DataFrame

from lakebed.spark.internals.jvm import JavaObject


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
