"""The settings of a session that Delta users know, and what Lakebed makes of them.

`HONOURED` lists them all; docs/spark.md shows the same list. Others that begin with
`spark.databricks.delta.` are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import SparkSession

from lakebed.commands.optimize import auto_compaction as auto
from lakebed.commands.optimize import optimize_request
from lakebed.commands.target import row_target
from lakebed.commands.vacuum import vacuum_options
from lakebed.errors import InvalidArgumentError
from lakebed.spark.read import read_request
from lakebed.spark.session.flags import parse_flag
from lakebed.spark.session.session_settings import all_settings
from lakebed.spark.write import store_casts as casting
from lakebed.tables.delta_service_methods import ALLOW_DOWNGRADE, IGNORE_MISSING_FILES

_DELTA = "spark.databricks.delta."
AUTO_MERGE = row_target.AUTO_MERGE
USER_METADATA = row_target.USER_METADATA
DEFAULTS = f"{_DELTA}properties.defaults."
OPTIMIZE_WRITE = f"{_DELTA}optimizeWrite.enabled"
DYNAMIC_OVERWRITE = f"{_DELTA}dynamicPartitionOverwrite.enabled"
CHECK_REPLACED = f"{_DELTA}replaceWhere.constraintCheck.enabled"
REPLACE_DATA_COLUMNS = f"{_DELTA}replaceWhere.dataColumns.enabled"
COLLECT_STATS = f"{_DELTA}stats.collect"
TXN_APP_ID = f"{_DELTA}write.txnAppId"
TXN_VERSION = f"{_DELTA}write.txnVersion"
TXN_RESET = f"{_DELTA}write.txnVersion.autoReset.enabled"
OUT_OF_RANGE = read_request.OUT_OF_RANGE
PARTITION_OVERWRITE = "spark.sql.sources.partitionOverwriteMode"
MAX_RECORDS = "spark.sql.files.maxRecordsPerFile"
COMPRESSION = "spark.sql.parquet.compression.codec"

HONOURED: Mapping[str, str] = {
    f"{DEFAULTS}*": "properties of new tables: `...defaults.appendOnly` is `delta.appendOnly`",
    AUTO_MERGE: "every write merges schemas, as with the option `mergeSchema`",
    USER_METADATA: "what commits carry, unless a write has the option `userMetadata`",
    OPTIMIZE_WRITE: "rows are brought together before they are written, as with `optimizeWrite`",
    DYNAMIC_OVERWRITE: "false: overwrites replace the whole table, whatever the overwrite mode",
    CHECK_REPLACED: "false: new rows need not meet `replaceWhere`",
    REPLACE_DATA_COLUMNS: "false: `replaceWhere` takes partition columns alone",
    COLLECT_STATS: "false: of new files only the number of rows is known",
    TXN_APP_ID: "the application of idempotent writes, with the next one",
    TXN_VERSION: "the version of the next idempotent write",
    TXN_RESET: "true: the version is unset after a write",
    casting.POLICY: "ANSI, STRICT or LEGACY: how INSERT, UPDATE and MERGE convert values",
    casting.FOLLOWS_ANSI: "true: UPDATE and MERGE go by `spark.sql.ansi.enabled` instead",
    PARTITION_OVERWRITE: "dynamic: overwrites replace the partitions that have new rows",
    MAX_RECORDS: "the most rows of a file, as with the option `maxRecordsPerFile`",
    COMPRESSION: "the codec of data files, unless the table or the write asks for another",
    OUT_OF_RANGE: "true: a change feed that starts after the newest version is empty",
    IGNORE_MISSING_FILES: "true: RESTORE does not look for the files",
    ALLOW_DOWNGRADE: "true: RESTORE brings back the protocol too, also a lower one",
    vacuum_options.RETENTION_CHECK: "false: VACUUM takes a shorter retention than the table's",
    vacuum_options.LOGGING: "false: VACUUM leaves no commits in the history",
    vacuum_options.LITE: "true: VACUUM goes by the log unless it is told its mode",
    optimize_request.MAX_FILE_SIZE: "the size that OPTIMIZE makes files of; 1 GB",
    optimize_request.MIN_FILE_SIZE: "files below it are small to OPTIMIZE; the same size",
    optimize_request.MAX_DELETED: "files with a greater share of deleted rows are rewritten; 0.05",
    optimize_request.BATCH_SIZE: "the bytes that OPTIMIZE commits together; 10 GB",
    optimize_request.MAX_THREADS: "the large files that OPTIMIZE writes at the same time; 8",
    optimize_request.CHECK_STATISTICS: "false: Z-order takes columns without statistics too",
    auto.ENABLED: "true or false: auto compaction for all tables, or for none",
    auto.MIN_FILES: "so many small files of a partition are put together after a write; 50",
    auto.MAX_FILE_SIZE: "the size that auto compaction makes files of; 128 MB",
    auto.MIN_FILE_SIZE: "files below it are small to auto compaction; half of that",
    f"{_DELTA}optimizeMetadataQuery.enabled": "false: count, min and max always read the files",
}
"""By name: what the setting does."""


@dataclass(frozen=True)
class SessionSettings:
    """The settings of a session that matter to a write, as they are now."""

    values: Mapping[str, str]

    @classmethod
    def of(cls, session: SparkSession) -> SessionSettings:
        return cls(all_settings(session))

    def text(self, key: str) -> str | None:
        return self.values.get(key)

    def flag(self, key: str, default: bool) -> bool:
        found = self.flag_or_none(key)
        return default if found is None else found

    def flag_or_none(self, key: str) -> bool | None:
        text = self.values.get(key)
        return None if text is None else parse_flag(key, text)

    @property
    def default_properties(self) -> dict[str, str]:
        """The properties that new tables get."""
        return {
            f"delta.{key[len(DEFAULTS) :]}": value
            for key, value in self.values.items()
            if key.startswith(DEFAULTS)
        }


def parse_number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise InvalidArgumentError(f"{name} is {text!r}", hint="give a whole number") from error
