"""Versions of a table: time travel, the change feed, RESTORE, history, and schema evolution."""

from __future__ import annotations

from case_groups import Case, group

_HISTORY = [
    "CREATE TABLE {t} (id INT, s STRING) USING delta",
    "INSERT INTO {t} VALUES (1, 'a'), (2, 'b')",
    "UPDATE {t} SET s = 'u' WHERE id = 1",
    "DELETE FROM {t} WHERE id = 2",
]
_FEED = [
    "CREATE TABLE {t} (id INT, s STRING) USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
    "INSERT INTO {t} VALUES (1, 'a'), (2, 'b'), (3, 'c')",
]
_CHANGES = "SELECT id, s, _change_type, _commit_version FROM table_changes('{t}', 1)"

_TRAVEL = [
    *group(
        "time travel",
        _HISTORY,
        {
            "version": "SELECT * FROM {t} VERSION AS OF 1",
            "version with at": "SELECT * FROM {t}@v1",
            "version by path with at": "SELECT * FROM delta.`{path}@v2`",
            "version by path": "SELECT * FROM delta.`{path}` VERSION AS OF 0",
            "a version that is not there": "SELECT * FROM {t} VERSION AS OF 99",
            "a negative version": "SELECT * FROM {t} VERSION AS OF -1",
            "a timestamp in the future": "SELECT * FROM {t} TIMESTAMP AS OF '2999-01-01'",
            "a timestamp in the past": "SELECT * FROM {t} TIMESTAMP AS OF '1999-01-01'",
            "a timestamp that is none": "SELECT * FROM {t} TIMESTAMP AS OF 'soon'",
            "now": "SELECT * FROM {t} TIMESTAMP AS OF current_timestamp()",
            "join of versions": (
                "SELECT a.id, a.s, b.s FROM {t} VERSION AS OF 1 a JOIN {t} VERSION AS OF 2 b ON a.id = b.id"
            ),
            "insert from a version": "INSERT INTO {t} SELECT * FROM {t} VERSION AS OF 1",
            "merge from a version": (
                "MERGE INTO {t} t USING {t} VERSION AS OF 1 s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"
            ),
            "delete from a version": "DELETE FROM {t} VERSION AS OF 1 WHERE id = 1",
            "version before a column": [
                "ALTER TABLE {t} ADD COLUMN n INT",
                "SELECT * FROM {t} VERSION AS OF 3",
            ],
        },
    ),
    *group(
        "restore",
        _HISTORY,
        {
            "to a version": "RESTORE TABLE {t} TO VERSION AS OF 1",
            "to the first version": "RESTORE TABLE {t} TO VERSION AS OF 0",
            "to the newest version": "RESTORE TABLE {t} TO VERSION AS OF 3",
            "to a version that is not there": "RESTORE TABLE {t} TO VERSION AS OF 99",
            "to a timestamp in the past": "RESTORE TABLE {t} TO TIMESTAMP AS OF '1999-01-01'",
            "without table": "RESTORE {t} VERSION AS OF 1",
            "before a column": [
                "ALTER TABLE {t} ADD COLUMN n INT",
                "RESTORE TABLE {t} TO VERSION AS OF 2",
            ],
            "and write": [
                "RESTORE TABLE {t} TO VERSION AS OF 1",
                "UPDATE {t} SET s = 'again' WHERE id = 2",
            ],
        },
    ),
    *group(
        "history",
        _HISTORY,
        {
            "all": "DESCRIBE HISTORY {t}",
            "limited": "DESCRIBE HISTORY {t} LIMIT 2",
            "by path": "DESCRIBE HISTORY delta.`{path}`",
        },
        columns=("version", "operation", "isolationLevel", "isBlindAppend", "readVersion"),
        ordered=True,
    ),
    *group(
        "history parameters",
        _HISTORY,
        {
            "of row changes": "DESCRIBE HISTORY {t}",
            "of a merge": [
                "MERGE INTO {t} t USING (SELECT 1 AS id, 'm' AS s) s ON t.id = s.id "
                "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
                "DESCRIBE HISTORY {t} LIMIT 1",
            ],
        },
        columns=("version", "map_keys(operationParameters)"),
        ordered=True,
    ),
]

