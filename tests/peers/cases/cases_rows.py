"""Statements that change rows: INSERT, UPDATE, DELETE, MERGE."""

from __future__ import annotations

from cases.case_groups import Case, group

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
            "dynamic partition": "INSERT INTO {t} PARTITION (p) VALUES (5, 'e', 8)",
            "null partition": "INSERT INTO {t} VALUES (5, 'e', NULL)",
            "overwrite all": "INSERT OVERWRITE {t} VALUES (5, 'e', 1)",
            "overwrite a static partition": "INSERT OVERWRITE {t} PARTITION (p = 1) VALUES (5, 'e')",
            "replace where a partition": "INSERT INTO {t} REPLACE WHERE p = 1 VALUES (9, 'n', 1)",
            "replace using": "INSERT INTO {t} REPLACE USING (p) VALUES (9, 'n', 1)",
        },
    ),
    *group(
        "dynamic overwrite",
        [_PARTS],
        {
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
            "swap of columns": "UPDATE {t} SET id = v, v = id WHERE id = 3",
            "with an alias": "UPDATE {t} AS x SET x.s = 'y' WHERE x.id = 1",
            "a column twice": "UPDATE {t} SET s = 'x', s = 'y'",
            "text that is a number": "UPDATE {t} SET id = '17' WHERE id = 1",
            "overflow": "UPDATE {t} SET id = 3000000000 WHERE id = 1",
            "division by zero": "UPDATE {t} SET v = 1 / (id - 1)",
            "random in condition": "UPDATE {t} SET s = 'r' WHERE rand() >= 0",
            "aggregate as value": "UPDATE {t} SET v = max(v)",
            "between": "UPDATE {t} SET v = 9 WHERE id BETWEEN 2 AND 3",
        },
    ),
    *group(
        "update in partitions",
        [_PARTS],
        {
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
            "null": "DELETE FROM {t} WHERE null",
            "where null": "DELETE FROM {t} WHERE v > 2",
            "is null": "DELETE FROM {t} WHERE s IS NULL",
            "not in a subquery with nulls": "DELETE FROM {t} WHERE s NOT IN (SELECT s FROM {t} WHERE id > 1)",
            "scalar subquery": "DELETE FROM {t} WHERE v = (SELECT min(v) FROM {t})",
            "not a condition": "DELETE FROM {t} WHERE id + 1",
            "text against int": "DELETE FROM {t} WHERE id = '1'",
            "text that is no number": "DELETE FROM {t} WHERE id = 'one'",
        },
    ),
    *group(
        "delete in partitions",
        [_PARTS],
        {
            "a partition": "DELETE FROM {t} WHERE p = 1",
            "the null partition": "DELETE FROM {t} WHERE p IS NULL",
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
