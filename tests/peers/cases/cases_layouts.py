"""The same statements on tables of every layout and with every feature."""

from __future__ import annotations

from cases.case_groups import Case, group

_ROWS = (
    "SELECT * FROM VALUES (1, 'a', 1.5D, 1), (2, 'b', NULL, 1), (3, NULL, 3.5D, 2), "
    "(4, 'd', 4.5D, NULL) AS v(id, s, v, p)"
)
_LAYOUTS = {
    "deletion vectors": "TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
    "names mapped": "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
    "a change feed": "TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
    "row tracking": "TBLPROPERTIES ('delta.enableRowTracking' = 'true')",
    "clustering": "CLUSTER BY (id)",
    "partitions and vectors": (
        "PARTITIONED BY (p) TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')"
    ),
}
_MATCH = (
    "MERGE INTO {t} t USING (SELECT 2 AS id, 'm' AS s, 9D AS v, 1 AS p UNION ALL "
    "SELECT 8, 'n', 8D, 3) s ON t.id = s.id "
)
_STATEMENTS = {
    "insert": "INSERT INTO {t} VALUES (5, 'e', 5.5, 3)",
    "insert some columns": "INSERT INTO {t} (id, p) VALUES (6, 1)",
    "overwrite": "INSERT OVERWRITE {t} VALUES (9, 'z', 0, 9)",
    "replace where": "INSERT INTO {t} REPLACE WHERE id > 2 VALUES (3, 'new', 0, 2)",
    "update some": "UPDATE {t} SET s = 'u', v = v + 1 WHERE id IN (1, 3)",
    "update all": "UPDATE {t} SET v = 0",
    "delete some": "DELETE FROM {t} WHERE id < 3",
    "delete a null": "DELETE FROM {t} WHERE v IS NULL",
    "delete by two columns": "DELETE FROM {t} WHERE p = 1 AND s = 'a'",
    "delete twice": ["DELETE FROM {t} WHERE id = 1", "DELETE FROM {t} WHERE id = 3"],
    "merge upsert": (_MATCH + "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"),
    "merge delete": _MATCH + "WHEN MATCHED THEN DELETE",
    "merge by source": _MATCH + "WHEN NOT MATCHED BY SOURCE AND t.id > 3 THEN DELETE",
    "truncate": "TRUNCATE TABLE {t}",
    "optimize after a delete": [
        "DELETE FROM {t} WHERE id = 1",
        "OPTIMIZE {t}",
        "SELECT * FROM {t}",
    ],
    "restore after a delete": [
        "DELETE FROM {t} WHERE id = 1",
        "RESTORE TABLE {t} TO VERSION AS OF 0",
        "SELECT * FROM {t}",
    ],
}

CASES: list[Case] = [
    each
    for name, layout in _LAYOUTS.items()
    for each in group(name, [f"CREATE TABLE {{t}} USING delta {layout} AS {_ROWS}"], _STATEMENTS)
]
