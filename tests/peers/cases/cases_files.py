"""Files of a table: OPTIMIZE, VACUUM, REORG, clones, and tables made of Parquet files."""

from __future__ import annotations

from cases.case_groups import Case, call, group

_SMALL_FILES = [
    "CREATE TABLE {t} (id INT, s STRING, p INT) USING delta PARTITIONED BY (p)",
    "INSERT INTO {t} VALUES (1, 'a', 1)",
    "INSERT INTO {t} VALUES (2, 'b', 1), (3, 'c', 2)",
    "INSERT INTO {t} VALUES (4, 'd', 2), (5, 'e', NULL)",
]
_NO_PARTS = [
    "CREATE TABLE {t} (id INT, s STRING) USING delta",
    "INSERT INTO {t} VALUES (1, 'a'), (2, 'b')",
    "INSERT INTO {t} VALUES (3, 'c'), (4, 'd')",
]
_FILES = "SELECT count(DISTINCT _metadata.file_name) FROM {t}"

_OPTIMIZE = [
    *group(
        "optimize",
        _SMALL_FILES,
        {
            "all": ["OPTIMIZE {t}", _FILES],
            "where": ["OPTIMIZE {t} WHERE p = 1", _FILES],
        },
    ),
    *group(
        "vacuum",
        [*_NO_PARTS, "UPDATE {t} SET s = 'x' WHERE id = 1"],
        {
            "default": ["VACUUM {t}", "SELECT * FROM {t} VERSION AS OF 1"],
        },
    ),
    *group(
        "vacuum all",
        [*_NO_PARTS, "INSERT OVERWRITE {t} VALUES (9, 'z')"],
        {
            "retain nothing": ["VACUUM {t} RETAIN 0 HOURS", "SELECT * FROM {t}"],
        },
        conf={"spark.databricks.delta.retentionDurationCheck.enabled": "false"},
    ),
]

_CLONES = [
    *group(
        "clone",
        [
            "CREATE TABLE {s} (id INT, s STRING, p INT) USING delta PARTITIONED BY (p) TBLPROPERTIES ('mine' = '1')",
            "INSERT INTO {s} VALUES (1, 'a', 1), (2, 'b', 2)",
            "DELETE FROM {s} WHERE id = 2",
        ],
        {
            "shallow": "CREATE TABLE {t} SHALLOW CLONE {s}",
            "shallow of a version": "CREATE TABLE {t} SHALLOW CLONE {s} VERSION AS OF 1",
            "shallow with properties": "CREATE TABLE {t} SHALLOW CLONE {s} TBLPROPERTIES ('more' = '2')",
            "shallow again": [
                "CREATE TABLE {t} SHALLOW CLONE {s}",
                "CREATE TABLE {t} SHALLOW CLONE {s}",
            ],
            "shallow if not exists": [
                "CREATE TABLE {t} SHALLOW CLONE {s}",
                "CREATE TABLE IF NOT EXISTS {t} SHALLOW CLONE {s}",
            ],
            "shallow or replace": [
                "CREATE TABLE {t} SHALLOW CLONE {s}",
                "INSERT INTO {s} VALUES (3, 'c', 3)",
                "CREATE OR REPLACE TABLE {t} SHALLOW CLONE {s}",
            ],
            "shallow and write": [
                "CREATE TABLE {t} SHALLOW CLONE {s}",
                "INSERT INTO {t} VALUES (5, 'e', 5)",
            ],
            "shallow and delete": [
                "CREATE TABLE {t} SHALLOW CLONE {s}",
                "DELETE FROM {t} WHERE id = 1",
            ],
            "shallow leaves the source": [
                "CREATE TABLE {t} SHALLOW CLONE {s}",
                "UPDATE {t} SET s = 'clone'",
                "SELECT * FROM {s}",
            ],
            "shallow by path": [
                "CREATE TABLE delta.`{path}` SHALLOW CLONE {s}",
                "SELECT * FROM delta.`{path}`",
            ],
        },
    ),
]

_PARQUET = [
    *group(
        "convert",
        [
            call(
                "write_parquet",
                path="{dir}",
                query="SELECT id, id % 2 AS p FROM range(6)",
                parts=["p"],
            )
        ],
        {
            "partitioned": [
                "CONVERT TO DELTA parquet.`{dir}` PARTITIONED BY (p BIGINT)",
                "SELECT * FROM delta.`{dir}`",
            ],
            "partitioned with another type": [
                "CONVERT TO DELTA parquet.`{dir}` PARTITIONED BY (p STRING)",
                "SELECT * FROM delta.`{dir}`",
            ],
            "without the partition column": "CONVERT TO DELTA parquet.`{dir}`",
        },
    ),
    *group(
        "paths",
        [],
        {
            "create by path": [
                "CREATE TABLE delta.`{path}` (id INT) USING delta",
                "INSERT INTO delta.`{path}` VALUES (1)",
            ],
            "create at a location": [
                "CREATE TABLE {t} (id INT) USING delta LOCATION '{path}'",
                "INSERT INTO {t} VALUES (1)",
            ],
            "what is not there": "SELECT * FROM delta.`{dir}/nothing`",
        },
    ),
]

CASES: list[Case] = [*_OPTIMIZE, *_CLONES, *_PARQUET]
