"""More of CREATE, ALTER, DESCRIBE, CLONE and CONVERT, on names and on paths."""

from __future__ import annotations

from cases.case_groups import Case, call, group

_PLAIN = "CREATE TABLE {t} USING delta AS SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v(id, s)"
_PARTS = (
    "CREATE TABLE {t} USING delta PARTITIONED BY (p) AS "
    "SELECT * FROM VALUES (1, 'a', 1), (2, 'b', 2) AS v(id, s, p)"
)
_CREATE = [
    *group(
        "new table",
        [],
        {
            "with a property": "CREATE TABLE {t} (id INT) USING delta TBLPROPERTIES ('mine' = 'a b')",
            "of all types": (
                "CREATE TABLE {t} (a TINYINT, b SMALLINT, c BIGINT, d FLOAT, e DOUBLE, f DECIMAL(12, 3), "
                "g BOOLEAN, h BINARY, i DATE, j TIMESTAMP, k TIMESTAMP_NTZ, l ARRAY<INT>, m MAP<STRING, INT>, "
                "n STRUCT<x: INT>) USING delta"
            ),
            "of variants": "CREATE TABLE {t} (id INT, v VARIANT) USING delta",
            "clustered": "CREATE TABLE {t} (id INT, s STRING) USING delta CLUSTER BY (s)",
            "clustered by two": "CREATE TABLE {t} (id INT, s STRING) USING delta CLUSTER BY (s, id)",
            "clustered by a field": (
                "CREATE TABLE {t} (id INT, p STRUCT<a: INT>) USING delta CLUSTER BY (p.a)"
            ),
            "clustered and partitioned": (
                "CREATE TABLE {t} (id INT, p INT) USING delta PARTITIONED BY (p) CLUSTER BY (id)"
            ),
            "clustered as select": "CREATE TABLE {t} USING delta CLUSTER BY (id) AS SELECT 1 AS id, 2 AS n",
            "partitioned as select": "CREATE TABLE {t} USING delta PARTITIONED BY (n) AS SELECT 1 AS id, 2 AS n",
            "as select of nothing": "CREATE TABLE {t} USING delta AS SELECT 1 AS id WHERE false",
            "as select with a property": (
                "CREATE TABLE {t} USING delta TBLPROPERTIES ('delta.appendOnly' = 'true') AS SELECT 1 AS id"
            ),
            "as select with a comment": "CREATE TABLE {t} USING delta COMMENT 'it' AS SELECT 1 AS id",
            "as select with id mapping": (
                "CREATE TABLE {t} USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'id') AS SELECT 1 AS id"
            ),
            "with a default": (
                "CREATE TABLE {t} (id INT, s STRING DEFAULT 'it''s') USING delta "
                "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"
            ),
            "with a default and a row": [
                "CREATE TABLE {t} (id INT, s STRING DEFAULT 'it''s') USING delta "
                "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')",
                "INSERT INTO {t} (id) VALUES (1)",
            ],
            "with a feature": (
                "CREATE TABLE {t} (id INT) USING delta TBLPROPERTIES ('delta.feature.deletionVectors' = 'supported')"
            ),
            "with an unknown feature": (
                "CREATE TABLE {t} (id INT) USING delta TBLPROPERTIES ('delta.feature.nope' = 'supported')"
            ),
            "with an old protocol": (
                "CREATE TABLE {t} (id INT) USING delta "
                "TBLPROPERTIES ('delta.minReaderVersion' = '1', 'delta.minWriterVersion' = '3')"
            ),
            "with a not null column": "CREATE TABLE {t} (id INT NOT NULL) USING delta",
            "with a generated column": (
                "CREATE TABLE {t} (id INT, d INT GENERATED ALWAYS AS (id + 1)) USING delta"
            ),
        },
    ),
    *group(
        "like",
        [
            "CREATE TABLE {s} (id INT COMMENT 'i', p STRING) USING delta PARTITIONED BY (p) COMMENT 'c'"
        ],
        {
            "plain": "CREATE TABLE {t} LIKE {s}",
            "using delta": "CREATE TABLE {t} LIKE {s} USING delta",
            "using parquet": ["CREATE TABLE {u} LIKE {s} USING parquet", "SELECT * FROM {u}"],
            "with properties": "CREATE TABLE {t} LIKE {s} TBLPROPERTIES ('mine' = '1')",
            "if not exists": [
                "CREATE TABLE {t} (x INT) USING delta",
                "CREATE TABLE IF NOT EXISTS {t} LIKE {s}",
            ],
        },
    ),
    *group(
        "replace table",
        [_PLAIN],
        {
            "with columns": "REPLACE TABLE {t} (n BIGINT) USING delta",
            "as select": "REPLACE TABLE {t} USING delta AS SELECT 5 AS n",
            "with partitions": "CREATE OR REPLACE TABLE {t} (a INT, b INT) USING delta PARTITIONED BY (b)",
            "with properties": "CREATE OR REPLACE TABLE {t} (a INT) USING delta TBLPROPERTIES ('mine' = '1')",
            "what is not there": "REPLACE TABLE {u} (a INT) USING delta",
            "as select of itself": "CREATE OR REPLACE TABLE {t} USING delta AS SELECT id + 1 AS id FROM {t}",
            "with clustering": "CREATE OR REPLACE TABLE {t} (a INT, b INT) USING delta CLUSTER BY (a)",
        },
    ),
]

