"""The DataFrame API: modes and options of writers, readers, DeltaTable, and frames that outlive a
change of their table."""

from __future__ import annotations

from cases.case_groups import Case, call, group

_TABLE = ["CREATE TABLE {t} USING delta AS SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v(id, s)"]
_PARTS = [
    "CREATE TABLE {t} USING delta PARTITIONED BY (p) AS "
    "SELECT * FROM VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2) AS v(id, s, p)",
]
_ROW = "SELECT 3 AS id, 'c' AS s"
_PART_ROW = "SELECT 9 AS id, 'n' AS s, 1 AS p"
_DYNAMIC = {"partitionOverwriteMode": "dynamic"}

_NEW = group(
    "save new",
    [],
    {
        "error mode": call("write", query=_ROW, path="{path}"),
        "ignore mode": call("write", query=_ROW, path="{path}", mode="ignore"),
        "as table": call("write", query=_ROW, table="{t}"),
        "as table with a path": call("write", query=_ROW, table="{u}", options={"path": "{path}"}),
        "an untyped null": call("write", query="SELECT 1 AS a, NULL AS n", path="{path}"),
        "writeTo create": call("write_to", query=_ROW, table="{t}", do="create"),
        "writeTo append": call("write_to", query=_ROW, table="{t}", do="append"),
    },
)

_MORE = "SELECT 3 AS id, 'c' AS s, 5 AS n"
_SAVE = [
    *group(
        "save",
        _TABLE,
        {
            "error mode": call("write", query=_ROW, path="{path}"),
            "ignore mode": call("write", query=_ROW, path="{path}", mode="ignore"),
            "append": call("write", query=_ROW, path="{path}", mode="append"),
            "append in another order": call(
                "write", query="SELECT 'c' AS s, 3 AS id", path="{path}", mode="append"
            ),
            "append fewer columns": call(
                "write", query="SELECT 3 AS id", path="{path}", mode="append"
            ),
            "append more columns with mergeSchema": call(
                "write", query=_MORE, path="{path}", mode="append", options={"mergeSchema": "true"}
            ),
            "append nothing": call(
                "write", query=f"{_ROW} WHERE false", path="{path}", mode="append"
            ),
            "overwrite": call("write", query=_ROW, path="{path}", mode="overwrite"),
            "overwrite with other partitions": call(
                "write", query=_ROW, path="{path}", mode="overwrite", parts=["id"]
            ),
            "overwrite with overwriteSchema and partitions": call(
                "write",
                query=_ROW,
                path="{path}",
                mode="overwrite",
                parts=["id"],
                options={"overwriteSchema": "true"},
            ),
            "overwrite with nothing": call(
                "write", query=f"{_ROW} WHERE false", path="{path}", mode="overwrite"
            ),
            "replaceWhere with append": call(
                "write",
                query=_ROW,
                path="{path}",
                mode="append",
                options={"replaceWhere": "id > 1"},
            ),
            "user metadata": call(
                "write", query=_ROW, path="{path}", mode="append", options={"userMetadata": "mine"}
            ),
            "saveAsTable append": call("write", query=_ROW, table="{t}", mode="append"),
            "saveAsTable append in another order": call(
                "write", query="SELECT 'c' AS s, 3 AS id", table="{t}", mode="append"
            ),
            "saveAsTable overwrite": call("write", query=_ROW, table="{t}", mode="overwrite"),
            "insertInto by position": call(
                "insert_into", query="SELECT 'c' AS s, 3 AS id", table="{t}"
            ),
            "insertInto fewer columns": call("insert_into", query="SELECT 3", table="{t}"),
            "writeTo overwrite some": call(
                "write_to", query=_ROW, table="{t}", do="overwrite", condition="id >= 2"
            ),
            "writeTo createOrReplace": call(
                "write_to", query=_MORE, table="{t}", do="createOrReplace"
            ),
        },
    ),
    *group(
        "save partitions",
        _PARTS,
        {
            "append": call("write", query=_PART_ROW, path="{path}", mode="append"),
            "append without the partition column": call(
                "write", query="SELECT 9 AS id, 'n' AS s", path="{path}", mode="append"
            ),
            "append with partitionBy": call(
                "write", query=_PART_ROW, path="{path}", mode="append", parts=["p"]
            ),
            "append with other partitions": call(
                "write", query=_PART_ROW, path="{path}", mode="append", parts=["s"]
            ),
            "dynamic overwrite with replaceWhere": call(
                "write",
                query=_PART_ROW,
                path="{path}",
                mode="overwrite",
                options={**_DYNAMIC, "replaceWhere": "p = 1"},
            ),
            "replaceWhere": call(
                "write",
                query=_PART_ROW,
                path="{path}",
                mode="overwrite",
                options={"replaceWhere": "p = 1"},
            ),
            "replaceWhere with rows outside": call(
                "write",
                query=_PART_ROW,
                path="{path}",
                mode="overwrite",
                options={"replaceWhere": "p = 2"},
            ),
            "insertInto overwrite": call(
                "insert_into", query=_PART_ROW, table="{t}", overwrite=True
            ),
        },
    ),
]

