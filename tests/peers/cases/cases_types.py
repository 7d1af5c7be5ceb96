"""Values: casts and store assignment with and without ANSI, nested structs, NULL, NaN, and columns
that compute or check their values."""

from __future__ import annotations

from cases.case_groups import Case, group

_NO_ANSI = {"spark.sql.ansi.enabled": "false"}
_NUMBERS = (
    "CREATE TABLE {t} USING delta AS SELECT * FROM VALUES "
    "(1, 1Y, 1, CAST(1.25 AS DECIMAL(5, 2)), 'a', DATE'2020-01-01'), "
    "(2, 2Y, 2, CAST(2.5 AS DECIMAL(5, 2)), 'b', NULL) AS v(k, b, i, d, s, dt)"
)

_CAST_STATEMENTS = {
    "insert text that is no number": "INSERT INTO {t} (k, i) VALUES (9, 'x')",
    "insert text that is a number": "INSERT INTO {t} (k, i) VALUES (9, '12')",
    "insert too large a byte": "INSERT INTO {t} (k, b) VALUES (9, 300)",
    "insert too large an int": "INSERT INTO {t} (k, i) VALUES (9, 3000000000)",
    "insert too wide a decimal": "INSERT INTO {t} (k, d) VALUES (9, 123456.789)",
    "insert a decimal to round": "INSERT INTO {t} (k, d) VALUES (9, 1.005)",
    "insert number into text": "INSERT INTO {t} (k, s) VALUES (9, 1.50)",
    "insert text into date": "INSERT INTO {t} (k, dt) VALUES (9, '2021-02-03')",
    "insert text that is no date": "INSERT INTO {t} (k, dt) VALUES (9, '2021-02-30')",
    "insert timestamp into date": "INSERT INTO {t} (k, dt) VALUES (9, TIMESTAMP'2021-02-03 04:05:06')",
    "insert boolean into int": "INSERT INTO {t} (k, i) VALUES (9, true)",
    "insert date into int": "INSERT INTO {t} (k, i) VALUES (9, DATE'2021-02-03')",
    "update with text that is no number": "UPDATE {t} SET i = 'x' WHERE k = 1",
    "update with too large a byte": "UPDATE {t} SET b = 300 WHERE k = 1",
    "update with too large an int": "UPDATE {t} SET i = 3000000000 WHERE k = 1",
    "update with too wide a decimal": "UPDATE {t} SET d = 123456.789 WHERE k = 1",
    "update with text that is no date": "UPDATE {t} SET dt = 'soon' WHERE k = 1",
    "update with a computed overflow": "UPDATE {t} SET i = i + 2147483647",
    "update with a cast": "UPDATE {t} SET i = CAST(s AS INT)",
    "update where the text is no number": "UPDATE {t} SET i = 0 WHERE s > 1",
    "merge with text that is no number": (
        "MERGE INTO {t} t USING (SELECT 1 AS k, 'x' AS i) s ON t.k = s.k WHEN MATCHED THEN UPDATE SET t.i = s.i"
    ),
    "merge with too large a byte": (
        "MERGE INTO {t} t USING (SELECT 1 AS k, 300 AS b) s ON t.k = s.k WHEN MATCHED THEN UPDATE SET t.b = s.b"
    ),
    "merge that inserts too large a byte": (
        "MERGE INTO {t} t USING (SELECT 8 AS k, 300 AS b) s ON t.k = s.k "
        "WHEN NOT MATCHED THEN INSERT (k, b) VALUES (s.k, s.b)"
    ),
    "merge that inserts text that is no number": (
        "MERGE INTO {t} t USING (SELECT 8 AS k, 'x' AS i) s ON t.k = s.k "
        "WHEN NOT MATCHED THEN INSERT (k, i) VALUES (s.k, s.i)"
    ),
    "delete by text that is no number": "DELETE FROM {t} WHERE i = 'x'",
}

_CASTS = [
    *group("casts with ANSI", [_NUMBERS], _CAST_STATEMENTS),
    *group("casts without ANSI", [_NUMBERS], _CAST_STATEMENTS, conf=_NO_ANSI),
    *group(
        "legacy store assignment",
        [_NUMBERS],
        {
            "insert too large a byte": "INSERT INTO {t} (k, b) VALUES (9, 300)",
            "insert text that is no number": "INSERT INTO {t} (k, i) VALUES (9, 'x')",
            "update with too large a byte": "UPDATE {t} SET b = 300 WHERE k = 1",
        },
        conf={"spark.sql.storeAssignmentPolicy": "LEGACY", **_NO_ANSI},
    ),
    *group(
        "strict store assignment",
        [_NUMBERS],
        {
            "insert long into int": "INSERT INTO {t} (k, i) SELECT 9, 12L",
            "insert int into text": "INSERT INTO {t} (k, s) SELECT 9, 12",
            "update with a long": "UPDATE {t} SET i = 12L WHERE k = 1",
        },
        conf={"spark.sql.storeAssignmentPolicy": "STRICT"},
    ),
]