_ALTER = [
    *group(
        "alter more",
        [_PLAIN],
        {
            "set a property": "ALTER TABLE {t} SET TBLPROPERTIES ('mine' = '1')",
            "set two properties": (
                "ALTER TABLE {t} SET TBLPROPERTIES ('mine' = '1', 'delta.logRetentionDuration' = 'interval 5 days')"
            ),
            "unset what is not there": "ALTER TABLE {t} UNSET TBLPROPERTIES ('nope')",
            "unset": [
                "ALTER TABLE {t} SET TBLPROPERTIES ('mine' = '1')",
                "ALTER TABLE {t} UNSET TBLPROPERTIES ('mine')",
            ],
            "unset two": [
                "ALTER TABLE {t} SET TBLPROPERTIES ('mine' = '1', 'b' = '2')",
                "ALTER TABLE {t} UNSET TBLPROPERTIES ('mine', 'b')",
            ],
            "set a bad value": "ALTER TABLE {t} SET TBLPROPERTIES ('delta.logRetentionDuration' = 'long')",
            "upgrade the protocol": (
                "ALTER TABLE {t} SET TBLPROPERTIES ('delta.minReaderVersion' = '2', 'delta.minWriterVersion' = '5')"
            ),
            "add a feature": "ALTER TABLE {t} SET TBLPROPERTIES ('delta.feature.deletionVectors' = 'supported')",
            "drop a feature that is not there": "ALTER TABLE {t} DROP FEATURE deletionVectors",
            "drop an unknown feature": "ALTER TABLE {t} DROP FEATURE nope",
            "add a constraint": "ALTER TABLE {t} ADD CONSTRAINT c CHECK (id > 0)",
            "add a constraint that rows break": "ALTER TABLE {t} ADD CONSTRAINT c CHECK (id > 1)",
            "add a constraint twice": [
                "ALTER TABLE {t} ADD CONSTRAINT c CHECK (id > 0)",
                "ALTER TABLE {t} ADD CONSTRAINT c CHECK (id > 0)",
            ],
            "drop a constraint": [
                "ALTER TABLE {t} ADD CONSTRAINT c CHECK (id > 0)",
                "ALTER TABLE {t} DROP CONSTRAINT c",
            ],
            "drop a constraint that is not there": "ALTER TABLE {t} DROP CONSTRAINT nope",
            "drop a constraint if exists": "ALTER TABLE {t} DROP CONSTRAINT IF EXISTS nope",
            "drop a column without mapping": "ALTER TABLE {t} DROP COLUMN s",
            "rename a column without mapping": "ALTER TABLE {t} RENAME COLUMN s TO x",
            "add first": "ALTER TABLE {t} ADD COLUMN n INT FIRST",
            "add after": "ALTER TABLE {t} ADD COLUMN n INT AFTER id",
            "add a struct and a field": [
                "ALTER TABLE {t} ADD COLUMN p STRUCT<a: INT>",
                "ALTER TABLE {t} ADD COLUMN p.b STRING",
            ],
            "reorder first": "ALTER TABLE {t} ALTER COLUMN s FIRST",
            "widen to text": "ALTER TABLE {t} ALTER COLUMN id TYPE STRING",
            "replace columns": "ALTER TABLE {t} REPLACE COLUMNS (id INT, s STRING, n INT)",
            "cluster a plain table": "ALTER TABLE {t} CLUSTER BY (id)",
            "uncluster a plain table": "ALTER TABLE {t} CLUSTER BY NONE",
            "rename": ["ALTER TABLE {t} RENAME TO {u}", "SELECT * FROM {u}"],
            "default of a column": "ALTER TABLE {t} ALTER COLUMN s SET DEFAULT 'x'",
        },
    ),
    *group(
        "type widening",
        [
            "CREATE TABLE {t} (a TINYINT, b INT, c FLOAT, d DECIMAL(5, 2), e DATE) USING delta "
            "TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
            "INSERT INTO {t} VALUES (1, 2, 3, 4, DATE'2020-01-01')",
        ],
        {
            "byte to int": "ALTER TABLE {t} ALTER COLUMN a TYPE INT",
            "int to long": "ALTER TABLE {t} ALTER COLUMN b TYPE BIGINT",
            "int to double": "ALTER TABLE {t} ALTER COLUMN b TYPE DOUBLE",
            "float to double": "ALTER TABLE {t} ALTER COLUMN c TYPE DOUBLE",
            "a larger decimal": "ALTER TABLE {t} ALTER COLUMN d TYPE DECIMAL(8, 3)",
            "a smaller decimal": "ALTER TABLE {t} ALTER COLUMN d TYPE DECIMAL(4, 1)",
            "date to timestamp": "ALTER TABLE {t} ALTER COLUMN e TYPE TIMESTAMP_NTZ",
            "long to int": [
                "ALTER TABLE {t} ALTER COLUMN b TYPE BIGINT",
                "ALTER TABLE {t} ALTER COLUMN b TYPE INT",
            ],
            "and a row": [
                "ALTER TABLE {t} ALTER COLUMN b TYPE BIGINT",
                "INSERT INTO {t} (b) VALUES (3000000000)",
            ],
        },
    ),
    *group(
        "clustered",
        [
            "CREATE TABLE {t} (id INT, s STRING) USING delta CLUSTER BY (id)",
            "INSERT INTO {t} VALUES (1, 'a'), (2, 'b')",
        ],
        {
            "other columns": "ALTER TABLE {t} CLUSTER BY (s)",
            "no columns": "ALTER TABLE {t} CLUSTER BY NONE",
            "unknown columns": "ALTER TABLE {t} CLUSTER BY (nope)",
            "insert overwrite": "INSERT OVERWRITE {t} VALUES (9, 'z')",
            "save overwrite": call(
                "write", query="SELECT 9 AS id, 'z' AS s", path="{path}", mode="overwrite"
            ),
            "save overwrite with a schema": call(
                "write",
                query="SELECT 9 AS id, 'z' AS s, 1 AS n",
                path="{path}",
                mode="overwrite",
                options={"overwriteSchema": "true"},
            ),
            "replace": "CREATE OR REPLACE TABLE {t} (id INT, s STRING) USING delta",
            "restore": ["ALTER TABLE {t} CLUSTER BY (s)", "RESTORE TABLE {t} TO VERSION AS OF 1"],
            "append with clusterBy": call(
                "write",
                query="SELECT 9 AS id, 'z' AS s",
                table="{t}",
                mode="append",
                clustered=["id"],
            ),
        },
    ),
]

