"""Bronze: the orders as they arrive."""

from __future__ import annotations

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

spark = SparkSession.active()


@dp.table(format="delta")
def bronze_orders() -> DataFrame:
    arriving = spark.readStream.schema("id BIGINT, region STRING, amount DOUBLE")
    return arriving.json(spark.conf.get("shop.orders"))
