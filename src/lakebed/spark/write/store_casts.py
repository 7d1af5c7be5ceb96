"""Values as values of a column's type: Spark's store assignment.

As in delta-spark `spark.sql.storeAssignmentPolicy` decides what an INSERT, UPDATE or MERGE makes of
a value of another type, whatever `spark.sql.ansi.enabled` says of casts elsewhere:

- ANSI: a cast that fails where the value does not fit.
- STRICT: only casts that lose nothing; others are refused before any row is read.
- LEGACY: Spark's old cast, for which what does not fit is null, or another number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, SparkSession

from lakebed.errors import SchemaMismatchError
from lakebed.settings.setting_table import CASTS_FOLLOW_ANSI, STORE_ASSIGNMENT
from lakebed.spark.columns.projection import spark_type
from lakebed.spark.session.session_kind import is_connect
from lakebed.spark.write.upcasts import can_up_cast
from lakebed.spec.schema import DataType, Path, render_path

Cast = Callable[[Column, DataType, DataType, Path], Column]
"""From a value, its type, the wanted type and the place of the value to the converted value."""


def exact_cast(value: Column, given: DataType, wanted: DataType, path: Path) -> Column:  # noqa: ARG001
    """For types of which it is known that every value fits."""
    return value.cast(spark_type(wanted))


def insert_cast(session: SparkSession) -> Cast:
    """How INSERT converts values."""
    return StoreCast(STORE_ASSIGNMENT.of(session))


def change_cast(session: SparkSession) -> Cast:
    """How UPDATE and MERGE convert values."""
    if CASTS_FOLLOW_ANSI.of(session):
        return exact_cast
    return StoreCast(STORE_ASSIGNMENT.of(session))


@dataclass(frozen=True)
class StoreCast:
    policy: str

    def __call__(self, value: Column, given: DataType, wanted: DataType, path: Path) -> Column:
        if self.policy == "STRICT" and not can_up_cast(given, wanted):
            raise SchemaMismatchError(
                f"{render_path(path)}: {given} cannot be stored as {wanted} without a possible "
                f"loss, and {STORE_ASSIGNMENT.name} is STRICT",
                hint=f"cast the value in the statement, or set {STORE_ASSIGNMENT.name} to ANSI",
            )
        kind = spark_type(wanted)
        mode = "legacy" if self.policy == "LEGACY" else "ansi"
        if is_connect(value):
            from lakebed.spark.internals.connect import connect_columns

            return connect_columns.cast_in_mode(value, kind, mode)
        from lakebed.spark.internals import classic_columns as columns

        return columns.cast_in_mode(value, kind, mode)
