"""A small lakehouse on local Spark: ingest, query, refine, merge, a mistake, time travel, streams.

./run demo [FOLDER]
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from demo_streams import Streams
from display import show, title
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from quiet_spark import quiet_session
from readers import readers

import lakebed

REGIONS = ("north", "south", "west")
DAYS = ("2026-01-05", "2026-01-06", "2026-01-07")
ORDERS_PER_DAY = 100_000
WHERE = f"day = '{DAYS[2]}' AND id >= 290000"


def main(folder: Path) -> None:
    title("A local Spark that knows Delta tables: lakebed.session(), no JAR")
    start = time.monotonic()
    spark = quiet_session("lakebed-demo", folder / "warehouse")
    print(f"Spark {spark.version}, started in {time.monotonic() - start:.1f} s")
    try:
        Lakehouse(spark, folder).tell()
        Streams(spark, folder / "streams").tell()
    finally:
        spark.stop()
    print(f"\nThe tables stay in {folder}")


class Lakehouse:
    """Two tables: the orders as they come in, and the revenue that is made from them."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.orders = str(folder / "orders")
        self.revenue = str(folder / "revenue")

    def tell(self) -> None:
        self.ingest()
        self.skip()
        self.refine()
        self.correct()
        self.refuse()
        self.travel()
        self.compare()

    def ingest(self) -> None:
        title("Ingest: each day is appended to a table that is partitioned by day")
        for number, day in enumerate(DAYS):
            start = time.monotonic()
            writer = self.day(number).write.format("delta").mode("append")
            writer.partitionBy("day").save(self.orders)
            print(f"{day}: {ORDERS_PER_DAY:,} orders in {time.monotonic() - start:.1f} s")
        print()
        self.read(self.orders).printSchema()

    def skip(self) -> None:
        title(f"Query: {WHERE}")
        few = self.read(self.orders).where(WHERE)
        print(f"{lakebed.explain_scan(few)}\n")
        show_frame(few.groupBy("region").agg(F.count("*").alias("orders")).orderBy("region"))

    def refine(self) -> None:
        title("Refine: revenue by region, joined with who is responsible, as a table of its own")
        people = self.spark.createDataFrame(
            list(zip(REGIONS, ("Ada", "Grace", "Mary"), strict=True)), "region STRING, owner STRING"
        )
        by_region = self.read(self.orders).join(people, "region").groupBy("region", "owner")
        revenue = by_region.agg(F.sum("amount").alias("revenue"), F.count("*").alias("orders"))
        revenue.write.format("delta").mode("overwrite").save(self.revenue)
        show_frame(self.read(self.revenue).orderBy("region"))

    def correct(self) -> None:
        title("Correct: figures that came late are merged into the revenue, row by row")
        late = self.spark.createDataFrame(
            [("north", "Ada", 1_000), ("east", "Katherine", 500)],
            "region STRING, owner STRING, more LONG",
        )
        table = lakebed.DeltaTable.forPath(self.spark, self.revenue).alias("t")
        merge = table.merge(late.alias("s"), "t.region = s.region")
        merge = merge.whenMatchedUpdate(set={"revenue": "t.revenue + s.more"})
        new = {"region": "s.region", "owner": "s.owner", "revenue": "s.more", "orders": "1"}
        show_frame(merge.whenNotMatchedInsert(values=new).execute())
        print()
        show_frame(self.read(self.revenue).orderBy("region"))

    def refuse(self) -> None:
        title("Data that does not fit is refused as a whole, with both schemas")
        broken = self.spark.createDataFrame([("seven", 7)], "id STRING, price INT")
        try:
            broken.write.format("delta").mode("append").save(self.revenue)
        except lakebed.LakebedError as error:
            print(error)

    def travel(self) -> None:
        title("A mistake: somebody overwrites the orders. Every version can still be read")
        mistake = self.day(0).limit(5)
        mistake.write.format("delta").mode("overwrite").save(self.orders)
        show(
            {"version": version, "orders": self.read(self.orders, versionAsOf=version).count()}
            for version in range(len(DAYS) + 1)
        )
        print("\nRepair it: write version 2 back")
        before = self.read(self.orders, versionAsOf=2)
        before.write.format("delta").mode("overwrite").save(self.orders)
        title("History")
        show(map(history_line, lakebed.open(self.orders).history().to_pylist()))

    def compare(self) -> None:
        title("Every reader sees the same table")
        row = self.read(self.orders).agg(F.count("*"), F.sum("amount")).first()
        assert row is not None
        spark = {"reader": "Lakebed on Spark", "rows": row[0], "sum": row[1]}
        show([spark, *readers(self.orders, "amount")])

    def day(self, number: int) -> DataFrame:
        start = number * ORDERS_PER_DAY
        ids = self.spark.range(start, start + ORDERS_PER_DAY, numPartitions=2)
        regions = F.array(*map(F.lit, REGIONS))
        return ids.select(
            "id",
            F.lit(DAYS[number]).cast("date").alias("day"),
            F.element_at(regions, (F.col("id") % 3 + 1).cast("int")).alias("region"),
            (F.col("id") % 97 + 1).alias("amount"),
        )

    def read(self, path: str, **options: Any) -> DataFrame:
        return self.spark.read.format("delta").options(**options).load(path)


def history_line(commit: dict[str, Any]) -> dict[str, object]:
    return {
        "version": commit["version"],
        "time": commit["timestamp"],
        "operation": commit["operation"],
        "mode": dict(commit["operationParameters"])["mode"],
        "rows": int(dict(commit["operationMetrics"])["numOutputRows"]),
    }


def show_frame(frame: DataFrame) -> None:
    show(row.asDict() for row in frame.collect())


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