_SHOWN = [
    *group(
        "described",
        [_PARTS],
        {
            "extended": [
                "ALTER TABLE {t} SET TBLPROPERTIES ('mine' = '1')",
                "DESCRIBE EXTENDED {t}",
            ],
            "plain": "DESCRIBE TABLE {t}",
            "tables": "SHOW TABLES LIKE '{t}'",
            "a partition": "SHOW PARTITIONS {t} PARTITION (p = 1)",
        },
    ),
    *group(
        "history shown",
        [_PLAIN, "INSERT INTO {t} VALUES (3, 'c')"],
        {"limit": "DESCRIBE HISTORY {t} LIMIT 1", "by path": "DESCRIBE HISTORY delta.`{path}`"},
        columns=("version", "operation", "readVersion", "userMetadata"),
        ordered=True,
    ),
    *group(
        "history columns",
        [_PLAIN],
        {
            "all": call("history_columns", table="{t}"),
            "of DeltaTable": call("columns_of_history", path="{path}"),
        },
    ),
    *group(
        "detail by path",
        [_PLAIN],
        {"describe": "DESCRIBE DETAIL delta.`{path}`"},
        columns=("format", "name", "description", "partitionColumns", "properties"),
    ),
]

_FILES = [
    *group(
        "optimize result",
        [_PARTS, "INSERT INTO {t} VALUES (3, 'c', 1)", "INSERT INTO {t} VALUES (4, 'd', 1)"],
        {
            "compaction": call("optimized", table="{t}"),
            "zorder": call("optimized", table="{t}", more="ZORDER BY (id)"),
            "where": call("optimized", table="{t}", more="WHERE p = 1"),
            "zorder by a partition column": call("optimized", table="{t}", more="ZORDER BY (p)"),
            "where on data": call("optimized", table="{t}", more="WHERE id = 1"),
        },
    ),
    *group(
        "optimize result of clusters",
        [
            "CREATE TABLE {t} (id INT, s STRING) USING delta CLUSTER BY (id)",
            "INSERT INTO {t} VALUES (1, 'a')",
            "INSERT INTO {t} VALUES (2, 'b')",
        ],
        {
            "first": call("optimized", table="{t}"),
            "full": call("optimized", table="{t}", more="FULL"),
            "zorder": call("optimized", table="{t}", more="ZORDER BY (id)"),
        },
    ),
    *group(
        "reorg",
        [
            "CREATE TABLE {t} USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') AS "
            "SELECT /*+ COALESCE(1) */ id FROM range(10)",
        ],
        {
            "purge": ["DELETE FROM {t} WHERE id < 3", "REORG TABLE {t} APPLY (PURGE)"],
            "nothing to purge": "REORG TABLE {t} APPLY (PURGE)",
        },
        columns=("metrics.numFilesAdded", "metrics.numFilesRemoved"),
    ),
    *group(
        "convert by name",
        [
            "CREATE TABLE {t} (id BIGINT, p INT) USING parquet PARTITIONED BY (p)",
            "INSERT INTO {t} VALUES (1, 1), (2, 2)",
        ],
        {
            "partitioned": "CONVERT TO DELTA {t}",
            "with the partitions": "CONVERT TO DELTA {t} PARTITIONED BY (p INT)",
            "without statistics": "CONVERT TO DELTA {t} NO STATISTICS",
            "twice": ["CONVERT TO DELTA {t}", "CONVERT TO DELTA {t}"],
        },
    ),
    *group(
        "clone of Parquet",
        [
            call(
                "write_parquet",
                path="{dir}",
                query="SELECT id, id % 2 AS p FROM range(6)",
                parts=["p"],
            )
        ],
        {
            "shallow": "CREATE TABLE {t} SHALLOW CLONE parquet.`{dir}`",
            "of a version": "CREATE TABLE {t} SHALLOW CLONE parquet.`{dir}` VERSION AS OF 1",
        },
    ),
    *group(
        "clone of Parquet by name",
        ["CREATE TABLE {s} (id BIGINT) USING parquet", "INSERT INTO {s} VALUES (1), (2)"],
        {"shallow": "CREATE TABLE {t} SHALLOW CLONE {s}"},
    ),
]

CASES: list[Case] = [*_CREATE, *_ALTER, *_SHOWN, *_FILES]
