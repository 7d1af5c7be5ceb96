"""Schemas on the way in: enforced, evolved, widened, converted where nothing is lost."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

import lakebed
from lakebed.errors import SchemaError, SchemaMismatchError
from testkit.readers.other_readers import other_reader
from testkit.tables.spark_tables import load, save, settings


def test_an_error_shows_both_schemas_and_the_columns_that_differ(
    spark: SparkSession, tmp_path: Path
) -> None:
    save(spark.sql("SELECT 1 id, 'x' name"), tmp_path)
    with pytest.raises(SchemaMismatchError) as caught:
        save(spark.sql("SELECT 'one' id, 2 extra"), tmp_path)
    message = str(caught.value)
    assert "id: the table has integer, the data has string" in message
    assert "extra: the table does not have it" in message
    assert "schema of the table:" in message
    assert "schema of the data:" in message
    assert lakebed.open(tmp_path).version == 0


def test_columns_are_matched_by_name_in_any_case_and_order(
    spark: SparkSession, tmp_path: Path
) -> None:
    save(spark.sql("SELECT 1 id, 'x' name, 2.5D price"), tmp_path)
    save(spark.sql("SELECT 'y' NAME, 2 Id"), tmp_path)
    rows = other_reader(tmp_path).to_pylist()
    assert rows == [
        {"id": 1, "name": "x", "price": 2.5},
        {"id": 2, "name": "y", "price": None},
    ]


@pytest.mark.parametrize("way", ["option", "setting"])
def test_new_columns_and_nested_fields_are_added_at_the_end(
    spark: SparkSession, tmp_path: Path, way: str
) -> None:
    save(spark.sql("SELECT 1 id, named_struct('a', 1) s, array(named_struct('x', 1)) l"), tmp_path)
    grown = spark.sql(
        "SELECT 2 id, named_struct('b', 'new', 'a', 2) s, array(named_struct('y', 2, 'x', 1)) l, "
        "map('k', named_struct('z', 1)) m"
    )
    options = {"mergeSchema": "true"} if way == "option" else {}
    chosen = {} if options else {"spark.databricks.delta.schema.autoMerge.enabled": "true"}
    with settings(spark, chosen):
        save(grown, tmp_path, **options)
    save(spark.sql("SELECT 3 id, map('k', named_struct('z', 9)) m"), tmp_path)
    assert load(spark, tmp_path).schema.simpleString() == (
        "struct<id:int,s:struct<a:int,b:string>,l:array<struct<x:int,y:int>>,"
        "m:map<string,struct<z:int>>>"
    )
    rows = load(spark, tmp_path).orderBy("id").collect()
    assert rows[0].s == Row(a=1, b=None)
    assert rows[1].s == Row(a=2, b="new")
    assert rows[1].l == [Row(x=1, y=2)]
    assert rows[2].s is None
    assert rows[2].m == {"k": Row(z=9)}
    assert lakebed.open(tmp_path).to_arrow().num_rows == 3


CASTS = [
    ("bigint", "cast(7 as int)", 7),
    ("int", "cast(7 as tinyint)", 7),
    ("double", "cast(1.5 as float)", 1.5),
    ("decimal(12,2)", "cast(1.5 as decimal(3,1))", 1.5),
]


@pytest.mark.parametrize(("kind", "value", "expected"), CASTS)
def test_values_are_converted_where_nothing_is_lost(
    spark: SparkSession, tmp_path: Path, kind: str, value: str, expected: Any
) -> None:
    save(spark.sql(f"SELECT 1 id, cast(null as {kind}) v").repartition(1), tmp_path)
    save(spark.sql(f"SELECT 2 id, {value} v").repartition(1), tmp_path)
    assert load(spark, tmp_path).schema["v"].dataType.simpleString() == kind
    assert [float(v) if v is not None else v for v in other_reader(tmp_path)["v"].to_pylist()] == [
        None,
        expected,
    ]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", "cast(7 as bigint)"),
        ("int", "'7'"),
        ("string", "7"),
        ("float", "1.5D"),
        ("date", "timestamp'2026-01-01'"),
        ("boolean", "1"),
    ],
)
def test_values_that_might_lose_something_are_refused(
    spark: SparkSession, tmp_path: Path, kind: str, value: str
) -> None:
    save(spark.sql(f"SELECT 1 id, cast(null as {kind}) v"), tmp_path)
    with pytest.raises(SchemaMismatchError, match="v: the table has"):
        save(spark.sql(f"SELECT 2 id, {value} v"), tmp_path, mergeSchema="true")
    assert lakebed.open(tmp_path).version == 0


def test_a_wider_type_is_taken_over_where_the_table_allows_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    options = {"delta.enableTypeWidening": "true"}
    save(spark.sql("SELECT 1 id, named_struct('n', cast(1 as int)) s"), tmp_path, **options)
    save(spark.sql("SELECT 2L id, named_struct('n', 5000000000L) s"), tmp_path, mergeSchema="true")
    assert load(spark, tmp_path).schema.simpleString() == "struct<id:bigint,s:struct<n:bigint>>"
    rows = load(spark, tmp_path).orderBy("id").collect()
    assert [(row.id, row.s.n) for row in rows] == [(1, 1), (2, 5000000000)]
    assert lakebed.open(tmp_path).to_arrow(where="id = 2").num_rows == 1


def test_an_overwrite_keeps_the_schema_unless_told_otherwise(
    spark: SparkSession, tmp_path: Path
) -> None:
    save(spark.sql("SELECT 1 id, 'x' p"), tmp_path)
    other = spark.sql("SELECT 'a' name, 2 p")
    with pytest.raises(SchemaMismatchError):
        save(other, tmp_path, "overwrite")
    writer = other.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    writer.partitionBy("p").save(str(tmp_path))
    assert load(spark, tmp_path).schema.simpleString() == "struct<name:string,p:int>"
    assert lakebed.open(tmp_path).partition_columns == ("p",)
    assert spark.read.format("delta").load(f"{tmp_path}@v0").collect() == [Row(id=1, p="x")]


@pytest.mark.parametrize("mode", ["name", "id"])
def test_mapped_columns_are_written_under_their_physical_names_and_ids(
    spark: SparkSession, tmp_path: Path, mode: str
) -> None:
    frame = spark.sql(
        "SELECT 1 `a b`, named_struct('x;y', 1, 'deep', named_struct('z', 2)) s, "
        "array(named_struct('e', 3)) l, map('k', named_struct('v', 4)) m, 'p' p"
    )
    writer = frame.write.format("delta").option("delta.columnMapping.mode", mode)
    writer.partitionBy("p").save(str(tmp_path))
    save(frame.repartition(1), tmp_path)
    assert [row.asDict(True) for row in load(spark, tmp_path).collect()] == [
        frame.collect()[0].asDict(True)
    ] * 2
    arrow = lakebed.open(tmp_path).to_arrow().to_pylist()
    assert arrow[0] == arrow[1]
    assert arrow[0]["s"] == {"x;y": 1, "deep": {"z": 2}}
    for file in tmp_path.glob("**/*.parquet"):
        # Every field has a name of its own, and an id; parts of arrays and maps have neither.
        stored = re.findall(r"field_id=(-?\d+) (col-[^ ;]+)", str(pq.ParquetFile(file).schema))
        assert sorted(int(number) for number, _ in stored) == list(range(1, 10))


def test_new_columns_of_a_mapped_table_get_names_and_ids_of_their_own(
    spark: SparkSession, tmp_path: Path
) -> None:
    save(spark.sql("SELECT 1 id"), tmp_path, **{"delta.columnMapping.mode": "name"})
    save(spark.sql("SELECT 2 id, 'x' `new one`"), tmp_path, mergeSchema="true")
    assert {tuple(row) for row in load(spark, tmp_path).collect()} == {(1, None), (2, "x")}
    fields = lakebed.open(tmp_path).schema.fields
    assert [field.metadata["delta.columnMapping.id"] for field in fields] == [1, 2]


def test_names_that_parquet_cannot_have_need_column_mapping(
    spark: SparkSession, tmp_path: Path
) -> None:
    with pytest.raises(SchemaError):
        save(spark.sql("SELECT 1 `a b`"), tmp_path)
    assert not lakebed.is_delta_table(tmp_path)


def test_doubled_columns_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(SchemaError):
        save(spark.sql("SELECT 1 id, 2 ID"), tmp_path)
    assert not lakebed.is_delta_table(tmp_path)


def test_odd_types_come_back_as_they_were(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.sql(
        "SELECT 1 id, timestamp_ntz'2026-01-01 02:30:00' local, "
        "parse_json('{\"a\": [1, null]}') v, "
        "X'00ff' b, cast(null as void) n, map(1, array(cast('NaN' as double))) m"
    )
    save(frame, tmp_path)
    save(frame.repartition(1), tmp_path)
    features = lakebed.open(tmp_path).protocol.writer_features or ()
    assert "timestampNtz" in features
    rows = load(spark, tmp_path).selectExpr("local", "to_json(v) v", "b", "n", "m").collect()
    assert len(rows) == 2
    assert rows[0].v == '{"a":[1,null]}'
    assert (rows[0].b, rows[0].n) == (b"\x00\xff", None)
    assert str(rows[0].m) == "{1: [nan]}"
    assert rows[0].local == rows[1].local


def test_comments_and_limits_of_columns_go_with_a_new_table(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.range(1).select(F.col("id").alias("id", metadata={"comment": "the key"}))
    save(frame, tmp_path)
    assert lakebed.open(tmp_path).schema.field("id").metadata == {"comment": "the key"}
    assert load(spark, tmp_path).schema["id"].metadata == {"comment": "the key"}


def test_intervals_are_refused_by_name(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="interval"):
        save(spark.sql("SELECT INTERVAL '1' DAY AS d"), tmp_path)
