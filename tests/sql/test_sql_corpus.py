"""Runs the statements in `statements` and compares what they give with what the files say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from corpus import Entry, is_same, read_corpus, shown
from pyspark.sql import SparkSession

import lakebed
from lakebed import DeltaTable
from lakebed.errors import LakebedError

FILES = sorted((Path(__file__).parent / "statements").glob("*.sql"))


@pytest.fixture
def corpus(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """A database for the file; settings are as before when it is done."""
    name = f"corpus_{request.param.stem}"
    before = dict(spark.conf.getAll)
    spark.sql(f"CREATE DATABASE {name}")
    spark.sql(f"USE {name}")
    yield spark
    spark.sql("USE default")
    spark.sql(f"DROP DATABASE {name} CASCADE")
    for key, value in dict(spark.conf.getAll).items():
        if key not in before:
            spark.conf.unset(key)
        elif before[key] != value:
            spark.conf.set(key, before[key])


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(
    ("corpus", "path"), [(path, path) for path in FILES], indirect=["corpus"], ids=lambda p: p.stem
)
def test_statements_give_what_the_file_says(
    corpus: SparkSession, path: Path, tmp_path: Path
) -> None:
    for entry in read_corpus(path):
        try:
            _check(corpus, entry, tmp_path)
        except Exception as error:
            raise AssertionError(f"{path.name}:{entry.line}: {entry.sql}\n{error}") from error


def test_the_corpus_is_not_small() -> None:
    assert sum(len(read_corpus(path)) for path in FILES) >= 200


def _check(spark: SparkSession, entry: Entry, folder: Path) -> None:
    sql = entry.sql.replace("${folder}", str(folder))
    if entry.error is not None:
        _check_error(spark, sql, *entry.error)
        return
    frame = spark.sql(sql)
    if entry.columns is not None:
        assert frame.columns == entry.columns
    rows = None
    if entry.rows is not None or entry.twins:
        rows = [shown(row) for row in frame.collect()]
    if entry.rows is not None and rows is not None:
        _check_rows(rows, entry.rows, entry.is_ordered)
    if entry.twins and rows is not None:
        plain = [shown(row) for row in _plain(spark, sql, entry.twins)]
        assert sorted(rows) == sorted(plain), "plain Spark gives other rows"
    for name, expected in entry.tables.items():
        found = _standalone(spark, name).to_pylist()
        _check_rows([shown(row.values()) for row in found], expected, False)


def _check_rows(found: list[str], expected: list[str], is_ordered: bool) -> None:
    if not is_ordered:
        found, expected = sorted(found), sorted(expected)
    same = len(found) == len(expected) and all(map(is_same, found, expected))
    assert same, "found:\n" + "\n".join(f"-- | {row}" for row in found)


def _check_error(spark: SparkSession, sql: str, code: str, words: str) -> None:
    try:
        spark.sql(sql).collect()
    except LakebedError as error:
        found, text = error.code, str(error)
    except Exception as error:  # noqa: BLE001 - an error of Spark, known by its code
        condition = getattr(error, "getCondition", lambda: None)()
        found, text = str(condition or type(error).__name__), str(error)
    else:
        raise AssertionError("it succeeded")
    assert code, f"say which error is expected: {found}"
    assert found.startswith(code), f"failed with {found}: {text}"
    assert words in text, text


def _plain(spark: SparkSession, sql: str, twins: list[str]) -> list[object]:
    """The same text where Lakebed has no part in it."""
    session = spark.newSession()
    for name in twins:
        session.createDataFrame(_standalone(spark, name)).createOrReplaceTempView(name)
    return list(session.sql(sql).collect())


def _standalone(spark: SparkSession, name: str):  # type: ignore[no-untyped-def]
    location = DeltaTable.forName(spark, name).detail().head()["location"]  # type: ignore[index]
    return lakebed.open(location).to_arrow()
