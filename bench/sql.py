"""What the SQL front end costs, in milliseconds, warm: for Delta tables, and for other statements.

    python bench/sql.py               200 rounds
    python bench/sql.py --rounds 50   fewer

A Delta SELECT: the time until `spark.sql` returns, less the time to open the table with
`spark.read.format("delta").load(path)` and less Spark's own time for the same statement over a view
of that DataFrame. What remains is the front end: finding the tables, and putting them in.

Statements that are not about Delta: the time of `spark.sql` in an enabled session, less that of
Spark's own `spark.sql` in a session that was never enabled.

All measures alternate; the figures are medians, and with --best those of the fastest rounds, which
say more on a busy machine.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import lakebed
from lakebed.catalog.entry import NewEntry
from lakebed.spark.catalog.session_catalog import create_entry

Summary = Callable[[list[float]], float]
WARM = 60
LIMIT_DELTA, LIMIT_OTHERS = 20.0, 1.0
QUERY = "SELECT id, price FROM {table} WHERE id > 10 AND day = 'mon'"
OTHERS = {
    "SELECT of a constant": "SELECT 1 AS one",
    "SELECT over a view": "SELECT id FROM numbers WHERE id > 10",
    "join of Parquet tables": "SELECT a.id FROM plain a JOIN plain b ON a.id = b.id",
    "SET": "SET spark.sql.shuffle.partitions",
    "SHOW TABLES": "SHOW TABLES",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--best", action="store_true")
    given = parser.parse_args()
    rounds, summary = given.rounds, min if given.best else statistics.median
    with tempfile.TemporaryDirectory() as folder:
        builder = SparkSession.builder.appName("bench-sql").master("local[2]")
        builder = builder.config("spark.ui.enabled", "false")
        plain = builder.config("spark.sql.warehouse.dir", f"{folder}/warehouse").getOrCreate()
        plain.sparkContext.setLogLevel("ERROR")
        spark = lakebed.enable(plain.newSession())
        prepare(spark, folder)
        plain.range(100).createOrReplaceTempView("numbers")
        delta(spark, folder, rounds, summary)
        others(spark, plain, rounds, summary)
        plain.stop()


def prepare(spark: Any, folder: str) -> None:
    rows = pa.table({"id": range(1000), "price": [1.5] * 1000, "day": ["mon", "tue"] * 500})
    for _ in range(20):
        lakebed.write(f"{folder}/orders", rows)
    create_entry(spark, NewEntry("default", "orders", f"{folder}/orders", is_managed=False))
    spark.range(100).write.mode("overwrite").saveAsTable("plain")
    spark.range(100).createOrReplaceTempView("numbers")


def delta(spark: Any, folder: str, rounds: int, summary: Summary) -> None:
    path = f"{folder}/orders"

    def opened() -> Any:
        return spark.read.format("delta").load(path)

    opened().createOrReplaceTempView("orders_view")
    measures = {
        "by name": lambda: spark.sql(QUERY.format(table="orders")),
        "by path": lambda: spark.sql(QUERY.format(table=f"delta.`{path}`")),
        "open": opened,
        "spark": lambda: spark.sql(QUERY.format(table="orders_view")),
    }
    found = timed(measures, rounds, summary)
    print("Delta SELECT, to an analysed DataFrame (ms)")
    print(f"  opening the table             {found['open']:8.2f}")
    print(f"  Spark's own work              {found['spark']:8.2f}")
    for name in ("by name", "by path"):
        over = found[name] - found["open"] - found["spark"]
        note = "" if over < LIMIT_DELTA else f"  OVER {LIMIT_DELTA} ms"
        print(f"  spark.sql {name:<20}{found[name]:8.2f}   front end {over:6.2f}{note}")


def others(spark: Any, plain: Any, rounds: int, summary: Summary) -> None:
    print("Statements that are not about Delta (ms)")
    for name, text in OTHERS.items():
        measures = {
            "enabled": lambda text=text: spark.sql(text),
            "plain": lambda text=text: plain.sql(text),
        }
        found = timed(measures, rounds, summary)
        over = found["enabled"] - found["plain"]
        note = "" if over < LIMIT_OTHERS else f"  OVER {LIMIT_OTHERS} ms"
        print(f"  {name:<28}{found['plain']:8.2f} -> {found['enabled']:6.2f}   +{over:5.2f}{note}")


def timed(
    measures: dict[str, Callable[[], Any]], rounds: int, summary: Summary
) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in measures}
    for turn in range(WARM + rounds):
        for name, run in measures.items():
            start = time.perf_counter()
            run()
            if turn >= WARM:
                times[name].append(1000 * (time.perf_counter() - start))
    return {name: summary(each) for name, each in times.items()}


if __name__ == "__main__":
    main()