_CHANGE = "INSERT INTO {t} VALUES (3, 'c')"
_READ = [
    *group(
        "read",
        [*_TABLE, "DELETE FROM {t} WHERE id = 2"],
        {
            "newest": call("read", path="{path}"),
            "version": call("read", path="{path}", options={"versionAsOf": "0"}),
            "a version that is not there": call(
                "read", path="{path}", options={"versionAsOf": "77"}
            ),
            "version and timestamp": call(
                "read", path="{path}", options={"versionAsOf": "1", "timestampAsOf": "2020-01-01"}
            ),
        },
    ),
    *group(
        "frames after a change",
        _TABLE,
        {
            "read twice": call("read_twice", path="{path}", statement=_CHANGE),
            "read twice by name": call(
                "read_twice", path="", statement=_CHANGE, query="SELECT * FROM {t}"
            ),
            "read after": call("read_after", path="{path}", statement=_CHANGE),
            "read after by name": call(
                "read_after", path="", statement=_CHANGE, query="SELECT * FROM {t}"
            ),
            "read after a delete": call(
                "read_after", path="{path}", statement="DELETE FROM {t} WHERE id = 1"
            ),
            "read after an overwrite": call(
                "read_after", path="{path}", statement="INSERT OVERWRITE {t} VALUES (7, 'z')"
            ),
            "read after an update": call(
                "read_twice", path="{path}", statement="UPDATE {t} SET s = 'u'"
            ),
            "read after a new column": call(
                "read_twice", path="{path}", statement="ALTER TABLE {t} ADD COLUMN n INT"
            ),
            "derive after": call("derive_after", path="{path}", statement=_CHANGE, where="id > 1"),
            "derive after a delete": call(
                "derive_after",
                path="{path}",
                statement="DELETE FROM {t} WHERE id = 1",
                where="id > 0",
            ),
            "join of versions": call("join_versions", path="{path}", statement=_CHANGE),
            "write back append": call("write_back", path="{path}", where="id = 1", mode="append"),
            "write back overwrite": call(
                "write_back", path="{path}", where="id = 1", mode="overwrite"
            ),
            "cached": call("cached", path="{path}", statement=_CHANGE),
            "cached and deleted": call(
                "cached", path="{path}", statement="DELETE FROM {t} WHERE id = 1"
            ),
            "temp view": call("temp_view", path="{path}", statement=_CHANGE, view="{t}_view"),
        },
    ),
]

_DELTA_TABLE = group(
    "DeltaTable",
    _TABLE,
    {
        "delete": call("table_delete", path="{path}", condition="id = 1"),
        "update of an unknown column": call(
            "table_update", path="{path}", condition="id = 1", values={"nope": "1"}
        ),
        "merge all": call(
            "table_merge",
            path="{path}",
            query="SELECT 2 AS id, 'm' AS s UNION ALL SELECT 8, 'n'",
            condition="t.id = s.id",
        ),
        "add an unknown feature": call("table_feature", path="{path}", feature="nope"),
    },
)

CASES: list[Case] = [*_NEW, *_SAVE, *_READ, *_DELTA_TABLE]
