"""The changes of customers, as another database sends them."""

from __future__ import annotations

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

spark = SparkSession.active()


@dp.table(format="delta")
def customer_changes() -> DataFrame:
    arriving = spark.readStream.schema("id BIGINT, name STRING, change STRING, number BIGINT")
    return arriving.json(spark.conf.get("shop.changes"))
