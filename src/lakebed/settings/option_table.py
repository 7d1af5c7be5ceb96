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

# --- streams --------------------------------------------------------------------------------------

MAX_FILES_PER_TRIGGER = Option[int | None](
    "maxFilesPerTrigger",
    kinds.number(1, 2**31 - 1),
    None,
    "the largest number of files in a micro-batch",
    shown_default="1000; no limit with `maxBytesPerTrigger` alone",
)
MAX_BYTES_PER_TRIGGER = Option[int | None](
    "maxBytesPerTrigger",
    kinds.size(),
    None,
    "a soft limit for the size of a micro-batch, such as `10g`: it takes at least one file",
    shown_default="no limit",
)
STREAM_STARTING_VERSION = Option[int | str | None](
    "startingVersion",
    kinds.either(kinds.choice("latest"), kinds.number(0)),
    None,
    "the first version whose changes a new stream reads; `latest` reads what is committed from "
    "now on",
    shown_default="all rows of the table, then its changes",
)
STREAM_STARTING_TIMESTAMP = Option[str | None](
    "startingTimestamp", kinds.TEXT, None, "the first time, instead of a version"
)
STREAM_ENDING_VERSION = Option[int | None](
    "endingVersion",
    kinds.number(0),
    None,
    "the last version that a stream reads",
    shown_default="none",
)
STREAM_ENDING_TIMESTAMP = Option[str | None](
    "endingTimestamp", kinds.TEXT, None, "the last time, instead of a version"
)
SKIP_CHANGE_COMMITS = Option(
    "skipChangeCommits",
    kinds.FLAG,
    False,
    "`true` passes over commits that delete or update rows",
)
IGNORE_CHANGES = Option(
    "ignoreChanges",
    kinds.FLAG,
    False,
    "`true` reads whole files that updates rewrote, so rows come again; deletes are passed over",
)
IGNORE_DELETES = Option(
    "ignoreDeletes", kinds.FLAG, False, "`true` passes over commits that only delete rows"
)
IGNORE_FILE_DELETION = Option(
    "ignoreFileDeletion", kinds.FLAG, False, "the former name of `ignoreChanges`"
)
EXCLUDE_REGEX = Option[str | None](
    "excludeRegex",
    kinds.TEXT,
    None,
    "leaves out the files in whose paths this regular expression is found",
)
FAIL_ON_DATA_LOSS = Option(
    "failOnDataLoss",
    kinds.FLAG,
    True,
    "`false` goes on when commits were removed before the stream had read them",
)
SCHEMA_TRACKING_LOCATION = Option[str | None](
    "schemaTrackingLocation",
    kinds.TEXT,
    None,
    "a folder below the checkpoint, in which the stream keeps the schema that it reads; needed to "
    "go on after columns were renamed, dropped or widened",
)
SCHEMA_LOCATION = Option[str | None](
    "schemaLocation", kinds.TEXT, None, "the same as `schemaTrackingLocation`"
)
SOURCE_TRACKING_ID = Option[str | None](
    "streamingSourceTrackingId",
    kinds.TEXT,
    None,
    "tells two sources of a query apart that read the same table with one schema location",
)
ALLOW_COLUMN_RENAME = Option[str | None](
    "allowSourceColumnRename",
    kinds.TEXT,
    None,
    "with a schema location: goes on after columns were renamed; `always`, or the version of the "
    "change",
)
ALLOW_COLUMN_DROP = Option[str | None](
    "allowSourceColumnDrop", kinds.TEXT, None, "the same for dropped columns"
)
ALLOW_COLUMN_TYPE_CHANGE = Option[str | None](
    "allowSourceColumnTypeChange", kinds.TEXT, None, "the same for widened types"
)
WITH_EVENT_TIME_ORDER = Option(
    "withEventTimeOrder",
    kinds.FLAG,
    False,
    "`true` is refused: the initial rows come in the order of their files",
)
STREAM_OPTIONS: Mapping[str, Option[Any]] = {
    each.name: each
    for each in (
        *(MAX_FILES_PER_TRIGGER, MAX_BYTES_PER_TRIGGER),
        *(STREAM_STARTING_VERSION, STREAM_STARTING_TIMESTAMP),
        *(STREAM_ENDING_VERSION, STREAM_ENDING_TIMESTAMP),
        *(SKIP_CHANGE_COMMITS, IGNORE_CHANGES, IGNORE_DELETES, IGNORE_FILE_DELETION),
        *(EXCLUDE_REGEX, FAIL_ON_DATA_LOSS, READ_CHANGE_FEED),
        *(SCHEMA_TRACKING_LOCATION, SCHEMA_LOCATION, SOURCE_TRACKING_ID),
        *(ALLOW_COLUMN_RENAME, ALLOW_COLUMN_DROP, ALLOW_COLUMN_TYPE_CHANGE),
        WITH_EVENT_TIME_ORDER,
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
