"""Planning a query on many files takes no more calls between Python and the JVM than on few."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))

from gauges import gateway_commands  # noqa: E402
from million import build  # noqa: E402

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


@pytest.mark.parametrize("where", ["true", "id BETWEEN 5000 AND 5010", "day = DATE '2020-01-01'"])
def test_planning_on_ten_times_the_files_takes_as_many_calls(
    spark: SparkSession, tables: list[str], where: str
) -> None:
    _planned(spark, tables[0], where)
    few, many = (_planned(spark, path, where) for path in tables)
    assert few < 500
    assert many <= 1.1 * few + 5


def _planned(spark: Any, path: str, where: str) -> int:
    """How many commands were sent; the table is opened, and all files to read are known then."""
    with gateway_commands(spark._jvm._gateway_client) as sent:
        frame = spark.read.format("delta").load(path).where(where)
        frame._jdf.queryExecution().toRdd().getNumPartitions()
    return len(sent)
