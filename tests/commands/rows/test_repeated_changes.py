"""Changes with txnAppId and txnVersion in the settings of the session take effect once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed import DeltaTable
from lakebed.log.table_log import TableLog
from lakebed.storage import open_store

APP = "spark.databricks.delta.write.txnAppId"
VERSION = "spark.databricks.delta.write.txnVersion"
RESET = "spark.databricks.delta.write.txnVersion.autoReset.enabled"


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    path = str(tmp_path / "t")
    spark.range(4).selectExpr("id", "0 AS n").coalesce(1).write.format("delta").save(path)
    yield path
    for name in (APP, VERSION, RESET):
        spark.conf.unset(name)


def identify(spark: SparkSession, version: int) -> None:
    spark.conf.set(APP, "nightly")
    spark.conf.set(VERSION, str(version))


def rows(path: str) -> list[tuple[int, int]]:
    return sorted((row["id"], row["n"]) for row in lakebed.open(path).to_arrow().to_pylist())


def update(spark: SparkSession, path: str) -> None:
    DeltaTable.forPath(spark, path).update("id = 1", {"n": "n + 1"})


def delete(spark: SparkSession, path: str) -> None:
    DeltaTable.forPath(spark, path).delete(f"id = {len(rows(path)) - 1}")


def merge(spark: SparkSession, path: str) -> None:
    target = DeltaTable.forPath(spark, path).alias("t")
    source = spark.sql("SELECT 1L AS id UNION ALL SELECT 9L").alias("s")
    builder = target.merge(source, "t.id = s.id").whenMatchedUpdate(set={"n": "t.n + 1"})
    builder.whenNotMatchedInsert(values={"id": "s.id", "n": "7"}).execute()


def update_in_sql(spark: SparkSession, path: str) -> None:
    spark.sql(f"UPDATE delta.`{path}` SET n = n + 1 WHERE id = 1").collect()


@pytest.mark.parametrize("change", [update, delete, merge, update_in_sql])
def test_a_version_of_an_application_changes_rows_once(
    spark: SparkSession, table: str, change: Callable[[SparkSession, str], None]
) -> None:
    identify(spark, 1)
    change(spark, table)
    once, version = rows(table), lakebed.open(table).version
    change(spark, table)
    assert (rows(table), lakebed.open(table).version) == (once, version)
    identify(spark, 2)
    change(spark, table)
    assert lakebed.open(table).version == version + 1
    assert rows(table) != once
    transactions = TableLog(open_store(table)).snapshot().transactions
    assert transactions["nightly"].version == 2


def test_without_both_settings_changes_are_repeated(spark: SparkSession, table: str) -> None:
    spark.conf.set(APP, "nightly")
    update(spark, table)
    update(spark, table)
    assert (1, 2) in rows(table)


def test_the_version_is_unset_after_a_change_if_the_session_asks_for_that(
    spark: SparkSession, table: str
) -> None:
    identify(spark, 1)
    spark.conf.set(RESET, "true")
    update(spark, table)
    assert spark.conf.get(VERSION, None) is None
    update(spark, table)
    assert (1, 2) in rows(table)
