"""Every kind of change on every kind of table, against plain SQL and an independent reader.

One table for each combination of vectors, partitions, column mapping and change feed; all changes
are made to it one after the other. After each, delta-rs reads the rows that plain Spark SQL makes
of the rows before. In the end Spark reads the last ones, and the change feed of each version is
the difference.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from deltalake import QueryBuilder
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import lakebed

Rows = list[tuple[Any, ...]]
COLUMNS = "id LONG, part STRING, name STRING, score INT"


def delete(table: lakebed.DeltaTable, _: DataFrame) -> None:
    table.delete("id % 7 = 3 OR name IS NULL")


def update(table: lakebed.DeltaTable, _: DataFrame) -> None:
    part = F.concat(F.col("part"), F.lit("x"))
    table.update(F.col("score") > 20, {"score": "score - 20", "part": part})


def merge_update(table: lakebed.DeltaTable, source: DataFrame) -> None:
    merge = table.alias("t").merge(source.alias("s"), "t.id = s.id")
    merge.whenMatchedUpdate("s.score > 1", {"score": "t.score + s.score"}).execute()


def merge_delete(table: lakebed.DeltaTable, source: DataFrame) -> None:
    merge = table.alias("t").merge(source.alias("s"), "t.id = s.id")
    merge.whenMatchedDelete("s.score = 1").execute()


def merge_insert(table: lakebed.DeltaTable, source: DataFrame) -> None:
    merge = table.alias("t").merge(source.alias("s"), "t.id = s.id")
    merge.whenNotMatchedInsert(
        "s.score <> 5", {"id": "s.id", "part": "s.part", "name": "'new'", "score": "0"}
    ).execute()


def merge_update_not_in_source(table: lakebed.DeltaTable, source: DataFrame) -> None:
    merge = table.alias("t").merge(source.alias("s"), "t.id = s.id")
    merge.whenNotMatchedBySourceUpdate("t.id < 6", {"name": "'kept'"}).execute()


def merge_delete_not_in_source(table: lakebed.DeltaTable, source: DataFrame) -> None:
    merge = table.alias("t").merge(source.alias("s"), "t.id = s.id")
    merge.whenNotMatchedBySourceDelete("t.id > 25").execute()


def merge_everything(table: lakebed.DeltaTable, source: DataFrame) -> None:
    merge = table.alias("t").merge(source.alias("s"), F.expr("t.id + 1 = s.id + 1"))
    merge = merge.whenMatchedDelete("s.name = 's12'").whenMatchedUpdateAll()
    merge = merge.whenNotMatchedInsertAll("s.id < 50")
    merge = merge.whenNotMatchedBySourceDelete("t.score = 0")
    merge.whenNotMatchedBySourceUpdate(set={"score": "t.score + 100"}).execute()


MERGED = "before t FULL JOIN source s ON t.id = s.id"
CHANGES: dict[Callable[[Any, DataFrame], None], str] = {
    update: """SELECT id, if(score > 20, concat(part, 'x'), part), name,
                      if(score > 20, score - 20, score) FROM before""",
    delete: "SELECT * FROM before WHERE NOT coalesce(id % 7 = 3 OR name IS NULL, false)",
    merge_update: """SELECT t.id, t.part, t.name, if(s.score > 1, t.score + s.score, t.score)
                     FROM before t LEFT JOIN source s ON t.id = s.id""",
    merge_delete: """SELECT t.* FROM before t LEFT JOIN source s ON t.id = s.id
                     WHERE s.id IS NULL OR s.score <> 1""",
    merge_insert: """SELECT * FROM before UNION ALL
                     SELECT s.id, s.part, 'new', 0 FROM source s LEFT ANTI JOIN before t
                     ON t.id = s.id WHERE s.score <> 5""",
    merge_update_not_in_source: """
        SELECT t.id, t.part, if(s.id IS NULL AND t.id < 6, 'kept', t.name), t.score
        FROM before t LEFT JOIN source s ON t.id = s.id""",
    merge_delete_not_in_source: """
        SELECT t.* FROM before t LEFT JOIN source s ON t.id = s.id
        WHERE s.id IS NOT NULL OR t.id <= 25""",
    merge_everything: f"""
        SELECT coalesce(s.id, t.id), if(s.id IS NULL, t.part, s.part),
               if(s.id IS NULL, t.name, s.name), if(s.id IS NULL, t.score + 100, s.score)
        FROM {MERGED}
        WHERE CASE WHEN s.id IS NULL THEN t.score <> 0
                   WHEN t.id IS NULL THEN s.id < 50 ELSE s.name <> 's12' END""",
}


# With vectors and without, plans are compiled as users have them; what is left differs in the log.
COMPILED = [(True, True, "name", True), (False, False, "none", True)]
KINDS = list(product((True, False), (True, False), ("none", "name"), (True, False)))


@pytest.mark.parametrize(("vectors", "partitioned", "mapping", "feed"), COMPILED)
def test_all_changes(
    spark: SparkSession,
    tmp_path: Path,
    states: list[Rows],
    vectors: bool,
    partitioned: bool,
    mapping: str,
    feed: bool,
) -> None:
    check_all_changes(spark, tmp_path, states, vectors, partitioned, mapping, feed)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(
    ("vectors", "partitioned", "mapping", "feed"),
    [kind for kind in KINDS if kind not in COMPILED],
)
def test_all_changes_interpreted(
    spark: SparkSession,
    tmp_path: Path,
    states: list[Rows],
    vectors: bool,
    partitioned: bool,
    mapping: str,
    feed: bool,
) -> None:
    check_all_changes(spark, tmp_path, states, vectors, partitioned, mapping, feed)


def check_all_changes(
    spark: SparkSession,
    tmp_path: Path,
    states: list[Rows],
    vectors: bool,
    partitioned: bool,
    mapping: str,
    feed: bool,
) -> None:
    path = str(tmp_path / "table")
    writer = (
        start(spark)
        .write.format("delta")
        .options(
            **{
                "delta.enableDeletionVectors": vectors,
                "delta.columnMapping.mode": mapping,
                "delta.enableChangeDataFeed": feed,
            }
        )
    )
    (writer.partitionBy("part") if partitioned else writer).save(path)
    for change, expected in zip(CHANGES, states[1:], strict=True):
        change(lakebed.DeltaTable.forPath(spark, path), source(spark))
        assert others(path) == expected, change.__name__
    assert rows(spark.read.format("delta").load(path)) == states[-1]
    marked = [add for add in adds_ever(path) if add.get("deletionVector")]
    assert bool(marked) == vectors
    assert {name[:4] for add in adds_ever(path) for name in add["partitionValues"]} == (
        {"part" if mapping == "none" else "col-"} if partitioned else set()
    )
    if feed:
        found = changes(spark, path)
        for version, (before, after) in enumerate(pairwise(states), start=1):
            assert found[version] == difference(before, after), version


@pytest.fixture(scope="module")
def states(spark: SparkSession) -> list[Rows]:
    """The rows at first and after each change, by plain Spark SQL."""
    source(spark).createOrReplaceTempView("source")
    found = [rows(start(spark))]
    for sql in CHANGES.values():
        spark.createDataFrame(found[-1], COLUMNS).createOrReplaceTempView("before")
        found.append(rows(spark.sql(sql)))
        assert found[-1] != found[-2], sql
    for view in ("source", "before"):
        spark.catalog.dropTempView(view)
    return found


def start(spark: SparkSession) -> DataFrame:
    return (
        spark.range(30)
        .repartitionByRange(2, "id")
        .selectExpr(
            "id",
            "concat('p', id % 3) AS part",
            "if(id = 11, NULL, concat('n', id)) AS name",
            "CAST(id AS INT) AS score",
        )
    )


def source(spark: SparkSession) -> DataFrame:
    found = [
        (number, f"p{number % 4}", f"s{number}", number // 4 % 6) for number in range(8, 60, 4)
    ]
    return spark.createDataFrame(found, COLUMNS)


def rows(frame: DataFrame) -> Rows:
    return sorted((tuple(row) for row in frame.collect()), key=str)


def others(path: str) -> Rows:
    """By delta-rs. DuckDB has no values of partition columns where columns are mapped."""
    query = QueryBuilder().register("t", deltalake.DeltaTable(path))
    found = pa.table(query.execute("SELECT id, part, name, score FROM t").read_all())
    return sorted((tuple(row.values()) for row in found.to_pylist()), key=str)


def adds_ever(path: str) -> list[dict[str, Any]]:
    """Of all commits, as the log has them."""
    files = (Path(path) / "_delta_log").glob("*.json")
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return [line["add"] for line in lines if "add" in line]


def changes(spark: SparkSession, path: str) -> dict[int, Counter[tuple[Any, ...]]]:
    """The change feed by version."""
    reader = spark.read.format("delta").option("readChangeFeed", "true")
    frame = reader.option("startingVersion", 1).load(path)
    names = ("_commit_version", "_change_type", "id", "part", "name", "score")
    found: dict[int, Counter[tuple[Any, ...]]] = defaultdict(Counter)
    for version, *change in frame.select(*names).collect():
        found[version][tuple(change)] += 1
    return found


def difference(before: Rows, after: Rows) -> Counter[tuple[Any, ...]]:
    old, new = ({row[0]: row for row in each} for each in (before, after))
    found: Counter[tuple[Any, ...]] = Counter()
    for key in old.keys() | new.keys():
        if key not in new:
            found.update([("delete", *old[key])])
        elif key not in old:
            found.update([("insert", *new[key])])
        elif old[key] != new[key]:
            found.update([("update_preimage", *old[key]), ("update_postimage", *new[key])])
    return found
