"""The shortest way into Delta tables on Spark: write, append, read, travel in time.

.venv/bin/python examples/spark_quickstart.py [FOLDER]
"""

from __future__ import annotations

import sys
import tempfile

import lakebed


def main(path: str) -> None:
    spark = lakebed.session("quickstart", master="local[2]", spark_ui_enabled=False)
    spark.sparkContext.setLogLevel("ERROR")

    events = spark.createDataFrame(
        [(1, "2026-01-05", 12.5), (2, "2026-01-05", 7.0), (3, "2026-01-06", 30.0)],
        "id LONG, day STRING, price DOUBLE",
    )
    events.write.format("delta").partitionBy("day").save(path)

    more = spark.createDataFrame([(4, "2026-01-07", 11.0)], events.schema)
    more.write.format("delta").mode("append").save(path)

    expensive = spark.read.format("delta").load(path).where("price > 10")
    print("over 10:", [row.id for row in expensive.orderBy("id").collect()])

    first = spark.read.format("delta").option("versionAsOf", 0).load(path)
    print("first version:", first.count(), "rows")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else f"{tempfile.mkdtemp()}/events")
