"""Statements that change rows: INSERT, UPDATE, DELETE, MERGE."""

from __future__ import annotations

from case_groups import Case, group

_TABLE = (
    "CREATE TABLE {t} USING delta AS SELECT * FROM VALUES "
    "(1, 'a', 1.5D), (2, 'b', NULL), (3, NULL, 3.5D), (4, 'd', 4.5D) AS v(id, s, v)"
)
_PARTS = (
    "CREATE TABLE {t} USING delta PARTITIONED BY (p) AS SELECT * FROM VALUES "
    "(1, 'a', 1), (2, 'b', 1), (3, 'c', 2), (4, 'd', NULL) AS v(id, s, p)"
)
_SOURCE_ROWS = (
    "SELECT * FROM VALUES (1, 'x', 10.0D), (3, 'z', NULL), (7, 'n', 70.0D) AS v(id, s, v)"
)
_SOURCE = f"CREATE TEMP VIEW {{s}} AS {_SOURCE_ROWS}"
_AGAIN = (
    "CREATE OR REPLACE TEMP VIEW {s} AS SELECT * FROM VALUES "
    "(1, 'x', 10.0D), (1, 'again', 1.0D), (7, 'n', 70.0D) AS v(id, s, v)"
)
_WITH_NULL = (
    "CREATE OR REPLACE TEMP VIEW {s} AS SELECT * FROM VALUES "
    "(1, 'x', 10.0D), (NULL, 'sn', 0.0D) AS v(id, s, v)"
)
_NO_SOURCE_ROWS = f"CREATE OR REPLACE TEMP VIEW {{s}} AS {_SOURCE_ROWS} WHERE false"
_VECTORS = "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
_NO_VECTORS = "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')"