_NESTED_TABLE = (
    "CREATE TABLE {t} USING delta AS "
    "SELECT 1 AS id, named_struct('a', 1, 'b', named_struct('c', 'x', 'd', 2)) AS p, "
    "array(named_struct('x', 1, 'y', 'l')) AS l, map('k', 1) AS m UNION ALL SELECT 2, NULL, NULL, NULL"
)
_NESTED = [
    *group(
        "nested",
        [_NESTED_TABLE],
        {
            "update a field": "UPDATE {t} SET p.a = 7",
            "update a deep field": "UPDATE {t} SET p.b.c = 'deep' WHERE id = 1",
            "update a struct and its field": "UPDATE {t} SET p = NULL, p.a = 1",
            "update a struct with a struct": (
                "UPDATE {t} SET p = named_struct('a', 5, 'b', named_struct('c', 'n', 'd', 6))"
            ),
            "update a struct with fewer fields": "UPDATE {t} SET p = named_struct('a', 5)",
            "update a struct with more fields": (
                "UPDATE {t} SET p = named_struct('a', 5, 'b', named_struct('c', 'n', 'd', 6), 'z', 1)"
            ),
            "update a struct with null": "UPDATE {t} SET p = NULL",
            "update an array": "UPDATE {t} SET l = array(named_struct('x', 2, 'y', 'u'))",
            "delete where a field": "DELETE FROM {t} WHERE p.a = 1",
            "delete where a map entry": "DELETE FROM {t} WHERE m['k'] = 1",
            "insert more fields in an array": (
                "INSERT INTO {t} (id, l) SELECT 3, array(named_struct('x', 1, 'y', 'l', 'z', 2))"
            ),
            "merge a deep field": (
                "MERGE INTO {t} t USING (SELECT 2 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.p.b.d = 3"
            ),
            "add a field in an array": "ALTER TABLE {t} ADD COLUMNS (l.element.z INT)",
        },
    ),
    *group(
        "not null",
        [
            "CREATE TABLE {t} (id INT NOT NULL, s STRING, "
            "p STRUCT<a: INT NOT NULL, b: STRING>) USING delta",
            "INSERT INTO {t} VALUES (1, 'a', named_struct('a', 1, 'b', 'x'))",
        ],
        {
            "insert null": "INSERT INTO {t} VALUES (NULL, 'b', named_struct('a', 1, 'b', 'x'))",
            "insert without the column": "INSERT INTO {t} (s) VALUES ('b')",
            "insert null field": "INSERT INTO {t} VALUES (2, 'b', named_struct('a', NULL, 'b', 'x'))",
            "insert null struct": "INSERT INTO {t} VALUES (2, 'b', NULL)",
            "update to null": "UPDATE {t} SET id = NULL",
            "update field to null": "UPDATE {t} SET p.a = NULL",
            "update struct to null": "UPDATE {t} SET p = NULL",
            "update to a null expression": "UPDATE {t} SET id = nullif(id, 1)",
            "merge null": (
                "MERGE INTO {t} t USING (SELECT CAST(NULL AS INT) AS id) s ON false "
                "WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
            ),
            "drop not null": "ALTER TABLE {t} ALTER COLUMN id DROP NOT NULL",
            "set not null": "ALTER TABLE {t} ALTER COLUMN s SET NOT NULL",
        },
    ),
]

_NAN_TABLE = (
    "CREATE TABLE {t} USING delta AS "
    "SELECT 1 AS id, DOUBLE('NaN') AS v, FLOAT('NaN') AS f UNION ALL SELECT 2, 1.0D, 1.0F "
    "UNION ALL SELECT 3, NULL, NULL UNION ALL SELECT 4, -0.0D, 0.0F "
    "UNION ALL SELECT 5, DOUBLE('Infinity'), 1F"
)
_NAN = [
    *group(
        "NaN",
        [_NAN_TABLE],
        {
            "greater": "SELECT id FROM {t} WHERE v > 0",
            "equal": "SELECT id FROM {t} WHERE v = DOUBLE('NaN')",
            "greater than infinity": "SELECT id FROM {t} WHERE v > DOUBLE('Infinity')",
            "negative zero": "SELECT id FROM {t} WHERE v = 0.0",
            "greater after optimize": ["OPTIMIZE {t}", "SELECT id FROM {t} WHERE v > 5 AND f > 5"],
            "greater in values": [
                "INSERT INTO {t} VALUES (6, DOUBLE('NaN'), FLOAT('NaN')), (7, 2.0, 2.0)",
                "SELECT id FROM {t} WHERE f > 100",
            ],
            "in one file": [
                "INSERT OVERWRITE {t} SELECT /*+ COALESCE(1) */ * FROM {t}",
                "SELECT id FROM {t} WHERE f > 100",
            ],
            "delete": "DELETE FROM {t} WHERE v > 100",
            "update": "UPDATE {t} SET id = 0 WHERE f = FLOAT('NaN')",
            "max": "SELECT max(v), min(v), max(f), count(v) FROM {t}",
            "max after optimize": ["OPTIMIZE {t}", "SELECT max(v), min(v), max(f) FROM {t}"],
            "merge on NaN": (
                "MERGE INTO {t} t USING (SELECT DOUBLE('NaN') AS v) s ON t.v = s.v WHEN MATCHED THEN DELETE"
            ),
        },
    ),
]

