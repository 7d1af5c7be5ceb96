"""The columns of what Lakebed's own statements give, which Spark wants to know before they run."""

from __future__ import annotations

from lakebed.sql.grammar.clone import CloneTable
from lakebed.sql.grammar.copy_into import CopyStatement
from lakebed.sql.grammar.describe import DescribeDetail, DescribeHistory
from lakebed.sql.grammar.services import (
    FsckStatement,
    OptimizeStatement,
    ReorgStatement,
    RestoreStatement,
    VacuumStatement,
)
from lakebed.sql.statement import Statement


def result_schema(statement: Statement) -> str:
    """As DDL; empty for statements that give no rows."""
    return _SCHEMAS.get(type(statement), "")


_FILES = "STRUCT<min: BIGINT, max: BIGINT, avg: DOUBLE, totalFiles: BIGINT, totalSize: BIGINT>"
_OPTIMIZED = (
    "path STRING, metrics STRUCT<numFilesAdded: BIGINT, numFilesRemoved: BIGINT, "
    f"filesAdded: {_FILES}, filesRemoved: {_FILES}, partitionsOptimized: BIGINT, numBins: BIGINT, "
    "numBatches: BIGINT, totalConsideredFiles: BIGINT, totalFilesSkipped: BIGINT, "
    "preserveInsertionOrder: BOOLEAN, startTimeMs: BIGINT, endTimeMs: BIGINT, "
    "deletionVectorStats: STRUCT<numDeletionVectorsRemoved: BIGINT, "
    "numDeletionVectorRowsRemoved: BIGINT>>"
)
_SCHEMAS: dict[type[Statement], str] = {
    DescribeHistory: (
        "version BIGINT, timestamp TIMESTAMP, userId STRING, userName STRING, operation STRING, "
        "operationParameters MAP<STRING, STRING>, job STRUCT<jobId: STRING, jobName: STRING, "
        "jobRunId: STRING, runId: STRING, jobOwnerId: STRING, triggerType: STRING>, "
        "notebook STRUCT<notebookId: STRING>, clusterId STRING, readVersion BIGINT, "
        "isolationLevel STRING, isBlindAppend BOOLEAN, operationMetrics MAP<STRING, STRING>, "
        "userMetadata STRING, engineInfo STRING, readable BOOLEAN"
    ),
    DescribeDetail: (
        "format STRING, id STRING, name STRING, description STRING, location STRING, "
        "createdAt TIMESTAMP, lastModified TIMESTAMP, partitionColumns ARRAY<STRING>, "
        "clusteringColumns ARRAY<STRING>, numFiles BIGINT, sizeInBytes BIGINT, "
        "properties MAP<STRING, STRING>, minReaderVersion INT, minWriterVersion INT, "
        "tableFeatures ARRAY<STRING>"
    ),
    OptimizeStatement: _OPTIMIZED,
    ReorgStatement: _OPTIMIZED,
    VacuumStatement: "path STRING",
    RestoreStatement: (
        "table_size_after_restore BIGINT, num_of_files_after_restore BIGINT, "
        "num_removed_files BIGINT, num_restored_files BIGINT, removed_files_size BIGINT, "
        "restored_files_size BIGINT"
    ),
    FsckStatement: (
        "dataFilePath STRING, dataFileMissing BOOLEAN, deletionVectorPath STRING, "
        "deletionVectorFileMissing BOOLEAN"
    ),
    CopyStatement: (
        "num_affected_rows BIGINT, num_inserted_rows BIGINT, num_skipped_corrupt_files BIGINT"
    ),
    CloneTable: (
        "source_table_size BIGINT, source_num_of_files BIGINT, num_removed_files BIGINT, "
        "num_copied_files BIGINT, removed_files_size BIGINT, copied_files_size BIGINT"
    ),
}
