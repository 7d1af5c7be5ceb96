"""Any sequence of commands on Spark does what the model of `row_change_machine` does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from row_change_machine import LONG, Counts, labelled, run_machine, several_matches
from row_change_model import SCHEMA, Expr, Merge, Plain, Row, When, plain

import lakebed
from lakebed.settings.setting_table import DATA_PLANE


@dataclass(frozen=True)
class SparkEngine:
    spark: SparkSession
    planes: Sequence[str] = ("native", "workers") if LONG else ("native",)
    aliases: Sequence[str] = ("", "t")

    def start(self, plane: str) -> None:
        self.spark.conf.set(DATA_PLANE.name, plane)

    def end(self) -> None:
        self.spark.conf.unset(DATA_PLANE.name)

    def create(
        self,
        path: str,
        rows: list[Row],
        options: Mapping[str, Any],
        partitions: list[str],
        spread: bool,
    ) -> None:
        writer = self._frame(rows, spread).write.format("delta").options(**options)
        (writer.partitionBy(*partitions) if partitions else writer).save(path)

    def append(self, path: str, rows: list[Row], spread: bool) -> None:
        self._frame(rows, spread).write.format("delta").mode("append").save(path)

    def overwrite(
        self, path: str, rows: list[Row], spread: bool, where: str | None, dynamic: bool
    ) -> None:
        options = {} if where is None else {"replaceWhere": where}
        if dynamic:
            options = {"partitionOverwriteMode": "dynamic"}
        writer = self._frame(rows, spread).write.format("delta").mode("overwrite")
        writer.options(**options).save(path)

    def delete(self, path: str, alias: str, test: Expr | None, as_column: bool) -> Counts:
        return counted(self._table(path, alias).delete(given(test, as_column)))

    def update(
        self, path: str, alias: str, test: Expr | None, new: Mapping[str, Expr], as_column: bool
    ) -> Counts:
        prefix = f"{alias}." if alias else ""
        asked = {prefix + name: given(value, as_column) for name, value in new.items()}
        return counted(self._table(path, alias).update(given(test, not as_column), asked))

    def merge(
        self,
        path: str,
        merge: Merge,
        source: list[Row],
        as_column: bool,
        evolve: bool,
        spread: bool,
    ) -> Counts:
        frame = self._frame(source, spread).select("d", "n", "k", "p").alias("u")
        builder: Any = self._table(path, "t").merge(frame, given(merge.on, as_column))
        for kind, clauses in merge.clauses.items():
            for when in clauses:
                builder = with_clause(builder, kind, when, as_column)
        return counted((builder.withSchemaEvolution() if evolve else builder).execute())

    def compact(self, path: str) -> None:
        self._table(path).optimize().executeCompaction()

    def query(self, path: str, where: str) -> Counter[Plain]:
        return Counter(map(plain, self._read(path).where(where).toArrow().to_pylist()))

    def shown(self, path: str, earlier: int) -> Counter[Plain]:
        """In one query: starting each takes long."""
        reader = self.spark.read.format("delta").option("readChangeFeed", "true")
        feed = reader.option("startingVersion", earlier).load(path)
        assert feed.columns[-2:] == ["_commit_version", "_commit_timestamp"]
        frames = [feed.drop("_commit_timestamp")]
        for name, frame in (("now", self._read(path)), ("then", self._read(path, earlier))):
            frames.append(frame.selectExpr("*", f"'{name}' AS _change_type", "NULL"))
        found = reduce(lambda one, other: one.unionAll(other), frames).toArrow().to_pylist()
        return Counter(map(labelled, found))

    def _table(self, path: str, alias: str = "") -> lakebed.DeltaTable:
        table = lakebed.DeltaTable.forPath(self.spark, path)
        return table.alias(alias) if alias else table

    def _frame(self, rows: Sequence[Row], spread: bool = False) -> DataFrame:
        frame = self.spark.createDataFrame(pa.Table.from_pylist(list(rows), SCHEMA))
        return frame.repartition(2) if spread else frame

    def _read(self, path: str, version: int | None = None) -> DataFrame:
        reader = self.spark.read.format("delta")
        return (reader if version is None else reader.option("versionAsOf", version)).load(path)


def with_clause(builder: Any, kind: str, when: When, as_column: bool) -> Any:
    test = given(when.condition, as_column)
    if when.action == "delete":
        return getattr(builder, f"{kind}Delete")(test)
    verb = kind + when.action.capitalize()
    if when.new is None:
        return getattr(builder, f"{verb}All")(test)
    new = {name: given(value, as_column) for name, value in when.new.items()}
    return getattr(builder, verb)(test, new)


def given(expression: Expr | None, as_column: bool) -> Any:
    if expression is None:
        return None
    made: Column = F.expr(expression.text)
    return made if as_column else expression.text


def counted(frame: DataFrame) -> dict[str, int]:
    (row,) = frame.collect()
    return dict(row.asDict())


@pytest.mark.timeout(0 if LONG else 600)
@pytest.mark.usefixtures("interpreted")
def test_any_sequence_of_commands_does_what_the_model_does(spark: SparkSession) -> None:
    run_machine(SparkEngine(spark), 4)


def test_several_rows_of_the_source_that_match_one_row(spark: SparkSession) -> None:
    several_matches(SparkEngine(spark))
