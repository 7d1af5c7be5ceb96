"""Raw Parquet on Spark: what Delta tables on Spark can reach at best."""

from __future__ import annotations

from typing import Any

from suite.peers.on_spark import OnSpark


class Parquet(OnSpark):
    format = "parquet"

    def session(self) -> Any:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.appName("bench")
        for key, value in self.settings.items():
            builder = builder.config(key, value)
        return builder.getOrCreate()

    def about(self) -> dict[str, Any]:
        return {"version": self.spark.version, **super().about()}
