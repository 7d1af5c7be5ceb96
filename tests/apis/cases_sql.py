"""SQL that Spark parses. What Lakebed's parser adds is in `cases_delta_sql`."""

from __future__ import annotations

from typing import Any

from api_case import BEFORE, BOTH, CH, C, Case, Place, R, Rows, W, query, statements

READS = "SQL queries"
INSERTS = "SQL INSERT"
CHANGES = "SQL UPDATE, DELETE, MERGE"
DEFINES = "SQL definitions"
ABOUT = "SQL about tables"

SOURCE = "(SELECT * FROM VALUES (2L, 'B'), (3L, 'c') AS s(id, v)) s"
UPSERT = "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
PARTITIONED = "CREATE TABLE u (id BIGINT, v STRING) USING delta PARTITIONED BY (v)"
FILL = "INSERT INTO u VALUES (1, 'a'), (2, 'b')"
ENABLE_SCRIPTS = "SET spark.sql.scripting.enabled = true"
"""Before 4.1 they are off unless a user turns them on."""
SCRIPT = """BEGIN
  DECLARE n BIGINT DEFAULT 3;
  IF (SELECT count(*) FROM t) = 2 THEN INSERT INTO t VALUES (n, 'c'); END IF;
END"""
RECURSIVE = """WITH RECURSIVE r(n) AS (SELECT 1L UNION ALL SELECT n + 1 FROM r WHERE n < 2)
SELECT t.id, t.v FROM t JOIN r ON t.id = r.n"""
MAPPED = "ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
WIDER: Rows = [(1, "a", None), (2, "b", None), (3, "c", 7)]
ADD = "ALTER TABLE t ADD COLUMNS (n INT)"
INSERT_WIDE = "INSERT INTO t VALUES (3, 'c', 7)"


def dynamic(place: Place) -> None:
    name = "spark.sql.sources.partitionOverwriteMode"
    place.sql(PARTITIONED, FILL)
    place.spark.conf.set(name, "dynamic")
    try:
        place.sql("INSERT OVERWRITE u VALUES (9, 'b')")
    finally:
        place.spark.conf.unset(name)


def variables(place: Place) -> Any:
    place.sql("DECLARE OR REPLACE least = 1L", "SET VAR least = (SELECT max(id) FROM t)")
    return place.sql("SELECT * FROM t WHERE id >= least")


def table_function(place: Place) -> Any:
    place.sql("CREATE OR REPLACE TEMPORARY FUNCTION apis_f(n BIGINT) "
              "RETURNS TABLE(id BIGINT, v STRING) RETURN SELECT * FROM t WHERE id > n")  # fmt: skip
    return place.sql("SELECT * FROM apis_f(1)")


def scalar_function(place: Place) -> Any:
    place.sql("CREATE OR REPLACE TEMPORARY FUNCTION apis_most() "
              "RETURNS BIGINT RETURN SELECT max(id) FROM t")  # fmt: skip
    return place.sql("SELECT apis_most()")


def view_of_source(place: Place) -> Any:
    place.sql("CREATE TEMPORARY VIEW brief USING delta OPTIONS (path '<folder>/t')")
    found = place.sql("SELECT * FROM brief").collect()
    place.sql("DROP VIEW brief")
    return found


def temporary_view(place: Place) -> Any:
    place.sql("CREATE TEMPORARY VIEW brief AS SELECT * FROM t")
    found = place.sql("SELECT * FROM brief").collect()
    place.sql("DROP VIEW brief")
    return found


def dropped(place: Place) -> Rows:
    place.sql("CREATE TABLE u USING delta AS SELECT 1L AS id", "DROP TABLE u", "DROP TABLE t")
    assert not place.table("u").exists()
    return [tuple(row) for row in place.sql("SHOW TABLES").collect()]


def described(place: Place) -> Rows:
    return [(row.col_name, row.data_type) for row in place.sql("DESCRIBE TABLE t").collect()]


