-- OPTIMIZE, VACUUM, RESTORE, REORG, GENERATE, FSCK, CONVERT, DESCRIBE, SHOW.

CREATE TABLE events (id INT, day STRING) USING delta PARTITIONED BY (day);

INSERT INTO events VALUES (1, 'mon'), (2, 'tue');

INSERT INTO events VALUES (3, 'mon'), (4, 'tue');

DESCRIBE HISTORY events LIMIT 1;
-- columns: version, timestamp, userId, userName, operation, operationParameters, job, notebook, clusterId, readVersion, isolationLevel, isBlindAppend, operationMetrics, userMetadata, engineInfo
-- | 2 | * | NULL | NULL | WRITE | * | NULL | NULL | NULL | 1 | * | true | * | NULL | *

OPTIMIZE events WHERE day = 'mon';
-- columns: path, metrics

SHOW PARTITIONS events;
-- columns: day
-- ordered
-- | mon
-- | tue

SHOW PARTITIONS events PARTITION (day = 'tue');
-- | tue

OPTIMIZE events WHERE dya = 'mon';
-- error: PREDICATE Did you mean day

OPTIMIZE events WHERE id = 1;
-- error: INVALID_ARGUMENT

OPTIMIZE events ZORDER BY (id);

OPTIMIZE events ZORDER BY idd;
-- error: SQL did you mean id?

OPTIMIZE events ZORDER (id);
-- error: SQL expected BY

DELETE FROM events WHERE id = 1;

REORG TABLE events APPLY (PURGE);
-- columns: path, metrics

REORG TABLE events APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION = 9));
-- error: INVALID_ARGUMENT 9

REORG TABLE events APPLY (CLEAN);
-- error: SQL expected PURGE

VACUUM events DRY RUN;
-- columns: path
-- no rows

VACUUM events;
-- columns: path
-- | *

VACUUM events RETAIN 1 HOURS;
-- error: INVALID_ARGUMENT retention

VACUUM events LITE DRY RUN;
-- no rows

VACUUM events FULL RETAIN 200 HOURS DRY RUN;
-- no rows

VACUUM events RETAIN x HOURS;
-- error: SQL expected a number of hours

VACUUM events EVERYTHING;
-- error: SQL VACUUM takes FULL or LITE

RESTORE TABLE events TO VERSION AS OF 1;
-- columns: table_size_after_restore, num_of_files_after_restore, num_removed_files, num_restored_files, removed_files_size, restored_files_size

SELECT * FROM events ORDER BY id;
-- ordered
-- | 1 | mon
-- | 2 | tue
-- spark: events

RESTORE events TO TIMESTAMP AS OF current_timestamp() - INTERVAL 1 HOUR;
-- error: VERSION_NOT_FOUND

RESTORE TABLE events VERSION AS OF 99;
-- error: VERSION_NOT_FOUND

RESTORE TABLE events TO YESTERDAY;
-- error: SQL expected VERSION AS OF

RESTORE TABLE events TO TIMESTAMP AS OF 'no time';
-- error: SQL this is not a time

GENERATE symlink_format_manifest FOR TABLE events;

MSCK REPAIR TABLE events SYNC METADATA;
-- error: INVALID_ARGUMENT readers of Iceberg

GENERATE no_such_mode FOR TABLE events;
-- error: INVALID_ARGUMENT symlink_format_manifest

FSCK REPAIR TABLE events DRY RUN;
-- columns: dataFilePath, dataFileMissing, deletionVectorPath, deletionVectorFileMissing
-- no rows

FSCK REPAIR TABLE events;
-- no rows

FSCK TABLE events;
-- error: SQL expected REPAIR

CREATE TABLE plain (id INT, part INT) USING parquet PARTITIONED BY (part) LOCATION '${folder}/plain files';

INSERT INTO plain VALUES (1, 7), (2, 8);

CONVERT TO DELTA parquet.`${folder}/plain files`;
-- error: INVALID_ARGUMENT

CONVERT TO DELTA parquet.`${folder}/plain files` PARTITIONED BY (part INT);
-- columns:

SELECT * FROM delta.`${folder}/plain files` ORDER BY id;
-- ordered
-- | 1 | 7
-- | 2 | 8

CONVERT TO DELTA orc.`${folder}/plain files`;
-- error: SQL Parquet files can

DESCRIBE DETAIL delta.`${folder}/plain files`;

DESCRIBE HISTORY '${folder}/plain files';
-- | 0 | * | NULL | NULL | CONVERT | * | NULL | NULL | NULL | NULL | * | * | * | NULL | *

DESCRIBE TABLE EXTENDED events;

DESCRIBE EXTENDED events day;
-- | col_name | day
-- | data_type | string
-- | comment | NULL

DESCRIBE events dya;
-- error: UNRESOLVED_COLUMN

DESCRIBE events;
-- ordered
-- | id | int | NULL
-- | day | string | NULL
-- | # Partition Information |  | 
-- | # col_name | data_type | comment
-- | day | string | NULL

DESCRIBE HISTORY evnts;
-- error: TABLE_NOT_FOUND did you mean events

OPTIMIZE plain;
-- error: INVALID_ARGUMENT not a Delta table

DESCRIBE DETAIL delta.`${folder}/nothing here`;
-- error: TABLE_NOT_FOUND

DESCRIBE QUERY SELECT 1 AS a;
-- | a | int | NULL

DESCRIBE FUNCTION upper;

DESCRIBE SELECT 2 AS b;
-- | b | int | NULL

SHOW COLUMNS FROM plain;
-- | id
-- | part

SHOW TBLPROPERTIES plain;

CREATE TABLE shared_rows (id INT, part STRING) USING delta PARTITIONED BY (part);

INSERT INTO shared_rows VALUES (1, 'a'), (2, NULL);

REORG TABLE shared_rows APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION = 2));

SHOW TBLPROPERTIES shared_rows ('delta.universalFormat.enabledFormats');
-- | delta.universalFormat.enabledFormats | iceberg

SELECT * FROM shared_rows;
-- | 1 | a
-- | 2 | NULL
-- table: shared_rows
-- | 1 | a
-- | 2 | NULL
