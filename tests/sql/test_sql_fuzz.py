"""Malformed SQL and names of any letters: an error of ours or of Spark's, never an internal one."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import lakebed
from lakebed.catalog.entry import NewEntry
from lakebed.errors import LakebedError
from lakebed.spark.catalog.session_catalog import create_entry
from lakebed.spark.columns.projection import quote

SLOW = {
    "suppress_health_check": [HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    "deadline": None,
}
WORDS = [
    *("SELECT", "FROM", "WHERE", "WITH", "AS", "JOIN", "ON", "LATERAL", "UNION", "EXCEPT", "TABLE"),
    *("VERSION AS OF", "TIMESTAMP AS OF", "GROUP BY", "ORDER BY", "EXISTS", "IN", "NOT", "VALUES"),
    *(
        "fuzzed",
        "fuzz.t",
        "fuzz.t@v0",
        "fuzz.t@v9",
        "delta.`/no`",
        "delta.`",
        "t",
        "id",
        "count(*)",
    ),
    *("table_changes('fuzz.t', 0)", "table_changes(", "IDENTIFIER('fuzz.t')", "IDENTIFIER(''", "*"),
    *(
        "(",
        ")",
        ",",
        ".",
        ";",
        "'",
        "''",
        '"',
        "`",
        "``",
        "@",
        "@v1",
        "?",
        ":x",
        "::",
        "0",
        "1",
        "-",
    ),
    *(
        "'2020-01-01'",
        "NULL",
        "/*",
        "*/",
        "--",
        "\n",
        "ü",
        "\\",
        "{",
        "}",
        "{{}}",
        "\0",
        "😀",
        "=",
        "<",
    ),
    *(
        "EXPLAIN",
        "CREATE TEMP VIEW v AS",
        "CACHE TABLE c AS",
        "DESCRIBE QUERY",
        "SET",
        "BEGIN",
        "END",
    ),
]
QUERIES = [
    "SELECT id FROM fuzz.t VERSION AS OF 0 WHERE id IN (SELECT id FROM fuzz.t@v0)",
    "WITH c AS (SELECT * FROM fuzz.t) SELECT count(*) FROM c JOIN table_changes('fuzz.t', 0) d",
    "SELECT * FROM delta.`/no` TIMESTAMP AS OF '2020-01-01' AS x, LATERAL (SELECT :x)",
]


@pytest.fixture(scope="module")
def fuzz(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("fuzz")
    lakebed.write(path, pa.table({"id": [1]}))
    spark.sql("CREATE DATABASE fuzz")
    create_entry(spark, NewEntry("fuzz", "t", f"file://{path}", is_managed=False))
    yield spark
    for name in ("v", "c"):
        spark.catalog.dropTempView(name)
    spark.sql("DROP DATABASE fuzz CASCADE")


def mutated(text: str, cut: int, insert: str, width: int) -> str:
    at = cut % (len(text) + 1)
    return text[:at] + insert + text[at + width :]


token_soup = st.lists(st.sampled_from(WORDS), max_size=10).map(" ".join)
mutations = st.builds(
    mutated,
    st.sampled_from(QUERIES),
    st.integers(0, 200),
    st.sampled_from(WORDS) | st.text(max_size=3),
    st.integers(0, 6),
)


@settings(max_examples=40, **SLOW)  # type: ignore[arg-type]
@given(text=token_soup | mutations, args=st.sampled_from([None, {"x": 1}, ["a"]]))
@example(text="SELECT * FROM table_changes(", args=None)
@example(text="SELECT * FROM IDENTIFIER('')", args=None)
@example(text="SELECT * FROM IDENTIFIER('a..b')", args=None)
@example(text="SELECT * FROM table_changes(NULL, NULL)", args=None)
@example(text="SELECT * FROM table_changes('fuzz.t', (SELECT 1))", args=None)
@example(text="SELECT * FROM fuzz.t TIMESTAMP AS OF (SELECT 1)", args=None)
@example(text="SELECT * FROM fuzz.t TIMESTAMP AS OF id", args=None)
@example(text="SELECT * FROM fuzz.t VERSION AS OF 'x'", args=None)
@example(text="SELECT * FROM fuzz.t VERSION AS OF 99999999999999999999999", args=None)
@example(text="SELECT * FROM delta.`\0`", args=None)
@example(text="BEGIN SELECT * FROM fuzz.t; END", args=None)
def test_malformed_queries_give_errors_of_ours_or_of_sparks(
    fuzz: SparkSession, text: str, args: Any
) -> None:
    try:
        with contextlib.suppress(LakebedError, PySparkException):
            fuzz.sql(text, args)
    except Py4JJavaError as error:
        # PySpark 4.0 has no class for errors of scripts, and hands them on as they are.
        assert "SqlScriptingException" in str(error.java_exception)  # noqa: PT017


names = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=12
).filter(lambda name: name not in (".", "..") and name.strip() == name)


@settings(max_examples=12, **SLOW)  # type: ignore[arg-type]
@given(name=names)
@example(name='it\'s `quoted` "twice"; DROP TABLE x -- ü😀')
@example(name="%20 100% {braces} \\n @v1")
@example(name="a,b=c'd\\'")
def test_a_path_of_any_letters_is_a_path_and_never_sql(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    path = tmp_path_factory.mktemp("any") / name
    try:
        lakebed.write(path, pa.table({"id": [7]}))
    except (LakebedError, OSError):
        return
    found = spark.sql(f"SELECT id FROM delta.{quote(str(path))}")
    assert found.collect() == [(7,)]
    given = {"p": f"delta.{quote(str(path))}"}
    assert spark.sql("SELECT id FROM IDENTIFIER(:p)", given).collect() == [(7,)]
    assert spark.sql("SELECT :p AS p", {"p": name}).first() == (name,)


def test_folder_names_reach_the_disk_unchanged(spark: SparkSession, tmp_path: Path) -> None:
    lakebed.write(tmp_path / "a;b", pa.table({"id": [1]}))
    assert spark.sql(f"SELECT count(*) FROM delta.`{tmp_path}/a;b`").first() == (1,)
    assert [each.name for each in tmp_path.iterdir()] == ["a;b"]
