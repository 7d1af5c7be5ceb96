"""Which version of a table a query reads: DataFrames follow their tables, as in delta-spark."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import lakebed
from lakebed.errors import SchemaChangedError
from lakebed.settings.setting_table import PIN_DATAFRAMES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture
def path(tmp_path: Path) -> str:
    made = str(tmp_path / "table")
    lakebed.write(made, pa.table({"id": [1, 2], "k": ["a", "b"]}))
    return made


def append(path: str, *ids: int) -> None:
    lakebed.write(path, pa.table({"id": list(ids), "k": ["c"] * len(ids)}), mode="append")


def load(spark: SparkSession, path: str) -> DataFrame:
    return spark.read.format("delta").load(path)


def ids(frame: DataFrame) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


@pytest.fixture
def named(spark: SparkSession, path: str) -> Iterator[str]:
    spark.sql(f"CREATE TABLE following_table USING delta LOCATION '{path}'")
    yield "following_table"
    spark.sql("DROP TABLE following_table")


def test_a_dataframe_sees_rows_that_were_appended_after_it_was_created(
    spark: SparkSession, path: str
) -> None:
    frame = load(spark, path)
    filtered = frame.where("id > 1")
    assert (frame.count(), filtered.count()) == (2, 1)
    append(path, 3)
    assert (frame.count(), filtered.count()) == (3, 2)
    assert ids(frame) == [1, 2, 3]


def test_tables_by_name_views_and_delta_tables_follow_too(
    spark: SparkSession, path: str, named: str
) -> None:
    frames = [
        spark.table(named),
        spark.read.table(named),
        spark.sql(f"SELECT * FROM {named}"),
        spark.sql(f"SELECT * FROM delta.`{path}`"),
        lakebed.DeltaTable.forPath(spark, path).toDF(),
        lakebed.DeltaTable.forName(spark, named).toDF(),
    ]
    frames[0].createOrReplaceTempView("following_view")
    spark.sql(f"CREATE OR REPLACE TEMP VIEW following_text AS SELECT * FROM {named}")
    frames += [spark.table("following_view"), spark.table("following_text")]
    assert [frame.count() for frame in frames] == [2] * len(frames)
    append(path, 3)
    assert [frame.count() for frame in frames] == [3] * len(frames)
    assert [ids(frame) for frame in frames] == [[1, 2, 3]] * len(frames)
    spark.catalog.dropTempView("following_view")
    spark.catalog.dropTempView("following_text")


def test_a_dataframe_that_was_collected_keeps_its_rows_as_in_delta_spark(
    spark: SparkSession, path: str
) -> None:
    """The plan of one DataFrame is made once; every operation on it makes another one."""
    frame = load(spark, path)
    assert len(frame.collect()) == 2
    append(path, 3)
    assert len(frame.collect()) == 2
    assert len(frame.select("*").collect()) == 3


def test_deletes_of_all_kinds_show_in_a_dataframe_from_before(
    spark: SparkSession, path: str
) -> None:
    """With the first deletion vector the plan needs a filter that it did not have."""
    frame = load(spark, path)
    table = lakebed.DeltaTable.forPath(spark, path)
    table.setProperties({"delta.enableDeletionVectors": "true"})
    assert ids(frame) == [1, 2]
    table.delete("id = 1")
    assert lakebed.open(path).files().column("deletionVector").null_count == 0
    assert ids(frame) == [2]
    assert frame.count() == 1
    assert frame.where("k = 'a'").count() == 0
    assert [row.row_index for row in frame.select("_metadata.row_index").collect()] == [1]
    assert frame.select("id", "_metadata").first()._metadata.row_index == 1
    table.optimize().executePurge()
    assert ids(frame) == [2]
    assert [row.row_index for row in frame.select("_metadata.row_index").collect()] == [0]


def test_time_travel_stays_where_it_is(spark: SparkSession, path: str) -> None:
    frames = [
        spark.read.format("delta").option("versionAsOf", 0).load(path),
        load(spark, f"{path}@v0"),
        spark.sql(f"SELECT * FROM delta.`{path}` VERSION AS OF 0"),
    ]
    append(path, 3)
    assert [frame.count() for frame in frames] == [2, 2, 2]


def test_a_setting_pins_dataframes(spark: SparkSession, path: str) -> None:
    spark.conf.set(PIN_DATAFRAMES.name, "true")
    try:
        frame = load(spark, path)
        rows = lakebed.DeltaTable.forPath(spark, path).toDF()
    finally:
        spark.conf.unset(PIN_DATAFRAMES.name)
    append(path, 3)
    assert (frame.count(), rows.count()) == (2, 2)


def test_one_query_reads_one_version_of_each_table(
    spark: SparkSession, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows that come while Spark plans the query show in all of its scans or in none."""
    from lakebed.log.newest_version import NewestVersion

    older, newer = load(spark, path), load(spark, path)
    newer.createOrReplaceTempView("newer")
    newest = NewestVersion.snapshot
    calls = iter(range(100, 200))

    def racing(self: NewestVersion) -> object:
        found = newest(self)
        append(path, next(calls))
        return found

    monkeypatch.setattr(NewestVersion, "snapshot", racing)
    joined = older.alias("o").join(newer.alias("n"), "id", "full")
    both = joined.where("o.id IS NULL OR n.id IS NULL")
    assert both.count() == 0
    older.createOrReplaceTempView("older")
    missing = "SELECT * FROM newer WHERE id NOT IN (SELECT id FROM older)"
    assert spark.sql(missing).collect() == []
    counts = "SELECT count(*) AS a, (SELECT count(*) FROM older) AS b FROM newer"
    assert len(set(spark.sql(counts).first())) == 1
    for view in ("older", "newer"):
        spark.catalog.dropTempView(view)