_CHANGE_FEED = [
    *group(
        "change feed",
        _FEED,
        {
            "insert": _CHANGES,
            "update": ["UPDATE {t} SET s = 'u' WHERE id = 1", _CHANGES],
            "update without change": ["UPDATE {t} SET s = s", _CHANGES],
            "delete": ["DELETE FROM {t} WHERE id = 1", _CHANGES],
            "delete all": ["DELETE FROM {t}", _CHANGES],
            "merge": [
                "MERGE INTO {t} t USING (SELECT 1 AS id, 'm' AS s UNION ALL SELECT 9, 'n') s ON t.id = s.id "
                "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT * "
                "WHEN NOT MATCHED BY SOURCE AND t.id = 3 THEN DELETE",
                _CHANGES,
            ],
            "overwrite": ["INSERT OVERWRITE {t} VALUES (7, 'o')", _CHANGES],
            "replace where": ["INSERT INTO {t} REPLACE WHERE id > 1 VALUES (2, 'r')", _CHANGES],
            "optimize": ["OPTIMIZE {t}", _CHANGES],
            "restore": [
                "DELETE FROM {t} WHERE id = 1",
                "RESTORE TABLE {t} TO VERSION AS OF 1",
                _CHANGES,
            ],
            "between versions": [
                "DELETE FROM {t} WHERE id = 1",
                "UPDATE {t} SET s = 'z'",
                "SELECT id, s, _change_type FROM table_changes('{t}', 2, 2)",
            ],
            "by path": "SELECT id, _change_type FROM table_changes_by_path('{path}', 0)",
            "versions that are not there": "SELECT * FROM table_changes('{t}', 50)",
            "start after end": "SELECT * FROM table_changes('{t}', 1, 0)",
            "not enabled": [
                "CREATE TABLE {s} (id INT) USING delta",
                "SELECT * FROM table_changes('{s}', 0)",
            ],
            "with vectors": [
                "ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
                "DELETE FROM {t} WHERE id = 2",
                "UPDATE {t} SET s = 'v' WHERE id = 3",
                _CHANGES,
            ],
            "after a column": [
                "ALTER TABLE {t} ADD COLUMN n INT",
                "UPDATE {t} SET n = 1 WHERE id = 1",
                _CHANGES,
            ],
            "truncate": ["TRUNCATE TABLE {t}", _CHANGES],
        },
    ),
]

_EVOLUTION = [
    *group(
        "schema evolution",
        [
            "CREATE TABLE {t} (id INT, s STRING) USING delta",
            "INSERT INTO {t} VALUES (1, 'a')",
        ],
        {
            "insert by name": "INSERT WITH SCHEMA EVOLUTION INTO {t} BY NAME SELECT 2 AS id, 5 AS n",
            "insert by position": "INSERT WITH SCHEMA EVOLUTION INTO {t} SELECT 2, 'b', 5 AS n",
            "insert of another type": "INSERT WITH SCHEMA EVOLUTION INTO {t} BY NAME SELECT 2L AS id",
            "overwrite": "INSERT WITH SCHEMA EVOLUTION OVERWRITE {t} BY NAME SELECT 2 AS id, 5 AS n",
        },
    ),
    *group(
        "automatic schema evolution",
        [
            "CREATE TABLE {t} (id INT, s STRING) USING delta",
            "INSERT INTO {t} VALUES (1, 'a')",
        ],
        {
            "insert": "INSERT INTO {t} SELECT 2 AS id, 'b' AS s, 5 AS n",
            "merge": (
                "MERGE INTO {t} t USING (SELECT 2 AS id, 'b' AS s, 5 AS n) s ON t.id = s.id "
                "WHEN NOT MATCHED THEN INSERT *"
            ),
            "merge that assigns": (
                "MERGE INTO {t} t USING (SELECT 1 AS id, 5 AS n) s ON t.id = s.id "
                "WHEN MATCHED THEN UPDATE SET t.n = s.n"
            ),
            "merge without star": (
                "MERGE INTO {t} t USING (SELECT 1 AS id, 's' AS s, 5 AS n) s ON t.id = s.id "
                "WHEN MATCHED THEN UPDATE SET t.s = s.s"
            ),
        },
        conf={"spark.databricks.delta.schema.autoMerge.enabled": "true"},
    ),
]

CASES: list[Case] = [*_TRAVEL, *_CHANGE_FEED, *_EVOLUTION]