def extended(place: Place) -> Rows:
    shown = {row.col_name: row.data_type for row in place.sql("DESCRIBE EXTENDED t").collect()}
    return [(shown["Provider"], shown["Type"])]


def recreated(place: Place) -> None:
    text = place.sql("SHOW CREATE TABLE t").first()[0]
    place.sql("DROP TABLE t", text, "INSERT INTO t VALUES (3, 'c')")


def comments(place: Place) -> Rows:
    place.sql("COMMENT ON TABLE t IS 'letters'", "ALTER TABLE t ALTER COLUMN v COMMENT 'one'")
    shown = place.sql("DESCRIBE EXTENDED t").collect()
    found = {row.col_name: row for row in shown}
    return [(found["Comment"].data_type, found["v"].comment)]


QUERIES = [
    Case(READS, "SELECT", R, query("SELECT * FROM t"), BEFORE, connect=True),
    Case(READS, "SELECT ... FROM delta.`path`", R,
         query("SELECT * FROM delta.`<folder>/t`"), BEFORE, connect=True),
    Case(READS, "subqueries", R, query("SELECT * FROM t WHERE id IN (SELECT max(id) FROM t)"),
         BEFORE[1:], stored=BEFORE),
    Case(READS, "WITH", R, query("WITH x AS (SELECT * FROM t) SELECT * FROM x"), BEFORE),
    Case(READS, "WITH RECURSIVE", R, query(RECURSIVE), BEFORE, since=(4, 1)),
    Case(READS, "pipe syntax: FROM t |> ...", R, query("FROM t |> WHERE id > 1"),
         BEFORE[1:], stored=BEFORE, connect=True),
    Case(READS, "VERSION AS OF", R, query("SELECT * FROM t VERSION AS OF 0"),
         BEFORE[:1], stored=BEFORE, connect=True),
    Case(READS, "TIMESTAMP AS OF", R, query("SELECT * FROM t TIMESTAMP AS OF '2021-01-01'"),
         BEFORE[:1], stored=BEFORE, connect=True),
    Case(READS, "views", R, query("CREATE VIEW w AS SELECT * FROM t", "SELECT * FROM w"), BEFORE,
         connect=True),
    Case(READS, "temporary views", R,
         temporary_view, BEFORE),
    Case(READS, "temporary views USING delta", R, view_of_source, BEFORE),
    Case(READS, "ALTER VIEW", R,
         query("CREATE VIEW w AS SELECT id FROM t", "ALTER VIEW w AS SELECT * FROM t",
               "SELECT * FROM w"), BEFORE),
    Case(READS, "options: SELECT ... FROM t WITH (...)", R,
         query("SELECT * FROM t WITH ('versionAsOf' = '0')"), BEFORE[:1], stored=BEFORE),
    Case(READS, "SQL scalar functions", R, scalar_function, [(2,)], stored=BEFORE),
    Case(READS, "SQL table functions", R, table_function, BEFORE[1:], stored=BEFORE),
    Case(READS, "CACHE TABLE, which later writes refresh", R,
         query("CACHE TABLE t", "INSERT INTO t VALUES (3, 'c')", "SELECT * FROM t"), BOTH),
    Case(READS, "EXECUTE IMMEDIATE", R,
         query("EXECUTE IMMEDIATE 'SELECT * FROM t WHERE id > ?' USING 1"), BEFORE[1:],
         stored=BEFORE, connect=True),
    Case(READS, "session variables", R, variables, BEFORE[1:], stored=BEFORE),
    Case(READS, "parameters by name", R,
         lambda p: p.sql("SELECT * FROM t WHERE id > :n", args={"n": 1}), BEFORE[1:],
         stored=BEFORE, connect=True),
    Case(READS, "parameters by position", R,
         lambda p: p.sql("SELECT * FROM t WHERE id > ?", args=[1]), BEFORE[1:], stored=BEFORE),
    Case(READS, "DataFrames as parameters", R,
         lambda p: p.sql("SELECT * FROM {x} WHERE id > 1", x=p.spark.table("t")), BEFORE[1:],
         stored=BEFORE, connect=True),
    Case(READS, "IDENTIFIER", R, query("SELECT * FROM IDENTIFIER('t')"), BEFORE),
    Case(READS, "TABLESAMPLE", R, query("SELECT * FROM t TABLESAMPLE (100 PERCENT)"), BEFORE),
]  # fmt: skip

