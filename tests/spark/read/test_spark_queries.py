"""Whole queries over Delta tables: joins, pruning, views, caches, threads and streams."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import lakebed
from testkit.readers.scan_facts import assert_native, chosen, load, plan

DAYS = 50


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """50 partitions of one file each."""
    path = tmp_path_factory.mktemp("facts") / "table"
    data = pa.table({"day": [n % DAYS for n in range(200)], "n": list(range(200))})
    lakebed.write(path, data, partition_by="day")
    return path


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("days") / "table"
    names = [f"d{n}" for n in range(DAYS)]
    lakebed.write(path, pa.table({"day": list(range(DAYS)), "name": names}))
    return path


@pytest.fixture(params=["true", "false"], ids=["adaptive", "not-adaptive"])
def adaptive(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[None]:
    spark.conf.set("spark.sql.adaptive.enabled", request.param)
    yield
    spark.conf.unset("spark.sql.adaptive.enabled")


def files_read(frame: DataFrame) -> list[int]:
    """How many files each scan of a query read when it ran, by Spark's own metrics."""
    node = frame._jdf.queryExecution().executedPlan()
    return _files_read(node)


def _files_read(node: Any) -> list[int]:
    name = node.getClass().getSimpleName()
    if name == "AdaptiveSparkPlanExec":
        return _files_read(node.executedPlan())
    if name.endswith("QueryStageExec"):
        return _files_read(node.plan())
    found = [node.metrics().apply("numFiles").value()] if name == "FileSourceScanExec" else []
    children = node.children()
    for place in range(children.length()):
        found += _files_read(children.apply(place))
    return found


@pytest.mark.usefixtures("adaptive")
def test_a_join_reads_only_the_partitions_that_the_other_side_has(
    spark: SparkSession, facts: Path, days: Path
) -> None:
    wanted = load(spark, days).where("name IN ('d3', 'd7')")
    joined = load(spark, facts).join(F.broadcast(wanted), "day")
    found = joined.toArrow()
    assert sorted(found["n"].to_pylist()) == [n for n in range(200) if n % DAYS in (3, 7)]
    assert max(files_read(joined)) == 2


@pytest.mark.usefixtures("adaptive")
def test_pruning_while_running_and_filters_on_partitions_go_together(
    spark: SparkSession, facts: Path, days: Path
) -> None:
    wanted = load(spark, days).where("name LIKE 'd1%'")
    joined = load(spark, facts).where("day % 2 = 0 AND n > 100").join(F.broadcast(wanted), "day")
    expected = [n for n in range(101, 200) if n % DAYS in (10, 12, 14, 16, 18)]
    assert sorted(row.n for row in joined.collect()) == expected
    assert max(files_read(joined)) == 5


@pytest.mark.usefixtures("adaptive")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT count(*) FROM f WHERE n > (SELECT max(day) FROM d)", 150),
        ("SELECT count(*) FROM f WHERE day = (SELECT max(day) FROM d)", 4),
        ("SELECT count(*) FROM f WHERE day IN (SELECT day FROM d WHERE name = 'd5')", 4),
        ("SELECT count(*) FROM f WHERE NOT EXISTS (SELECT 1 FROM d WHERE d.day = f.n)", 150),
        ("SELECT count(*) FROM f a JOIN f b ON a.n = b.n + 1 WHERE b.day < 2", 8),
        ("WITH x AS (SELECT day, sum(n) s FROM f GROUP BY day) SELECT max(s) FROM x", 496),
        ("SELECT sum(n) FROM (SELECT * FROM f WHERE day = 1 UNION ALL SELECT * FROM f)", 20204),
        ("SELECT count(*) FROM (SELECT n FROM f ORDER BY n LIMIT 7)", 7),
    ],
)
def test_queries_with_subqueries_and_joins_give_the_right_number(
    spark: SparkSession, facts: Path, days: Path, query: str, expected: int
) -> None:
    load(spark, facts).createOrReplaceTempView("f")
    load(spark, days).createOrReplaceTempView("d")
    assert spark.sql(query).collect()[0][0] == expected


def test_a_scalar_subquery_on_a_partition_column_reads_one_partition(
    spark: SparkSession, facts: Path, days: Path
) -> None:
    load(spark, facts).createOrReplaceTempView("f")
    load(spark, days).createOrReplaceTempView("d")
    query = "SELECT n FROM f WHERE day = (SELECT max(day) FROM d WHERE name < 'd5')"
    assert sorted(row.n for row in spark.sql(query).collect()) == [49, 99, 149, 199]


def test_what_is_cached_is_used_by_other_reads_of_the_version(
    spark: SparkSession, facts: Path
) -> None:
    cached = load(spark, facts).where("day < 10").cache()
    try:
        assert cached.count() == 40
        again = load(spark, facts).where("day < 10")
        assert "InMemoryTableScan" in plan(again)
        assert again.count() == 40
        assert load(spark, facts).where("day < 9").count() == 36
    finally:
        cached.unpersist()


def test_two_scans_of_one_version_share_their_exchange(spark: SparkSession, facts: Path) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        sums = [load(spark, facts).groupBy("day").agg(F.sum("n").alias("s")) for _ in range(2)]
        both = sums[0].unionAll(sums[1])
        assert "ReusedExchange" in plan(both)
        assert both.count() == 2 * DAYS
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")


def test_eight_threads_read_at_once(spark: SparkSession, facts: Path) -> None:
    shared = load(spark, facts)

    def count(number: int) -> int:
        own = load(spark, facts).where(f"day = {number}").count()
        return own + shared.where(shared.n.isin(list(range(number, number + 12)))).count()

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(count, range(16))) == [4 + 12] * 16


def test_a_stream_reads_the_newest_version_in_every_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    table, source = tmp_path / "table", tmp_path / "source"
    lakebed.write(table, pa.table({"n": [1, 2]}))
    spark.range(3).write.parquet(str(source))
    counts: list[int] = []

    def handle(batch: DataFrame, _: int) -> None:
        known = batch.sparkSession.read.format("delta").load(str(table))
        counts.append(batch.join(known, batch.id == known.n).count())
        lakebed.write(table, pa.table({"n": [0]}))

    reader = spark.readStream.schema("id LONG").option("maxFilesPerTrigger", 1)
    query = (
        reader.parquet(str(source))
        .writeStream.foreachBatch(handle)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    try:
        assert query.awaitTermination(120)
        assert query.exception() is None
    finally:
        query.stop()
    assert sum(counts) >= 2
    assert lakebed.open(table).version == len(counts)


def test_the_plan_is_native_and_names_the_table(spark: SparkSession, facts: Path) -> None:
    frame = load(spark, facts).where("n > 5").select("n")
    assert_native(frame)
    assert f"{facts}]" in plan(frame)
    (only,) = chosen(frame)
    assert only.total == DAYS


def test_input_files_are_those_of_the_version(spark: SparkSession, facts: Path) -> None:
    paths = [path.removeprefix("file://") for path in load(spark, facts).inputFiles()]
    wanted = lakebed.open(facts).files().column("path").to_pylist()
    assert sorted(paths) == sorted(f"{facts}/{file}" for file in wanted)


def test_sampling_sorting_and_windows_work_as_on_any_relation(
    spark: SparkSession, days: Path
) -> None:
    frame = load(spark, days)
    assert frame.orderBy(F.desc("day")).first().name == "d49"
    assert frame.selectExpr("day", "rank() OVER (ORDER BY day DESC) r").where("r = 1").count() == 1
    assert frame.sample(1.0).count() == DAYS
    assert frame.repartition(3).count() == DAYS
    assert frame.rdd.getNumPartitions() >= 1
