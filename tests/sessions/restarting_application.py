"""Sessions that are enabled, or not, and started again in one process; run by `test_sessions`."""

from __future__ import annotations

import sys

import pyarrow as pa
from pyspark.sql import DataFrameReader, SparkSession

import lakebed


def start() -> SparkSession:
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    return builder.config("spark.driver.host", "127.0.0.1").getOrCreate()


def count(spark: SparkSession, path: str) -> int:
    return int(spark.read.format("delta").load(path).where("n > 1").count())


def is_refused(spark: SparkSession, path: str) -> bool:
    """By Spark itself, which knows no such data source; its class of error differs by version."""
    try:
        spark.read.format("delta").load(path)
    except Exception as error:  # noqa: BLE001
        return "DATA_SOURCE_NOT_FOUND" in str(error)
    return False


def main(path: str) -> None:
    lakebed.write(path, pa.table({"n": [1, 2, 3]}))
    spark = start()
    spark.sparkContext.setLogLevel("OFF")
    assert is_refused(spark, path), "a session that is not enabled stays as it was"
    assert lakebed.enable(lakebed.enable(spark)) is spark
    assert count(spark, path) == 2
    other = spark.newSession()
    assert count(other, path) == 2, "a session that is derived from it knows the table too"
    assert count(lakebed.enable(other), path) == 2
    assert type(spark.read) is DataFrameReader, "nothing of PySpark is replaced"
    spark.stop()
    again = lakebed.enable(start())
    assert again is not spark
    assert count(again, path) == 2
    lakebed.write(path, pa.table({"n": [4]}))
    assert count(lakebed.session(), path) == 3
    again.stop()
    print("all right")


if __name__ == "__main__":
    main(sys.argv[1])