_INSERT = [
    *group(
        "insert",
        [_TABLE],
        {
            "values": "INSERT INTO {t} VALUES (5, 'e', 5.5)",
            "nulls": "INSERT INTO {t} VALUES (NULL, NULL, NULL)",
            "column list": "INSERT INTO {t} (v, id) VALUES (9.5, 9)",
            "column list in other case": "INSERT INTO {t} (ID, S, V) VALUES (9, 'q', 1)",
            "by name": "INSERT INTO {t} BY NAME SELECT 2.5D AS v, 8 AS id, 'h' AS s",
            "by name with a column missing": "INSERT INTO {t} BY NAME SELECT 8 AS id",
            "by name with an unknown column": "INSERT INTO {t} BY NAME SELECT 8 AS id, 1 AS x",
            "too few columns": "INSERT INTO {t} VALUES (5, 'e')",
            "too many columns": "INSERT INTO {t} VALUES (5, 'e', 5.5, 1)",
            "unknown column in the list": "INSERT INTO {t} (id, x) VALUES (5, 'e')",
            "a column twice in the list": "INSERT INTO {t} (id, id) VALUES (5, 6)",
            "default keyword": "INSERT INTO {t} VALUES (5, DEFAULT, DEFAULT)",
            "an expression": "INSERT INTO {t} VALUES (1 + 4, upper('e'), sqrt(4))",
            "table keyword": "INSERT INTO TABLE {t} TABLE {t}",
            "select from itself": "INSERT INTO {t} SELECT id + 10, s, v FROM {t}",
            "select from itself by path": "INSERT INTO {t} SELECT id + 10, s, v FROM delta.`{path}`",
            "select from itself in a subquery": (
                "INSERT INTO {t} SELECT max(id) + 1, 'max', 0D FROM (SELECT * FROM {t} WHERE id < 3)"
            ),
            "select of no rows": "INSERT INTO {t} SELECT * FROM {t} WHERE id > 100",
            "select with order and limit": "INSERT INTO {t} SELECT * FROM {t} ORDER BY id LIMIT 2",
            "with a query before": (
                "WITH x AS (SELECT 6 AS id, 'f' AS s, 0.5D AS v) INSERT INTO {t} SELECT * FROM x"
            ),
            "from values with a union": "INSERT INTO {t} SELECT 5, 'e', 1D UNION ALL SELECT 6, 'f', 2D",
            "overwrite": "INSERT OVERWRITE {t} VALUES (9, 'only', 0.0)",
            "overwrite from itself": "INSERT OVERWRITE {t} SELECT * FROM {t} WHERE id > 2",
            "overwrite with no rows": "INSERT OVERWRITE {t} SELECT * FROM {t} WHERE false",
            "overwrite by name": "INSERT OVERWRITE {t} BY NAME SELECT 1.0D AS v, 'k' AS s, 11 AS id",
            "into a table that is not there": "INSERT INTO {u} VALUES (1)",
            "replace where": "INSERT INTO {t} REPLACE WHERE id >= 3 VALUES (3, 'new', 0.0), (5, 'e', 1.0)",
            "replace where with rows outside": "INSERT INTO {t} REPLACE WHERE id >= 3 VALUES (1, 'new', 0.0)",
            "replace where on null": "INSERT INTO {t} REPLACE WHERE s IS NULL VALUES (6, NULL, 6.0)",
        },
    ),
    *group(
        "insert into partitions",
        [_PARTS],
        {
            "values": "INSERT INTO {t} VALUES (5, 'e', 3)",
            "static partition": "INSERT INTO {t} PARTITION (p = 7) VALUES (5, 'e')",
            "static partition with text": "INSERT INTO {t} PARTITION (p = '7') SELECT 5, 'e'",
            "dynamic partition": "INSERT INTO {t} PARTITION (p) VALUES (5, 'e', 8)",
            "unknown partition column": "INSERT INTO {t} PARTITION (x = 7) VALUES (5, 'e')",
            "partition column left out": "INSERT INTO {t} (id, s) VALUES (5, 'e')",
            "partition column left out by name": "INSERT INTO {t} BY NAME SELECT 5 AS id, 'e' AS s",
            "null partition": "INSERT INTO {t} VALUES (5, 'e', NULL)",
            "text that is no number": "INSERT INTO {t} VALUES (5, 'e', 'x')",
            "overwrite all": "INSERT OVERWRITE {t} VALUES (5, 'e', 1)",
            "overwrite a static partition": "INSERT OVERWRITE {t} PARTITION (p = 1) VALUES (5, 'e')",
            "overwrite a static partition with nothing": (
                "INSERT OVERWRITE {t} PARTITION (p = 1) SELECT 1, 'x' WHERE false"
            ),
            "replace where a partition": "INSERT INTO {t} REPLACE WHERE p = 1 VALUES (9, 'n', 1)",
            "replace using": "INSERT INTO {t} REPLACE USING (p) VALUES (9, 'n', 1)",
        },
    ),
    *group(
        "dynamic overwrite",
        [_PARTS],
        {
            "of one partition": "INSERT OVERWRITE {t} VALUES (5, 'e', 1)",
            "of the null partition": "INSERT OVERWRITE {t} VALUES (5, 'e', NULL)",
            "of a new partition": "INSERT OVERWRITE {t} VALUES (5, 'e', 9)",
            "with no rows": "INSERT OVERWRITE {t} SELECT * FROM {t} WHERE false",
            "of a static partition": "INSERT OVERWRITE {t} PARTITION (p = 2) VALUES (5, 'e')",
            "from itself": "INSERT OVERWRITE {t} SELECT id + 1, s, p FROM {t} WHERE p = 1",
        },
        conf={"spark.sql.sources.partitionOverwriteMode": "dynamic"},
    ),
]

