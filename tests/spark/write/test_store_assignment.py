"""What becomes of a value of another type: the policies of Spark, with delta-spark's outcomes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as t

import lakebed
from lakebed import DeltaTable
from lakebed.errors import LakebedError, SchemaMismatchError
from lakebed.settings.setting_table import CASTS_FOLLOW_ANSI, DATA_PLANE, STORE_ASSIGNMENT
from lakebed.spark.columns.spark_types import type_json
from lakebed.spark.internals.classic_columns import cast_in_mode
from lakebed.spark.internals.jvm import Jvm
from lakebed.spark.write.store_casts import can_up_cast
from lakebed.spec import schema as s
from testkit.tables.spark_tables import settings

pytestmark = pytest.mark.usefixtures("interpreted")
ANSI = "spark.sql.ansi.enabled"
SCHEMA = pa.schema(
    {
        "k": pa.int32(),
        "i": pa.int32(),
        "b": pa.int8(),
        "l": pa.list_(pa.struct({"x": pa.int8()})),
    }
)
BAD = {"i": "'nope'", "b": "300", "l": "array(named_struct('x', 300))"}
"""Values that do not fit, by column. LEGACY stores a null, and what is left of 300 in a byte."""
LEGACY = {"i": None, "b": 44, "l": [{"x": 44}]}


@pytest.fixture(params=["native", "workers"])
def plane(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[None]:
    with settings(spark, {DATA_PLANE.name: request.param}):
        yield


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "t"
    row = {"k": 1, "i": 1, "b": 1, "l": [{"x": 1}]}
    lakebed.write(folder, pa.Table.from_pylist([row], SCHEMA))
    return folder


def row_of(values: dict[str, str], key: str) -> str:
    """A query of one row with all columns."""
    found = {"i": "CAST(0 AS INT)", "b": "CAST(0 AS TINYINT)", "l": "NULL", **values}
    return f"SELECT {key} AS k, " + ", ".join(f"{value} AS {name}" for name, value in found.items())


def sets(values: dict[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def merge(spark: SparkSession, path: Path, values: dict[str, str], key: int, clause: str) -> None:
    names = ", ".join(values)
    source = ", ".join(f"s.{name}" for name in values)
    text = clause.format(
        sets=", ".join(f"{name} = s.{name}" for name in values),
        constants=sets(values),
        names=f"k, {names}",
        values=f"s.k, {source}",
    )
    query = row_of(values, str(key))
    spark.sql(f"MERGE INTO delta.`{path}` t USING ({query}) s ON t.k = s.k {text}")


def sql(text: str) -> Callable[[SparkSession, Path, dict[str, str]], None]:
    def run(spark: SparkSession, path: Path, values: dict[str, str]) -> None:
        spark.sql(text.format(t=f"delta.`{path}`", row=row_of(values, "1"), sets=sets(values)))

    return run


def merging(clause: str, key: int = 1) -> Callable[[SparkSession, Path, dict[str, str]], None]:
    return lambda spark, path, values: merge(spark, path, values, key, clause)


def by_builder(spark: SparkSession, path: Path, values: dict[str, str]) -> None:
    source = spark.sql(row_of(values, "1")).alias("s")
    builder = DeltaTable.forPath(spark, str(path)).alias("t").merge(source, "t.k = s.k")
    builder.whenMatchedUpdate(set={name: F.col(f"s.{name}") for name in values}).execute()


COMMANDS: dict[str, Callable[[SparkSession, Path, dict[str, str]], None]] = {
    "UPDATE": sql("UPDATE {t} SET {sets}"),
    "DeltaTable.update": lambda spark, path, values: (
        DeltaTable.forPath(spark, str(path)).update(set=dict(values)) and None
    ),
    "MERGE UPDATE": merging("WHEN MATCHED THEN UPDATE SET {sets}"),
    "MERGE UPDATE *": merging("WHEN MATCHED THEN UPDATE SET *"),
    "MERGE INSERT": merging("WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({values})", 9),
    "MERGE INSERT *": merging("WHEN NOT MATCHED THEN INSERT *", 9),
    "MERGE BY SOURCE": merging("WHEN NOT MATCHED BY SOURCE THEN UPDATE SET {constants}", 9),
    "DeltaTable.merge": by_builder,
    "INSERT": sql("INSERT INTO {t} {row}"),
    "INSERT BY NAME": sql("INSERT INTO {t} BY NAME {row}"),
    "INSERT OVERWRITE": sql("INSERT OVERWRITE {t} {row}"),
    "INSERT REPLACE WHERE": sql("INSERT INTO {t} REPLACE WHERE k = 1 {row}"),
    "insertInto": lambda spark, path, values: spark.sql(row_of(values, "1")).write.insertInto(
        f"delta.`{path}`"
    ),
}
SOME = ("UPDATE", "MERGE INSERT *", "DeltaTable.merge", "INSERT", "INSERT BY NAME", "insertInto")


def state(path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = lakebed.open(path).to_arrow().to_pylist()
    return rows


def refused(
    spark: SparkSession, path: Path, name: str, values: dict[str, str], *kinds: type[Exception]
) -> None:
    before = lakebed.open(path).version
    with pytest.raises(kinds):
        COMMANDS[name](spark, path, values)
    assert lakebed.open(path).version == before


@pytest.mark.parametrize("name", COMMANDS)
def test_a_value_that_does_not_fit_is_an_error_whatever_ansi_says(
    spark: SparkSession, path: Path, name: str
) -> None:
    with settings(spark, {ANSI: "false"}):
        for column, value in BAD.items():
            refused(spark, path, name, {column: value}, PySparkException, LakebedError)


@pytest.mark.parametrize("name", SOME)
def test_strict_takes_only_what_loses_nothing(spark: SparkSession, path: Path, name: str) -> None:
    with settings(spark, {STORE_ASSIGNMENT.name: "STRICT", ANSI: "false"}):
        for column, value in {**BAD, "b": "CAST(3 AS SMALLINT)"}.items():
            refused(spark, path, name, {column: value}, SchemaMismatchError)
    with settings(spark, {STORE_ASSIGNMENT.name: "strict"}):
        COMMANDS[name](spark, path, {"i": "CAST(5 AS TINYINT)"})
    assert 5 in [row["i"] for row in state(path)]


@pytest.mark.parametrize("name", SOME)
def test_legacy_stores_what_the_old_cast_makes_of_it(
    spark: SparkSession, path: Path, name: str
) -> None:
    with settings(spark, {STORE_ASSIGNMENT.name: "LEGACY", ANSI: "true"}):
        COMMANDS[name](spark, path, BAD)
    assert LEGACY in [{key: row[key] for key in LEGACY} for row in state(path)]


@pytest.mark.usefixtures("plane")
def test_both_planes_follow_the_policy(spark: SparkSession, path: Path) -> None:
    values = {"b": "cast(k + 299 as int)"}
    with settings(spark, {ANSI: "false"}):
        refused(spark, path, "UPDATE", values, PySparkException)
        with settings(spark, {STORE_ASSIGNMENT.name: "LEGACY"}):
            COMMANDS["UPDATE"](spark, path, values)
    assert [row["b"] for row in state(path)] == [44]


def test_a_text_that_is_a_number_is_stored(spark: SparkSession, path: Path) -> None:
    for name in ("UPDATE", "MERGE UPDATE *", "INSERT OVERWRITE"):
        COMMANDS[name](spark, path, {"i": "'12'", "b": "7L", "l": "NULL"})
        assert state(path) == [{"k": 1, "i": 12, "b": 7, "l": None}]


def test_updates_follow_ansi_where_delta_sparks_setting_says_so(
    spark: SparkSession, path: Path
) -> None:
    with settings(spark, {CASTS_FOLLOW_ANSI.name: "true", ANSI: "false"}):
        COMMANDS["UPDATE"](spark, path, {"b": "300"})
        refused(spark, path, "INSERT", {"b": "300"}, PySparkException)
    assert [row["b"] for row in state(path)] == [44]
    with settings(
        spark, {CASTS_FOLLOW_ANSI.name: "true", STORE_ASSIGNMENT.name: "LEGACY", ANSI: "true"}
    ):
        refused(spark, path, "UPDATE", {"b": "300"}, PySparkException)


def test_a_write_of_a_data_frame_converts_only_without_loss(
    spark: SparkSession, path: Path
) -> None:
    before = lakebed.open(path).version
    with settings(spark, {STORE_ASSIGNMENT.name: "LEGACY", ANSI: "false"}):
        for column, value in BAD.items():
            frame = spark.sql(row_of({column: value}, "1"))
            for mode in ("append", "overwrite"):
                with pytest.raises(SchemaMismatchError):
                    frame.write.format("delta").mode(mode).save(str(path))
    assert lakebed.open(path).version == before


# --- internals of Spark ---------------------------------------------------------------------------


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_a_cast_has_the_mode_that_it_is_given(spark: SparkSession, ansi: str) -> None:
    """If Spark's node of a cast changes, values that do not fit would be stored, or refused."""
    frame = spark.sql("SELECT array(300, 1) AS l, 300 AS n")
    with settings(spark, {ANSI: ansi}):
        legacy = frame.select(
            cast_in_mode(F.col("n"), t.ByteType(), "legacy"),
            F.transform("l", lambda each: cast_in_mode(each, t.ByteType(), "legacy")),
        )
        assert [tuple(row) for row in legacy.collect()] == [(44, [44, 1])]
        strict = cast_in_mode(F.col("l"), t.ArrayType(t.ByteType()), "ansi")
        with pytest.raises(PySparkException, match="CAST_OVERFLOW"):
            frame.select(strict).collect()