WRITES = [
    Case(INSERTS, "INSERT INTO ... VALUES", W, statements("INSERT INTO t VALUES (3, 'c')"), BOTH,
         connect=True),
    Case(INSERTS, "INSERT INTO ... (columns)", W,
         statements("INSERT INTO t (v, id) VALUES ('c', 3)"), BOTH),
    Case(INSERTS, "INSERT INTO ... SELECT", W, statements("INSERT INTO t SELECT 3, 'c'"), BOTH,
         connect=True),
    Case(INSERTS, "INSERT INTO ... BY NAME", W,
         statements("INSERT INTO t BY NAME SELECT 'c' AS v, 3L AS id"), BOTH),
    Case(INSERTS, "INSERT INTO ... TABLE", W,
         statements("CREATE TABLE u USING delta AS SELECT 3L AS id, 'c' AS v",
                    "INSERT INTO t TABLE u"), BOTH),
    Case(INSERTS, "INSERT INTO delta.`path`", W,
         statements("INSERT INTO delta.`<folder>/t` VALUES (3, 'c')"), BOTH),
    Case(INSERTS, "INSERT INTO ... PARTITION", W,
         statements(PARTITIONED, "INSERT INTO u PARTITION (v = 'c') VALUES (3)"), C, "u"),
    Case(INSERTS, "INSERT with parameters", W,
         lambda p: p.sql("INSERT INTO t VALUES (:id, :v)", args={"id": 3, "v": "c"}) and None,
         BOTH),
    Case(INSERTS, "INSERT OVERWRITE", W, statements("INSERT OVERWRITE t VALUES (3, 'c')"), C,
         connect=True),
    Case(INSERTS, "INSERT OVERWRITE ... PARTITION", W,
         statements(PARTITIONED, FILL, "INSERT OVERWRITE u PARTITION (v = 'b') VALUES (9)"),
         [(1, "a"), (9, "b")], "u"),
    Case(INSERTS, "INSERT OVERWRITE ... PARTITION ... IF NOT EXISTS", W,
         statements(PARTITIONED, FILL,
                    "INSERT OVERWRITE u PARTITION (v = 'b') IF NOT EXISTS VALUES (9)"),
         BEFORE, "u"),
    Case(INSERTS, "INSERT OVERWRITE, partitionOverwriteMode=dynamic", W, dynamic,
         [(1, "a"), (9, "b")], "u"),
    Case(INSERTS, "INSERT INTO ... REPLACE WHERE", W,
         statements("INSERT INTO t REPLACE WHERE id >= 2 SELECT 3L, 'c'"), [(1, "a"), (3, "c")],
         connect=True),
    Case(INSERTS, "FROM ... INSERT, several tables", W,
         statements(PARTITIONED, "FROM t INSERT INTO u SELECT * INSERT INTO u SELECT id + 1, v"),
         [(1, "a"), (2, "a"), (2, "b"), (3, "b")], "u"),
    Case(INSERTS, "scripts: BEGIN ... END", W, statements(ENABLE_SCRIPTS, SCRIPT),
         BOTH, connect=True),
    Case(INSERTS, "EXECUTE IMMEDIATE 'INSERT ...'", W,
         statements("EXECUTE IMMEDIATE 'INSERT INTO t VALUES (?, ?)' USING 3, 'c'"), BOTH),
]  # fmt: skip

