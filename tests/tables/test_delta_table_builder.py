"""`DeltaTable.create` and its like, and changes of tables through `DeltaTable`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

import lakebed
from lakebed.errors import (
    ConstraintViolationError,
    InvalidArgumentError,
    LakebedError,
    SchemaError,
    TableExistsError,
    TableNotFoundError,
)
from lakebed.spec.features import supported_features
from lakebed.tables import DeltaTable, IdentityGenerator
from testkit.tables.spark_tables import settings


def test_a_table_is_built_and_works(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    builder = (
        DeltaTable.create(spark)
        .location(path)
        .comment("orders")
        .addColumn("id", "BIGINT", generatedAlwaysAs=IdentityGenerator(start=10, step=5))
        .addColumn("key", LongType(), generatedByDefaultAs=IdentityGenerator())
        .addColumn("at", "timestamp", nullable=False, comment="when")
        .addColumn("day", "date", generatedAlwaysAs="CAST(at AS DATE)")
        .addColumn("tags", "struct<a: int COMMENT 'first', b: array<string>>")
        .addColumns(
            StructType([StructField("name", StringType()), StructField("n", IntegerType())])
        )
        .partitionedBy("day")
        .property("delta.enableChangeDataFeed", "true")
    )
    with settings(spark, {"spark.databricks.delta.properties.defaults.appendOnly": "true"}):
        table = builder.execute()
    assert isinstance(table, DeltaTable)
    found = deltalake.DeltaTable(path)
    assert found.metadata().partition_columns == ["day"]
    assert found.metadata().description == "orders"
    assert found.metadata().configuration == {
        "delta.enableChangeDataFeed": "true",
        "delta.appendOnly": "true",
    }
    assert {field.name: field.nullable for field in found.schema().fields}["at"] is False
    rows = spark.sql("SELECT TIMESTAMP '2026-01-31 10:00:00' AS at, 'x' AS name")
    rows.write.format("delta").mode("append").save(path)
    row = table.toDF().collect()[0]
    assert (row["id"], row["key"], str(row["day"]), row["name"]) == (10, 1, "2026-01-31", "x")
    created = table.history().collect()[-1]
    assert created["operation"] == "CREATE TABLE"
    assert json.loads(created["operationParameters"]["partitionBy"]) == ["day"]


def test_modes_go_by_what_is_there(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")

    def built(builder: Any) -> Any:
        return builder.tableName(f"delta.`{path}`").addColumn("a", "int").addColumn("b", "int")

    with pytest.raises(TableNotFoundError):
        built(DeltaTable.replace(spark)).execute()
    built(DeltaTable.createIfNotExists()).clusterBy("a", "b").execute()
    assert lakebed.open(path).clustering_columns == ("a", "b")
    lakebed.write(path, pa.table({"a": pa.array([1], "int32")}))
    with pytest.raises(TableExistsError):
        built(DeltaTable.create(spark)).execute()
    assert built(DeltaTable.createIfNotExists(spark)).execute().toDF().count() == 1
    assert built(DeltaTable.replace(spark)).clusterBy(["b"]).execute().toDF().count() == 0
    assert built(DeltaTable.createOrReplace(spark)).execute().toDF().columns == ["a", "b"]
    operations = [row["operation"] for row in DeltaTable.forPath(spark, path).history().collect()]
    assert operations == ["CREATE OR REPLACE TABLE", "REPLACE TABLE", "WRITE", "CREATE TABLE"]


def test_what_cannot_be_built_is_refused_before_anything_is_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path / "t")
    builder = DeltaTable.create(spark)
    wrong: list[tuple[Any, type[LakebedError]]] = [
        (lambda: builder.tableName("a b"), InvalidArgumentError),
        (lambda: builder.location(3), InvalidArgumentError),
        (lambda: builder.comment(None), InvalidArgumentError),
        (lambda: builder.addColumn(1, "int"), InvalidArgumentError),
        (lambda: builder.addColumn("a", 1), InvalidArgumentError),
        (lambda: builder.addColumn("a", "int", nullable="no"), InvalidArgumentError),
        (lambda: builder.addColumn("a", "int", generatedAlwaysAs=3), InvalidArgumentError),
        (lambda: builder.addColumn("a", "int", True, IdentityGenerator()), SchemaError),
        (lambda: builder.addColumn("a", "long", True, IdentityGenerator(1, 0)), LakebedError),
        (lambda: builder.addColumn("a", "long", True, "b", IdentityGenerator()), LakebedError),
        (lambda: builder.addColumns("a int"), InvalidArgumentError),
        (lambda: builder.partitionedBy(3), InvalidArgumentError),
        (lambda: builder.clusterBy(), InvalidArgumentError),
        (lambda: builder.property("a", 1), InvalidArgumentError),
        (lambda: builder.execute(), InvalidArgumentError),
        (lambda: DeltaTable.create("spark"), InvalidArgumentError),  # type: ignore[arg-type]
    ]
    for call, error in wrong:
        with pytest.raises(error):
            call()
    for sql in ("nope + 1", "CAST(a AS STRING)", "rand()", "g2", "a +"):
        made = DeltaTable.create(spark).location(path).addColumn("a", "bigint")
        made = made.addColumn("g", "bigint", generatedAlwaysAs=sql)
        made = made.addColumn("g2", "bigint", generatedAlwaysAs="a")
        with pytest.raises(SchemaError, match="generated column"):
            made.execute()
    assert not Path(path).exists()


def test_features_come_and_go(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    spark.range(3).write.format("delta").save(path)
    table = DeltaTable.forPath(spark, path)
    table.upgradeTableProtocol(2, 5)
    table.addFeatureSupport("deletionVectors")
    table.dropFeatureSupport("deletionVectors")
    table.dropFeatureSupport("checkConstraints")
    features = supported_features(lakebed.open(path).protocol)
    assert "columnMapping" in features
    assert not features & {"deletionVectors", "checkConstraints"}
    with pytest.raises(InvalidArgumentError):
        table.dropFeatureSupport("deletionVectors", True)
    assert table.toDF().count() == 3


def test_constraints_that_only_spark_understands_are_checked_by_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path / "t")
    spark.range(3).selectExpr("id", "array(id) AS many").write.format("delta").save(path)
    table = DeltaTable.forPath(spark, path)
    with pytest.raises(ConstraintViolationError, match="1 row"):
        table.addConstraint("some", "exists(many, x -> x > 0)")
    with pytest.raises(InvalidArgumentError):
        table.addConstraint("none", "no_such_function(id)")
    with settings(spark, {"spark.databricks.delta.commitInfo.userMetadata": "checked"}):
        table.addConstraint("some", "exists(many, x -> x >= 0)")
    assert table.history(1).collect()[0]["userMetadata"] == "checked"
    with pytest.raises(LakebedError):
        spark.sql("SELECT 1L AS id, array(-1L) AS many").write.format("delta").mode("append").save(
            path
        )
    table.dropConstraint("SOME")
    table.dropConstraint("some", ifExists=True)
    assert lakebed.open(path).properties == {}


def test_spark_reads_and_writes_tables_that_changed(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    spark.sql("SELECT 1 AS id, named_struct('x', 1, 'y', 'a') AS s, array(1) AS l").write.format(
        "delta"
    ).save(path)
    table = DeltaTable.forPath(spark, path)
    table.setProperties({"delta.columnMapping.mode": "name", "delta.enableTypeWidening": "true"})
    table.setProperties({"own": "1"})
    table.unsetProperties("own")
    table.unsetProperties("own", ifExists=True)
    table.setComment("changed")
    table.addColumns({"s.z": "double", "code": "varchar(3)"})
    table.renameColumn("s.y", "why")
    table.alterColumn("id", type=LongType(), after="s", comment="key")
    table.renameColumn("l", "list")
    table.alterColumn("list.element", type="bigint")
    table.dropColumns("s.x")
    table.addConstraint("positive", "id > 0")
    table.clusterBy("id")
    changed = lakebed.open(path)
    assert (changed.description, changed.clustering_columns) == ("changed", ("id",))
    assert "own" not in changed.properties
    new = spark.sql(
        "SELECT 4000000000L AS id, named_struct('why', 'b', 'z', 0.5D) AS s, array(5000000000L) AS "
        "list, 'abc' AS code"
    )
    new.write.format("delta").mode("append").save(path)
    rows = DeltaTable.forPath(spark, path).toDF().orderBy("id")
    assert rows.columns == ["s", "id", "list", "code"]
    assert [row.asDict(recursive=True) for row in rows.collect()] == [
        {"s": {"why": "a", "z": None}, "id": 1, "list": [1], "code": None},
        {"s": {"why": "b", "z": 0.5}, "id": 4000000000, "list": [5000000000], "code": "abc"},
    ]
    for wrong in ("0L AS id", "1L AS id, 'abcd' AS code"):
        with pytest.raises(LakebedError):
            spark.sql(f"SELECT {wrong}").write.format("delta").mode("append").save(path)
    for feature in ("typeWidening", "columnMapping"):
        DeltaTable.forPath(spark, path).dropFeatureSupport(feature)
    assert lakebed.open(path).protocol.min_reader_version == 1
    assert DeltaTable.forPath(spark, path).toDF().orderBy("id").collect() == rows.collect()