def test_new_columns_do_not_show_and_files_that_have_them_are_read(
    spark: SparkSession, path: str
) -> None:
    frame = load(spark, path)
    more = pa.table({"id": [3], "k": ["c"], "new": [1.5]})
    lakebed.write(path, more, mode="append", merge_schema=True)
    assert frame.columns == ["id", "k"]
    assert ids(frame) == [1, 2, 3]
    assert [tuple(row) for row in frame.where("id = 3").collect()] == [(3, "c")]


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE delta.`{path}` RENAME COLUMN k TO letter",
        "ALTER TABLE delta.`{path}` DROP COLUMN k",
        "CREATE OR REPLACE TABLE delta.`{path}` (id LONG, k INT) USING delta",
        "CREATE OR REPLACE TABLE delta.`{path}` (id LONG, k STRING) USING delta PARTITIONED BY (k)",
    ],
)
def test_a_schema_that_changed_is_an_error_that_says_what_to_do(
    spark: SparkSession, path: str, change: str
) -> None:
    table = lakebed.DeltaTable.forPath(spark, path)
    table.setProperties({"delta.columnMapping.mode": "name"})
    frame = load(spark, path)
    assert frame.count() == 2
    spark.sql(change.format(path=path))
    with pytest.raises(SchemaChangedError, match="read the table again"):
        frame.select("*").collect()
    load(spark, path).collect()


def test_column_mapping_may_begin_after_the_dataframe_was_created(
    spark: SparkSession, path: str
) -> None:
    frame = load(spark, path)
    lakebed.DeltaTable.forPath(spark, path).setProperties({"delta.columnMapping.mode": "name"})
    append(path, 3)
    assert ids(frame) == [1, 2, 3]
    assert frame.where("k = 'c'").count() == 1


def test_a_table_that_was_deleted_and_created_again_is_the_new_one(
    spark: SparkSession, path: str
) -> None:
    frame = load(spark, path)
    assert frame.count() == 2
    shutil.rmtree(path)
    for number in (7, 8, 9):
        append(path, number)
    assert ids(frame) == [7, 8, 9]


def test_cached_rows_are_refreshed_by_writes_of_the_session_alone(
    spark: SparkSession, path: str
) -> None:
    frame = load(spark, path).cache()
    try:
        assert frame.count() == 2
        append(path, 3)  # by another program, as far as Spark knows
        assert frame.count() == 2
        assert load(spark, path).count() == 2
        frame.limit(1).selectExpr("id + 10 AS id", "k").write.format("delta").mode("append").save(
            path
        )
        assert ids(frame) == [1, 2, 3, 11]
        lakebed.DeltaTable.forPath(spark, path).delete("id = 2")
        assert ids(frame) == [1, 3, 11]
    finally:
        frame.unpersist()
    assert ids(load(spark, path)) == [1, 3, 11]


def test_sessions_that_spark_derives_read_deletion_vectors(spark: SparkSession, path: str) -> None:
    """Breaks: `SparkSessionExtensions` is not shared, and scans have no version."""
    table = lakebed.DeltaTable.forPath(spark, path)
    table.setProperties({"delta.enableDeletionVectors": "true"})
    table.delete("id = 1")
    derived = lakebed.enable(spark.newSession())
    assert ids(load(derived, path)) == [2]


def test_the_rule_is_installed_once(spark: SparkSession, path: str) -> None:
    for _ in range(2):
        load(lakebed.enable(spark.newSession()), path)
    java = spark._jsparkSession
    rules = java.extensions().buildOptimizerRules(java)
    names = [str(rules.apply(i).ruleName()) for i in range(rules.length())]
    assert names.count("lakebed.scans.DeltaScans") == 1


def test_a_query_without_the_rule_fails_and_does_not_show_deleted_rows(
    spark: SparkSession, path: str
) -> None:
    spark.conf.set("spark.sql.optimizer.excludedRules", "lakebed.scans.DeltaScans")
    try:
        with pytest.raises(Exception, match="was not given a version"):
            load(spark, path).select("id").collect()
    finally:
        spark.conf.unset("spark.sql.optimizer.excludedRules")