ROW_CHANGES = [
    Case(CHANGES, "UPDATE", CH, statements("UPDATE t SET v = 'x' WHERE id = 1"),
         [(1, "x"), (2, "b")], operation="UPDATE", connect=True),
    Case(CHANGES, "UPDATE with a subquery", CH,
         statements("UPDATE t SET v = (SELECT max(v) FROM t) WHERE id = 1"),
         [(1, "b"), (2, "b")]),
    Case(CHANGES, "DELETE", CH, statements("DELETE FROM t WHERE id = 1"), BEFORE[1:],
         operation="DELETE", connect=True),
    Case(CHANGES, "DELETE FROM delta.`path`", CH,
         statements("DELETE FROM delta.`<folder>/t` WHERE id = 1"), BEFORE[1:]),
    Case(CHANGES, "DELETE with a subquery", CH,
         statements("DELETE FROM t WHERE id = (SELECT max(id) FROM t)"), BEFORE[:1]),
    Case(CHANGES, "TRUNCATE TABLE", CH, statements("TRUNCATE TABLE t"), []),
    Case(CHANGES, "MERGE", CH,
         statements(f"MERGE INTO t USING {SOURCE} ON t.id = s.id {UPSERT}"),
         [(1, "a"), (2, "B"), (3, "c")], operation="MERGE", connect=True),
    Case(CHANGES, "MERGE ... WHEN NOT MATCHED BY SOURCE", CH,
         statements(f"MERGE INTO t USING {SOURCE} ON t.id = s.id "
                    "WHEN NOT MATCHED BY SOURCE THEN DELETE"), BEFORE[1:]),
    Case(CHANGES, "MERGE WITH SCHEMA EVOLUTION", CH,
         statements("MERGE WITH SCHEMA EVOLUTION INTO t USING "
                    f"(SELECT 3L AS id, 'c' AS v, 7 AS n) s ON t.id = s.id {UPSERT}"),
         WIDER, connect=True),
    Case(CHANGES, "UPDATE with parameters", CH,
         lambda p: p.sql("UPDATE t SET v = :v WHERE id = :id", args={"v": "x", "id": 1}) and None,
         [(1, "x"), (2, "b")]),
]  # fmt: skip

