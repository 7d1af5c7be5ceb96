"""The statements that Lakebed runs itself: how each runs, and the columns of what it returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from lakebed.sql.context import SqlContext
from lakebed.sql.grammar import alter, copy_into, new_tables
from lakebed.sql.grammar import utility_commands as grammar
from lakebed.sql.run import utility_commands as run
from lakebed.sql.run.alter import run_alter
from lakebed.sql.run.clone import run_clone
from lakebed.sql.run.copy_into import run_copy
from lakebed.sql.statement import Statement
from lakebed.tables.optimize_builder import OPTIMIZED


@dataclass(frozen=True)
class Runner:
    """`run` gives what `spark.sql` returns; None leaves the statement to Spark, nothing done.

    `schema` is the DDL of its rows, which Spark wants to know before it runs; empty for no rows.
    """

    run: Callable[[SqlContext, Any], DataFrame | None]
    schema: str = ""


def execute(context: SqlContext, statement: Statement) -> DataFrame | None:
    return _RUNNERS[type(statement)].run(context, statement)


def result_schema(statement: Statement) -> str:
    """As DDL; empty for statements that give no rows."""
    return _RUNNERS[type(statement)].schema


_HISTORY = (
    "version BIGINT, timestamp TIMESTAMP, userId STRING, userName STRING, operation STRING, "
    "operationParameters MAP<STRING, STRING>, job STRUCT<jobId: STRING, jobName: STRING, "
    "jobRunId: STRING, runId: STRING, jobOwnerId: STRING, triggerType: STRING>, "
    "notebook STRUCT<notebookId: STRING>, clusterId STRING, readVersion BIGINT, "
    "isolationLevel STRING, isBlindAppend BOOLEAN, operationMetrics MAP<STRING, STRING>, "
    "userMetadata STRING, engineInfo STRING"
)
_DETAIL = (
    "format STRING, id STRING, name STRING, description STRING, location STRING, "
    "createdAt TIMESTAMP, lastModified TIMESTAMP, partitionColumns ARRAY<STRING>, "
    "clusteringColumns ARRAY<STRING>, numFiles BIGINT, sizeInBytes BIGINT, "
    "properties MAP<STRING, STRING>, minReaderVersion INT, minWriterVersion INT, "
    "tableFeatures ARRAY<STRING>"
)
_PATHS = "path STRING"
_RESTORED = (
    "table_size_after_restore BIGINT, num_of_files_after_restore BIGINT, "
    "num_removed_files BIGINT, num_restored_files BIGINT, removed_files_size BIGINT, "
    "restored_files_size BIGINT"
)
_REPAIRED = (
    "dataFilePath STRING, dataFileMissing BOOLEAN, deletionVectorPath STRING, "
    "deletionVectorFileMissing BOOLEAN"
)
_COPIED = "num_affected_rows BIGINT, num_inserted_rows BIGINT, num_skipped_corrupt_files BIGINT"
_CLONED = (
    "source_table_size BIGINT, source_num_of_files BIGINT, num_removed_files BIGINT, "
    "num_copied_files BIGINT, removed_files_size BIGINT, copied_files_size BIGINT"
)
_RUNNERS: Mapping[type[Statement], Runner] = {
    alter.AlterTable: Runner(run_alter),
    copy_into.CopyStatement: Runner(run_copy, _COPIED),
    grammar.ConvertStatement: Runner(run.run_convert),
    grammar.DescribeDetail: Runner(run.run_detail, _DETAIL),
    grammar.DescribeHistory: Runner(run.run_history, _HISTORY),
    grammar.FsckStatement: Runner(run.run_fsck, _REPAIRED),
    grammar.GenerateStatement: Runner(run.run_generate),
    grammar.OptimizeStatement: Runner(run.run_optimize, OPTIMIZED),
    grammar.ReorgStatement: Runner(run.run_reorg, OPTIMIZED),
    grammar.RestoreStatement: Runner(run.run_restore, _RESTORED),
    grammar.UndropTable: Runner(run.run_undrop),
    grammar.VacuumStatement: Runner(run.run_vacuum, _PATHS),
    new_tables.CloneTable: Runner(run_clone, _CLONED),
}
