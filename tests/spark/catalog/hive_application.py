"""Two sessions after each other on one Hive metastore, in processes of their own.

`hive_application.py FOLDER first|second` prints what it finds as a line of JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import lakebed


def session(folder: Path) -> SparkSession:
    derby = f"jdbc:derby:;databaseName={folder}/metastore;create=true"
    builder = SparkSession.builder.master("local[1]").enableHiveSupport()
    for key, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.hadoop.javax.jdo.option.ConnectionURL": derby,
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder} -XX:TieredStopAtLevel=1",
    }.items():
        builder = builder.config(key, value)
    return lakebed.enable(builder.getOrCreate())


def first(spark: SparkSession, folder: Path) -> dict[str, Any]:
    spark.sql(f"CREATE DATABASE shop LOCATION '{folder}/s hop'")
    spark.sql("CREATE TABLE shop.Made (Id INT NOT NULL, day DATE) USING delta PARTITIONED BY (day)")
    spark.sql("INSERT INTO shop.made VALUES (1, DATE'2026-01-31')")
    spark.sql(f"CREATE TABLE shop.ext USING delta LOCATION '{folder}/ext' AS SELECT 1 AS a")
    spark.range(3).write.format("delta").saveAsTable("shop.saved")
    spark.range(2).write.format("delta").option("path", f"{folder}/out").saveAsTable("shop.out")
    spark.sql("CREATE VIEW shop.seen AS SELECT id FROM shop.made")
    return {"kinds": kinds(spark)}


def second(spark: SparkSession, folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {"kinds": kinds(spark)}
    spark.sql("ALTER TABLE shop.made ADD COLUMNS (note STRING)")
    spark.sql("INSERT INTO shop.made VALUES (2, DATE'2026-02-01', 'x')")
    spark.range(3, 5).write.format("delta").mode("append").saveAsTable("shop.saved")
    spark.sql("ALTER TABLE shop.saved RENAME TO shop.stored")
    found["made"] = [
        str(tuple(r)) for r in spark.sql("SELECT * FROM shop.made ORDER BY id").collect()
    ]
    found["stored"] = spark.table("shop.stored").count()
    found["seen"] = spark.sql("SELECT count(*) FROM shop.seen").collect()[0][0]
    columns = spark.catalog.listColumns("shop.made")
    found["columns"] = [(each.name, each.isPartition) for each in columns]
    for name in ("made", "ext", "stored", "out"):
        spark.sql(f"DROP TABLE shop.{name}")
    found["left"] = [row.tableName for row in spark.sql("SHOW TABLES IN shop").collect()]
    spark.sql("UNDROP TABLE shop.made")
    found["back"] = spark.table("shop.made").count()
    spark.sql("DROP TABLE shop.made PURGE")
    found["ext"] = lakebed.open(folder / "ext").to_arrow().num_rows
    found["out"] = lakebed.open(folder / "out").to_arrow().num_rows
    return found


def kinds(spark: SparkSession) -> dict[str, str]:
    return {each.name: each.tableType for each in spark.catalog.listTables("shop")}


if __name__ == "__main__":
    where = Path(sys.argv[1])
    started = session(where)
    started.sparkContext.setLogLevel("OFF")
    result = first(started, where) if sys.argv[2] == "first" else second(started, where)
    print(json.dumps(result), flush=True)
    started.stop()
