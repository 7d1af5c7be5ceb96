"""Rows without a partition column: refused where a DataFrame is written, nulls where SQL says so.

delta-spark 4.4.0 does the same, but lets `saveAsTable` and `writeTo` append such rows with nulls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import lakebed
from lakebed.errors import SchemaMismatchError
from testkit.tables.spark_tables import settings

pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "t"
    schema = pa.schema({"a": pa.int32(), "p": pa.string()})
    row = {"a": 1, "p": "x"}
    lakebed.write(folder, pa.Table.from_pylist([row], schema), partition_by="p")
    return folder


@pytest.fixture
def name(spark: SparkSession, path: Path) -> Iterator[str]:
    spark.sql(f"CREATE TABLE without_partition USING delta LOCATION '{path}'")
    yield "without_partition"
    spark.sql("DROP TABLE without_partition")


def rows_of(path: Path) -> list[tuple[Any, Any]]:
    found = lakebed.open(path).to_arrow().sort_by("a").to_pylist()
    return [(row["a"], row["p"]) for row in found]


WRITES: dict[str, Callable[[DataFrame, str, str], Any]] = {
    "append": lambda rows, path, _: rows.write.format("delta").mode("append").save(path),
    "overwrite": lambda rows, path, _: rows.write.format("delta").mode("overwrite").save(path),
    "merging": lambda rows, path, _: (
        rows.write.format("delta").mode("append").option("mergeSchema", "true").save(path)
    ),
    "partitionBy": lambda rows, path, _: (
        rows.write.format("delta").mode("overwrite").partitionBy("p").save(path)
    ),
    "dynamic": lambda rows, path, _: (
        rows.write.format("delta")
        .mode("overwrite")
        .option("partitionOverwriteMode", "dynamic")
        .save(path)
    ),
    "replaceWhere": lambda rows, path, _: (
        rows.write.format("delta").mode("overwrite").option("replaceWhere", "p = 'x'").save(path)
    ),
    "saveAsTable": lambda rows, _, name: rows.write.mode("append").saveAsTable(
        name, format="delta"
    ),
    "saveAsTable overwrite": lambda rows, _, name: rows.write.mode("overwrite").saveAsTable(
        name, format="delta"
    ),
    "insertInto": lambda rows, _, name: rows.write.insertInto(name),
    "writeTo": lambda rows, _, name: rows.writeTo(name).append(),
    "writeTo overwrite": lambda rows, _, name: rows.writeTo(name).overwrite(F.lit(True)),
    "writeTo partitions": lambda rows, _, name: rows.writeTo(name).overwritePartitions(),
}


@pytest.mark.parametrize("write", WRITES)
def test_a_write_without_the_partition_column_is_refused(
    spark: SparkSession, path: Path, name: str, write: str
) -> None:
    for rows in (spark.sql("SELECT 2 AS a"), spark.sql("SELECT cast(id AS int) a FROM range(3)")):
        with pytest.raises(SchemaMismatchError):
            WRITES[write](rows, str(path), name)
    assert lakebed.open(path).version == 0


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("INSERT INTO {t} (a) VALUES (2)", [(1, "x"), (2, None)]),
        ("INSERT INTO {t} BY NAME SELECT 2 AS a", [(1, "x"), (2, None)]),
        ("INSERT OVERWRITE {t} (a) VALUES (2)", [(2, None)]),
        ("INSERT OVERWRITE {t} BY NAME SELECT 2 AS a", [(2, None)]),
        ("INSERT INTO {t} VALUES (2, DEFAULT)", [(1, "x"), (2, None)]),
        ("INSERT INTO {t} PARTITION (p = 'y') VALUES (2)", [(1, "x"), (2, "y")]),
        ("INSERT OVERWRITE {t} PARTITION (p = 'x') VALUES (2)", [(2, "x")]),
        (
            "INSERT WITH SCHEMA EVOLUTION INTO {t} BY NAME SELECT 2 AS a",
            [(1, "x"), (2, None)],
        ),
        (
            "MERGE INTO {t} t USING (SELECT 2 AS a) s ON t.a = s.a "
            "WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a)",
            [(1, "x"), (2, None)],
        ),
        (
            "MERGE WITH SCHEMA EVOLUTION INTO {t} t USING (SELECT 2 AS a) s ON t.a = s.a "
            "WHEN NOT MATCHED THEN INSERT *",
            [(1, "x"), (2, None)],
        ),
    ],
)
def test_statements_that_leave_the_column_out_store_nulls(
    spark: SparkSession, path: Path, statement: str, expected: list[tuple[Any, Any]]
) -> None:
    spark.sql(statement.format(t=f"delta.`{path}`"))
    assert rows_of(path) == expected


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO {t} VALUES (2)",
        "INSERT INTO {t} PARTITION (p) VALUES (2)",
        "INSERT OVERWRITE {t} SELECT 2",
    ],
)
def test_statements_by_position_need_the_column(
    spark: SparkSession, path: Path, statement: str
) -> None:
    with pytest.raises(SchemaMismatchError, match="values are needed for 2"):
        spark.sql(statement.format(t=f"delta.`{path}`"))
    assert lakebed.open(path).version == 0


def test_the_value_of_a_static_partition_is_stored_or_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    schema = pa.schema({"a": pa.int32(), "p": pa.int8()})
    lakebed.write(tmp_path, schema.empty_table(), partition_by="p")
    with settings(spark, {"spark.sql.ansi.enabled": "false"}):
        for value in ("'nope'", "300"):
            with pytest.raises(PySparkException, match="CAST_"):
                spark.sql(f"INSERT INTO delta.`{tmp_path}` PARTITION (p = {value}) VALUES (1)")
        spark.sql(f"INSERT INTO delta.`{tmp_path}` PARTITION (p = '5') VALUES (1)")
    assert rows_of(tmp_path) == [(1, 5)]
