"""Files that are gone or damaged, and what else goes wrong, are errors of Lakebed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import lakebed
from lakebed.errors import DataFileError, LakebedError, TableNotFoundError
from lakebed.spark.native.file_listing import Listing
from testkit.readers.log_json import data_files
from testkit.readers.scan_facts import load
from testkit.schemas import column
from testkit.tables.arbitrary_tables import add_file, make_table

ROWS = pa.table({"n": list(range(100)), "s": ["some text that takes place"] * 100})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    lakebed.write(tmp_path / "a b ü%41", ROWS)
    return tmp_path / "a b ü%41"


@pytest.fixture(params=["true", "false"], ids=["adaptive", "not-adaptive"])
def adaptive(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[None]:
    spark.conf.set("spark.sql.adaptive.enabled", request.param)
    yield
    spark.conf.unset("spark.sql.adaptive.enabled")


def broadcast(frame: DataFrame) -> list[Any]:
    return frame.sparkSession.range(9).join(frame.hint("broadcast"), frame.n == 1).collect()


def subquery(frame: DataFrame) -> list[Any]:
    frame.createOrReplaceTempView("gone")
    query = "SELECT * FROM range(5) WHERE id > (SELECT max(n) FROM gone WHERE s > 'a')"
    return frame.sparkSession.sql(query).collect()


ACTIONS: dict[str, Callable[[DataFrame], Any]] = {
    "collect": lambda frame: frame.collect(),
    "toArrow": lambda frame: frame.toArrow(),
    "aggregate": lambda frame: frame.groupBy("s").count().collect(),
    "broadcast": broadcast,
    "subquery": subquery,
    "iterator": lambda frame: list(frame.toLocalIterator()),
    "write": lambda frame: frame.write.format("noop").mode("overwrite").save(),
}


@pytest.mark.usefixtures("adaptive")
@pytest.mark.parametrize("action", ACTIONS.values(), ids=list(ACTIONS))
def test_a_file_that_is_gone_is_named_wherever_it_is_missed(
    spark: SparkSession, path: Path, action: Callable[[DataFrame], Any]
) -> None:
    frame = load(spark, path)
    name = data_files(path)[0]
    (path / name).unlink()
    with pytest.raises(DataFileError, match=name) as caught:
        action(frame)
    assert "gone" in caught.value.message
    assert "VACUUM" in str(caught.value.hint)
    assert "py4j" not in str(caught.value).lower()


def test_other_versions_of_the_table_can_still_be_read(spark: SparkSession, path: Path) -> None:
    first = data_files(path)[0]
    lakebed.write(path, pa.table({"n": [7], "s": ["new"]}), mode="overwrite")
    (path / first).unlink()
    assert load(spark, path).collect()[0].n == 7
    with pytest.raises(DataFileError, match="gone"):
        load(spark, path, versionAsOf=0).collect()


def halved(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def scrambled(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[4:60] = os.urandom(56)
    file.write_bytes(bytes(content))


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "cut in half": halved,
    "empty": lambda file: file.write_bytes(b""),
    "no Parquet": lambda file: file.write_bytes(b"hello" * 1000),
    "other bytes": scrambled,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
def test_a_damaged_file_is_named(
    spark: SparkSession, path: Path, damage: Callable[[Path], Any]
) -> None:
    frame = load(spark, path)
    name = data_files(path)[0]
    damage(path / name)
    with pytest.raises(DataFileError, match="cannot be read") as caught:
        frame.collect()
    assert name in str(caught.value.file)
    assert "damaged" in str(caught.value.hint)


def test_a_file_with_other_types_is_named_with_the_column(spark: SparkSession, path: Path) -> None:
    frame = load(spark, path)
    name = data_files(path)[0]
    pq.write_table(pa.table({"n": ["a"], "s": ["b"]}), path / name)
    with pytest.raises(DataFileError, match=r"not those of the table.*\[n\]") as caught:
        frame.collect()
    assert name in str(caught.value.file)


def test_a_file_outside_of_the_table_is_named_too(spark: SparkSession, tmp_path: Path) -> None:
    outside = tmp_path / "else where" / "x.parquet"
    make_table(tmp_path / "t", column("n"))
    add_file(tmp_path / "t", pa.table({"n": [1]}), "x.parquet", logged_as=outside.as_uri())
    with pytest.raises(DataFileError, match=r"x\.parquet"):
        load(spark, tmp_path / "t").collect()


def test_errors_of_other_reads_are_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(ROWS, tmp_path / "x.parquet")
    frame = spark.read.parquet(str(tmp_path / "x.parquet"))
    (tmp_path / "x.parquet").unlink()
    with pytest.raises(Exception, match="FILE_NOT_EXIST") as caught:
        frame.collect()
    assert not isinstance(caught.value, LakebedError)


@pytest.mark.usefixtures("adaptive")
@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (DataFileError("broken", file="f", hint="mend it"), "broken"),
        (ZeroDivisionError("oops"), "planning the scan failed unexpectedly: ZeroDivisionError"),
    ],
)
@pytest.mark.parametrize("action", [ACTIONS["collect"], ACTIONS["broadcast"], ACTIONS["subquery"]])
def test_an_error_while_files_are_listed_reaches_the_user_as_it_was(
    spark: SparkSession,
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
    raised: Exception,
    expected: str,
    action: Callable[[DataFrame], Any],
) -> None:
    def fail(*_: Any) -> None:
        raise raised

    frame = load(spark, path)
    monkeypatch.setattr(Listing, "select", fail)
    with pytest.raises(LakebedError, match=expected) as caught:
        action(frame)
    assert caught.value is raised or "test_spark_errors.py, line" in caught.value.message


def test_an_error_of_spark_in_a_filter_stays_an_error_of_spark(
    spark: SparkSession, path: Path
) -> None:
    with pytest.raises(PySparkException, match="DIVIDE_BY_ZERO"):
        load(spark, path).where("1 / (n - n) > 0").collect()


def test_a_folder_without_a_table_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(TableNotFoundError):
        load(spark, tmp_path)
