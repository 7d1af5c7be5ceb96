"""What a table asks of its rows, checked by Spark as it writes: nothing bad ever gets in."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import lakebed
from lakebed.errors import ConstraintViolationError, SchemaError, SchemaMismatchError
from lakebed.spec.columns.column_metadata import with_invariant
from lakebed.spec.schema import (
    DATE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    ArrayType,
    MapType,
    StructField,
    StructType,
)
from testkit.readers.other_readers import other_reader
from testkit.schemas import struct
from testkit.tables.spark_tables import create, load, save


def refused(spark: SparkSession, path: Path, sql: str, what: str) -> None:
    version = lakebed.open(path).version
    with pytest.raises(ConstraintViolationError, match=what):
        save(spark.sql(sql), path)
    assert lakebed.open(path).version == version


NOT_NULL = struct(
    StructField("id", LONG, nullable=False),
    StructField("s", struct(StructField("a", LONG, nullable=False), StructField("b", LONG))),
    StructField("l", ArrayType(LONG, contains_null=False)),
    StructField("m", MapType(STRING, struct(StructField("x", LONG, nullable=False)), True)),
)
GIVEN = "named_struct('a', 1L, 'b', 1L)"


@pytest.mark.parametrize(
    ("sql", "column"),
    [
        ("SELECT cast(null as bigint) id", "id"),
        ("SELECT 1L id, named_struct('a', cast(null as bigint), 'b', 1L) s", "s.a"),
        ("SELECT 1L id, cast(null as struct<a: bigint, b: bigint>) s", "s.a"),
        ("SELECT 1L id", "s.a"),
        (f"SELECT 1L id, {GIVEN} s, array(1L, null) l", "l.element"),
        (
            f"SELECT 1L id, {GIVEN} s, map('k', named_struct('x', 1L), 'j', "
            "named_struct('x', cast(null as bigint))) m",
            "m.value.x",
        ),
    ],
)
def test_nulls_are_refused_at_every_depth(
    spark: SparkSession, tmp_path: Path, sql: str, column: str
) -> None:
    create(tmp_path, NOT_NULL)
    refused(spark, tmp_path, sql, f"NOT NULL of column {column}")


def test_what_is_below_a_null_in_a_collection_does_not_count(
    spark: SparkSession, tmp_path: Path
) -> None:
    create(tmp_path, NOT_NULL)
    save(spark.sql(f"SELECT 1L id, {GIVEN} s, map('k', null) m"), tmp_path)
    save(spark.sql("SELECT 2L id, named_struct('a', 1L) s, array(1L) l").repartition(1), tmp_path)
    assert sorted(lakebed.open(tmp_path).to_arrow()["id"].to_pylist()) == [1, 2]


def test_a_column_that_takes_no_nulls_must_be_given(spark: SparkSession, tmp_path: Path) -> None:
    create(tmp_path, NOT_NULL)
    with pytest.raises(SchemaMismatchError, match="does not take nulls"):
        save(spark.sql("SELECT array(1L) l"), tmp_path)


def test_an_empty_partition_value_is_a_null_that_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    create(tmp_path, struct(StructField("id", LONG), StructField("p", STRING, False)), ["p"])
    refused(spark, tmp_path, "SELECT 1L id, '' p FROM range(2)", "partition column 'p'")


CHECKED = {"delta.constraints.positive": "price > 0", "delta.constraints.known": "name IN ('a')"}


def test_a_row_that_breaks_a_check_is_shown_and_nothing_is_written(
    spark: SparkSession, tmp_path: Path
) -> None:
    schema = struct(StructField("price", LONG), StructField("name", STRING))
    create(tmp_path, schema, properties=CHECKED)
    save(spark.sql("SELECT 1L price, 'a' name"), tmp_path)
    refused(spark, tmp_path, "SELECT id - 5 price, 'a' name FROM range(10)", "positive")
    refused(spark, tmp_path, "SELECT 7L price, 'b' name", '"price":7,"name":"b"')
    # In SQL a check that is null passes; in Delta it does not.
    refused(spark, tmp_path, "SELECT cast(null as bigint) price, 'a' name", "positive")
    assert other_reader(tmp_path).num_rows == 1


def test_invariants_of_older_tables_are_checked(spark: SparkSession, tmp_path: Path) -> None:
    create(tmp_path, struct(with_invariant(StructField("v", LONG), "v < 10")))
    refused(spark, tmp_path, "SELECT id v FROM range(20)", "invariant v < 10")
    save(spark.sql("SELECT id v FROM range(3)"), tmp_path)
    assert other_reader(tmp_path).num_rows == 3


def test_rows_that_a_query_drops_are_not_checked(spark: SparkSession, tmp_path: Path) -> None:
    """The optimizer moves conditions below joins and limits; this one it must not move."""
    create(tmp_path, struct(StructField("id", LONG)), properties={"delta.constraints.c": "id < 5"})
    few = spark.range(3).withColumnRenamed("id", "key")
    joined = spark.range(100).join(few, F.col("id") == F.col("key")).select("id")
    save(joined, tmp_path)
    save(spark.range(0, 100, 1, 1).limit(5), tmp_path)
    save(spark.range(100).where("id < 5").distinct(), tmp_path)
    assert other_reader(tmp_path).num_rows == 13


GENERATED = struct(
    StructField("id", LONG),
    StructField("at", TIMESTAMP),
    StructField("day", DATE, metadata={"delta.generationExpression": "CAST(at AS DATE)"}),
    StructField("twice", LONG, metadata={"delta.generationExpression": "id * 2"}),
)


def test_generated_columns_are_computed_when_absent_and_checked_when_given(
    spark: SparkSession, tmp_path: Path
) -> None:
    create(tmp_path, GENERATED, ["day"])
    save(spark.sql("SELECT 1L id, timestamp'2026-01-31 10:00:00' at"), tmp_path)
    save(spark.sql("SELECT 2L id, 4L twice, timestamp'2026-02-01 10:00:00' at"), tmp_path)
    save(spark.sql("SELECT 3L id, cast(null as date) day, cast(null as timestamp) at"), tmp_path)
    rows = [(row["id"], row["day"], row["twice"]) for row in other_reader(tmp_path).to_pylist()]
    assert rows == [(1, date(2026, 1, 31), 2), (2, date(2026, 2, 1), 4), (3, None, 6)]
    refused(
        spark,
        tmp_path,
        "SELECT 3L id, 7L twice, timestamp'2026-02-01 10:00:00' at",
        "generated column 'twice' <=> id \\* 2",
    )


def test_defaults_fill_columns_that_are_absent_and_only_those(
    spark: SparkSession, tmp_path: Path
) -> None:
    schema = struct(
        StructField("id", LONG),
        StructField("v", INTEGER, metadata={"CURRENT_DEFAULT": "40 + 2"}),
        StructField("day", DATE, metadata={"CURRENT_DEFAULT": "DATE'2026-01-01'"}),
    )
    create(tmp_path, schema, properties={"delta.feature.allowColumnDefaults": "supported"})
    save(spark.sql("SELECT 1L id"), tmp_path)
    save(spark.sql("SELECT 2L id, cast(null as int) v").repartition(1), tmp_path)
    rows = [tuple(row.values()) for row in other_reader(tmp_path).to_pylist()]
    assert rows == [(1, 42, date(2026, 1, 1)), (2, None, date(2026, 1, 1))]


def identity(start: int, step: int, explicit: bool = False) -> StructType:
    marks: dict[str, Any] = {
        "delta.identity.start": start,
        "delta.identity.step": step,
        "delta.identity.allowExplicitInsert": explicit,
    }
    return struct(StructField("key", LONG, metadata=marks), StructField("v", LONG))


@pytest.mark.parametrize(("start", "step"), [(1, 1), (100, -7)])
def test_identity_values_are_unique_and_go_on_after_the_last(
    spark: SparkSession, tmp_path: Path, start: int, step: int
) -> None:
    create(tmp_path, identity(start, step))
    for _ in range(2):
        save(spark.range(0, 20, 1, 4).selectExpr("id as v"), tmp_path)
    table = other_reader(tmp_path)
    keys = table["key"].to_pylist()
    assert len(set(keys)) == 40
    assert sorted(keys) == sorted(start + step * k for k in range(40))
    mark = lakebed.open(tmp_path).schema.field("key").metadata["delta.identity.highWaterMark"]
    assert mark == start + step * 39


def test_identity_values_stay_unique_through_shuffles_and_partitions(
    spark: SparkSession, tmp_path: Path
) -> None:
    create(tmp_path, identity(1, 1), ["v"])
    grouped = spark.range(100).selectExpr("id % 7 as v", "id").groupBy("v", "id").count()
    save(grouped.select("v").repartition(3, "v"), tmp_path)
    save(grouped.select("v"), tmp_path)
    keys = lakebed.open(tmp_path).to_arrow()["key"].to_pylist()
    assert len(set(keys)) == len(keys) == 200


def test_writers_at_the_same_time_never_give_out_the_same_identity_value(
    spark: SparkSession, tmp_path: Path
) -> None:
    create(tmp_path, identity(1, 1))
    with ThreadPoolExecutor(4) as pool:
        jobs = [spark.range(0, 5, 1, 1).selectExpr(f"id + {n} as v") for n in range(4)]
        list(pool.map(lambda frame: save(frame, tmp_path), jobs))
    keys = other_reader(tmp_path)["key"].to_pylist()
    assert sorted(keys) == list(range(1, 21))


def test_a_table_is_not_partitioned_by_an_identity_column(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="'key' cannot be a partition column"):
        create(tmp_path, identity(1, 1), ["key"])
    assert not (tmp_path / "_delta_log").exists()


def test_identity_values_are_given_only_where_the_column_allows_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    create(tmp_path / "always", identity(1, 1))
    with pytest.raises(SchemaMismatchError, match="IDENTITY"):
        save(spark.sql("SELECT 1L key, 1L v"), tmp_path / "always")
    create(tmp_path / "default", identity(1, 1, explicit=True))
    save(spark.sql("SELECT 50L key, 1L v"), tmp_path / "default")
    save(spark.sql("SELECT 2L v").repartition(1), tmp_path / "default")
    assert sorted(other_reader(tmp_path / "default")["key"].to_pylist()) == [1, 50]


def test_texts_of_limited_length_are_padded_cut_or_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    declared = "__CHAR_VARCHAR_TYPE_STRING"
    schema = struct(
        StructField("id", LONG),
        StructField("c", STRING, metadata={declared: "char(3)"}),
        StructField("v", ArrayType(STRING), metadata={declared: "array<varchar(2)>"}),
    )
    create(tmp_path, schema)
    save(spark.sql("SELECT 1L id, 'a' c, array('xy   ', null) v").repartition(1), tmp_path)
    rows = other_reader(tmp_path).to_pylist()
    assert rows == [{"id": 1, "c": "a  ", "v": ["xy", None]}]
    refused(spark, tmp_path, "SELECT 1L id, 'abcd' c FROM range(2)", r"char\(3\)")
    refused(spark, tmp_path, "SELECT 1L id, array('abc') v FROM range(2)", r"varchar\(2\)")


def test_rules_hold_for_columns_with_odd_names(spark: SparkSession, tmp_path: Path) -> None:
    schema = struct(StructField("a`b.c d", LONG, nullable=False), StructField("x", LONG))
    properties = {
        "delta.columnMapping.mode": "name",
        "delta.constraints.small": "`a``b.c d` < 10",
    }
    create(tmp_path, schema, properties=properties)
    save(spark.sql("SELECT 1L `a``b.c d`, 2L x"), tmp_path)
    refused(spark, tmp_path, "SELECT 11L `a``b.c d`, 2L x", "small")
    refused(spark, tmp_path, "SELECT cast(null as bigint) `a``b.c d`, 2L x", "NOT NULL")
    assert load(spark, tmp_path).collect()[0]["a`b.c d"] == 1


@pytest.mark.slow("thousands of columns")
def test_thousands_of_columns_may_take_no_nulls(spark: SparkSession, tmp_path: Path) -> None:
    names = [f"c{n}" for n in range(2000)]
    create(tmp_path, struct(*[StructField(name, LONG, nullable=False) for name in names]))
    rows = spark.range(3)
    save(rows.select(*[F.col("id").alias(name) for name in names]), tmp_path)
    assert sorted(lakebed.open(tmp_path).to_arrow().column("c1999").to_pylist()) == [0, 1, 2]
    given = [F.when(F.col("id") != 2, F.col("id")).alias(name) for name in names[:1500]]
    with pytest.raises(ConstraintViolationError, match="NOT NULL of column c"):
        save(rows.select(*given, *[F.col("id").alias(name) for name in names[1500:]]), tmp_path)
