"""Data of a table that Spark has cached, when somebody changes the table."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import lakebed
from lakebed.errors import StorageError
from lakebed.spark.stores import location
from lakebed.storage import open_store
from testkit.faults import Call, FaultStore


class OutAfterCommit(FaultStore):
    """Answers nothing more once a version is committed, until it is `back`."""

    committed = False
    back = False

    def _record(self, method: str, path: str) -> None:
        if self.committed and not self.back:
            raise StorageError(f"{method} {path} failed")
        self.calls.append(Call(method, path))
        self.committed |= method == "put_if_absent" and path.endswith("1.json")


def cached(spark: SparkSession, path: Path) -> DataFrame:
    frame = spark.read.format("delta").load(str(path)).cache()
    assert frame.count() == 10
    return frame


CHANGES: dict[str, Callable[[SparkSession, str], object]] = {
    "delete": lambda spark, path: lakebed.DeltaTable.forPath(spark, path).delete("id < 3"),
    "append": lambda spark, path: spark.range(3).write.format("delta").mode("append").save(path),
}


@pytest.mark.parametrize(("change", "left"), [("delete", 7), ("append", 13)])
def test_cached_rows_follow_a_change(
    spark: SparkSession, tmp_path: Path, change: str, left: int
) -> None:
    spark.range(10).write.format("delta").save(str(tmp_path))
    frame = cached(spark, tmp_path)
    CHANGES[change](spark, str(tmp_path))
    assert frame.count() == left
    frame.unpersist()


@pytest.mark.parametrize(("change", "left"), [("delete", 7), ("append", 13)])
def test_a_change_succeeds_though_cached_rows_cannot_be_planned_again(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    change: str,
    left: int,
) -> None:
    spark.range(10).write.format("delta").save(str(tmp_path))
    store = OutAfterCommit(open_store(tmp_path))
    monkeypatch.setattr(location, "open_store", lambda *_: store)
    frame = cached(spark, tmp_path)
    with caplog.at_level(logging.WARNING):
        CHANGES[change](spark, str(tmp_path))
    assert "is not cached any more" in caplog.text
    store.back = True
    assert lakebed.open(tmp_path).version == 1
    assert frame.count() == left
    frame.unpersist()