_COMPUTED = [
    *group(
        "generated",
        [
            "CREATE TABLE {t} (id INT, ts TIMESTAMP, d DATE GENERATED ALWAYS AS (CAST(ts AS DATE))) "
            "USING delta PARTITIONED BY (d)",
            "INSERT INTO {t} (id, ts) VALUES (1, TIMESTAMP'2020-01-02 03:04:05')",
        ],
        {
            "insert without it": "INSERT INTO {t} (id, ts) VALUES (2, TIMESTAMP'2021-01-02 03:04:05')",
            "insert the right value": (
                "INSERT INTO {t} VALUES (2, TIMESTAMP'2021-01-02 03:04:05', DATE'2021-01-02')"
            ),
            "insert a wrong value": (
                "INSERT INTO {t} VALUES (2, TIMESTAMP'2021-01-02 03:04:05', DATE'2021-01-03')"
            ),
            "insert null": "INSERT INTO {t} (id, ts) VALUES (2, NULL)",
            "insert too few values": "INSERT INTO {t} VALUES (2, TIMESTAMP'2021-01-02 03:04:05')",
        },
    ),
    *group(
        "identity",
        [
            "CREATE TABLE {t} (id BIGINT GENERATED ALWAYS AS IDENTITY (START WITH 10 INCREMENT BY 5), s STRING) USING delta",
            "INSERT INTO {t} (s) SELECT /*+ COALESCE(1) */ s FROM VALUES ('a'), ('b') AS v(s)",
        ],
        {
            "insert": "INSERT INTO {t} (s) SELECT /*+ COALESCE(1) */ 'c'",
            "insert a value": "INSERT INTO {t} VALUES (1, 'c')",
            "update": "UPDATE {t} SET id = 1",
            "update another column": "UPDATE {t} SET s = 'u'",
        },
    ),
    *group(
        "identity by default",
        [
            "CREATE TABLE {t} (id BIGINT GENERATED BY DEFAULT AS IDENTITY, s STRING) USING delta",
            "INSERT INTO {t} (s) VALUES ('a')",
        ],
        {
            "insert": "INSERT INTO {t} (s) VALUES ('c')",
            "insert a value": "INSERT INTO {t} VALUES (100, 'c')",
            "insert after a value": [
                "INSERT INTO {t} VALUES (100, 'c')",
                "INSERT INTO {t} (s) VALUES ('d')",
            ],
            "insert after a value and sync": [
                "INSERT INTO {t} VALUES (100, 'c')",
                "ALTER TABLE {t} ALTER COLUMN id SYNC IDENTITY",
                "INSERT INTO {t} (s) VALUES ('d')",
            ],
            "insert null": "INSERT INTO {t} VALUES (NULL, 'c')",
        },
    ),
    *group(
        "default",
        [
            "CREATE TABLE {t} (id INT, n INT DEFAULT 7, s STRING DEFAULT 'none', ts TIMESTAMP) USING delta "
            "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')",
            "INSERT INTO {t} (id) VALUES (1)",
        ],
        {
            "insert": "INSERT INTO {t} (id) VALUES (2)",
            "insert default": "INSERT INTO {t} VALUES (2, DEFAULT, DEFAULT, DEFAULT)",
            "insert null": "INSERT INTO {t} VALUES (2, NULL, NULL, NULL)",
            "insert too few values": "INSERT INTO {t} VALUES (2)",
            "update to default": "UPDATE {t} SET n = DEFAULT, ts = DEFAULT",
        },
    ),
    *group(
        "check",
        [
            "CREATE TABLE {t} (id INT, s STRING) USING delta",
            "ALTER TABLE {t} ADD CONSTRAINT positive CHECK (id > 0)",
            "INSERT INTO {t} VALUES (1, 'a'), (2, 'b')",
        ],
        {
            "insert that breaks it": "INSERT INTO {t} VALUES (3, 'c'), (-1, 'x')",
            "insert null": "INSERT INTO {t} VALUES (NULL, 'x')",
            "update that breaks it": "UPDATE {t} SET id = id - 1",
        },
    ),
]

CASES: list[Case] = [*_CASTS, *_NESTED, *_NAN, *_COMPUTED]
