"""Tables themselves: CREATE, REPLACE, CTAS, ALTER, column mapping, views, DESCRIBE and SHOW."""

from __future__ import annotations

from cases.case_groups import Case, group

_ROWS = "SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v(id, s)"
_PLAIN = f"CREATE TABLE {{t}} USING delta AS {_ROWS}"
_BY_NAME = "USING delta TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
_MAPPED = f"CREATE TABLE {{t}} {_BY_NAME} AS {_ROWS}"

_CREATE = [
    *group(
        "create",
        [],
        {
            "plain": "CREATE TABLE {t} (id INT, s STRING) USING delta",
            "comments": "CREATE TABLE {t} (id INT COMMENT 'the id') USING delta COMMENT 'a table'",
            "partitioned": "CREATE TABLE {t} (id INT, p STRING) USING delta PARTITIONED BY (p)",
            "partitioned by all columns": "CREATE TABLE {t} (p INT) USING delta PARTITIONED BY (p)",
            "partitioned by a struct": (
                "CREATE TABLE {t} (id INT, p STRUCT<a: INT>) USING delta PARTITIONED BY (p)"
            ),
            "partitioned with a type": "CREATE TABLE {t} (id INT) USING delta PARTITIONED BY (p INT)",
            "clustered by an unknown column": "CREATE TABLE {t} (id INT) USING delta CLUSTER BY (nope)",
            "unknown delta property": "CREATE TABLE {t} (id INT) USING delta TBLPROPERTIES ('delta.nope' = '1')",
            "bad property value": (
                "CREATE TABLE {t} (id INT) USING delta TBLPROPERTIES ('delta.appendOnly' = 'perhaps')"
            ),
            "a column with a space": "CREATE TABLE {t} (`my id` INT) USING delta",
            "char and varchar": "CREATE TABLE {t} (c CHAR(3), v VARCHAR(5)) USING delta",
            "interval": "CREATE TABLE {t} (i INTERVAL DAY) USING delta",
            "no columns": "CREATE TABLE {t} USING delta",
            "deletion vectors": (
                "CREATE TABLE {t} (id INT) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
            ),
            "in commit timestamps": (
                "CREATE TABLE {t} (id INT) USING delta TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')"
            ),
            "type widening": (
                "CREATE TABLE {t} (id INT) USING delta TBLPROPERTIES ('delta.enableTypeWidening' = 'true')"
            ),
            "checkpoint policy": (
                "CREATE TABLE {t} (id INT) USING delta TBLPROPERTIES ('delta.checkpointPolicy' = 'v2')"
            ),
            "generated column of a wrong type": (
                "CREATE TABLE {t} (id INT, g INT GENERATED ALWAYS AS (concat('a', id))) USING delta"
            ),
            "generated column with rand": (
                "CREATE TABLE {t} (id INT, g DOUBLE GENERATED ALWAYS AS (rand())) USING delta"
            ),
            "as select with a column twice": "CREATE TABLE {t} USING delta AS SELECT 1 AS a, 2 AS a",
            "as select of an untyped null": "CREATE TABLE {t} USING delta AS SELECT 1 AS a, NULL AS b",
            "as select with columns": "CREATE TABLE {t} (a INT) USING delta AS SELECT 1 AS a",
        },
    ),
    *group(
        "create again",
        [_PLAIN],
        {
            "fails": "CREATE TABLE {t} (id INT) USING delta",
            "if not exists": "CREATE TABLE IF NOT EXISTS {t} (id INT) USING delta",
            "or replace as select": "CREATE OR REPLACE TABLE {t} USING delta AS SELECT 1L AS n",
            "or replace with a failure": (
                "CREATE OR REPLACE TABLE {t} USING delta AS SELECT 1 / (id - 1) AS a FROM {t}"
            ),
            "replace": "REPLACE TABLE {t} (id BIGINT) USING delta PARTITIONED BY (id)",
            "drop": "DROP TABLE {t}",
            "drop what is not there": "DROP TABLE {u}",
            "at its location with other columns": (
                "CREATE TABLE {u} (other INT) USING delta LOCATION '{path}'"
            ),
        },
    ),
]

_ALTER = [
    *group(
        "alter",
        [_PLAIN],
        {
            "add a column": "ALTER TABLE {t} ADD COLUMN n INT",
            "add columns": "ALTER TABLE {t} ADD COLUMNS (n INT COMMENT 'x', d DATE)",
            "add a column that is there": "ALTER TABLE {t} ADD COLUMN S INT",
            "add if not exists": "ALTER TABLE {t} ADD COLUMN IF NOT EXISTS s INT",
            "add a not null column": "ALTER TABLE {t} ADD COLUMN n INT NOT NULL",
            "add a column with default": "ALTER TABLE {t} ADD COLUMN n INT DEFAULT 3",
            "comment": "ALTER TABLE {t} ALTER COLUMN s COMMENT 'the text'",
            "reorder after": "ALTER TABLE {t} ALTER COLUMN id AFTER s",
            "widen without the feature": "ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT",
            "set an unknown delta property": "ALTER TABLE {t} SET TBLPROPERTIES ('delta.nope' = 'b')",
            "unset if exists": "ALTER TABLE {t} UNSET TBLPROPERTIES IF EXISTS ('nope')",
            "enable column mapping": "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
            "enable id mapping": "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'id')",
            "enable the change feed": "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
            "enable row tracking": "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')",
            "enable in commit timestamps": (
                "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')"
            ),
            "comment on table": "COMMENT ON TABLE {t} IS 'about'",
        },
    ),
    *group(
        "column mapping",
        [_MAPPED],
        {
            "rename": "ALTER TABLE {t} RENAME COLUMN s TO x",
            "rename to a name that is there": "ALTER TABLE {t} RENAME COLUMN s TO id",
            "rename in other case": "ALTER TABLE {t} RENAME COLUMN s TO S",
            "rename and write": [
                "ALTER TABLE {t} RENAME COLUMN s TO x",
                "INSERT INTO {t} VALUES (3, 'c')",
            ],
            "drop": "ALTER TABLE {t} DROP COLUMN s",
            "drop unknown": "ALTER TABLE {t} DROP COLUMN nope",
            "add with a space": "ALTER TABLE {t} ADD COLUMN `a b` INT",
            "replace": "CREATE OR REPLACE TABLE {t} (id INT, n INT) USING delta",
        },
    ),
]

_SHOW = [
    *group(
        "show",
        [
            "CREATE TABLE {t} (id INT COMMENT 'i', p STRING NOT NULL) USING delta PARTITIONED BY (p)",
            "INSERT INTO {t} VALUES (1, 'a'), (2, 'b')",
        ],
        {
            "describe": "DESCRIBE {t}",
            "describe a column": "DESCRIBE {t} id",
            "columns": "SHOW COLUMNS IN {t}",
            "properties": "SHOW TBLPROPERTIES {t}",
            "a property": "SHOW TBLPROPERTIES {t} ('delta.minReaderVersion')",
            "partitions": "SHOW PARTITIONS {t}",
            "create table": "SHOW CREATE TABLE {t}",
        },
    ),
    *group(
        "show detail",
        [_PLAIN],
        {"describe detail": "DESCRIBE DETAIL {t}"},
        columns=(
            "format",
            "name",
            "description",
            "partitionColumns",
            "clusteringColumns",
            "properties",
            "minReaderVersion",
            "minWriterVersion",
            "tableFeatures",
        ),
    ),
]

CASES: list[Case] = [*_CREATE, *_ALTER, *_SHOW]