_UPDATE_DELETE = [
    *group(
        "update",
        [_TABLE],
        {
            "some rows": "UPDATE {t} SET v = 0 WHERE id > 2",
            "all rows": "UPDATE {t} SET s = concat(s, '!')",
            "no rows": "UPDATE {t} SET s = 'x' WHERE id = 100",
            "where null": "UPDATE {t} SET s = 'x' WHERE v > 2",
            "not in with null": "UPDATE {t} SET v = -1 WHERE s NOT IN ('a', NULL)",
            "swap of columns": "UPDATE {t} SET id = v, v = id WHERE id = 3",
            "to null": "UPDATE {t} SET s = NULL, v = NULL WHERE id = 1",
            "to default": "UPDATE {t} SET s = DEFAULT WHERE id = 1",
            "with an alias": "UPDATE {t} AS x SET x.s = 'y' WHERE x.id = 1",
            "unknown column": "UPDATE {t} SET nope = 1",
            "a column twice": "UPDATE {t} SET s = 'x', s = 'y'",
            "text into int": "UPDATE {t} SET id = 'abc' WHERE id = 1",
            "text that is a number": "UPDATE {t} SET id = '17' WHERE id = 1",
            "overflow": "UPDATE {t} SET id = 3000000000 WHERE id = 1",
            "fraction into int": "UPDATE {t} SET id = 2.7 WHERE id = 1",
            "division by zero": "UPDATE {t} SET v = 1 / (id - 1)",
            "subquery in condition": "UPDATE {t} SET s = 'm' WHERE id = (SELECT max(id) FROM {t})",
            "in a subquery": "UPDATE {t} SET s = 'm' WHERE id IN (SELECT id + 1 FROM {t})",
            "exists": "UPDATE {t} SET s = 'm' WHERE EXISTS (SELECT 1)",
            "subquery as value": "UPDATE {t} SET v = (SELECT sum(v) FROM {t}) WHERE id = 1",
            "random in condition": "UPDATE {t} SET s = 'r' WHERE rand() >= 0",
            "aggregate as value": "UPDATE {t} SET v = max(v)",
            "with vectors": [_VECTORS, "UPDATE {t} SET v = 0 WHERE id = 2"],
            "without vectors": [_NO_VECTORS, "UPDATE {t} SET v = 0 WHERE id = 2"],
            "of rows that were updated": [
                "UPDATE {t} SET id = id + 1",
                "UPDATE {t} SET id = id + 1",
            ],
            "case insensitive": "UPDATE {t} SET S = 'X' WHERE Id = 1",
            "between": "UPDATE {t} SET v = 9 WHERE id BETWEEN 2 AND 3",
            "like": "UPDATE {t} SET v = 9 WHERE s LIKE '%b%'",
        },
    ),
    *group(
        "update in partitions",
        [_PARTS],
        {
            "of the partition column": "UPDATE {t} SET p = 5 WHERE id = 1",
            "of a whole partition": "UPDATE {t} SET s = 'x' WHERE p = 1",
            "of the null partition": "UPDATE {t} SET s = 'x' WHERE p IS NULL",
            "to the null partition": "UPDATE {t} SET p = NULL WHERE p = 2",
            "not equal": "UPDATE {t} SET s = 'x' WHERE p <> 1",
        },
    ),
    *group(
        "delete",
        [_TABLE],
        {
            "some rows": "DELETE FROM {t} WHERE id > 2",
            "all rows": "DELETE FROM {t}",
            "no rows": "DELETE FROM {t} WHERE id = 100",
            "true": "DELETE FROM {t} WHERE true",
            "false": "DELETE FROM {t} WHERE false",
            "null": "DELETE FROM {t} WHERE null",
            "where null": "DELETE FROM {t} WHERE v > 2",
            "is null": "DELETE FROM {t} WHERE s IS NULL",
            "null safe": "DELETE FROM {t} WHERE s <=> NULL",
            "not": "DELETE FROM {t} WHERE NOT (s = 'a')",
            "in with null": "DELETE FROM {t} WHERE s IN ('a', NULL)",
            "not in with null": "DELETE FROM {t} WHERE s NOT IN ('a', NULL)",
            "in a subquery": "DELETE FROM {t} WHERE id IN (SELECT id FROM {t} WHERE v IS NULL)",
            "not in a subquery with nulls": "DELETE FROM {t} WHERE s NOT IN (SELECT s FROM {t} WHERE id > 1)",
            "scalar subquery": "DELETE FROM {t} WHERE v = (SELECT min(v) FROM {t})",
            "with an alias": "DELETE FROM {t} x WHERE x.id = 1",
            "unknown column": "DELETE FROM {t} WHERE nope = 1",
            "not a condition": "DELETE FROM {t} WHERE id + 1",
            "text against int": "DELETE FROM {t} WHERE id = '1'",
            "text that is no number": "DELETE FROM {t} WHERE id = 'one'",
            "with vectors": [_VECTORS, "DELETE FROM {t} WHERE id = 2"],
            "without vectors": [_NO_VECTORS, "DELETE FROM {t} WHERE id = 2"],
            "after delete": ["DELETE FROM {t} WHERE id = 1", "DELETE FROM {t} WHERE id < 3"],
            "of all that is left": [
                "DELETE FROM {t} WHERE id < 3",
                "DELETE FROM {t} WHERE id >= 3",
            ],
            "truncate": "TRUNCATE TABLE {t}",
            "by path": "DELETE FROM delta.`{path}` WHERE id = 1",
        },
    ),
    *group(
        "delete in partitions",
        [_PARTS],
        {
            "a partition": "DELETE FROM {t} WHERE p = 1",
            "the null partition": "DELETE FROM {t} WHERE p IS NULL",
            "a partition and a column": "DELETE FROM {t} WHERE p = 1 AND id = 1",
            "a partition or a column": "DELETE FROM {t} WHERE p = 2 OR id = 1",
        },
    ),
]

