"""Calls between Python and the JVM: as many for many files as for few, and few for an append."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import lakebed
from lakebed.spark.native.file_index import DeltaFileIndex
from million import build
from testkit.gauges import gateway_commands

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FEW, MANY = 1_000, 10_000


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """In a thousand partitions each."""
    folder = tmp_path_factory.mktemp("planning")
    for count in (FEW, MANY):
        build(folder / str(count), count)
    return [str(folder / str(count)) for count in (FEW, MANY)]


@pytest.mark.parametrize(
    ("where", "most"),
    [("true", 45), ("id BETWEEN 5000 AND 5010", 45), ("day = DATE '2020-01-01'", 100)],
)
def test_planning_on_ten_times_the_files_takes_as_many_calls(
    spark: SparkSession, tables: list[str], where: str, most: int
) -> None:
    """32; 78 where Catalyst evaluates a filter on the values of partitions."""
    _planned(spark, tables[0], where)
    few, many = (_planned(spark, path, where) for path in tables)
    assert few < most
    assert many <= 1.1 * few + 5


def test_a_query_asks_python_once_for_the_files_of_each_scan(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark asks its file index some fifteen times for a scan; the others are answered in Java."""
    asked: list[str] = []
    answer = DeltaFileIndex.apply

    def counted(self: DeltaFileIndex, request: str, sources: Any) -> Any:
        asked.append(request.split("\0")[0])
        return answer(self, request, sources)

    monkeypatch.setattr(DeltaFileIndex, "apply", counted)
    for name in ("a", "b"):
        lakebed.write(tmp_path / name, pa.table({"id": [1, 2, 3], name: [4, 5, 6]}))
    one, other = (spark.read.format("delta").load(str(tmp_path / name)) for name in ("a", "b"))
    joined = one.join(other, "id").where("a > 4 AND b < 6")
    with gateway_commands(spark._jvm._gateway_client) as sent:
        assert joined.collect() == [(2, 5, 5)]
    assert sorted(asked) == ["list", "list", "size", "size"]
    # What the answers are made of goes over with them.
    assert len(sent) < 30
    asked.clear()
    assert joined.select("a").collect() == [(5,)]
    assert asked == []


def test_an_append_of_a_row_takes_few_calls(spark: SparkSession, tmp_path: Path) -> None:
    """About 60; each setting of the session would take three more."""
    path = str(tmp_path / "appended")
    row = pa.table({"id": [1], "name": ["one"]})
    counts = []
    for _ in range(3):
        with gateway_commands(spark._jvm._gateway_client) as sent:
            spark.createDataFrame(row).write.format("delta").mode("append").save(path)
        counts.append(len(sent))
    assert counts[-1] < 100


def test_rows_with_the_columns_of_the_table_take_no_call_for_each(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Each of them would take about ten, half a millisecond for each column."""
    writes, reads = [], []
    for count in (20, 20, 200):
        path = str(tmp_path / f"wide-{len(writes)}")
        columns = [f"CAST(id AS {'DOUBLE' if n % 2 else 'LONG'}) AS c{n}" for n in range(count)]
        rows = spark.range(1).selectExpr(*columns)
        with gateway_commands(spark._jvm._gateway_client) as sent:
            rows.write.format("delta").save(path)
        writes.append(len(sent))
        with gateway_commands(spark._jvm._gateway_client) as sent:
            spark.read.format("delta").load(path).select("c1").collect()
        reads.append(len(sent))
    # The first of the three fills caches.
    assert writes[2] <= writes[1] + 10
    assert reads[2] <= reads[1] + 10


def _planned(spark: Any, path: str, where: str) -> int:
    """How many commands were sent; the table is opened, and all files to read are known then."""
    with gateway_commands(spark._jvm._gateway_client) as sent:
        frame = spark.read.format("delta").load(path).where(where)
        frame._jdf.queryExecution().toRdd().getNumPartitions()
    return len(sent)
