"""Tables themselves: CREATE, REPLACE, CTAS, ALTER, column mapping, views, DESCRIBE and SHOW."""

from __future__ import annotations

from case_groups import Case, group

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
            "partitioned by an unknown column": "CREATE TABLE {t} (id INT) USING delta PARTITIONED BY (p)",
            "partitioned by all columns": "CREATE TABLE {t} (p INT) USING delta PARTITIONED BY (p)",
            "partitioned by a struct": (
                "CREATE TABLE {t} (id INT, p STRUCT<a: INT>) USING delta PARTITIONED BY (p)"
            ),
            "partitioned with a type": "CREATE TABLE {t} (id INT) USING delta PARTITIONED BY (p INT)",
            "clustered": "CREATE TABLE {t} (id INT, s STRING) USING delta CLUSTER BY (id)",
            "clustered by an unknown column": "CREATE TABLE {t} (id INT) USING delta CLUSTER BY (nope)",
            "properties": (
                "CREATE TABLE {t} (id INT) USING delta TBLPROPERTIES ('a' = 'b', 'delta.appendOnly' = 'true')"
            ),
            "unknown delta property": "CREATE TABLE {t} (id INT) USING delta TBLPROPERTIES ('delta.nope' = '1')",
            "bad property value": (
                "CREATE TABLE {t} (id INT) USING delta TBLPROPERTIES ('delta.appendOnly' = 'perhaps')"
            ),
            "a column twice": "CREATE TABLE {t} (id INT, ID STRING) USING delta",
            "a column with a space": "CREATE TABLE {t} (`my id` INT) USING delta",
            "all types": (
                "CREATE TABLE {t} (a TINYINT, b SMALLINT, c INT, d BIGINT, e FLOAT, f DOUBLE, g DECIMAL(38, 18), "
                "h STRING, i BINARY, j BOOLEAN, k DATE, l TIMESTAMP, m TIMESTAMP_NTZ, n ARRAY<INT>, "
                "o MAP<STRING, INT>, p STRUCT<q: INT>) USING delta"
            ),
            "char and varchar": "CREATE TABLE {t} (c CHAR(3), v VARCHAR(5)) USING delta",
            "interval": "CREATE TABLE {t} (i INTERVAL DAY) USING delta",
            "variant": "CREATE TABLE {t} (v VARIANT) USING delta",
            "no columns": "CREATE TABLE {t} USING delta",
            "change feed": (
                "CREATE TABLE {t} (id INT) USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
            ),
            "deletion vectors": (
                "CREATE TABLE {t} (id INT) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
            ),
            "column mapping": f"CREATE TABLE {{t}} (id INT, s STRING) {_BY_NAME}",
            "row tracking": (
                "CREATE TABLE {t} (id INT) USING delta TBLPROPERTIES ('delta.enableRowTracking' = 'true')"
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
            "a feature": (
                "CREATE TABLE {t} (id INT) USING delta "
                "TBLPROPERTIES ('delta.feature.deletionVectors' = 'supported')"
            ),
            "an unknown feature": (
                "CREATE TABLE {t} (id INT) USING delta TBLPROPERTIES ('delta.feature.nope' = 'supported')"
            ),
            "versions of the protocol": (
                "CREATE TABLE {t} (id INT) USING delta "
                "TBLPROPERTIES ('delta.minReaderVersion' = '1', 'delta.minWriterVersion' = '4')"
            ),
            "generated column of a wrong type": (
                "CREATE TABLE {t} (id INT, g INT GENERATED ALWAYS AS (concat('a', id))) USING delta"
            ),
            "generated column with rand": (
                "CREATE TABLE {t} (id INT, g DOUBLE GENERATED ALWAYS AS (rand())) USING delta"
            ),
            "default without the feature": "CREATE TABLE {t} (id INT DEFAULT 1) USING delta",
            "identity of a wrong type": (
                "CREATE TABLE {t} (id INT GENERATED ALWAYS AS IDENTITY) USING delta"
            ),
            "as select": "CREATE TABLE {t} USING delta AS SELECT id, CAST(id AS STRING) AS s FROM range(5)",
            "as select partitioned": (
                "CREATE TABLE {t} USING delta PARTITIONED BY (p) AS SELECT id, id % 2 AS p FROM range(5)"
            ),
            "as select with a column twice": "CREATE TABLE {t} USING delta AS SELECT 1 AS a, 2 AS a",
            "as select of an untyped null": "CREATE TABLE {t} USING delta AS SELECT 1 AS a, NULL AS b",
            "as select of nothing": "CREATE TABLE {t} USING delta AS SELECT 1 AS a WHERE false",
            "as select that fails": "CREATE TABLE {t} USING delta AS SELECT 1 / (id - 1) AS a FROM range(3)",
            "as select with columns": "CREATE TABLE {t} (a INT) USING delta AS SELECT 1 AS a",
        },
    ),
    *group(
        "create again",
        [_PLAIN],
        {
            "fails": "CREATE TABLE {t} (id INT) USING delta",
            "if not exists": "CREATE TABLE IF NOT EXISTS {t} (id INT) USING delta",
            "or replace": "CREATE OR REPLACE TABLE {t} (a DOUBLE) USING delta",
            "or replace as select": "CREATE OR REPLACE TABLE {t} USING delta AS SELECT 1L AS n",
            "or replace from itself": "CREATE OR REPLACE TABLE {t} USING delta AS SELECT id FROM {t}",
            "or replace with a failure": (
                "CREATE OR REPLACE TABLE {t} USING delta AS SELECT 1 / (id - 1) AS a FROM {t}"
            ),
            "or replace keeps no properties": [
                "ALTER TABLE {t} SET TBLPROPERTIES ('mine' = '1')",
                "CREATE OR REPLACE TABLE {t} (id INT) USING delta",
            ],
            "replace": "REPLACE TABLE {t} (id BIGINT) USING delta PARTITIONED BY (id)",
            "replace as select": "REPLACE TABLE {t} USING delta AS SELECT 'x' AS s",
            "like": ["CREATE TABLE {s} LIKE {t} USING delta", "DESCRIBE {s}"],
            "drop": "DROP TABLE {t}",
            "drop if exists": "DROP TABLE IF EXISTS {u}",
            "drop what is not there": "DROP TABLE {u}",
            "rename": ["ALTER TABLE {t} RENAME TO {u}", "SELECT * FROM {u}"],
            "at its location": [
                "CREATE TABLE {u} USING delta LOCATION '{path}'",
                "SELECT * FROM {u}",
            ],
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
            "add a column first": "ALTER TABLE {t} ADD COLUMN n INT FIRST",
            "add a column after": "ALTER TABLE {t} ADD COLUMN n INT AFTER id",
            "add a column that is there": "ALTER TABLE {t} ADD COLUMN S INT",
            "add if not exists": "ALTER TABLE {t} ADD COLUMN IF NOT EXISTS s INT",
            "add a not null column": "ALTER TABLE {t} ADD COLUMN n INT NOT NULL",
            "add a column with default": "ALTER TABLE {t} ADD COLUMN n INT DEFAULT 3",
            "comment": "ALTER TABLE {t} ALTER COLUMN s COMMENT 'the text'",
            "reorder": "ALTER TABLE {t} ALTER COLUMN s FIRST",
            "reorder after": "ALTER TABLE {t} ALTER COLUMN id AFTER s",
            "widen without the feature": "ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT",
            "narrow": "ALTER TABLE {t} ALTER COLUMN id TYPE SMALLINT",
            "change to text": "ALTER TABLE {t} ALTER COLUMN id TYPE STRING",
            "rename without mapping": "ALTER TABLE {t} RENAME COLUMN s TO x",
            "drop without mapping": "ALTER TABLE {t} DROP COLUMN s",
            "unknown column": "ALTER TABLE {t} ALTER COLUMN nope COMMENT 'x'",
            "set a property": "ALTER TABLE {t} SET TBLPROPERTIES ('a' = 'b')",
            "set the same property": [
                "ALTER TABLE {t} SET TBLPROPERTIES ('a' = 'b')",
                "ALTER TABLE {t} SET TBLPROPERTIES ('a' = 'b')",
            ],
            "set an unknown delta property": "ALTER TABLE {t} SET TBLPROPERTIES ('delta.nope' = 'b')",
            "set a bad interval": (
                "ALTER TABLE {t} SET TBLPROPERTIES ('delta.logRetentionDuration' = 'soon')"
            ),
            "unset a property": [
                "ALTER TABLE {t} SET TBLPROPERTIES ('a' = 'b')",
                "ALTER TABLE {t} UNSET TBLPROPERTIES ('a')",
            ],
            "unset what is not there": "ALTER TABLE {t} UNSET TBLPROPERTIES ('nope')",
            "unset if exists": "ALTER TABLE {t} UNSET TBLPROPERTIES IF EXISTS ('nope')",
            "append only": [
                "ALTER TABLE {t} SET TBLPROPERTIES ('delta.appendOnly' = 'true')",
                "DELETE FROM {t} WHERE id = 1",
            ],
            "enable column mapping": "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
            "enable id mapping": "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'id')",
            "enable vectors": "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
            "enable the change feed": "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
            "enable row tracking": "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')",
            "enable in commit timestamps": (
                "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableInCommitTimestamps' = 'true')"
            ),
            "enable type widening": [
                "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')",
                "ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT",
            ],
            "cluster by": "ALTER TABLE {t} CLUSTER BY (id)",
            "replace columns": "ALTER TABLE {t} REPLACE COLUMNS (s STRING, id INT, n INT)",
            "replace columns with fewer": "ALTER TABLE {t} REPLACE COLUMNS (s STRING)",
            "drop a feature": [
                "ALTER TABLE {t} SET TBLPROPERTIES ('delta.feature.vacuumProtocolCheck' = 'supported')",
                "ALTER TABLE {t} DROP FEATURE vacuumProtocolCheck",
            ],
            "drop a feature that is not there": "ALTER TABLE {t} DROP FEATURE rowTracking",
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
            "swap names": [
                "ALTER TABLE {t} RENAME COLUMN s TO x",
                "ALTER TABLE {t} RENAME COLUMN id TO s",
                "UPDATE {t} SET s = 9 WHERE x = 'a'",
            ],
            "drop": "ALTER TABLE {t} DROP COLUMN s",
            "drop and add again": [
                "ALTER TABLE {t} DROP COLUMN s",
                "ALTER TABLE {t} ADD COLUMN s STRING",
            ],
            "drop the last column": [
                "ALTER TABLE {t} DROP COLUMN s",
                "ALTER TABLE {t} DROP COLUMN id",
            ],
            "drop if exists": "ALTER TABLE {t} DROP COLUMN IF EXISTS nope",
            "drop unknown": "ALTER TABLE {t} DROP COLUMN nope",
            "add with a space": "ALTER TABLE {t} ADD COLUMN `a b` INT",
            "update": "UPDATE {t} SET s = 'x' WHERE id = 1",
            "delete after rename": [
                "ALTER TABLE {t} RENAME COLUMN id TO k",
                "DELETE FROM {t} WHERE k = 1",
            ],
            "rename of a constraint's column": [
                "ALTER TABLE {t} ADD CONSTRAINT c CHECK (id > 0)",
                "ALTER TABLE {t} RENAME COLUMN id TO k",
            ],
            "drop of a constraint's column": [
                "ALTER TABLE {t} ADD CONSTRAINT c CHECK (id > 0)",
                "ALTER TABLE {t} DROP COLUMN id",
            ],
            "back to none": "ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')",
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
            "create table of another": "SHOW CREATE TABLE {u}",
            "explain": ["EXPLAIN SELECT * FROM {t}", "SELECT count(*) FROM {t}"],
            "view": [
                "CREATE OR REPLACE TEMP VIEW {t}_v AS SELECT id FROM {t} WHERE p = 'a'",
                "SELECT * FROM {t}_v",
            ],
            "view after a change": [
                "CREATE OR REPLACE TEMP VIEW {t}_w AS SELECT id FROM {t}",
                "DELETE FROM {t} WHERE id = 1",
                "SELECT * FROM {t}_w",
            ],
            "view by name": ["CREATE VIEW {t}_x AS SELECT id FROM {t}", "SELECT * FROM {t}_x"],
            "delete from a view": [
                "CREATE OR REPLACE TEMP VIEW {t}_y AS SELECT * FROM {t}",
                "DELETE FROM {t}_y WHERE id = 1",
            ],
            "update a view with a filter": [
                "CREATE OR REPLACE TEMP VIEW {t}_z AS SELECT * FROM {t} WHERE id = 1",
                "UPDATE {t}_z SET id = 9",
            ],
            "cache": ["CACHE TABLE {t}", "INSERT INTO {t} VALUES (3, 'c')", "SELECT * FROM {t}"],
            "refresh": "REFRESH TABLE {t}",
            "analyze": "ANALYZE TABLE {t} COMPUTE STATISTICS",
            "file names": "SELECT count(DISTINCT _metadata.file_name) FROM {t}",
            "where on the partition": "SELECT id FROM {t} WHERE p = 'b'",
            "count": "SELECT count(*), min(id), max(p) FROM {t}",
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
