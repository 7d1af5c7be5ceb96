"""The DataFrame API: modes and options of writers, readers, DeltaTable, and frames that outlive a
change of their table."""

from __future__ import annotations

from case_groups import Case, call, group

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
        "append mode": call("write", query=_ROW, path="{path}", mode="append"),
        "overwrite mode": call("write", query=_ROW, path="{path}", mode="overwrite"),
        "ignore mode": call("write", query=_ROW, path="{path}", mode="ignore"),
        "partitioned": call("write", query=_PART_ROW, path="{path}", parts=["p"]),
        "partitioned by an unknown column": call(
            "write", query=_ROW, path="{path}", parts=["nope"]
        ),
        "clustered": call("write", query=_ROW, path="{path}", clustered=["id"]),
        "with a property": call(
            "write", query=_ROW, path="{path}", options={"delta.enableChangeDataFeed": "true"}
        ),
        "as table": call("write", query=_ROW, table="{t}"),
        "as table partitioned": call("write", query=_PART_ROW, table="{t}", parts=["p"]),
        "as table with a path": call("write", query=_ROW, table="{u}", options={"path": "{path}"}),
        "a column twice": call("write", query="SELECT 1 AS a, 2 AS A", path="{path}"),
        "an untyped null": call("write", query="SELECT 1 AS a, NULL AS n", path="{path}"),
        "a column with a space": call("write", query="SELECT 1 AS `a b`", path="{path}"),
        "writeTo create": call("write_to", query=_ROW, table="{t}", do="create"),
        "writeTo create partitioned": call(
            "write_to", query=_PART_ROW, table="{t}", do="create", parts=["p"]
        ),
        "writeTo create with a property": call(
            "write_to",
            query=_ROW,
            table="{t}",
            do="create",
            properties={"delta.appendOnly": "true"},
        ),
        "writeTo createOrReplace": call("write_to", query=_ROW, table="{t}", do="createOrReplace"),
        "writeTo replace": call("write_to", query=_ROW, table="{t}", do="replace"),
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
            "append in other case": call(
                "write", query="SELECT 3 AS ID, 'c' AS S", path="{path}", mode="append"
            ),
            "append fewer columns": call(
                "write", query="SELECT 3 AS id", path="{path}", mode="append"
            ),
            "append more columns": call("write", query=_MORE, path="{path}", mode="append"),
            "append more columns with mergeSchema": call(
                "write", query=_MORE, path="{path}", mode="append", options={"mergeSchema": "true"}
            ),
            "append another type": call(
                "write", query="SELECT 3L AS id, 'c' AS s", path="{path}", mode="append"
            ),
            "append a wider type with mergeSchema": call(
                "write",
                query="SELECT 3L AS id, 'c' AS s",
                path="{path}",
                mode="append",
                options={"mergeSchema": "true"},
            ),
            "append text into int": call(
                "write", query="SELECT 'x' AS id, 'c' AS s", path="{path}", mode="append"
            ),
            "append with other partitions": call(
                "write", query=_ROW, path="{path}", mode="append", parts=["id"]
            ),
            "append nothing": call(
                "write", query=f"{_ROW} WHERE false", path="{path}", mode="append"
            ),
            "overwrite": call("write", query=_ROW, path="{path}", mode="overwrite"),
            "overwrite with another schema": call(
                "write", query=_MORE, path="{path}", mode="overwrite"
            ),
            "overwrite with overwriteSchema": call(
                "write",
                query="SELECT 1.5D AS v",
                path="{path}",
                mode="overwrite",
                options={"overwriteSchema": "true"},
            ),
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
            "replaceWhere": call(
                "write",
                query=_ROW,
                path="{path}",
                mode="overwrite",
                options={"replaceWhere": "id > 1"},
            ),
            "replaceWhere with rows outside": call(
                "write",
                query=_ROW,
                path="{path}",
                mode="overwrite",
                options={"replaceWhere": "id < 2"},
            ),
            "replaceWhere with append": call(
                "write",
                query=_ROW,
                path="{path}",
                mode="append",
                options={"replaceWhere": "id > 1"},
            ),
            "replaceWhere of an unknown column": call(
                "write",
                query=_ROW,
                path="{path}",
                mode="overwrite",
                options={"replaceWhere": "nope > 1"},
            ),
            "append once with txn": [
                call(
                    "write",
                    query=_ROW,
                    path="{path}",
                    mode="append",
                    options={"txnAppId": "a", "txnVersion": "1"},
                ),
                call(
                    "write",
                    query=_ROW,
                    path="{path}",
                    mode="append",
                    options={"txnAppId": "a", "txnVersion": "1"},
                ),
            ],
            "user metadata": call(
                "write", query=_ROW, path="{path}", mode="append", options={"userMetadata": "mine"}
            ),
            "saveAsTable append": call("write", query=_ROW, table="{t}", mode="append"),
            "saveAsTable append in another order": call(
                "write", query="SELECT 'c' AS s, 3 AS id", table="{t}", mode="append"
            ),
            "saveAsTable overwrite": call("write", query=_ROW, table="{t}", mode="overwrite"),
            "saveAsTable overwrite with another schema": call(
                "write", query=_MORE, table="{t}", mode="overwrite"
            ),
            "saveAsTable error": call("write", query=_ROW, table="{t}"),
            "saveAsTable ignore": call("write", query=_ROW, table="{t}", mode="ignore"),
            "insertInto": call("insert_into", query="SELECT 3, 'c'", table="{t}"),
            "insertInto by position": call(
                "insert_into", query="SELECT 'c' AS s, 3 AS id", table="{t}"
            ),
            "insertInto overwrite": call("insert_into", query=_ROW, table="{t}", overwrite=True),
            "insertInto fewer columns": call("insert_into", query="SELECT 3", table="{t}"),
            "writeTo append": call("write_to", query=_ROW, table="{t}", do="append"),
            "writeTo append in another order": call(
                "write_to", query="SELECT 'c' AS s, 3 AS id", table="{t}", do="append"
            ),
            "writeTo append more columns": call("write_to", query=_MORE, table="{t}", do="append"),
            "writeTo append with mergeSchema": call(
                "write_to", query=_MORE, table="{t}", do="append", options={"mergeSchema": "true"}
            ),
            "writeTo overwrite": call(
                "write_to", query=_ROW, table="{t}", do="overwrite", condition="true"
            ),
            "writeTo overwrite some": call(
                "write_to", query=_ROW, table="{t}", do="overwrite", condition="id >= 2"
            ),
            "writeTo create": call("write_to", query=_ROW, table="{t}", do="create"),
            "writeTo replace": call("write_to", query=_MORE, table="{t}", do="replace"),
            "writeTo createOrReplace": call(
                "write_to", query=_MORE, table="{t}", do="createOrReplace"
            ),
            "mergeInto": call(
                "merge_into",
                query="SELECT 2 AS id, 'm' AS s UNION ALL SELECT 8, 'n'",
                table="{t}",
                condition="{t}.id = s.id",
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
            "dynamic overwrite": call(
                "write", query=_PART_ROW, path="{path}", mode="overwrite", options=_DYNAMIC
            ),
            "dynamic overwrite with replaceWhere": call(
                "write",
                query=_PART_ROW,
                path="{path}",
                mode="overwrite",
                options={**_DYNAMIC, "replaceWhere": "p = 1"},
            ),
            "dynamic overwrite with overwriteSchema": call(
                "write",
                query=_PART_ROW,
                path="{path}",
                mode="overwrite",
                options={**_DYNAMIC, "overwriteSchema": "true"},
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
            "overwritePartitions": call(
                "write_to", query=_PART_ROW, table="{t}", do="overwritePartitions"
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
            "where": call("read", path="{path}", where="id = 1"),
            "with a schema": call("read_with_schema", path="{path}", schema="id INT, s STRING"),
            "with another schema": call("read_with_schema", path="{path}", schema="id INT"),
            "table with version": call("read_table", table="{t}", options={"versionAsOf": "0"}),
            "changes without the feed": call(
                "read", path="{path}", options={"readChangeFeed": "true", "startingVersion": "0"}
            ),
            "columns in the catalog": call("columns_of", table="{t}"),
            "what is not there": call("read", path="{dir}/none"),
            "input files": call("input_files", path="{path}"),
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
        "delete all": call("table_delete", path="{path}"),
        "update": call("table_update", path="{path}", condition="id = 1", values={"s": "upper(s)"}),
        "update of an unknown column": call(
            "table_update", path="{path}", condition="id = 1", values={"nope": "1"}
        ),
        "merge all": call(
            "table_merge",
            path="{path}",
            query="SELECT 2 AS id, 'm' AS s UNION ALL SELECT 8, 'n'",
            condition="t.id = s.id",
        ),
        "merge by clauses": call(
            "table_merge",
            path="{path}",
            query="SELECT 1 AS id, 'm' AS s UNION ALL SELECT 2, 'q' UNION ALL SELECT 8, 'n'",
            condition="t.id = s.id",
            deletes="s.id = 1",
            updates={"s": "concat(t.s, s.s)"},
            inserts={"id": "s.id + 100"},
        ),
        "merge with several matches": call(
            "table_merge",
            path="{path}",
            query="SELECT 1 AS id, 'm' AS s UNION ALL SELECT 1, 'q'",
            condition="t.id = s.id",
            updates={"s": "s.s"},
        ),
        "restore": [
            "DELETE FROM {t} WHERE id = 1",
            call("table_restore", path="{path}", version=0),
        ],
        "compact": [_CHANGE, call("table_compact", path="{path}")],
        "upgrade": call("table_upgrade", path="{path}", reader=1, writer=5),
        "upgrade to older": call("table_upgrade", path="{path}", reader=1, writer=1),
        "add a feature": call("table_feature", path="{path}", feature="v2Checkpoint"),
        "add an unknown feature": call("table_feature", path="{path}", feature="nope"),
    },
)

CASES: list[Case] = [*_NEW, *_SAVE, *_READ, *_DELTA_TABLE]
