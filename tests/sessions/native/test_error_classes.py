"""What a program on Spark can catch: errors of statements and calls, by delta-spark's classes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.java_gateway import is_instance_of
from pyspark.errors import (
    AnalysisException,
    IllegalArgumentException,
    ParseException,
    PySparkException,
    UnsupportedOperationException,
)
from pyspark.sql import SparkSession

import lakebed
from lakebed import DeltaTable
from lakebed.errors import LakebedError
from lakebed.spark.errors import conflict_names
from lakebed.spark.internals.startup.classes import PACKAGE


@pytest.fixture(scope="module")
def sql(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    folder = tmp_path_factory.mktemp("classes_of_errors")
    spark.sql(f"CREATE DATABASE raised LOCATION '{folder}/db'")
    spark.sql("USE raised")
    spark.sql("CREATE TABLE t (id INT, p STRING) USING delta PARTITIONED BY (p)")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    spark.sql(
        "CREATE TABLE locked USING delta TBLPROPERTIES ('delta.appendOnly' = 'true') "
        "AS SELECT 1 AS id"
    )
    yield spark
    spark.sql("USE default")
    spark.sql("DROP DATABASE raised CASCADE")


STATEMENTS: dict[str, tuple[type[Exception], str, str]] = {
    "DELETE FROM locked": (
        UnsupportedOperationException,
        "DELTA_CANNOT_MODIFY_APPEND_ONLY",
        "42809",
    ),
    "ALTER TABLE t SET TBLPROPERTIES ('delta.nope' = '1')": (
        AnalysisException,
        "DELTA_UNKNOWN_CONFIGURATION",
        "F0000",
    ),
    "ALTER TABLE t DROP CONSTRAINT nope": (
        AnalysisException,
        "DELTA_CONSTRAINT_DOES_NOT_EXIST",
        "42704",
    ),
    "VACUUM t RETAIN 1 HOURS": (
        IllegalArgumentException,
        "DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT",
        "22003",
    ),
    "OPTIMIZE t ZORDER BY (p)": (
        IllegalArgumentException,
        "DELTA_ZORDERING_ON_PARTITION_COLUMN",
        "42P10",
    ),
    "OPTIMIZE t WHERE id = 1": (
        AnalysisException,
        "DELTA_NON_PARTITION_COLUMN_REFERENCE",
        "42P10",
    ),
    "MERGE INTO t USING (SELECT 1 AS k UNION ALL SELECT 1) s ON t.id = s.k "
    "WHEN MATCHED THEN UPDATE SET p = 'z'": (
        UnsupportedOperationException,
        "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE",
        "21506",
    ),
    "OPTIMIZE t ZORDER BY": (ParseException, "PARSE_SYNTAX_ERROR", "42601"),
    "UPDATE t SET p = 'x', p = 'y'": (
        AnalysisException,
        "DELTA_CONFLICT_SET_COLUMN",
        "42701",
    ),
    "RESTORE TABLE t TO VERSION AS OF 99": (AnalysisException, "DELTA_VERSION_NOT_FOUND", "22003"),
    "ALTER TABLE t DROP COLUMN p": (
        AnalysisException,
        "DELTA_UNSUPPORTED_DROP_COLUMN",
        "0AKDC",
    ),
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_raises_the_class_the_condition_and_the_state(
    sql: SparkSession, statement: str
) -> None:
    family, condition, state = STATEMENTS[statement]
    with pytest.raises(PySparkException) as caught:
        sql.sql(statement).collect()
    error = caught.value
    assert (error.getCondition(), error.getSqlState()) == (condition, state), str(error)
    assert isinstance(error, family)
    assert isinstance(error, LakebedError)
    assert str(error).startswith(f"[{error.code}] ")


CALLS: dict[str, Callable[[DeltaTable], Any]] = {
    "TypeError condition": lambda table: table.delete(5),  # type: ignore[arg-type]
    "TypeError values": lambda table: table.update(set={"id": 1}),  # type: ignore[dict-item]
    "ValueError set": lambda table: table.update("id = 1"),  # type: ignore[call-overload]
    "ValueError feature": lambda table: table.addFeatureSupport(3),  # type: ignore[arg-type]
    "ValueError version": lambda table: table.restoreToVersion("0"),  # type: ignore[arg-type]
    "AnalysisException column": lambda table: table.delete("nope = 1"),
    "ParseException text": lambda table: table.delete("id ="),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_raises_what_delta_sparks_python_raises(sql: SparkSession, name: str) -> None:
    kinds = {
        "TypeError": TypeError,
        "ValueError": ValueError,
        "AnalysisException": AnalysisException,
        "ParseException": ParseException,
    }
    with pytest.raises(kinds[name.split()[0]]):
        CALLS[name](DeltaTable.forName(sql, "t"))


def test_a_path_without_a_table_is_an_analysis_error_on_all_ways(
    sql: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    for read in (
        lambda: DeltaTable.forPath(sql, str(tmp_path / "empty")),
        lambda: sql.read.format("delta").load(str(tmp_path / "empty")).collect(),
        lambda: sql.sql(f"SELECT * FROM delta.`{tmp_path}/empty`").collect(),
        lambda: sql.sql(f"DELETE FROM delta.`{tmp_path}/empty`"),
    ):
        with pytest.raises(AnalysisException):
            read()


def test_exceptions_of_the_jvm_have_the_same_names(sql: SparkSession) -> None:
    """As programs in Scala and clients of Spark Connect see them."""
    errors = getattr(sql.sparkContext._jvm, PACKAGE).errors.Errors
    told = '{"a": "b"}'
    for family, base in (
        ("analysis", "org.apache.spark.sql.AnalysisException"),
        ("parse", "org.apache.spark.sql.catalyst.parser.ParseException"),
        ("argument", "java.lang.IllegalArgumentException"),
        ("unsupported", "java.lang.UnsupportedOperationException"),
        ("arithmetic", "java.lang.ArithmeticException"),
        ("other", "java.lang.RuntimeException"),
        ("ConcurrentAppendException", "io.delta.exceptions.ConcurrentAppendException"),
        ("ProtocolChangedException", "java.util.ConcurrentModificationException"),
    ):
        error = errors.of(family, "[CODE] text", "CODE", "DELTA_CONDITION", "42000", told)
        assert is_instance_of(sql.sparkContext._gateway, error, base), family
        assert (error.getCode(), error.getCondition()) == ("CODE", "DELTA_CONDITION")
        assert (error.getSqlState(), error.getMessage()) == ("42000", "[CODE] text")
        assert dict(error.getMessageParameters()) == {"a": "b"}


@pytest.mark.parametrize("name", conflict_names.__all__[:5])
def test_a_conflict_of_the_jvm_is_that_conflict_in_python(sql: SparkSession, name: str) -> None:
    jvm = sql.sparkContext._jvm
    with pytest.raises(getattr(conflict_names, name)) as caught:
        jvm.scala.util.Failure(getattr(jvm.io.delta.exceptions, name)("a row")).get()
    assert isinstance(caught.value, lakebed.errors.ConflictError)
    assert caught.value.getSqlState() == "2D521"  # type: ignore[attr-defined]


def test_a_function_that_tests_for_a_table_still_finds_none(
    sql: SparkSession, tmp_path: Path
) -> None:
    assert not sql.catalog.tableExists(f"delta.`{tmp_path}/nothing`")
    assert not sql.catalog.tableExists("raised.nothing")


def test_show_table_extended_finds_a_table_by_its_name(sql: SparkSession) -> None:
    found = sql.sql("SHOW TABLE EXTENDED LIKE 't'").collect()
    assert [row["tableName"] for row in found] == ["t"]
    assert "Provider: delta" in found[0]["information"]
    assert {row["tableName"] for row in sql.sql("SHOW TABLES").collect()} >= {"t", "locked"}
