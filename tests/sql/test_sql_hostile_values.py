"""Values of parameters, of Columns and of methods stay values, whatever their characters."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable as Independent
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import lakebed
from lakebed import DeltaTable
from testkit import hostile_values
from testkit.hostile_values import STATEMENTS, VALUE

pytestmark = pytest.mark.usefixtures("interpreted")
HOME = "${env:HOME}"


@pytest.mark.parametrize("name", STATEMENTS)
def test_parameters_of_statements_stay_values(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    hostile_values.run(spark, str(tmp_path / "t"), name)


@pytest.fixture
def path(tmp_path: Path) -> str:
    """A row with the text of a variable, and one with the value that Spark has for it."""
    found = str(tmp_path / "t")
    lakebed.write(found, pa.table({"id": [1, 2], "s": [HOME, os.environ["HOME"]]}))
    return found


def rows(path: str) -> set[tuple[int, str]]:
    found = Independent(path).to_pyarrow_table().to_pylist()
    return {(row["id"], row["s"]) for row in found}


def test_texts_given_to_methods_mean_what_they_say(spark: SparkSession, path: str) -> None:
    table = DeltaTable.forPath(spark, path)
    source = spark.createDataFrame([(1,)], "id long")
    merge = table.alias("t").merge(source.alias("u"), f"t.id = u.id AND t.s = '{HOME}'")
    merge.whenMatchedUpdate(f"t.s = '{HOME}'", {"id": "3"}).execute()
    assert rows(path) == {(3, HOME), (2, os.environ["HOME"])}
    table.update(f"s = '{HOME}'", {"s": f"concat('{HOME}', '')", "id": "4"})
    assert rows(path) == {(4, HOME), (2, os.environ["HOME"])}
    table.delete(f"s = '{HOME}'")
    assert rows(path) == {(2, os.environ["HOME"])}


def test_columns_with_values_replace_the_rows_that_have_them(
    spark: SparkSession, path: str
) -> None:
    value = VALUE
    lakebed.write(path, pa.table({"id": [8], "s": [value]}))
    frame = spark.createDataFrame([(9, value)], "id long, s string")
    frame.writeTo(f"delta.`{path}`").overwrite(F.col("s") == F.lit(value))
    assert {row for row in rows(path) if row[1] == value} == {(9, value)}
    assert (2, os.environ["HOME"]) in rows(path)
    DeltaTable.forPath(spark, path).delete(F.col("s") == value)
    assert value not in {row[1] for row in rows(path)}


def test_replace_where_means_what_it_says(spark: SparkSession, path: str) -> None:
    frame = spark.createDataFrame([(9, HOME)], "id long, s string")
    writer = frame.write.format("delta").mode("overwrite")
    writer.option("replaceWhere", f"s = '{HOME}'").save(path)
    assert rows(path) == {(9, HOME), (2, os.environ["HOME"])}


def test_values_in_metadata_stay_values(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    table = f"delta.`{path}`"
    defaults = "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported', 'own' = :v)"
    spark.sql(
        f"CREATE TABLE {table} (id BIGINT, s STRING DEFAULT :v) USING delta {defaults}",
        args={"v": HOME},
    )
    spark.sql(f"ALTER TABLE {table} ADD CONSTRAINT c CHECK (s = :v OR id > 0)", args={"v": HOME})
    assert lakebed.open(path).properties["own"] == HOME
    spark.sql(f"INSERT INTO {table} (id) SELECT 0 FROM range(1)")
    spark.range(1, 2).write.format("delta").mode("append").save(path)
    spark.sql(
        f"MERGE INTO {table} t USING (SELECT 2 AS id) u ON t.id = u.id "
        "WHEN NOT MATCHED THEN INSERT (id, s) VALUES (u.id, DEFAULT)"
    )
    assert rows(path) == {(0, HOME), (1, HOME), (2, HOME)}
    spark.sql(f"UPDATE {table} SET s = 'x', id = 7 WHERE id = 1")
    spark.sql(f"UPDATE {table} SET s = DEFAULT WHERE id = 7")
    assert rows(path) == {(0, HOME), (7, HOME), (2, HOME)}


def test_a_default_with_a_variable_is_the_value_that_was_given(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path / "t")
    table = f"delta.`{path}`"
    defaults = "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"
    spark.sql(
        f"CREATE TABLE {table} (id BIGINT, s STRING DEFAULT :v) USING delta {defaults}",
        args={"v": HOME},
    )
    spark.sql(f"INSERT INTO {table} VALUES (1, DEFAULT), (2, 'x')")
    spark.sql(f"INSERT INTO {table} VALUES (3, DEFAULT)")
    assert rows(path) == {(1, HOME), (2, "x"), (3, HOME)}