DEFINITIONS = [
    Case(DEFINES, "CREATE TABLE", W,
         statements("CREATE TABLE u (id BIGINT, v STRING) USING delta",
                    "INSERT INTO u VALUES (3, 'c')"), C, "u", connect=True),
    Case(DEFINES, "CREATE TABLE ... LOCATION", W,
         statements("CREATE TABLE u (id BIGINT, v STRING) USING delta LOCATION '<folder>/x'",
                    "INSERT INTO u VALUES (3, 'c')"), C, "x"),
    Case(DEFINES, "CREATE TABLE delta.`path`", W,
         statements("CREATE TABLE delta.`<folder>/x` (id BIGINT, v STRING) USING delta",
                    "INSERT INTO delta.`<folder>/x` VALUES (3, 'c')"), C, "x"),
    Case(DEFINES, "CREATE TABLE ... CLUSTER BY", W,
         statements("CREATE TABLE u (id BIGINT, v STRING) USING delta CLUSTER BY (id)",
                    "INSERT INTO u VALUES (3, 'c')"), C, "u"),
    Case(DEFINES, "CREATE TABLE ... DEFAULT", W,
         statements("CREATE TABLE u (id BIGINT, v STRING DEFAULT 'c') USING delta TBLPROPERTIES "
                    "('delta.feature.allowColumnDefaults' = 'supported')",
                    "INSERT INTO u (id) VALUES (3)"), C, "u"),
    Case(DEFINES, "CREATE TABLE ... GENERATED ALWAYS AS (expression)", W,
         statements("CREATE TABLE u (id BIGINT, v BIGINT GENERATED ALWAYS AS (id + 1)) USING delta",
                    "INSERT INTO u (id) VALUES (3)"), [(3, 4)], "u"),
    Case(DEFINES, "CREATE TABLE ... GENERATED ALWAYS AS IDENTITY", W,
         statements("CREATE TABLE u (id BIGINT GENERATED ALWAYS AS IDENTITY, v STRING) USING delta",
                    "INSERT INTO u (v) VALUES ('c')"), [(1, "c")], "u"),
    Case(DEFINES, "CREATE TABLE ... AS SELECT", W,
         statements("CREATE TABLE u USING delta AS SELECT * FROM t"), BEFORE, "u", connect=True),
    Case(DEFINES, "CREATE TABLE IF NOT EXISTS", W,
         statements("CREATE TABLE IF NOT EXISTS t USING delta AS SELECT 3L AS id"), BEFORE),
    Case(DEFINES, "REPLACE TABLE ... AS SELECT", W,
         statements("REPLACE TABLE t USING delta AS SELECT 3L AS id, 'c' AS v"), C, connect=True),
    Case(DEFINES, "CREATE OR REPLACE TABLE", W,
         statements("CREATE OR REPLACE TABLE t (id BIGINT, v STRING) USING delta",
                    "INSERT INTO t VALUES (3, 'c')"), C),
    Case(DEFINES, "CREATE TABLE ... LIKE", W,
         statements("CREATE TABLE u LIKE t USING delta", "INSERT INTO u VALUES (3, 'c')"), C, "u"),
    Case(DEFINES, "ALTER TABLE ADD COLUMNS", CH, statements(ADD, INSERT_WIDE), WIDER, connect=True),
    Case(DEFINES, "ALTER TABLE REPLACE COLUMNS", CH,
         statements("ALTER TABLE t REPLACE COLUMNS (id BIGINT, v STRING, n INT)", INSERT_WIDE),
         WIDER),
    Case(DEFINES, "ALTER TABLE RENAME COLUMN", CH,
         query(MAPPED, "ALTER TABLE t RENAME COLUMN v TO w", "SELECT id, w FROM t"), BEFORE,
         operation="RENAME COLUMN"),
    Case(DEFINES, "ALTER TABLE DROP COLUMN", CH,
         statements(MAPPED, "ALTER TABLE t DROP COLUMN v"), [(1,), (2,)]),
    Case(DEFINES, "ALTER TABLE ALTER COLUMN ... TYPE", CH,
         statements("CREATE TABLE u (id INT) USING delta TBLPROPERTIES "
                    "('delta.enableTypeWidening' = 'true')", "INSERT INTO u VALUES (1)",
                    "ALTER TABLE u ALTER COLUMN id TYPE BIGINT",
                    "INSERT INTO u VALUES (5000000000)"), [(1,), (5000000000,)], "u"),
    Case(DEFINES, "ALTER TABLE ALTER COLUMN ... FIRST", CH,
         statements("ALTER TABLE t ALTER COLUMN v FIRST"), [("a", 1), ("b", 2)]),
    Case(DEFINES, "ALTER TABLE ALTER COLUMN ... DROP NOT NULL", CH,
         statements("CREATE TABLE u (id BIGINT NOT NULL, v STRING) USING delta",
                    "ALTER TABLE u ALTER COLUMN id DROP NOT NULL",
                    "INSERT INTO u VALUES (NULL, 'c')"), [(None, "c")], "u"),
    Case(DEFINES, "ALTER TABLE ALTER COLUMN ... SET DEFAULT", CH,
         statements("ALTER TABLE t SET TBLPROPERTIES "
                    "('delta.feature.allowColumnDefaults' = 'supported')",
                    "ALTER TABLE t ALTER COLUMN v SET DEFAULT 'c'",
                    "INSERT INTO t (id) VALUES (3)"), BOTH),
    Case(DEFINES, "COMMENT ON, ALTER COLUMN ... COMMENT", CH, comments, [("letters", "one")],
         stored=BEFORE),
    Case(DEFINES, "ALTER TABLE SET TBLPROPERTIES", CH,
         query("ALTER TABLE t SET TBLPROPERTIES ('of' = 'x')", "SHOW TBLPROPERTIES t ('of')"),
         [("of", "x")], stored=BEFORE, operation="SET TBLPROPERTIES", connect=True),
    Case(DEFINES, "ALTER TABLE UNSET TBLPROPERTIES", CH,
         statements("ALTER TABLE t SET TBLPROPERTIES ('of' = 'x')",
                    "ALTER TABLE t UNSET TBLPROPERTIES ('of')"), BEFORE,
         operation="UNSET TBLPROPERTIES"),
    Case(DEFINES, "ALTER TABLE ADD CONSTRAINT", CH,
         statements("ALTER TABLE t ADD CONSTRAINT positive CHECK (id > 0)"), BEFORE,
         operation="ADD CONSTRAINT"),
    Case(DEFINES, "ALTER TABLE DROP CONSTRAINT", CH,
         statements("ALTER TABLE t ADD CONSTRAINT small CHECK (id < 3)",
                    "ALTER TABLE t DROP CONSTRAINT small", "INSERT INTO t VALUES (3, 'c')"), BOTH),
    Case(DEFINES, "ALTER TABLE CLUSTER BY", CH, statements("ALTER TABLE t CLUSTER BY (id)"), BEFORE,
         operation="CLUSTER BY"),
    Case(DEFINES, "ALTER TABLE SET LOCATION", CH,
         query("CREATE TABLE u USING delta LOCATION '<folder>/x' AS SELECT 3L AS id, 'c' AS v",
               "ALTER TABLE t SET LOCATION '<folder>/x'", "SELECT * FROM t"), C, "x"),
    Case(DEFINES, "ALTER TABLE RENAME TO", CH,
         query("ALTER TABLE t RENAME TO w", "SELECT * FROM w"), BEFORE),
    Case(DEFINES, "DROP TABLE", CH, dropped, [], stored=BEFORE),
    Case(ABOUT, "DESCRIBE TABLE", R, described, [("id", "bigint"), ("v", "string")], stored=BEFORE,
         connect=True),
    Case(ABOUT, "DESCRIBE TABLE EXTENDED", R, extended, [("delta", "EXTERNAL")], stored=BEFORE),
    Case(ABOUT, "SHOW TABLES", R, lambda p: p.sql("SHOW TABLES").select("tableName"), [("t",)],
         stored=BEFORE, connect=True),
    Case(ABOUT, "SHOW TABLE EXTENDED", R,
         lambda p: p.sql("SHOW TABLE EXTENDED LIKE 't'").selectExpr(
             "tableName", "contains(information, 'Provider: delta')"), [("t", True)],
         stored=BEFORE),
    Case(ABOUT, "DESCRIBE TABLE t column", R,
         lambda p: p.sql("DESCRIBE TABLE t id").where("info_name = 'data_type'"),
         [("data_type", "bigint")], stored=BEFORE),
    Case(ABOUT, "SHOW COLUMNS", R, query("SHOW COLUMNS IN t"), [("id",), ("v",)], stored=BEFORE),
    Case(ABOUT, "SHOW PARTITIONS", R, query(PARTITIONED, FILL, "SHOW PARTITIONS u"),
         [("a",), ("b",)], stored=BEFORE),
    Case(ABOUT, "SHOW CREATE TABLE", R, lambda p: recreated(p) or p.spark.table("t"), BOTH),
    Case(ABOUT, "REFRESH TABLE", R, query("REFRESH TABLE t", "SELECT * FROM t"), BEFORE),
    Case(ABOUT, "EXPLAIN", R,
         lambda p: [("Scan" in p.sql("EXPLAIN SELECT * FROM t").first()[0],)], [(True,)],
         stored=BEFORE),
]  # fmt: skip

CASES = [*QUERIES, *WRITES, *ROW_CHANGES, *DEFINITIONS]
