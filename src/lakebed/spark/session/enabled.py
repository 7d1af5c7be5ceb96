"""How a session is marked as one that reads and writes Delta tables."""

from __future__ import annotations

from pyspark.sql import SparkSession

ENABLED = "spark.lakebed.enabled"


def is_enabled(spark: SparkSession) -> bool:
    return bool(spark.conf.get(ENABLED, "false") == "true")
