"""Calls of DataFrames, readers, writers, the catalog and DeltaTable beyond the usual ones."""

from __future__ import annotations

from cases.case_groups import Case, call, group

_TABLE = "CREATE TABLE {t} USING delta AS SELECT * FROM VALUES (1, 'a'), (2, 'b') AS v(id, s)"
_PARTS = (
    "CREATE TABLE {t} USING delta PARTITIONED BY (p) AS "
    "SELECT * FROM VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2), (4, 'd', NULL) AS v(id, s, p)"
)
_TEXTS = (
    "CREATE TABLE {t} USING delta PARTITIONED BY (p) AS "
    "SELECT * FROM VALUES (1, 'a b'), (2, 'it''s'), (3, NULL), (4, 'x=y/z') AS v(id, p)"
)
_ROW = "SELECT 3 AS id, 'c' AS s"
_MORE = "SELECT 3 AS id, 'c' AS s, 5 AS n"
_SCHEMA = {"overwriteSchema": "true"}
_MERGE = {"mergeSchema": "true"}
_DYNAMIC = {"partitionOverwriteMode": "dynamic"}

_NEW = group(
    "new by a call",
    [],
    {
        "saveAsTable with partitions": call("write", query=_ROW, table="{t}", parts=["s"]),
        "saveAsTable with clusters": call("write", query=_ROW, table="{t}", clustered=["id"]),
        "saveAsTable append": call("write", query=_ROW, table="{t}", mode="append"),
        "saveAsTable overwrite": call("write", query=_ROW, table="{t}", mode="overwrite"),
        "saveAsTable ignore": call("write", query=_ROW, table="{t}", mode="ignore"),
        "saveAsTable with a property": call(
            "write", query=_ROW, table="{t}", options={"delta.appendOnly": "true"}
        ),
        "save with partitions": call("write", query=_ROW, path="{path}", parts=["s"]),
        "save with mergeSchema": call(
            "write", query=_ROW, path="{path}", mode="append", options=_MERGE
        ),
        "save with overwriteSchema": call(
            "write", query=_ROW, path="{path}", mode="overwrite", options=_SCHEMA
        ),
        "writeTo create with partitions": call(
            "write_to", query=_ROW, table="{t}", do="create", parts=["s"]
        ),
        "writeTo create with properties": call(
            "write_to", query=_ROW, table="{t}", do="create", properties={"mine": "1"}
        ),
        "writeTo createOrReplace": call("write_to", query=_ROW, table="{t}", do="createOrReplace"),
        "writeTo replace": call("write_to", query=_ROW, table="{t}", do="replace"),
        "writeTo overwritePartitions": call(
            "write_to", query=_ROW, table="{t}", do="overwritePartitions"
        ),
    },
)
_WRITES = [
    *group(
        "write",
        [_TABLE],
        {
            "saveAsTable overwrite with a schema": call(
                "write", query=_MORE, table="{t}", mode="overwrite", options=_SCHEMA
            ),
            "saveAsTable overwrite with other columns": call(
                "write", query=_MORE, table="{t}", mode="overwrite"
            ),
            "saveAsTable overwrite that merges": call(
                "write", query=_MORE, table="{t}", mode="overwrite", options=_MERGE
            ),
            "saveAsTable overwrite with partitions": call(
                "write", query=_ROW, table="{t}", mode="overwrite", parts=["s"]
            ),
            "saveAsTable append that merges": call(
                "write", query=_MORE, table="{t}", mode="append", options=_MERGE
            ),
            "saveAsTable append of more columns": call(
                "write", query=_MORE, table="{t}", mode="append"
            ),
            "saveAsTable fails": call("write", query=_ROW, table="{t}"),
            "saveAsTable ignore": call("write", query=_ROW, table="{t}", mode="ignore"),
            "saveAsTable replaceWhere": call(
                "write",
                query=_ROW,
                table="{t}",
                mode="overwrite",
                options={"replaceWhere": "id > 1"},
            ),
            "overwrite with a schema": call(
                "write", query=_MORE, path="{path}", mode="overwrite", options=_SCHEMA
            ),
            "overwrite with both schema options": call(
                "write", query=_MORE, path="{path}", mode="overwrite", options={**_SCHEMA, **_MERGE}
            ),
            "overwrite that merges": call(
                "write", query=_MORE, path="{path}", mode="overwrite", options=_MERGE
            ),
            "replaceWhere on data": call(
                "write",
                query=_ROW,
                path="{path}",
                mode="overwrite",
                options={"replaceWhere": "id > 1"},
            ),
            "replaceWhere of nothing": call(
                "write",
                query=_ROW,
                path="{path}",
                mode="overwrite",
                options={"replaceWhere": "id = 3"},
            ),
            "replaceWhere on an unknown column": call(
                "write",
                query=_ROW,
                path="{path}",
                mode="overwrite",
                options={"replaceWhere": "x = 3"},
            ),
            "insertInto overwrite": call("insert_into", query=_ROW, table="{t}", overwrite=True),
            "insertInto more columns": call("insert_into", query=_MORE, table="{t}"),
            "insertInto what is not there": call("insert_into", query=_ROW, table="{u}"),
            "writeTo append": call("write_to", query=_ROW, table="{t}", do="append"),
            "writeTo append more columns": call("write_to", query=_MORE, table="{t}", do="append"),
            "writeTo append that merges": call(
                "write_to", query=_MORE, table="{t}", do="append", options=_MERGE
            ),
            "writeTo append fewer columns": call(
                "write_to", query="SELECT 3 AS id", table="{t}", do="append"
            ),
            "writeTo overwrite all": call(
                "write_to", query=_ROW, table="{t}", do="overwrite", condition="true"
            ),
            "writeTo replace": call("write_to", query=_MORE, table="{t}", do="replace"),
            "writeTo create again": call("write_to", query=_ROW, table="{t}", do="create"),
            "writeTo overwritePartitions": call(
                "write_to", query=_ROW, table="{t}", do="overwritePartitions"
            ),
            "dataChange false": call(
                "write", query=_ROW, path="{path}", mode="append", options={"dataChange": "false"}
            ),
            "a transaction": call(
                "write",
                query=_ROW,
                path="{path}",
                mode="append",
                options={"txnAppId": "app", "txnVersion": "1"},
            ),
            "merge into": call("merge_into", query=_ROW, table="{t}", condition="{t}.id = s.id"),
        },
    ),
    *group(
        "write partitions",
        [_PARTS],
        {
            "dynamic": call(
                "write",
                query="SELECT 9 AS id, 'n' AS s, 1 AS p",
                path="{path}",
                mode="overwrite",
                options=_DYNAMIC,
            ),
            "dynamic by name": call(
                "write",
                query="SELECT 9 AS id, 'n' AS s, 1 AS p",
                table="{t}",
                mode="overwrite",
                options=_DYNAMIC,
            ),
            "dynamic of a new one": call(
                "write",
                query="SELECT 9 AS id, 'n' AS s, 7 AS p",
                path="{path}",
                mode="overwrite",
                options=_DYNAMIC,
            ),
            "dynamic of the null one": call(
                "write",
                query="SELECT 9 AS id, 'n' AS s, CAST(NULL AS INT) AS p",
                path="{path}",
                mode="overwrite",
                options=_DYNAMIC,
            ),
            "overwritePartitions": call(
                "write_to",
                query="SELECT 9 AS id, 'n' AS s, 2 AS p",
                table="{t}",
                do="overwritePartitions",
            ),
            "schema without partitions": call(
                "write",
                query="SELECT 9 AS id, 'n' AS s",
                path="{path}",
                mode="overwrite",
                options=_SCHEMA,
            ),
            "same schema without partitions": call(
                "write",
                query="SELECT 9 AS id, 'n' AS s, 1 AS p",
                path="{path}",
                mode="overwrite",
                options=_SCHEMA,
            ),
            "schema without partitions by name": call(
                "write", query=_MORE, table="{t}", mode="overwrite", options=_SCHEMA
            ),
            "schema with other partitions": call(
                "write",
                query="SELECT 9 AS id, 'n' AS s, 1 AS p",
                path="{path}",
                mode="overwrite",
                parts=["s"],
                options=_SCHEMA,
            ),
            "replaceWhere with the null one": call(
                "write",
                query="SELECT 9 AS id, 'n' AS s, CAST(NULL AS INT) AS p",
                path="{path}",
                mode="overwrite",
                options={"replaceWhere": "p IS NULL"},
            ),
        },
    ),
]
_READS = [
    *group(
        "read partitions",
        [_PARTS],
        {
            "a folder": call("read", path="{path}/p=1"),
            "a folder that is not there": call("read", path="{path}/p=77"),
            "a folder of another column": call("read", path="{path}/s=a"),
            "in SQL": "SELECT * FROM delta.`{path}/p=2`",
            "with a condition": call("read", path="{path}", where="p = 1 AND id > 1"),
            "with a condition on null": call("read", path="{path}", where="p IS NULL"),
            "with or": call("read", path="{path}", where="p = 2 OR id = 1"),
            "with in": call("read", path="{path}", where="p IN (1, 5)"),
        },
    ),
    *group(
        "texts of partitions",
        [_TEXTS],
        {
            "a space": "SELECT id FROM {t} WHERE p = 'a b'",
            "a quote": "SELECT id FROM {t} WHERE p = 'it''s'",
            "an equals sign": "SELECT id FROM {t} WHERE p = 'x=y/z'",
            "delete with a quote": "DELETE FROM {t} WHERE p = 'it''s'",
            "optimize with a quote": ["OPTIMIZE {t} WHERE p = 'it''s'", "SELECT * FROM {t}"],
            "Hive's default": "INSERT INTO {t} VALUES (5, '__HIVE_DEFAULT_PARTITION__')",
            "an empty text": "INSERT INTO {t} VALUES (5, '')",
        },
    ),
    *group(
        "catalog",
        [_PARTS],
        {
            "columns": call("columns_of", table="{t}"),
            "exists": call("table_exists", table="{t}"),
            "exists not": call("table_exists", table="{u}"),
            "exists by path": call("table_exists", table="delta.`{path}`"),
            "described": call("catalog_table", table="{t}"),
            "read with a version": call("read_table", table="{t}", options={"versionAsOf": "0"}),
            "read a schema": call("read_with_schema", path="{path}", schema="id INT"),
            "refresh": "REFRESH TABLE {t}",
            "recover": "MSCK REPAIR TABLE {t}",
            "cache": ["CACHE TABLE {t}", "SELECT count(*) FROM {t}"],
        },
    ),
    *group(
        "query",
        [_PARTS, "INSERT INTO {t} VALUES (5, 'e', 3), (6, NULL, 3)"],
        {
            "count": "SELECT count(*), count(s), count(DISTINCT p) FROM {t}",
            "group": "SELECT p, count(*), max(s) FROM {t} GROUP BY p",
            "order": "SELECT id FROM {t} ORDER BY s DESC NULLS LAST LIMIT 2",
            "window": "SELECT id, row_number() OVER (PARTITION BY p ORDER BY id) FROM {t}",
            "exists": "SELECT id FROM {t} a WHERE EXISTS (SELECT 1 FROM {t} b WHERE b.p = a.p AND b.id > a.id)",
            "except": "SELECT id FROM {t} EXCEPT SELECT id FROM {t} VERSION AS OF 0",
            "like": "SELECT id FROM {t} WHERE s LIKE 'e%'",
            "null safe": "SELECT id FROM {t} WHERE s <=> NULL",
            "case": "SELECT id FROM {t} WHERE CASE WHEN p = 1 THEN id ELSE 0 END > 1",
            "timestamp travel": "SELECT count(*) FROM {t} TIMESTAMP AS OF '2100-01-01'",
            "version travel too far": "SELECT * FROM {t} VERSION AS OF 99",
            "file names": "SELECT count(DISTINCT _metadata.file_path) > 0 FROM {t}",
        },
    ),
]
_DELTA_TABLE = group(
    "DeltaTable more",
    [_TABLE, "INSERT INTO {t} VALUES (3, 'c')"],
    {
        "delete all": call("table_delete", path="{path}"),
        "delete by a wrong column": call("table_delete", path="{path}", condition="x = 1"),
        "update": call("table_update", path="{path}", condition="id > 1", values={"s": "'u'"}),
        "restore": call("table_restore", path="{path}", version=0),
        "restore to the newest": call("table_restore", path="{path}", version=1),
        "restore to what is not there": call("table_restore", path="{path}", version=9),
        "compact": call("table_compact", path="{path}"),
        "upgrade": call("table_upgrade", path="{path}", reader=1, writer=4),
        "downgrade": call("table_upgrade", path="{path}", reader=1, writer=1),
        "add a feature": call("table_feature", path="{path}", feature="deletionVectors"),
        "merge with values": call(
            "table_merge",
            path="{path}",
            query="SELECT 2 AS id, 'm' AS s UNION ALL SELECT 8, 'n'",
            condition="t.id = s.id",
            updates={"s": "s.s"},
            inserts={"id": "s.id", "s": "s.s"},
        ),
        "merge that deletes": call(
            "table_merge",
            path="{path}",
            query="SELECT 2 AS id",
            condition="t.id = s.id",
            deletes="t.id > 1",
        ),
        "merge on an unknown column": call(
            "table_merge", path="{path}", query="SELECT 2 AS id, 'x' AS s", condition="t.x = s.id"
        ),
    },
)

CASES: list[Case] = [*_NEW, *_WRITES, *_READS, *_DELTA_TABLE]
