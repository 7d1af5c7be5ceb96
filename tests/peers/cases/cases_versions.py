"""Versions of a table: time travel, the change feed, RESTORE, history, and schema evolution."""

from __future__ import annotations

from cases.case_groups import Case, group

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
        },
    ),
    *group(
        "restore",
        _HISTORY,
        {
            "to a version": "RESTORE TABLE {t} TO VERSION AS OF 1",
            "to the first version": "RESTORE TABLE {t} TO VERSION AS OF 0",
        },
    ),
    *group(
        "history",
        _HISTORY,
        {
            "all": "DESCRIBE HISTORY {t}",
        },
        columns=("version", "operation", "isolationLevel", "isBlindAppend", "readVersion"),
        ordered=True,
    ),
    *group(
        "history parameters",
        _HISTORY,
        {
            "of row changes": "DESCRIBE HISTORY {t}",
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
        },
        conf={"spark.databricks.delta.schema.autoMerge.enabled": "true"},
    ),
]

CASES: list[Case] = [*_TRAVEL, *_CHANGE_FEED, *_EVOLUTION]
