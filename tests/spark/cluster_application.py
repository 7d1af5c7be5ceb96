"""An application on a standalone cluster: reads a Delta table, writes another, makes a copy by a
stream, and prints what it found as JSON.

python cluster_application.py MASTER TABLE TARGET
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import lakebed


def main(master: str, path: str, target: str) -> None:
    spark = lakebed.session(
        "lakebed-cluster",
        master=master,
        spark_driver_host="127.0.0.1",
        spark_ui_enabled=False,
        spark_executor_memory="512m",
        spark_driver_memory="512m",
        spark_cores_max=2,
        **{
            "spark.sql.shuffle.partitions": 2,
            # Both executors are there before the first task.
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
        },
    )
    try:
        found = {"executors": executors(spark), **reads(spark, path)}
        write(spark, path, target)
        for _ in range(2):
            # The second run has nothing to do.
            stream(spark, path, f"{target}_by_stream")
    finally:
        spark.stop()
    print(json.dumps(found))


def executors(spark: SparkSession) -> list[str]:
    """The executors that ran the tasks of a small job."""
    jobs = spark.sparkContext.parallelize(range(4), 4)
    ids = jobs.map(lambda _: __import__("os").environ["SPARK_EXECUTOR_DIRS"]).collect()
    return sorted(set(ids))


def reads(spark: SparkSession, path: str) -> dict[str, Any]:
    orders = spark.read.format("delta").load(path)
    south = orders.where("region = 'south' AND amount >= 600")
    regions = spark.createDataFrame([("north", "N"), ("south", "S")], ["region", "letter"])
    found: dict[str, Any] = {}
    for adaptive in (True, False):
        spark.conf.set("spark.sql.adaptive.enabled", str(adaptive).lower())
        # Spark would send the small side to every task; a shuffle is what is to be seen.
        joined = orders.hint("merge").join(regions, "region").groupBy("letter")
        summed = joined.agg(F.count("*"), F.sum("amount")).orderBy("letter")
        found[f"adaptive {adaptive}"] = {
            "count": orders.count(),
            "south": rows(south.select("id", "amount").orderBy("id")),
            "joined": rows(summed),
            "first": spark.read.format("delta").option("versionAsOf", 0).load(path).count(),
        }
    return found


def write(spark: SparkSession, path: str, target: str) -> None:
    """The orders in another order of partitions; then some of them a second time, shuffled."""
    orders = spark.read.format("delta").load(path)
    orders.write.format("delta").partitionBy("region").save(target)
    again = orders.where("amount < 300").repartition(4, "id").withColumn("id", F.col("id") + 1000)
    again.write.format("delta").mode("append").save(target)


def stream(spark: SparkSession, path: str, target: str) -> None:
    """A table with deletion vectors, a few files in each batch."""
    reader = spark.readStream.format("delta").option("maxFilesPerTrigger", 4)
    orders = reader.load(path).writeStream.format("delta").partitionBy("region")
    query = orders.option("checkpointLocation", f"{target}/_checkpoints/copy")
    query.trigger(availableNow=True).start(target).awaitTermination()


def rows(frame: DataFrame) -> list[list[Any]]:
    return [list(row) for row in frame.collect()]


if __name__ == "__main__":
    main(*sys.argv[1:])
