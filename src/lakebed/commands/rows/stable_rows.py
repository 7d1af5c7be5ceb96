"""Rows of a DataFrame that are the same each time they are asked for."""

from __future__ import annotations

from pyspark.sql import DataFrame

from lakebed.spark.session.session_kind import is_connect


def stable_rows(frame: DataFrame) -> DataFrame:
    """Stored, unless it is certain that they are the same anyway.

    The versions of the tables in the frame are pinned: see `spark.command_reads`.
    """
    if not is_connect(frame):
        from lakebed.spark.internals.plans import is_stable

        if is_stable(frame):
            return frame
    return frame.localCheckpoint()
