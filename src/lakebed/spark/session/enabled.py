"""How a session is marked as one that reads and writes Delta tables."""

from __future__ import annotations

from pyspark.sql import SparkSession

from lakebed.settings.setting_table import ENABLED


def is_enabled(spark: SparkSession) -> bool:
    return ENABLED.of(spark)
