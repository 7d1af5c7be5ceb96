"""VACUUM on Spark: delta-spark's settings in, delta-spark's DataFrame out."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from lakebed.commands.vacuum.vacuum import vacuum_table
from lakebed.commands.vacuum.vacuum_options import VacuumOptions, settings_of
from lakebed.commands.vacuum.vacuum_report import VacuumResult
from lakebed.log.table_log import TableLog
from lakebed.spark.session.arrow_frames import arrow_frame
from lakebed.spark.session.session_kind import is_connect
from lakebed.spark.session.session_settings import all_settings


def vacuum_with_settings(session: SparkSession, log: TableLog, **options: Any) -> VacuumResult:
    """VACUUM by the settings of the session, except for the options that are given."""
    chosen = {**settings_of(all_settings(session)), **_given(options)}
    if chosen.get("inventory") is not None:
        chosen["inventory"] = _collected(chosen["inventory"])
        chosen["mode"] = options.get("mode") or "full"
    return vacuum_table(log, VacuumOptions.of(**chosen))


def vacuum_frame(session: SparkSession, root: str, result: VacuumResult) -> DataFrame:
    """One column `path`: the files that a dry run would delete; no row after a VACUUM.

    Arrow data become part of the plan: to make the DataFrame takes few calls, to show it no job.
    """
    paths = [f"{root}/{path}" for path in result.paths] if result.dry_run else []
    return arrow_frame(session, pa.table({"path": pa.array(paths, pa.string())}))


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _collected(inventory: Any) -> Any:
    """The inventory of a DataFrame comes to the driver, where the log is."""
    if isinstance(inventory, DataFrame) or is_connect(inventory):
        return inventory.toArrow()
    return inventory
