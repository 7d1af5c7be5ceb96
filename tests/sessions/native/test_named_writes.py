"""`saveAsTable`, `insertInto`, `writeTo` and `spark.catalog`: writes of DataFrames to names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, ArithmeticException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.functions import partitioning

import lakebed
from lakebed import DeltaTable
from lakebed.errors import (
    InvalidArgumentError,
    SchemaMismatchError,
    TableExistsError,
)
from lakebed.settings.setting_table import CASTS_BY_NAME


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("written")


@pytest.fixture(scope="module")
def sql(spark: SparkSession, folder: Path) -> Iterator[SparkSession]:
    spark.sql(f"CREATE DATABASE written_db LOCATION '{folder}/db'")
    spark.sql("USE written_db")
    yield spark
    spark.sql("USE default")
    spark.sql("DROP DATABASE written_db CASCADE")


def one(sql: SparkSession, a: int, b: str = "x") -> DataFrame:
    return sql.createDataFrame([(a, b)], "a INT, b STRING")


def rows(sql: SparkSession, name: str) -> list[tuple[object, ...]]:
    return sorted(map(tuple, sql.table(name).collect()))


def test_save_as_table_has_all_modes(sql: SparkSession, folder: Path) -> None:
    write = lambda a: one(sql, a).write.format("delta")  # noqa: E731
    write(1).saveAsTable("saved")
    assert lakebed.open(str(folder / "db" / "saved")).version == 0
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        write(2).saveAsTable("saved")
    write(2).mode("ignore").saveAsTable("written_db.saved")
    write(2).mode("append").saveAsTable("saved")
    # Columns go by name, and the format of a table that is there need not be said.
    one(sql, 3).select("b", "a").write.saveAsTable("saved", mode="append")
    assert rows(sql, "saved") == [(1, "x"), (2, "x"), (3, "x")]
    with pytest.raises(SchemaMismatchError):
        sql.range(1).write.format("delta").mode("overwrite").saveAsTable("saved")
    write(4).mode("overwrite").saveAsTable("saved")
    assert rows(sql, "saved") == [(4, "x")]
    sql.range(1).write.format("delta").mode("overwrite").option(
        "overwriteSchema", "true"
    ).saveAsTable("saved")
    assert sql.table("saved").columns == ["id"]
    sql.sql("DROP TABLE saved")
    assert not (folder / "db" / "saved").exists()


def test_save_as_table_with_a_path_makes_an_external_table(sql: SparkSession, folder: Path) -> None:
    path = folder / "out'side"
    write = one(sql, 1).write.format("delta").partitionBy("b").option("path", str(path))
    write.saveAsTable("outside")
    assert lakebed.open(str(path)).partition_columns == ("b",)
    with pytest.raises(InvalidArgumentError, match="is at"):
        one(sql, 2).write.format("delta").mode("append").option(
            "path", str(folder / "else")
        ).saveAsTable("outside")
    sql.sql("DROP TABLE outside")
    assert lakebed.open(str(path)).to_arrow().num_rows == 1


def test_save_as_table_leaves_others_to_spark(sql: SparkSession) -> None:
    one(sql, 1).write.format("parquet").saveAsTable("of_spark")
    with pytest.raises(AnalysisException, match="of_spark"):
        one(sql, 1).write.format("delta").mode("append").saveAsTable("of_spark")
    with pytest.raises(TableExistsError, match="not a Delta table"):
        one(sql, 1).write.format("delta").mode("overwrite").saveAsTable("of_spark")
    one(sql, 1).write.format("parquet").mode("overwrite").saveAsTable("of_spark")
    one(sql, 2).write.mode("append").insertInto("of_spark")
    assert len(rows(sql, "of_spark")) == 2
    sql.sql("DROP TABLE of_spark")
    with pytest.raises(Exception, match="broken"):
        sql.range(1).select(f.raise_error(f.lit("broken")).cast("int").alias("x")).write.format(
            "delta"
        ).saveAsTable("failing")
    assert not sql.catalog.tableExists("failing")


def test_insert_into_goes_by_position(sql: SparkSession) -> None:
    one(sql, 1, "p").write.format("delta").partitionBy("b").saveAsTable("placed")
    sql.createDataFrame([(2, "q")], "b INT, a STRING").write.insertInto("placed")
    assert rows(sql, "placed") == [(1, "p"), (2, "q")]
    with pytest.raises(SchemaMismatchError, match="values are needed for 2: a, b"):
        sql.range(1).write.insertInto("placed")
    with pytest.raises(AnalysisException, match="partitionBy"):
        one(sql, 1).write.partitionBy("b").insertInto("placed")
    sql.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    one(sql, 3, "q").write.insertInto("placed", overwrite=True)
    sql.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert rows(sql, "placed") == [(1, "p"), (3, "q")]
    one(sql, 4, "r").write.mode("overwrite").insertInto("placed")
    assert rows(sql, "placed") == [(4, "r")]
    sql.sql("DROP TABLE placed")


def test_write_to_makes_and_changes_tables(sql: SparkSession, folder: Path) -> None:
    to = one(sql, 1, "p").writeTo("v2").using("delta").partitionedBy(f.col("b"))
    to.tableProperty("mine", "1").create()
    table = lakebed.open(str(folder / "db" / "v2"))
    assert (table.partition_columns, table.properties) == (("b",), {"mine": "1"})
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        to.create()
    one(sql, 2, "q").select("b", "a").writeTo("v2").append()
    one(sql, 3, "q").writeTo("v2").overwritePartitions()
    assert rows(sql, "v2") == [(1, "p"), (3, "q")]
    one(sql, 4, "p").writeTo("v2").overwrite(f.col("b") == "p")
    assert rows(sql, "v2") == [(3, "q"), (4, "p")]
    one(sql, 5).writeTo("v2").overwrite(f.lit(True))
    assert rows(sql, "v2") == [(5, "x")]
    sql.range(1).writeTo("v2").using("delta").replace()
    sql.range(2).writeTo("v2").using("delta").createOrReplace()
    assert rows(sql, "v2") == [(0,), (1,)]
    with pytest.raises(InvalidArgumentError, match="partitioned by"):
        sql.range(1).writeTo("v3").using("delta").partitionedBy(partitioning.years("id")).create()
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        sql.range(1).writeTo("v3").using("delta").replace()
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        sql.range(1).writeTo("v3").using("delta").append()
    one(sql, 1).writeTo("v4").using("parquet").create()
    assert rows(sql, "v4") == [(1, "x")]
    sql.sql("DROP TABLE v2")
    sql.sql("DROP TABLE v4")


def test_the_catalog_of_spark_knows_the_tables(sql: SparkSession, folder: Path) -> None:
    sql.sql("CREATE TABLE listed (a INT COMMENT 'n', b STRING) USING delta PARTITIONED BY (b)")
    # Views of other tests are listed with the tables of every database.
    assert [each.name for each in sql.catalog.listTables() if not each.isTemporary] == ["listed"]
    assert sql.catalog.tableExists("listed")
    assert sql.catalog.tableExists("written_db.listed")
    columns = [(c.name, c.dataType) for c in sql.catalog.listColumns("listed")]
    assert columns == [("a", "int"), ("b", "string")]
    sql.catalog.refreshTable("listed")
    shown = sql.sql("SHOW TABLES").where("NOT isTemporary").collect()
    assert [row.tableName for row in shown] == ["listed"]
    one(sql, 1).write.format("delta").save(str(folder / "made"))
    frame = sql.catalog.createTable("made", path=str(folder / "made"), source="delta")
    assert [tuple(row) for row in frame.collect()] == [(1, "x")]
    assert rows(sql, "made") == [(1, "x")]
    sql.catalog.createTable("empty", source="delta", schema=one(sql, 1).schema, description="d")
    one(sql, 7).write.insertInto("empty")
    assert rows(sql, "empty") == [(7, "x")]
    assert DeltaTable.forName(sql, "empty").detail().collect()[0]["description"] == "d"
    for name in ("listed", "made", "empty"):
        sql.sql(f"DROP TABLE {name}")


WAYS = {
    "saveAsTable": lambda frame: frame.write.format("delta").mode("append").saveAsTable("narrow"),
    "insertInto": lambda frame: frame.write.insertInto("narrow"),
    "append": lambda frame: frame.writeTo("narrow").append(),
    "overwritePartitions": lambda frame: frame.writeTo("narrow").overwritePartitions(),
}


@pytest.mark.parametrize("way", WAYS)
def test_longs_of_python_become_the_ints_of_the_table(sql: SparkSession, way: str) -> None:
    sql.sql("CREATE OR REPLACE TABLE narrow (id INT, s STRUCT<a: SMALLINT, b: STRING>) USING delta")
    frame = sql.createDataFrame([(7, (3, "x"))], "id LONG, s STRUCT<a: LONG, b: STRING>")
    WAYS[way](frame)
    assert sql.table("narrow").dtypes == [("id", "int"), ("s", "struct<a:smallint,b:string>")]
    assert rows(sql, "narrow") == [(7, (3, "x"))]
    too_large = sql.createDataFrame([(2**40, (3, "x"))], frame.schema)
    with pytest.raises(ArithmeticException):
        WAYS[way](too_large)
    assert rows(sql, "narrow") == [(7, (3, "x"))]


@pytest.mark.parametrize("way", ["saveAsTable", "append", "overwritePartitions"])
def test_casts_by_name_can_be_turned_off_and_follow_the_store_assignment(
    sql: SparkSession, way: str
) -> None:
    sql.sql("CREATE OR REPLACE TABLE narrow (id INT) USING delta")
    frame = sql.range(1)
    with pytest.raises(SchemaMismatchError), settings(sql, {CASTS_BY_NAME.name: "false"}):
        WAYS[way](frame)
    with (
        pytest.raises(SchemaMismatchError, match="STRICT"),
        settings(sql, {"spark.sql.storeAssignmentPolicy": "STRICT"}),
    ):
        WAYS[way](frame)
    with settings(sql, {"spark.sql.storeAssignmentPolicy": "LEGACY"}):
        WAYS[way](sql.createDataFrame([(2**32 + 5,)], "id LONG"))
    assert rows(sql, "narrow") == [(5,)]


def test_a_save_to_a_path_and_a_new_schema_are_not_cast(sql: SparkSession, tmp_path: Path) -> None:
    sql.sql("CREATE OR REPLACE TABLE narrow (id INT) USING delta")
    wide = sql.range(1).write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    wide.saveAsTable("narrow")
    assert sql.table("narrow").dtypes == [("id", "bigint")]
    sql.sql(f"CREATE TABLE delta.`{tmp_path}/p` (id INT) USING delta")
    with pytest.raises(SchemaMismatchError):
        sql.range(1).write.format("delta").mode("append").save(str(tmp_path / "p"))


@contextmanager
def settings(spark: SparkSession, given: dict[str, str]) -> Iterator[None]:
    for name, value in given.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in given:
            spark.conf.unset(name)
