"""delta-spark, in SQL, so that its JAR is all that is needed of it."""

from __future__ import annotations

from typing import Any

from suite.peers.on_spark import OnSpark
from suite.rows import FILE_SIZE

SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # By default it reads every log in 50 tasks, which two cores only wait for.
    "spark.databricks.delta.snapshotPartitions": "2",
}


class DeltaSpark(OnSpark):
    def session(self) -> Any:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.appName("bench")
        for key, value in {**self.settings, **SETTINGS}.items():
            builder = builder.config(key, value)
        return builder.getOrCreate()

    def about(self) -> dict[str, Any]:
        return {"version": self.settings["spark.jars.packages"].split(":")[-1], **super().about()}

    def merge(self, path: str, source: str, key: str) -> None:
        self.spark.sql(
            f"MERGE INTO delta.`{path}` t USING parquet.`{source}` s ON {key} "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )

    def merge_delete(self, path: str, source: str, key: str) -> None:
        self.spark.sql(
            f"MERGE INTO delta.`{path}` t USING parquet.`{source}` s ON {key} "
            "WHEN MATCHED THEN DELETE"
        )

    def delete(self, path: str, where: str) -> None:
        self.spark.sql(f"DELETE FROM delta.`{path}` WHERE {where}")

    def compact(self, path: str, size: int) -> None:
        self.spark.conf.set(FILE_SIZE, str(size))
        self.spark.sql(f"OPTIMIZE delta.`{path}`")

    def zorder(self, path: str, size: int, columns: list[str]) -> None:
        self.spark.conf.set(FILE_SIZE, str(size))
        self.spark.sql(f"OPTIMIZE delta.`{path}` ZORDER BY ({', '.join(columns)})")

    def vacuum(self, path: str) -> None:
        self.spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
        self.spark.sql(f"VACUUM delta.`{path}` RETAIN 0 HOURS")
