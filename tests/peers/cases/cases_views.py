"""Row changes through temporary views, ids of rows, and MERGE with columns that are new."""

from __future__ import annotations

from cases.case_groups import Case, call, group

_TABLE = "CREATE TABLE {s} USING delta AS SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v(id, s)"
_SAME = "CREATE TABLE {t} USING delta AS SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v(id, s)"
_TRACKED = [
    "CREATE TABLE {t} (id INT, s STRING) USING delta "
    "TBLPROPERTIES ('delta.enableRowTracking' = 'true')",
    "INSERT INTO {t} SELECT /*+ COALESCE(1) */ * FROM VALUES (1, 'a'), (2, 'b'), (3, 'c')",
]
_MERGE = (
    "MERGE INTO {u} USING (SELECT 1 AS id, 'm' AS s UNION ALL SELECT 7, 'n') n ON {u}.id = n.id "
)
_CHANGES = {
    "delete": ["DELETE FROM {u} WHERE id = 1", "SELECT * FROM {s}"],
    "delete with the name": ["DELETE FROM {u} WHERE {u}.id = 1", "SELECT * FROM {s}"],
    "delete with an alias": ["DELETE FROM {u} AS x WHERE x.id = 1", "SELECT * FROM {s}"],
    "delete all": ["DELETE FROM {u}", "SELECT * FROM {s}"],
    "update": ["UPDATE {u} SET s = 'u' WHERE id = 1", "SELECT * FROM {s}"],
    "merge": [
        _MERGE + "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        "SELECT * FROM {s}",
    ],
    "merge with columns": [
        _MERGE + "WHEN MATCHED THEN UPDATE SET s = n.s "
        "WHEN NOT MATCHED THEN INSERT (id, s) VALUES (n.id, n.s)",
        "SELECT * FROM {s}",
    ],
    "merge that deletes": [_MERGE + "WHEN MATCHED THEN DELETE", "SELECT * FROM {s}"],
}
_VIEWS = [
    *group("view", [_TABLE, "CREATE TEMP VIEW {u} AS SELECT * FROM {s}"], _CHANGES),
    *group(
        "view of a view",
        [_TABLE, "CREATE TEMP VIEW {u} AS SELECT * FROM (SELECT * FROM {s} AS one) AS two"],
        _CHANGES,
    ),
    *group("view of a frame", [_TABLE, call("view_of", table="{s}", view="{u}")], _CHANGES),
    *group(
        "view of some rows",
        [_TABLE, "CREATE TEMP VIEW {u} AS SELECT * FROM {s} WHERE id > 0"],
        {"delete": "DELETE FROM {u} WHERE id = 1", "merge": _MERGE + "WHEN MATCHED THEN DELETE"},
    ),
    *group(
        "view of fewer columns",
        [_TABLE, "CREATE TEMP VIEW {u} AS SELECT id FROM {s}"],
        {"delete by another": "DELETE FROM {u} WHERE s = 'a'"},
    ),
]

_SOURCE = "(SELECT 1 AS id, 'm' AS s, 5 AS n UNION ALL SELECT 9, 'q', 6) s"
_EVOLVING = f"MERGE WITH SCHEMA EVOLUTION INTO {{t}} t USING {_SOURCE} ON t.id = s.id "
_EVOLUTION = group(
    "merge evolves",
    [_SAME],
    {
        "set a new column": _EVOLVING + "WHEN MATCHED THEN UPDATE SET n = s.n",
        "set a new column by its table": _EVOLVING + "WHEN MATCHED THEN UPDATE SET t.n = s.n",
        "insert a new column": (
            _EVOLVING + "WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, s.n)"
        ),
        "all columns": (
            _EVOLVING + "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        ),
        "only a delete": _EVOLVING + "WHEN MATCHED THEN DELETE",
        "a new column of an expression": _EVOLVING + "WHEN MATCHED THEN UPDATE SET n = s.n + 1",
        "a column that neither has": _EVOLVING + "WHEN MATCHED THEN UPDATE SET nope = s.n",
        "without evolution": (
            f"MERGE INTO {{t}} t USING {_SOURCE} ON t.id = s.id WHEN MATCHED THEN UPDATE SET n = s.n"
        ),
    },
)

_IDS = "_metadata.row_id, _metadata.row_commit_version"
_OF_FILES = "_metadata.base_row_id, _metadata.default_row_commit_version"
_ROW_IDS = [
    *group(
        "row ids",
        _TRACKED,
        {
            "select": f"SELECT id, {_IDS} FROM {{t}}",
            "of files": f"SELECT id, {_OF_FILES} FROM {{t}}",
            "where": "SELECT id FROM {t} WHERE _metadata.row_id = 1",
            "after an update": [
                "UPDATE {t} SET s = 'u' WHERE id = 2",
                f"SELECT id, {_IDS} FROM {{t}}",
            ],
            "after a delete": ["DELETE FROM {t} WHERE id = 1", f"SELECT id, {_IDS} FROM {{t}}"],
            "after a merge": [
                "MERGE INTO {t} t USING (SELECT 2 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET s = 'm'",
                f"SELECT id, {_IDS} FROM {{t}}",
            ],
            "after optimize": [
                "INSERT INTO {t} VALUES (4, 'd')",
                "OPTIMIZE {t}",
                f"SELECT id, {_IDS} FROM {{t}}",
            ],
            "of a version": f"SELECT id, {_IDS} FROM {{t}} VERSION AS OF 1",
            "largest": "SELECT max(_metadata.row_id), count(*) FROM {t}",
            "joined": "SELECT a.id, b._metadata.row_id FROM {t} a JOIN {t} b ON a.id = b.id",
            "file facts": "SELECT id, _metadata.row_index, _metadata.row_id FROM {t}",
        },
    ),
    *group(
        "no row ids",
        [_SAME],
        {"select": "SELECT _metadata.row_id FROM {t}"},
    ),
]

CASES: list[Case] = [*_VIEWS, *_EVOLUTION, *_ROW_IDS]