_MATCH = "MERGE INTO {t} t USING {s} s ON t.id = s.id "
_MERGE = [
    *group(
        "merge",
        [_TABLE, _SOURCE],
        {
            "upsert all": _MATCH + "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
            "insert only": _MATCH + "WHEN NOT MATCHED THEN INSERT *",
            "update only": _MATCH + "WHEN MATCHED THEN UPDATE SET t.v = s.v",
            "delete only": _MATCH + "WHEN MATCHED THEN DELETE",
            "delete under a condition": _MATCH + "WHEN MATCHED AND s.v IS NULL THEN DELETE",
            "update or delete": (
                _MATCH
                + "WHEN MATCHED AND t.id = 1 THEN UPDATE SET s = 'one' WHEN MATCHED THEN DELETE"
            ),
            "insert some columns": _MATCH
            + "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)",
            "insert under a condition": _MATCH + "WHEN NOT MATCHED AND s.id > 100 THEN INSERT *",
            "not matched by source delete": _MATCH + "WHEN NOT MATCHED BY SOURCE THEN DELETE",
            "not matched by source update": (
                _MATCH + "WHEN NOT MATCHED BY SOURCE AND t.id > 2 THEN UPDATE SET s = 'gone'"
            ),
            "all clauses": (
                _MATCH + "WHEN MATCHED AND s.v IS NULL THEN DELETE WHEN MATCHED THEN UPDATE SET * "
                "WHEN NOT MATCHED THEN INSERT * WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = -1"
            ),
            "false condition": (
                "MERGE INTO {t} t USING {s} s ON false WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *"
            ),
            "true condition with update": (
                "MERGE INTO {t} t USING {s} s ON true WHEN MATCHED THEN UPDATE SET v = s.v"
            ),
            "true condition with delete": "MERGE INTO {t} t USING {s} s ON true WHEN MATCHED THEN DELETE",
            "several matches": [
                _AGAIN,
                _MATCH + "WHEN MATCHED THEN UPDATE SET v = s.v",
            ],
            "several matches with delete": [
                _AGAIN,
                _MATCH + "WHEN MATCHED THEN DELETE",
            ],
            "several matches and only inserts": [
                _AGAIN,
                _MATCH + "WHEN NOT MATCHED THEN INSERT *",
            ],
            "several matches with a condition that picks one": [
                _AGAIN,
                _MATCH + "WHEN MATCHED AND s.s = 'again' THEN UPDATE SET v = s.v",
            ],
            "nulls do not match": [
                "INSERT INTO {t} VALUES (NULL, 'tn', 0.0)",
                _WITH_NULL,
                _MATCH + "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *",
            ],
            "nulls match safely": [
                "INSERT INTO {t} VALUES (NULL, 'tn', 0.0)",
                _WITH_NULL,
                "MERGE INTO {t} t USING {s} s ON t.id <=> s.id WHEN MATCHED THEN UPDATE SET s = 'both'",
            ],
            "source is a query": (
                "MERGE INTO {t} t USING (SELECT 1 AS id, 'q' AS s) s ON t.id = s.id "
                "WHEN MATCHED THEN UPDATE SET s = s.s"
            ),
            "source is a Delta table": [
                f"CREATE TABLE {{u}} USING delta AS {_SOURCE_ROWS}",
                "MERGE INTO {t} t USING {u} s ON t.id = s.id "
                "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
            ],
            "source is itself": "MERGE INTO {t} t USING {t} s ON t.id = s.id + 1 WHEN MATCHED THEN UPDATE SET v = s.v",
            "source with other types": (
                "MERGE INTO {t} t USING (SELECT 1L AS id, 5 AS v) s ON t.id = s.id "
                "WHEN MATCHED THEN UPDATE SET t.v = s.v"
            ),
            "overflow in the source": (
                "MERGE INTO {t} t USING (SELECT 1 AS id, 3000000000 AS n) s ON t.id = s.id "
                "WHEN MATCHED THEN UPDATE SET t.id = s.n"
            ),
            "extra column in the source": (
                "MERGE INTO {t} t USING (SELECT 9 AS id, 's' AS s, 1D AS v, 2 AS more) s ON t.id = s.id "
                "WHEN NOT MATCHED THEN INSERT *"
            ),
            "missing column in the source": (
                "MERGE INTO {t} t USING (SELECT 9 AS id, 's' AS s) s ON t.id = s.id "
                "WHEN NOT MATCHED THEN INSERT *"
            ),
            "schema evolution": (
                "MERGE WITH SCHEMA EVOLUTION INTO {t} t USING (SELECT 9 AS id, 's' AS s, 1D AS v, 2 AS more) s "
                "ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"
            ),
            "schema evolution with fewer columns": (
                "MERGE WITH SCHEMA EVOLUTION INTO {t} t USING (SELECT 1 AS id, 2 AS more) s "
                "ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
            ),
            "no clause": "MERGE INTO {t} t USING {s} s ON t.id = s.id",
            "clause without condition before the last": (
                _MATCH + "WHEN MATCHED THEN DELETE WHEN MATCHED THEN UPDATE SET *"
            ),
            "source column in a clause by source": (
                _MATCH + "WHEN NOT MATCHED BY SOURCE AND s.id = 1 THEN DELETE"
            ),
            "unknown column": _MATCH + "WHEN MATCHED THEN UPDATE SET nope = 1",
            "subquery in the condition": (
                "MERGE INTO {t} t USING {s} s ON t.id = s.id AND t.id = (SELECT 1) WHEN MATCHED THEN DELETE"
            ),
            "not equal": "MERGE INTO {t} t USING {s} s ON t.id > s.id + 2 WHEN MATCHED THEN DELETE",
            "into nothing": ["DELETE FROM {t}", _MATCH + "WHEN NOT MATCHED THEN INSERT *"],
            "from nothing": [
                _NO_SOURCE_ROWS,
                _MATCH + "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *",
            ],
            "from nothing by source": [
                _NO_SOURCE_ROWS,
                _MATCH + "WHEN NOT MATCHED BY SOURCE THEN DELETE",
            ],
            "with vectors": [
                _VECTORS,
                _MATCH + "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
            ],
            "without vectors": [
                _NO_VECTORS,
                _MATCH + "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
            ],
        },
    ),
    *group(
        "merge in partitions",
        [_PARTS],
        {
            "upsert": (
                "MERGE INTO {t} t USING (SELECT 1 AS id, 'x' AS s, 1 AS p UNION ALL SELECT 9, 'y', 4) s "
                "ON t.id = s.id AND t.p = s.p WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
            ),
            "moves a row": (
                "MERGE INTO {t} t USING (SELECT 1 AS id, 6 AS p) s ON t.id = s.id "
                "WHEN MATCHED THEN UPDATE SET t.p = s.p"
            ),
            "one partition": (
                "MERGE INTO {t} t USING (SELECT 3 AS id) s ON t.p = 2 AND t.id = s.id WHEN MATCHED THEN DELETE"
            ),
        },
    ),
]

CASES: list[Case] = [*_INSERT, *_UPDATE_DELETE, *_MERGE]
