"""Scans that leave out deleted rows (see the package for its rules, and `KeptRows.java`)."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame

from lakebed.spark.internals.jvm import ROW_INDEX, Jvm
from lakebed.spark.internals.rules import KEPT_ROWS, install_rule


def without_deleted(
    jvm: Jvm, relation: DataFrame, kept: Column, names: Sequence[str], columns: list[Column] | None
) -> DataFrame:
    """The kept rows of a relation that has row indexes, and `_metadata` as any relation has it.

    They have the columns of these names as they are, or the computed `columns`.
    """
    maker = install_rule(jvm.session, KEPT_ROWS)
    session = jvm.session._jsparkSession
    given = session, relation._jdf, kept._jc, ROW_INDEX
    if columns is None:
        made = maker.named(*given, "\0".join(names))
    else:
        made = maker.computed(*given, jvm.columns(columns))
    return DataFrame(made, jvm.session)
