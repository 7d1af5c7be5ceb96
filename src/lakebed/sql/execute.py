"""Runs statements: which function runs which."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import DataFrame

from lakebed.sql.context import SqlContext
from lakebed.sql.grammar import alter, clone, copy_into, describe, services
from lakebed.sql.run.alter import run_alter
from lakebed.sql.run.clone import run_clone
from lakebed.sql.run.copy_into import run_copy
from lakebed.sql.run.describe import run_detail, run_history
from lakebed.sql.run.services import (
    run_convert,
    run_fsck,
    run_generate,
    run_optimize,
    run_reorg,
    run_restore,
    run_undrop,
    run_vacuum,
)
from lakebed.sql.statement import Statement

RUNNERS: dict[type[Statement], Callable[[SqlContext, Any], DataFrame | None]] = {
    alter.AlterTable: run_alter,
    clone.CloneTable: run_clone,
    copy_into.CopyStatement: run_copy,
    describe.DescribeDetail: run_detail,
    describe.DescribeHistory: run_history,
    services.ConvertStatement: run_convert,
    services.FsckStatement: run_fsck,
    services.GenerateStatement: run_generate,
    services.OptimizeStatement: run_optimize,
    services.ReorgStatement: run_reorg,
    services.RestoreStatement: run_restore,
    services.UndropTable: run_undrop,
    services.VacuumStatement: run_vacuum,
}
"""A runner gives what `spark.sql` returns; None leaves the statement to Spark, nothing done."""


def execute(context: SqlContext, statement: Statement) -> DataFrame | None:
    return RUNNERS[type(statement)](context, statement)
