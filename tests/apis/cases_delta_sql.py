"""Delta Lake's own statements, which Lakebed's parser adds to Spark's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from api_case import BEFORE, BOTH, CH, C, Case, Place, R, Rows, W, query, statements

GROUP = "SQL of Delta Lake"
FEED = "ALTER TABLE t SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"
CHANGED: Rows = [(1, "a", "delete")]
WIDER: Rows = [(1, "a", None), (2, "b", None), (3, "c", 7)]


def generated(place: Place) -> None:
    place.sql("GENERATE symlink_format_manifest FOR TABLE t")
    manifest = place.folder / "t" / "_symlink_format_manifest" / "manifest"
    assert len(manifest.read_text().splitlines()) == 2


@contextmanager
def without_retention_check(spark: Any) -> Iterator[None]:
    check = "spark.databricks.delta.retentionDurationCheck.enabled"
    spark.conf.set(check, "false")
    try:
        yield
    finally:
        spark.conf.unset(check)


def vacuumed(place: Place) -> None:
    stray = place.folder / "t" / "stray.parquet"
    stray.touch()
    with without_retention_check(place.spark):
        place.sql("VACUUM t RETAIN 0 HOURS")
    assert not stray.exists()


def converted(place: Place) -> None:
    place.new.write.parquet(f"{place.folder}/x")
    place.sql("CONVERT TO DELTA parquet.`<folder>/x`")


def copied(place: Place) -> None:
    place.new.write.parquet(f"{place.folder}/files")
    for _ in range(2):
        place.sql("COPY INTO t FROM '<folder>/files' FILEFORMAT = PARQUET")


def repaired(place: Place) -> None:
    log = place.folder / "t" / "_delta_log" / f"{1:020}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for each in actions:
        if "add" in each:
            (place.folder / "t" / each["add"]["path"]).unlink()
    place.sql("FSCK REPAIR TABLE t")


def undropped(place: Place) -> Any:
    place.sql("CREATE TABLE u USING delta AS SELECT 3L AS id, 'c' AS v")
    place.sql("DROP TABLE u", "UNDROP TABLE u")
    return place.spark.table("u")


CASES = [
    Case(GROUP, "OPTIMIZE", CH, statements("OPTIMIZE t"), BEFORE, operation="OPTIMIZE",
         connect=True),
    Case(GROUP, "OPTIMIZE ... ZORDER BY", CH, statements("OPTIMIZE t ZORDER BY (id)"), BEFORE,
         operation="OPTIMIZE"),
    Case(GROUP, "VACUUM", CH, vacuumed, BEFORE),
    Case(GROUP, "RESTORE", CH, statements("RESTORE TABLE t TO VERSION AS OF 0"), BEFORE[:1],
         operation="RESTORE", connect=True),
    Case(GROUP, "CREATE TABLE ... SHALLOW CLONE", W,
         query("CREATE TABLE u SHALLOW CLONE t", "INSERT INTO u VALUES (3, 'c')",
               "SELECT * FROM u"), BOTH, stored=BEFORE),
    Case(GROUP, "CONVERT TO DELTA", W, converted, C, "x", operation="CONVERT"),
    Case(GROUP, "REORG TABLE ... APPLY (PURGE)", CH,
         statements("ALTER TABLE t SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
                    "INSERT INTO t VALUES (3, 'c'), (4, 'd')", "DELETE FROM t WHERE id = 4",
                    "REORG TABLE t APPLY (PURGE)"), BOTH, operation="REORG"),
    Case(GROUP, "GENERATE symlink_format_manifest", W, generated, BEFORE),
    Case(GROUP, "COPY INTO, each file once", W, copied, BOTH, connect=True),
    Case(GROUP, "INSERT WITH SCHEMA EVOLUTION", W,
         statements("INSERT WITH SCHEMA EVOLUTION INTO t BY NAME "
                    "SELECT 3L AS id, 'c' AS v, 7 AS n"), WIDER),
    Case(GROUP, "INSERT INTO ... REPLACE USING", W,
         statements("CREATE TABLE u (id BIGINT, v STRING) USING delta PARTITIONED BY (v)",
                    "INSERT INTO u VALUES (1, 'a'), (2, 'b')",
                    "INSERT INTO u REPLACE USING (v) SELECT 9L, 'b'"), [(1, "a"), (9, "b")], "u"),
    Case(GROUP, "INSERT INTO ... REPLACE ON", W,
         statements("INSERT INTO t AS o REPLACE ON o.id = s.id (SELECT 2L AS id, 'B' AS v) AS s"),
         [(1, "a"), (2, "B")]),
    Case(GROUP, "FSCK REPAIR TABLE", CH,
         repaired, BEFORE[:1]),
    Case(GROUP, "UNDROP TABLE", CH, undropped, C, "u"),
    Case(GROUP, "ALTER TABLE DROP FEATURE", CH,
         statements("CREATE TABLE u (id BIGINT) USING delta TBLPROPERTIES "
                    "('delta.feature.vacuumProtocolCheck' = 'supported')",
                    "INSERT INTO u VALUES (3)",
                    "ALTER TABLE u DROP FEATURE vacuumProtocolCheck"), [(3,)], "u",
         operation="DROP FEATURE"),
    Case(GROUP, "DESCRIBE HISTORY", R, lambda p: p.sql("DESCRIBE HISTORY t").select("version"),
         [(0,), (1,)], stored=BEFORE, connect=True),
    Case(GROUP, "DESCRIBE DETAIL", R,
         lambda p: p.sql("DESCRIBE DETAIL t").select("format", "numFiles"), [("delta", 2)],
         stored=BEFORE, connect=True),
    Case(GROUP, "table_changes('t', version)", R,
         query(FEED, "DELETE FROM t WHERE id = 1",
               "SELECT id, v, _change_type FROM table_changes('t', 3)"),
         CHANGED, stored=BEFORE[1:], connect=True),
    Case(GROUP, "table_changes_by_path(path, version)", R,
         query(FEED, "DELETE FROM t WHERE id = 1", "SELECT id, v, _change_type FROM "
               "table_changes_by_path('<folder>/t', 3)"), CHANGED, stored=BEFORE[1:]),
    Case(GROUP, "SELECT ... FROM delta.`path@v0`", R, query("SELECT * FROM delta.`<folder>/t@v0`"),
         BEFORE[:1], stored=BEFORE),
]  # fmt: skip
