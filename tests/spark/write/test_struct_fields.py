"""Structs whose fields are not those of the table: stored as delta-spark stores them, or refused.

What is expected of top-level structs was recorded from delta-spark 4.4.0 on Spark 4.2; what is
expected deeper inside follows its source. No command drops a field that a value has, or fills one
that it lacks, unless it says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import lakebed
from lakebed.errors import SchemaMismatchError
from testkit.tables.spark_tables import settings

pytestmark = pytest.mark.usefixtures("interpreted")
AB = pa.struct({"a": pa.int32(), "b": pa.int32()})
SHAPES = {
    "extra": "named_struct('a', 1, 'b', 2, 'c', 3)",
    "missing": "named_struct('a', 1)",
    "reordered": "named_struct('b', 2, 'a', 1)",
    "renamed": "named_struct('x', 1, 'y', 2)",
}
WHOLE = {"a": 1, "b": 2}
SWAPPED = {"a": 2, "b": 1}
GROWN = {**WHOLE, "c": 3}
FILLED = {"a": 1, "b": None}
BESIDE = {"a": None, "b": None, "x": 1, "y": 2}
REFUSED = None
Outcome = Mapping[str, dict[str, Any] | None]

BY_PLACE: Outcome = {
    "extra": REFUSED,
    "missing": REFUSED,
    "reordered": SWAPPED,
    "renamed": WHOLE,
}
NAMED: Outcome = {**BY_PLACE, "reordered": WHOLE}
EVOLVING: Outcome = {**BY_PLACE, "extra": GROWN}
BY_NAME: Outcome = {
    "extra": REFUSED,
    "missing": REFUSED,
    "reordered": WHOLE,
    "renamed": REFUSED,
}
FRAME: Outcome = {**BY_NAME, "missing": FILLED}
MERGED: Outcome = {"extra": GROWN, "missing": FILLED, "reordered": WHOLE, "renamed": BESIDE}

Command = Callable[[SparkSession, str, str], Any]


def sql(text: str) -> Command:
    return lambda spark, table, value: spark.sql(text.format(t=table, v=value))


def merge(clause: str, key: int, evolves: str = "") -> Command:
    text = f"MERGE {evolves} INTO {{t}} t USING (SELECT {key} k, {{v}} v) s ON t.k = s.k {clause}"
    return sql(text)


def frame(write: Callable[[DataFrame, str], Any], columns: str = "2 k, {v} v") -> Command:
    return lambda spark, table, value: write(spark.sql(f"SELECT {columns.format(v=value)}"), table)


def path_in(table: str) -> str:
    return table.split("`")[1]


SET, SET_ALL = "WHEN MATCHED THEN UPDATE SET v = s.v", "WHEN MATCHED THEN UPDATE SET *"
ADD = "WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, s.v)"
ADD_ALL = "WHEN NOT MATCHED THEN INSERT *"
EVOLVES = "WITH SCHEMA EVOLUTION"
COMMANDS: dict[str, tuple[Command, Outcome]] = {
    "INSERT SELECT with names": (sql("INSERT INTO {t} SELECT 2 k, {v} v"), NAMED),
    "INSERT SELECT": (sql("INSERT INTO {t} SELECT 2, {v}"), BY_PLACE),
    "INSERT VALUES": (sql("INSERT INTO {t} VALUES (2, {v})"), BY_PLACE),
    "INSERT of listed columns": (sql("INSERT INTO {t} (k, v) SELECT 2 k, {v} v"), BY_PLACE),
    "INSERT BY NAME": (sql("INSERT INTO {t} BY NAME SELECT {v} v, 2 k"), NAMED),
    "INSERT with a cast": (sql("INSERT INTO {t} BY NAME SELECT {v} v, 2L k"), BY_PLACE),
    "INSERT OVERWRITE": (sql("INSERT OVERWRITE {t} SELECT 2, {v}"), BY_PLACE),
    "REPLACE WHERE": (sql("INSERT INTO {t} REPLACE WHERE k = 2 SELECT 2 k, {v} v"), NAMED),
    "evolving INSERT": (sql(f"INSERT {EVOLVES} INTO {{t}} SELECT 2, {{v}}"), EVOLVING),
    "evolving INSERT BY NAME": (
        sql(f"INSERT {EVOLVES} INTO {{t}} BY NAME SELECT {{v}} v, 2 k"),
        {**EVOLVING, "reordered": WHOLE},
    ),
    "UPDATE": (sql("UPDATE {t} SET v = {v}, k = 2"), BY_NAME),
    "MERGE UPDATE": (merge(SET, 1), BY_NAME),
    "MERGE UPDATE *": (merge(SET_ALL, 1), BY_NAME),
    "MERGE INSERT": (merge(ADD, 2), BY_NAME),
    "MERGE INSERT *": (merge(ADD_ALL, 2), BY_NAME),
    "evolving MERGE UPDATE": (merge(SET, 1, EVOLVES), MERGED),
    "evolving MERGE UPDATE *": (merge(SET_ALL, 1, EVOLVES), MERGED),
    "evolving MERGE INSERT": (merge(ADD, 2, EVOLVES), MERGED),
    "evolving MERGE INSERT *": (merge(ADD_ALL, 2, EVOLVES), MERGED),
    "append": (
        frame(lambda rows, t: rows.write.format("delta").mode("append").save(path_in(t))),
        FRAME,
    ),
    "overwrite": (
        frame(lambda rows, t: rows.write.format("delta").mode("overwrite").save(path_in(t))),
        FRAME,
    ),
    "append with mergeSchema": (
        frame(
            lambda rows, t: (
                rows.write.format("delta")
                .mode("append")
                .option("mergeSchema", "true")
                .save(path_in(t))
            )
        ),
        MERGED,
    ),
    "insertInto with names": (frame(lambda rows, t: rows.write.insertInto(t)), NAMED),
    "insertInto": (frame(lambda rows, t: rows.write.insertInto(t), "2 x, {v} y"), BY_PLACE),
    "writeTo": (frame(lambda rows, t: rows.writeTo(t).append()), FRAME),
}


def table_of(path: Path, kind: pa.DataType, value: Any = None) -> str:
    schema = pa.schema({"k": pa.int32(), "v": kind})
    lakebed.write(path, pa.Table.from_pylist([{"k": 1, "v": value}], schema))
    return f"delta.`{path}`"


def values(path: Path) -> list[Any]:
    found: list[Any] = lakebed.open(path).to_arrow()["v"].to_pylist()
    return [each for each in found if each is not None]


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_stores_what_delta_spark_stores(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    run, outcome = COMMANDS[name]
    for shape, value in SHAPES.items():
        path = tmp_path / shape
        table = table_of(path, AB)
        if outcome[shape] is REFUSED:
            with pytest.raises(SchemaMismatchError):
                run(spark, table, value)
            assert lakebed.open(path).version == 0, shape
        else:
            run(spark, table, value)
            assert values(path) == [outcome[shape]], shape


NESTED = {
    "array": (pa.list_(AB), "array({})", lambda value: [value]),
    "map": (pa.map_(pa.string(), AB), "map('k', {})", lambda value: [("k", value)]),
    "struct": (pa.struct({"s": AB}), "named_struct('s', {})", lambda value: {"s": value}),
    "array of arrays": (pa.list_(pa.list_(AB)), "array(array({}))", lambda value: [[value]]),
}
DEEP = ("INSERT SELECT", "evolving INSERT", "UPDATE", "MERGE INSERT *", "evolving MERGE UPDATE *")


@pytest.mark.parametrize("kind", NESTED)
def test_fields_inside_collections_follow_the_same_rules(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    arrow, text, around = NESTED[kind]
    for number, name in enumerate(DEEP):
        run, outcome = COMMANDS[name]
        for shape in ("extra", "missing", "reordered"):
            path = tmp_path / f"{number}-{shape}"
            table = table_of(path, arrow)
            value, expected = text.format(SHAPES[shape]), outcome[shape]
            if expected is REFUSED:
                with pytest.raises(SchemaMismatchError):
                    run(spark, table, value)
                assert lakebed.open(path).version == 0, (name, shape)
            else:
                run(spark, table, value)
                assert values(path) == [around(expected)], (name, shape)


DEEPER = pa.struct(
    {"a": pa.int32(), "b": pa.int32(), "s": pa.struct({"x": pa.int32(), "y": pa.int32()})}
)
OLD = {"a": 1, "b": 2, "s": {"x": 3, "y": 4}}


@pytest.mark.parametrize(
    ("source", "star", "named"),
    [
        ("named_struct('a', 10)", {**OLD, "a": 10}, {"a": 10, "b": None, "s": None}),
        (
            "named_struct('a', 10, 's', named_struct('x', 30))",
            {"a": 10, "b": 2, "s": {"x": 30, "y": 4}},
            {"a": 10, "b": None, "s": {"x": 30, "y": None}},
        ),
        (
            "cast(null as struct<a: int>)",
            {**OLD, "a": None},
            None,
        ),
    ],
)
def test_an_evolving_update_of_all_columns_keeps_fields_that_the_source_lacks(
    spark: SparkSession, tmp_path: Path, source: str, star: Any, named: Any
) -> None:
    for number, (clause, expected) in enumerate([(SET_ALL, star), (SET, named)]):
        path = tmp_path / str(number)
        merge(clause, 1, EVOLVES)(spark, table_of(path, DEEPER, OLD), source)
        assert lakebed.open(path).to_arrow()["v"].to_pylist() == [expected]


def test_clauses_that_leave_a_column_alone_keep_it_when_it_grows(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = table_of(tmp_path, AB, WHOLE)
    rows = f"SELECT 1 k, {SHAPES['extra']} v UNION ALL SELECT 2, {SHAPES['extra']}"
    spark.sql(
        f"MERGE {EVOLVES} INTO {table} t USING ({rows}) s ON t.k = s.k "
        f"WHEN MATCHED THEN UPDATE SET k = 5 {ADD_ALL}"
    )
    found = lakebed.open(tmp_path).to_arrow().sort_by("k").to_pylist()
    assert found == [{"k": 2, "v": GROWN}, {"k": 5, "v": {**WHOLE, "c": None}}]


def test_an_evolving_merge_converts_types_as_one_without(
    spark: SparkSession, tmp_path: Path
) -> None:
    table = table_of(tmp_path, AB)
    source = "SELECT '2' k, named_struct('a', 1L, 'b', 2, 'c', 3) v"
    spark.sql(f"MERGE {EVOLVES} INTO {table} t USING ({source}) s ON t.k = s.k {ADD_ALL}")
    assert values(tmp_path) == [GROWN]


def test_wider_types_are_taken_over_by_an_evolving_insert(
    spark: SparkSession, tmp_path: Path
) -> None:
    schema = pa.schema({"k": pa.int32(), "v": AB})
    properties = {"delta.enableTypeWidening": "true"}
    lakebed.write(tmp_path, schema.empty_table(), properties=properties)
    row = "SELECT 3000000000, named_struct('a', 1, 'b', 3000000000)"
    with pytest.raises(Exception, match="OVERFLOW"):
        spark.sql(f"INSERT INTO delta.`{tmp_path}` {row}")
    spark.sql(f"INSERT {EVOLVES} INTO delta.`{tmp_path}` {row}")
    found = lakebed.open(tmp_path).to_arrow().to_pylist()
    assert found == [{"k": 3000000000, "v": {"a": 1, "b": 3000000000}}]


def test_the_policy_holds_inside_structs(spark: SparkSession, tmp_path: Path) -> None:
    table = table_of(tmp_path, pa.struct({"a": pa.int8(), "b": pa.int32()}))
    value = "named_struct('a', 300, 'b', 2)"
    with settings(spark, {"spark.sql.ansi.enabled": "false"}):
        for name in ("INSERT SELECT", "UPDATE", "MERGE UPDATE *", "evolving MERGE INSERT *"):
            with pytest.raises(Exception, match="CAST_OVERFLOW"):
                COMMANDS[name][0](spark, table, value)
    assert lakebed.open(tmp_path).version == 0