def test_up_casts_are_those_of_spark(spark: SparkSession) -> None:
    plain = [
        *(s.BYTE, s.SHORT, s.INTEGER, s.LONG, s.FLOAT, s.DOUBLE, s.BOOLEAN, s.STRING, s.BINARY),
        *(s.DATE, s.TIMESTAMP, s.TIMESTAMP_NTZ, s.VOID, s.VARIANT),
        *(s.DecimalType(5, 2), s.DecimalType(10, 0), s.DecimalType(20, 0), s.DecimalType(38, 18)),
        *(s.DecimalType(9, 0), s.DecimalType(4, 0), s.DecimalType(4, 1), s.DecimalType(19, 0)),
    ]
    some = plain[:4]
    nested = [s.ArrayType(each) for each in some]
    nested += [s.MapType(s.STRING, each) for each in some]
    nested += [s.MapType(each, s.STRING) for each in some]
    nested += [s.StructType((s.StructField("a", each),)) for each in some]
    casts: Any = spark._jvm.org.apache.spark.sql.catalyst.expressions.Cast  # type: ignore[union-attr]
    known = {id(each): Jvm.of(spark).data_type(type_json(each)) for each in [*plain, *nested]}
    wrong = [
        f"{one} to {other}"
        for one, other in itertools.product([*plain, *nested], repeat=2)
        if casts.canUpCast(known[id(one)], known[id(other)]) != can_up_cast(one, other)
    ]
    assert wrong == []
