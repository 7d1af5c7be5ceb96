"""Columns of `table.toDF()` and of the source in changes: they mean what they were taken from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import array, col, expr, lit, transform, udf, when

import lakebed
from lakebed import DeltaTable
from lakebed.errors import InvalidArgumentError, SchemaError
from testkit.readers.other_readers import values_by_id
from testkit.tables.spark_tables import settings

AMBIGUOUS = r"nobody can tell which"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """ids 0 to 4, with x ten times as much."""
    folder = tmp_path / "table"
    inner = [{"id": -1, "a": number} for number in range(5)]
    rows = {"id": range(5), "x": range(0, 50, 10), "s": inner, "l": [[each] for each in inner]}
    lakebed.write(folder, pa.table({name: list(values) for name, values in rows.items()}))
    return folder


@pytest.fixture
def table(spark: SparkSession, path: Path) -> DeltaTable:
    return DeltaTable.forPath(spark, str(path))


@pytest.fixture
def source(spark: SparkSession) -> Any:
    return spark.createDataFrame(pa.table({"id": [1, 7], "x": [11, 77]}))


# --- delete and update ---------------------------------------------------------------------------


def test_columns_of_the_table_choose_the_rows_to_delete(table: DeltaTable, path: Path) -> None:
    df = table.toDF()
    table.delete(df["id"] == 3)
    table.delete(df.id.isin(1, 9) & (col("x") > 0))
    assert values_by_id(path) == {0: 0, 2: 20, 4: 40}
    table.alias("t").delete(df.x == 20)
    table.delete(table.alias("u").toDF()["u.x"] == 40)
    assert values_by_id(path) == {0: 0}
    assert table.history(1).collect()[0].operationParameters["predicate"] != "[]"


def test_columns_inside_of_all_kinds_of_expressions(table: DeltaTable, path: Path) -> None:
    df = table.toDF()
    one_more = udf(lambda value: value + 1, "long")
    table.update(df.id == 0, {"x": one_more(df.id) + df["s.a"] + df.s.a})
    table.update(df.s["a"] == 1, {"x": when(df.id == 1, df.x.cast("string")).otherwise("0")})
    table.update(df["l.a"][0] == 2, {"x": transform(array(df.x), lambda each: each + df.id)[0]})
    table.update(df.where("id > 2").id == 3, {"x": df.x.alias("other") * 2 + lit(1) + expr("id")})
    assert values_by_id(path) == {0: 1, 1: 10, 2: 22, 3: 64, 4: 40}


def test_columns_of_an_older_version_name_the_columns_of_the_table(
    table: DeltaTable, path: Path
) -> None:
    df = table.toDF()
    lakebed.write(path, pa.table({"id": [9], "x": [90]}))
    table.delete(df.id == 9)
    table.update(df.id == 4, {"x": df.x + 1})
    assert values_by_id(path) == {0: 0, 1: 10, 2: 20, 3: 30, 4: 41}


def test_a_column_that_was_renamed_is_followed_and_one_that_is_gone_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    def overwrite(**columns: Any) -> None:
        frame = spark.createDataFrame(pa.table(columns))
        writer = frame.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
        writer.option("delta.columnMapping.mode", "name").save(str(tmp_path))

    overwrite(a=[1, 2], b=[2, 1])
    table = DeltaTable.forPath(spark, str(tmp_path))
    df = table.toDF()
    overwrite(c=[1, 2], b=[2, 1])
    with pytest.raises(SchemaError, match="no column 'a' any more"):
        table.delete(df.a == 1)


def test_columns_of_other_dataframes_are_refused(
    spark: SparkSession, table: DeltaTable, source: Any, path: Path
) -> None:
    again = spark.read.format("delta").load(str(path))
    for condition in (
        again.id == 3,
        source.id == 3,
        DeltaTable.forPath(spark, str(path)).toDF().id == 3,
    ):
        with pytest.raises(InvalidArgumentError, match="another DataFrame") as caught:
            table.delete(condition)
        assert "alias" in str(caught.value.hint)
        with pytest.raises(InvalidArgumentError, match="another DataFrame"):
            table.update(None, {"x": condition})
    assert len(values_by_id(path)) == 5


# --- merge ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("plane", ["native", "workers"])
def test_a_merge_with_columns_of_both_sides(
    spark: SparkSession, table: DeltaTable, source: Any, path: Path, plane: str
) -> None:
    df = table.toDF()
    with settings(spark, {"spark.lakebed.dataPlane": plane}):
        (
            table.merge(source, df.id == source.id)
            .whenMatchedUpdate(source.x > df.x, {"x": df.x * 100 + source.x})
            .whenNotMatchedInsert(source.id > 0, {"id": source.id, "x": source.x - 1})
            .whenNotMatchedBySourceDelete(df.id == 4)
            .whenNotMatchedBySourceUpdate(df.id == 0, {"x": df.id - 5})
            .execute()
        )
    assert values_by_id(path) == {0: -5, 1: 1011, 2: 20, 3: 30, 7: 76}


def test_keys_of_bound_columns_choose_the_files(
    spark: SparkSession, path: Path, source: Any
) -> None:
    """The other file is gone: whoever reads it fails."""
    near = set(path.glob("*.parquet"))
    lakebed.write(path, pa.table({"id": [1000], "x": [0]}))
    (far,) = set(path.glob("*.parquet")) - near
    far.unlink()
    table = DeltaTable.forPath(spark, str(path))
    df = table.toDF()
    done = table.merge(source, df.id == source.id).whenMatchedDelete().execute()
    assert done.collect()[0].num_deleted_rows == 1


def test_clauses_know_only_the_sides_that_they_have(table: DeltaTable, source: Any) -> None:
    df = table.toDF()
    merge = table.merge(source, df.id == source.id)
    with pytest.raises(InvalidArgumentError, match="'x' is of the table"):
        merge.whenNotMatchedInsert(values={"id": source.id, "x": df.x}).execute()
    with pytest.raises(InvalidArgumentError, match="'x' is of the source"):
        merge.whenNotMatchedBySourceUpdate(set={"x": source.x}).execute()


def test_columns_of_a_dataframe_that_the_source_is_made_of(
    spark: SparkSession, table: DeltaTable, path: Path
) -> None:
    base = spark.createDataFrame(pa.table({"id": [1, 2], "x": [100, 200]}))
    source = base.where("id = 2").withColumn("y", lit(1))
    table.merge(source, table.toDF().id == base.id).whenMatchedUpdate(set={"x": base.x}).execute()
    assert values_by_id(path) == {0: 0, 1: 10, 2: 200, 3: 30, 4: 40}
    renamed = base.select(base.id.alias("key"), "x")
    with pytest.raises(InvalidArgumentError, match="another DataFrame"):
        table.merge(renamed, table.toDF().id == base.id).whenMatchedDelete().execute()


# --- the table as its own source -----------------------------------------------------------------


def test_a_merge_with_itself_tells_its_sides_apart(table: DeltaTable, path: Path) -> None:
    """Every row gets the value of the row before it."""
    shifted = table.toDF().selectExpr("id + 1 AS id", "x")
    df = table.toDF()
    merge = table.merge(shifted, df.id == shifted.id)
    merge.whenMatchedUpdate(set={"x": shifted.x}).execute()
    assert values_by_id(path) == {0: 0, 1: 0, 2: 10, 3: 20, 4: 30}


def test_a_source_made_of_the_very_dataframe(table: DeltaTable, path: Path) -> None:
    df = table.toDF()
    some = df.where("id < 2")
    named = table.alias("t").merge(some, (col("t.id") == some.id + 1) & (some.x < 5))
    named.whenMatchedUpdate(set={"x": some.x - 1}).execute()
    assert values_by_id(path) == {0: 0, 1: -1, 2: 20, 3: 30, 4: 40}
    for condition in (df.id == some.id, df.id == 1, some.id == df.where("id > 0").id):
        merge = table.merge(some, condition)
        with pytest.raises(InvalidArgumentError, match=AMBIGUOUS) as caught:
            merge.whenMatchedDelete().execute()
        assert "alias" in str(caught.value.hint)
    for source in (df, df.alias("s")):
        with pytest.raises(InvalidArgumentError, match=AMBIGUOUS):
            table.merge(source, df.id == source.id).whenMatchedDelete().execute()
    assert values_by_id(path) == {0: 0, 1: -1, 2: 20, 3: 30, 4: 40}


def test_a_source_of_another_version_of_itself(
    spark: SparkSession, table: DeltaTable, path: Path
) -> None:
    """As one restores rows: the old ones are the source."""
    table.update("id < 3", {"x": "-1"})
    old = spark.read.format("delta").option("versionAsOf", 0).load(str(path))
    df = table.toDF()
    merge = table.merge(old, (df.id == old.id) & (df.x != old.x))
    merge.whenMatchedUpdate(set={"x": old.x}).execute()
    assert values_by_id(path) == {0: 0, 1: 10, 2: 20, 3: 30, 4: 40}
