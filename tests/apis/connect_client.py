"""A client of Spark Connect that knows nothing of Lakebed: ADDRESS FOLDER."""

from __future__ import annotations

import importlib.util
import sys
import threading
from pathlib import Path
from typing import Any

from all_cases import CASES
from api_case import place
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def connected(address: str) -> Any:
    return SparkSession.builder.remote(address).create()


def reads_and_writes(spark: Any, folder: str) -> None:
    path = f"{folder}/by_path"
    spark.range(5).withColumn("v", F.lit("a")).write.format("delta").save(path)
    assert rows(spark.read.format("delta").load(path).where("id > 3")) == [(4, "a")]
    spark.sql("CREATE TABLE t (id BIGINT, v STRING) USING delta")
    spark.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    changes = "(SELECT id, 'm' AS v FROM range(2, 5))"
    spark.sql(
        f"MERGE INTO t USING {changes} s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    spark.sql("UPDATE t SET v = upper(v) WHERE id = 1")
    spark.sql("DELETE FROM t WHERE id = 4")
    assert rows(spark.table("t")) == [(1, "A"), (2, "m"), (3, "m")]
    assert rows(spark.sql("SELECT * FROM t VERSION AS OF 1")) == [(1, "a"), (2, "b")]
    assert spark.sql("DESCRIBE HISTORY t").count() == 5
    source = spark.range(9, 10).selectExpr("id", "'n' AS v").alias("s")
    source.mergeInto("t", F.expr("t.id = s.id")).whenNotMatched().insertAll().merge()
    spark.range(10, 11).selectExpr("id", "'w' AS v").writeTo("t").append()
    assert spark.table("t").count() == 5


def streams(spark: Any, folder: str) -> None:
    stream = spark.readStream.table("t").writeStream.option("checkpointLocation", f"{folder}/ck")
    stream.trigger(availableNow=True).toTable("copied", format="delta").awaitTermination(120)
    assert spark.table("copied").count() == 5


def refuses(spark: Any) -> None:
    said = ""
    try:
        spark.read.format("delta").load("/nowhere/at/all").collect()
    except Exception as error:  # noqa: BLE001 - whatever class the client makes of it
        said = str(error)
    assert "nowhere" in said, said


def all_at_once(address: str, count: int) -> None:
    errors: list[BaseException] = []

    def append(number: int) -> None:
        try:
            spark = connected(address)
            row = spark.range(1).selectExpr(f"CAST({number} AS BIGINT) AS id", "'many' AS v")
            row.write.format("delta").mode("append").saveAsTable("t")
            spark.stop()
        except BaseException as error:  # noqa: BLE001 - shown by the main thread
            errors.append(error)

    threads = [threading.Thread(target=append, args=(number,)) for number in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not errors, errors


def each_api(address: str, folder: str) -> None:
    """The cases of `docs/apis.md` that are for clients too; the errors of all that failed."""
    spark = connected(address)
    version = tuple(int(part) for part in spark.version.split(".")[:2])
    for name, value in INTERPRETED.items():
        spark.conf.set(name, value)
    errors = {}
    for number, case in enumerate(CASES):
        if case.connect and case.since <= version:
            try:
                with place(spark, Path(folder) / f"case{number}", f"client{number}") as here:
                    case.check(here)
            except Exception as error:  # noqa: BLE001 - shown together
                errors[f"{case.group}: {case.name}"] = str(error)[:500]
    assert not errors, errors


def main(address: str, folder: str) -> None:
    each_api(address, folder)
    spark = connected(address)
    reads_and_writes(spark, folder)
    streams(spark, folder)
    refuses(spark)
    all_at_once(address, 8)
    assert spark.sql("SELECT count(DISTINCT id) FROM t WHERE v = 'many'").collect() == [(8,)]
    assert importlib.util.find_spec("lakebed") is None
    print("all right", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
