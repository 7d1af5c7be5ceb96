"""Every setting that Lakebed reads, one record each; docs/spark.md shows the same table.

`spark.lakebed.` are Lakebed's own, `spark.databricks.delta.` are delta-spark's, `spark.sql.` are
Spark's. Other settings that begin with `spark.databricks.delta.` are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lakebed.settings import value_kinds as kinds
from lakebed.settings.setting import Setting, SettingPrefix

_OWN = "spark.lakebed."
_DELTA = "spark.databricks.delta."

# --- how rows and stores are reached --------------------------------------------------------------

DATA_PLANE = Setting(
    f"{_OWN}dataPlane",
    kinds.choice("auto", "native", "workers"),
    "auto",
    "`auto`, `native` or `workers`: who reads and writes rows, see "
    "[two data planes](#two-data-planes)",
)
DURABILITY = Setting[str | None](
    f"{_OWN}durability",
    kinds.choice("none", "log", "all"),
    None,
    "`none`, `log` or `all`: what survives the loss of power on a local disk, see "
    "[reliability](reliability.md#loss-of-power)",
    shown_default="`log`",
    option="durability",
    environment="LAKEBED_DURABILITY",
)
SINGLE_WRITER = Setting(
    f"{_OWN}singleWriter",
    kinds.SWITCH,
    False,
    "`true` allows writes to object stores without conditional puts; only one process may write, "
    "see [STORE_NOT_SAFE](object_stores.md#store_not_safe)",
    option="single_writer",
)
EXTERNAL_PATHS = Setting[str | None](
    f"{_OWN}externalPaths",
    kinds.TEXT,
    None,
    "other buckets that the log of a table may refer to, as URLs separated by commas, or `allow` "
    "for all, see [paths](security.md#paths)",
    option="external_paths",
)
UNTRUSTED = Setting(
    f"{_OWN}untrusted",
    kinds.SWITCH,
    False,
    "`true` refuses tables that refer to files outside their folder, see "
    "[untrusted tables](security.md#untrusted-tables)",
    option="untrusted",
)
ALLOWED_FUNCTIONS = Setting[tuple[str, ...]](
    f"{_OWN}expressions.allow",
    kinds.NAMES,
    (),
    "functions that the metadata of tables may call besides built-in ones, see "
    "[expressions](security.md#expressions-in-tables)",
)
CATALOG = Setting[str | None](
    f"{_OWN}catalog",
    kinds.TEXT,
    None,
    "the embedded catalog: `sqlite:///path/to/catalog.db` or `postgresql://user@host/database`, "
    "see [names](table_names.md)",
)

# --- reads ----------------------------------------------------------------------------------------

PIN_DATAFRAMES = Setting(
    f"{_OWN}pinDataFrames",
    kinds.FLAG,
    False,
    "`true` pins each DataFrame to the version that it was created with, see "
    "[which version a query reads](#which-version-a-query-reads)",
)
METADATA_ONLY = Setting(
    f"{_OWN}metadataOnly.enabled",
    kinds.FLAG,
    True,
    "`false`: `count`, `min` and `max` always read the files",
)
OPTIMIZE_METADATA_QUERY = Setting(
    f"{_DELTA}optimizeMetadataQuery.enabled",
    kinds.FLAG,
    True,
    f"the same as `{_OWN}metadataOnly.enabled`",
)
CHANGES_OUT_OF_RANGE = Setting(
    f"{_DELTA}changeDataFeed.timestampOutOfRange.enabled",
    kinds.FLAG,
    False,
    "`true`: a change feed that starts after the newest version is empty instead of an error",
)

# --- writes ---------------------------------------------------------------------------------------

DEFAULT_PROPERTIES = SettingPrefix(
    f"{_DELTA}properties.defaults.",
    "delta.",
    "properties of new tables: `...defaults.appendOnly` is `delta.appendOnly`",
)
AUTO_MERGE = Setting(
    f"{_DELTA}schema.autoMerge.enabled",
    kinds.FLAG,
    False,
    "`true`: every write, and MERGE, adds columns that the table does not have",
    option="mergeSchema",
)
USER_METADATA = Setting[str | None](
    f"{_DELTA}commitInfo.userMetadata",
    kinds.TEXT,
    None,
    "a text that is stored in the history with every commit",
    option="userMetadata",
)
OPTIMIZE_WRITE = Setting[bool | None](
    f"{_DELTA}optimizeWrite.enabled",
    kinds.FLAG,
    None,
    "`true` brings the rows of a partition together before they are written, for fewer and larger "
    "files",
    shown_default="the table decides",
    option="optimizeWrite",
    table_property="delta.autoOptimize.optimizeWrite",
)
DYNAMIC_OVERWRITE = Setting(
    f"{_DELTA}dynamicPartitionOverwrite.enabled",
    kinds.FLAG,
    True,
    "`false`: overwrites replace the whole table, whatever the overwrite mode",
)
CHECK_REPLACED = Setting(
    f"{_DELTA}replaceWhere.constraintCheck.enabled",
    kinds.FLAG,
    True,
    "`false`: new rows need not meet `replaceWhere`",
)
REPLACE_DATA_COLUMNS = Setting(
    f"{_DELTA}replaceWhere.dataColumns.enabled",
    kinds.FLAG,
    True,
    "`false`: `replaceWhere` may name partition columns only",
)
COLLECT_STATS = Setting(
    f"{_DELTA}stats.collect",
    kinds.FLAG,
    True,
    "`false`: the only statistics of new files are their row counts",
)
TXN_APP_ID = Setting[str | None](
    f"{_DELTA}write.txnAppId",
    kinds.TEXT,
    None,
    "the application of idempotent writes; goes together with `txnVersion`",
    option="txnAppId",
)
TXN_VERSION = Setting[int | None](
    f"{_DELTA}write.txnVersion",
    kinds.number(),
    None,
    "the version of the next idempotent write",
    option="txnVersion",
)
TXN_RESET = Setting(
    f"{_DELTA}write.txnVersion.autoReset.enabled",
    kinds.FLAG,
    False,
    "`true` unsets the version after a write",
)
STORE_ASSIGNMENT = Setting(
    "spark.sql.storeAssignmentPolicy",
    kinds.choice("ANSI", "STRICT", "LEGACY"),
    "ANSI",
    "`ANSI`, `STRICT` or `LEGACY`: "
    "[how INSERT, UPDATE and MERGE convert values](row_changes.md#what-is-stored)",
)
CHECKPOINT_LOCATION = Setting[str | None](
    "spark.sql.streaming.checkpointLocation",
    kinds.TEXT,
    None,
    "the folder for checkpoints of streams that do not name theirs; not inside of a table",
    shown_default="none",
)
CASTS_FOLLOW_ANSI = Setting(
    f"{_DELTA}updateAndMergeCastingFollowsAnsiEnabledFlag",
    kinds.FLAG,
    False,
    "`true`: UPDATE and MERGE convert values by `spark.sql.ansi.enabled` instead",
)
CASTS_BY_NAME = Setting(
    f"{_DELTA}dml.insert.dfByName.allowImplicitCasts",
    kinds.FLAG,
    True,
    "`false`: `saveAsTable` and `writeTo` refuse values of other types than the table's",
)
PARTITION_OVERWRITE = Setting(
    "spark.sql.sources.partitionOverwriteMode",
    kinds.choice("static", "dynamic"),
    "static",
    "`dynamic`: overwrites replace only the partitions that have new rows",
    option="partitionOverwriteMode",
)
MAX_RECORDS = Setting(
    "spark.sql.files.maxRecordsPerFile",
    kinds.number(),
    0,
    "the largest number of rows in a file; 0 is no limit",
    option="maxRecordsPerFile",
)
COMPRESSION = Setting[str | None](
    "spark.sql.parquet.compression.codec",
    kinds.TEXT,
    None,
    "the codec of data files",
    shown_default="`zstd`",
    option="compression",
    table_property="delta.parquet.compression.codec",
)
CLUSTERING_MODE = Setting(
    f"{_OWN}clusteringOnWrite.mode",
    kinds.choice("auto", "always", "never"),
    "auto",
    "`auto`, `always` or `never`: whether large writes to clustered tables arrange their rows, see "
    "[clustering](optimize.md#clustering)",
)
CLUSTERING_MIN_SIZE = Setting[int | None](
    f"{_OWN}clusteringOnWrite.minSize",
    kinds.size(),
    None,
    "writes of at least this size are clustered",
    shown_default="64 MB for one column, up to 1 GB for four",
)

# --- changes of rows ------------------------------------------------------------------------------

CHANGE_MEMORY = Setting(
    f"{_OWN}changes.maxMemory",
    kinds.size(),
    512 << 20,
    "about how much of the rows of DELETE, UPDATE and MERGE without Spark may be in memory, beside "
    "the source of a MERGE, see [memory](standalone.md#memory)",
    shown_default="512 MB",
    environment="LAKEBED_CHANGES_MAX_MEMORY",
)

# --- OPTIMIZE and auto compaction -----------------------------------------------------------------

OPTIMIZE_LOCAL_BYTES = Setting[int | None](
    f"{_OWN}optimize.localBytes",
    kinds.size(0),
    None,
    "OPTIMIZE of at most this size runs without Spark jobs; 0 is never, see "
    "[who does it](optimize.md#who-does-it)",
    shown_default="256 MB; 32 MB in Spark Connect",
)
OPTIMIZE_MAX_FILE_SIZE = Setting[int | None](
    f"{_DELTA}optimize.maxFileSize",
    kinds.size(),
    None,
    "the size of the files that OPTIMIZE writes",
    shown_default="1 GB",
    table_property="delta.targetFileSize",
)
OPTIMIZE_MIN_FILE_SIZE = Setting[int | None](
    f"{_DELTA}optimize.minFileSize",
    kinds.size(),
    None,
    "OPTIMIZE combines files smaller than this",
    shown_default="`optimize.maxFileSize`",
)
OPTIMIZE_MAX_DELETED = Setting[float | None](
    f"{_DELTA}optimize.maxDeletedRowsRatio",
    kinds.SHARE,
    None,
    "OPTIMIZE rewrites files with a greater share of deleted rows",
    shown_default="0.05",
)
OPTIMIZE_BATCH_SIZE = Setting[int | None](
    f"{_DELTA}optimize.batchSize",
    kinds.size(),
    None,
    "OPTIMIZE commits after this many bytes",
    shown_default="10 GB",
)
OPTIMIZE_MAX_THREADS = Setting[int | None](
    f"{_DELTA}optimize.maxThreads",
    kinds.number(1),
    None,
    "how many large files OPTIMIZE writes at the same time",
    shown_default="8",
)
ZORDER_CHECK_STATS = Setting(
    f"{_DELTA}optimize.zorder.checkStatsCollection.enabled",
    kinds.FLAG,
    True,
    "`false`: Z-order takes columns without statistics too",
)
AUTO_COMPACT = Setting[bool | None](
    f"{_DELTA}autoCompact.enabled",
    kinds.FLAG,
    None,
    "`true` or `false`: auto compaction after writes to all tables, or to none",
    shown_default="the table decides",
    table_property="delta.autoOptimize.autoCompact",
)
AUTO_COMPACT_MIN_FILES = Setting(
    f"{_DELTA}autoCompact.minNumFiles",
    kinds.number(1),
    50,
    "auto compaction runs after a write when a partition has at least this many small files",
)
AUTO_COMPACT_MAX_FILE_SIZE = Setting(
    f"{_DELTA}autoCompact.maxFileSize",
    kinds.size(),
    128 << 20,
    "the size of the files that auto compaction writes",
    shown_default="128 MB",
)
AUTO_COMPACT_MIN_FILE_SIZE = Setting[int | None](
    f"{_DELTA}autoCompact.minFileSize",
    kinds.size(),
    None,
    "auto compaction combines files smaller than this",
    shown_default="half of `autoCompact.maxFileSize`",
)

# --- VACUUM, RESTORE, UNDROP ----------------------------------------------------------------------

RETENTION_CHECK = Setting(
    f"{_DELTA}retentionDurationCheck.enabled",
    kinds.FLAG,
    True,
    "`false`: [VACUUM](vacuum.md) takes a shorter retention than the table's",
)
VACUUM_LOGGING = Setting(
    f"{_DELTA}vacuum.logging.enabled",
    kinds.FLAG,
    True,
    "`false`: VACUUM writes no commits to the history",
)
VACUUM_LITE = Setting(
    f"{_DELTA}vacuum.lite.enabled",
    kinds.FLAG,
    False,
    "`true`: VACUUM without a mode is `VACUUM ... LITE`, which takes its files from the log",
)
IGNORE_MISSING_FILES = Setting(
    "spark.sql.files.ignoreMissingFiles",
    kinds.FLAG,
    False,
    "`true`: [RESTORE](copies.md) does not check that the files exist",
)
ALLOW_DOWNGRADE = Setting(
    f"{_DELTA}restore.protocolDowngradeAllowed",
    kinds.FLAG,
    False,
    "`true`: RESTORE also restores a lower protocol",
)
UNDROP_RETENTION = Setting(
    f"{_OWN}undrop.retention",
    kinds.INTERVAL,
    kinds.INTERVAL.parse("7 days"),
    "how long UNDROP TABLE can restore a managed table, such as `7 days`",
    shown_default="`7 days`",
)

# --- streams --------------------------------------------------------------------------------------

STREAM_ALLOW_RENAME = Setting[str | None](
    f"{_DELTA}streaming.allowSourceColumnRename",
    kinds.TEXT,
    None,
    "`always`: streams with a schema location go on after columns of their source were renamed; "
    "with `.ckpt_<hash>` behind the name for one query",
    option="allowSourceColumnRename",
)
STREAM_ALLOW_DROP = Setting[str | None](
    f"{_DELTA}streaming.allowSourceColumnDrop",
    kinds.TEXT,
    None,
    "the same for dropped columns",
    option="allowSourceColumnDrop",
)
STREAM_ALLOW_RENAME_AND_DROP = Setting[str | None](
    f"{_DELTA}streaming.allowSourceColumnRenameAndDrop",
    kinds.TEXT,
    None,
    "the same for renamed and dropped columns",
)
STREAM_ALLOW_TYPE_CHANGE = Setting[str | None](
    f"{_DELTA}streaming.allowSourceColumnTypeChange",
    kinds.TEXT,
    None,
    "the same for widened types",
    option="allowSourceColumnTypeChange",
)
SCHEMA_LOCATION_ANYWHERE = Setting(
    f"{_DELTA}streaming.allowSchemaLocationOutsideCheckpointLocation",
    kinds.FLAG,
    False,
    "`true`: the schema location of a stream need not be below its checkpoint location",
)
MERGE_SCHEMA_CHANGES = Setting(
    f"{_DELTA}streaming.schemaTracking.mergeConsecutiveSchemaChanges.enabled",
    kinds.FLAG,
    True,
    "`false`: a stream with a schema location stops at each change of the schema, also where no "
    "data is in between",
)

# --- processes ------------------------------------------------------------------------------------

PYTHON = Setting[str | None](
    f"{_OWN}python",
    kinds.TEXT,
    None,
    "the Python that spark-shell, spark-sql and the Thrift server start for Lakebed",
    shown_default="the one that ran `lakebed classpath`",
)
CACHE = Setting[str | None](
    "LAKEBED_CACHE",
    kinds.TEXT,
    None,
    "environment variable: the folder for Lakebed's compiled Java classes",
    shown_default="`~/.cache/lakebed`",
)
SERVER = Setting[str | None](
    f"{_OWN}server",
    kinds.TEXT,
    None,
    "set by `lakebed server`; clients see by it that their server knows Delta tables",
    internal=True,
)
ENABLED = Setting(
    f"{_OWN}enabled",
    kinds.FLAG,
    False,
    "set by `lakebed.enable` in a session that it has enabled",
    internal=True,
)
SPARK_VERSION = Setting[str | None](
    "LAKEBED_SPARK_VERSION",
    kinds.TEXT,
    None,
    "environment variable: set by Spark for the Python process that it starts",
    internal=True,
)

SETTINGS: Mapping[str, Setting[Any] | SettingPrefix] = {
    each.name: each
    for each in tuple(globals().values())
    if isinstance(each, Setting | SettingPrefix)
}
"""All of them by name."""
