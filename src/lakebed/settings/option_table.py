"""The options of reads and writes of Delta tables, one record each; docs/spark.md shows the tables.

Options that say how to reach a store are those of `storage_options` (`storage.options`) and of
Hadoop.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lakebed.settings import value_kinds as kinds
from lakebed.settings.setting import Option

# --- reads ----------------------------------------------------------------------------------------

VERSION_AS_OF = Option[int | None](
    "versionAsOf", kinds.number(), None, "reads the table at this version"
)
TIMESTAMP_AS_OF = Option[str | None](
    "timestampAsOf", kinds.TEXT, None, "reads the table at this time"
)
READ_CHANGE_FEED = Option(
    "readChangeFeed",
    kinds.FLAG,
    False,
    "`true` reads the [changes of rows](row_changes.md) instead of the rows",
)
READ_CHANGE_DATA = Option("readChangeData", kinds.FLAG, False, "the same as `readChangeFeed`")
STARTING_VERSION = Option[int | None](
    "startingVersion", kinds.number(), None, "the first version of a change feed"
)
STARTING_TIMESTAMP = Option[str | None](
    "startingTimestamp", kinds.TEXT, None, "the first time of a change feed, instead of a version"
)
ENDING_VERSION = Option[int | None](
    "endingVersion",
    kinds.number(),
    None,
    "the last version of a change feed",
    shown_default="the newest",
)
ENDING_TIMESTAMP = Option[str | None](
    "endingTimestamp", kinds.TEXT, None, "the last time of a change feed, instead of a version"
)
COLUMNS = Option[str | None](
    "columns",
    kinds.TEXT,
    None,
    "the columns to read: `id, amount`, or a JSON list; makes reads on the "
    "[workers plane](#two-data-planes) faster",
    shown_default="all",
)
WHERE = Option[str | None](
    "where",
    kinds.TEXT,
    None,
    "a predicate that filters the rows; makes reads on the [workers plane](#two-data-planes) "
    "faster",
)
READ_OPTIONS: Mapping[str, Option[Any]] = {
    each.name: each
    for each in (
        *(VERSION_AS_OF, TIMESTAMP_AS_OF, READ_CHANGE_FEED, READ_CHANGE_DATA),
        *(STARTING_VERSION, STARTING_TIMESTAMP, ENDING_VERSION, ENDING_TIMESTAMP),
        *(COLUMNS, WHERE),
    )
}

# --- writes ---------------------------------------------------------------------------------------

MERGE_SCHEMA = Option[bool | None](
    "mergeSchema",
    kinds.FLAG,
    None,
    "adds columns and nested fields that the table does not have; widens types where the table "
    "allows it",
    shown_default="`false`",
)
OVERWRITE_SCHEMA = Option(
    "overwriteSchema",
    kinds.FLAG,
    False,
    "with mode overwrite: replaces the schema and the partitioning",
)
REPLACE_WHERE = Option[str | None](
    "replaceWhere",
    kinds.TEXT,
    None,
    "with mode overwrite: replaces the rows that meet a predicate; all new rows must meet it too",
)
PARTITION_OVERWRITE_MODE = Option[str | None](
    "partitionOverwriteMode",
    kinds.choice("static", "dynamic"),
    None,
    "`dynamic`, with mode overwrite: replaces only the partitions that have new rows",
    shown_default="`static`",
)
WRITE_TXN_APP_ID = Option[str | None](
    "txnAppId",
    kinds.TEXT,
    None,
    "with `txnVersion`: makes the write idempotent; a version of an application that was written "
    "before is skipped",
)
WRITE_TXN_VERSION = Option[int | None](
    "txnVersion", kinds.number(), None, "the version of an idempotent write"
)
WRITE_USER_METADATA = Option[str | None]("userMetadata", kinds.TEXT, None, "a text for the history")
MAX_RECORDS_PER_FILE = Option[int | None](
    "maxRecordsPerFile",
    kinds.number(),
    None,
    "the largest number of rows in a file",
    shown_default="no limit",
)
WRITE_OPTIMIZED = Option[bool | None](
    "optimizeWrite",
    kinds.FLAG,
    None,
    "`true` brings the rows of a partition together first, for fewer and larger files",
    shown_default="the table decides",
)
WRITE_COMPRESSION = Option[str | None](
    "compression", kinds.TEXT, None, "the codec of the files", shown_default="`zstd`"
)
DATA_CHANGE = Option(
    "dataChange",
    kinds.FLAG,
    True,
    "`false`: the rows are only arranged differently, and streams may skip this commit",
)
WRITE_OPTIONS: Mapping[str, Option[Any]] = {
    each.name: each
    for each in (
        *(MERGE_SCHEMA, OVERWRITE_SCHEMA, REPLACE_WHERE, PARTITION_OVERWRITE_MODE),
        *(WRITE_TXN_APP_ID, WRITE_TXN_VERSION, WRITE_USER_METADATA, MAX_RECORDS_PER_FILE),
        *(WRITE_OPTIMIZED, WRITE_COMPRESSION, DATA_CHANGE),
    )
}
