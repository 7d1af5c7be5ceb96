"""The part of the demo with streams: from files to bronze, silver and gold, each row once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

from display import show, title
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter

import lakebed

CUSTOMERS = ("Ada", "Grace", "Mary")
ORDERS_PER_FILE = 200


class Streams:
    """Orders arrive as JSON files. Three streams keep the newest order of each customer."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.inbox = folder / "inbox"
        self.inbox.mkdir(parents=True, exist_ok=True)

    def tell(self) -> None:
        title("Streams: files to bronze, complete rows to silver, an upsert into gold")
        gold = lakebed.DeltaTable.createIfNotExists(self.spark).location(self.path("gold"))
        gold.addColumn("customer", "STRING").addColumn("id", "LONG").addColumn(
            "amount", "LONG"
        ).execute()
        for day in (1, 2):
            for part in range(3):
                self.arrive(day, part)
            start = time.monotonic()
            self.run("bronze", self.bronze())
            self.run("silver", self.silver())
            self.run("gold", self.gold())
            print(f"day {day}: three streams in {time.monotonic() - start:.1f} s")
        print()
        show(self.counts())
        print()
        show(row.asDict() for row in self.read("gold").orderBy("customer").collect())
        title("How far each stream has read, from its checkpoint alone")
        for name, source in (("silver", "bronze"), ("gold", "silver")):
            progress = lakebed.stream_progress(self.checkpoint(name), tables=self.path(source))
            behind = progress.to_pylist()[0]
            print(f"{name}: version {behind['version']}, {behind['files_behind']} files behind")

    def arrive(self, day: int, part: int) -> None:
        """A file of orders, of which one in ten has no amount."""
        first = (10 * day + part) * ORDERS_PER_FILE
        orders = (
            {"id": n, "customer": CUSTOMERS[n % 3], "amount": n % 50 if n % 10 else None}
            for n in range(first, first + ORDERS_PER_FILE)
        )
        file = self.inbox / f"orders-{day}-{part}.json"
        file.write_text("\n".join(map(json.dumps, orders)), encoding="utf-8")

    def bronze(self) -> DataStreamWriter:
        """What was received, as it was received."""
        files = self.spark.readStream.schema("id LONG, customer STRING, amount LONG")
        return (
            files.json(str(self.inbox))
            .writeStream.format("delta")
            .option("path", self.path("bronze"))
        )

    def silver(self) -> DataStreamWriter:
        good = self.stream("bronze").where("amount IS NOT NULL")
        return good.writeStream.format("delta").option("path", self.path("silver"))

    def gold(self) -> DataStreamWriter:
        return self.stream("silver").writeStream.foreachBatch(self.upsert())

    def upsert(self) -> Callable[[DataFrame, int], None]:
        path = self.path("gold")

        def merge(batch: DataFrame, _: int) -> None:
            newest = batch.groupBy("customer").agg(
                F.max("id").alias("id"), F.max_by("amount", "id").alias("amount")
            )
            gold = lakebed.DeltaTable.forPath(batch.sparkSession, path).alias("g")
            # A batch that Spark repeats changes nothing: no order in it is newer than the table.
            (
                gold.merge(newest.alias("b"), "g.customer = b.customer")
                .whenMatchedUpdateAll("b.id > g.id")
                .whenNotMatchedInsertAll()
                .execute()
            )

        return merge

    def run(self, name: str, writer: DataStreamWriter) -> None:
        """Processes what is there, and ends."""
        query = writer.option("checkpointLocation", self.checkpoint(name))
        query.trigger(availableNow=True).start().awaitTermination()

    def counts(self) -> list[dict[str, object]]:
        return [{"table": name, "rows": self.read(name).count()} for name in ("bronze", "silver")]

    def path(self, name: str) -> str:
        return str(self.folder / name)

    def checkpoint(self, name: str) -> str:
        return str(self.folder / "_checkpoints" / name)

    def read(self, name: str) -> DataFrame:
        return self.spark.read.format("delta").load(self.path(name))

    def stream(self, name: str) -> DataFrame:
        return self.spark.readStream.format("delta").load(self.path(name))
