"""Spark with Hadoop's connector for S3, as a program of its own: its JARs are there at the start.

    python native_application.py <folder of Ivy> <options as JSON> <bucket> <empty bucket>

Prints the name of each step that holds.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError

import lakebed
from lakebed.errors import StoreCredentialsError
from lakebed.settings.setting_table import DATA_PLANE
from lakebed.spark.internals.jvm import Jvm
from lakebed.spark.native.native_plane import NativePlane
from lakebed.spark.plane_selection import plane_for
from lakebed.storage import open_store
from lakebed.tables import DeltaTable


def rows(frame: Any) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.collect())


def main(ivy: str, text: str, bucket: str, other: str) -> None:
    options: dict[str, str] = json.loads(text)
    spark = lakebed.session(
        "stores",
        master="local[2]",
        stores=["s3"],
        spark_ui_enabled=False,
        spark_driver_host="127.0.0.1",
        spark_jars_ivy=ivy,
        spark_sql_shuffle_partitions=2,
    )
    spark.sparkContext.setLogLevel("ERROR")
    spark.conf.set(DATA_PLANE.name, "native")
    assert Jvm.of(spark).has_file_system("s3a")

    wrong = {**options, "aws_secret_access_key": "wrong"}
    url = f"{bucket}/a b/t"
    with pytest.raises(StoreCredentialsError) as caught:
        spark.range(3).write.format("delta").options(**wrong).save(url)
    assert "aws_secret_access_key" in str(caught.value.hint)
    print("wrong credentials are refused")
    # What Hadoop itself does with them must not stay either.
    plane = plane_for(spark, open_store(url, options), url, wrong)
    assert isinstance(plane, NativePlane)
    way = Jvm.of(spark)
    settings = way._hadoop_settings()
    for key, value in plane.hadoop.items():
        settings.set(key, value)
    place = way.path(f"{plane.root}/x")
    with pytest.raises(Py4JJavaError, match=r"403|Signature"):
        place.getFileSystem(settings).exists(place)
    print("Hadoop was refused too")

    frame = spark.range(0, 100, 1, 4).selectExpr("id", "id % 3 p")
    frame.write.format("delta").options(**options).partitionBy("p").save(url)
    reader = spark.read.format("delta").options(**options)
    assert rows(reader.load(url).where("p = 1")) == [(n, 1) for n in range(1, 100, 3)]
    assert isinstance(plane_for(spark, open_store(url, options), url, options), NativePlane)
    print("options are enough for both planes")

    named = url.replace("s3://", "s3a://")
    assert reader.load(named).count() == 100
    frame.write.format("delta").mode("append").options(**options).save(named)
    assert reader.load(url).count() == 200
    print("any scheme")

    lakebed.write(url, pa.table({"id": [1000], "p": [0]}), storage_options=options)
    table = DeltaTable.forPath(spark, url, options)
    table.delete("id < 50")
    table.update("id = 99", {"id": "990"})
    source = spark.createDataFrame([(990, 0), (5000, 1)], "id long, p long")
    (
        table.alias("t")
        .merge(source.alias("s"), "t.id = s.id")
        .whenMatchedDelete()
        .whenNotMatchedInsertAll()
        .execute()
    )
    assert reader.load(url).count() == 200 + 1 - 100 - 2 + 1
    table.optimize().executeCompaction()
    assert reader.load(url).count() == 100
    print("changes of rows")

    for name, value in {
        "access.key": options["aws_access_key_id"],
        "secret.key": options["aws_secret_access_key"],
        "endpoint": options["aws_endpoint_url"],
        "endpoint.region": options["aws_region"],
        "path.style.access": "true",
    }.items():
        spark.conf.set(f"fs.s3a.{name}", value)
    spark.sql(f"CREATE TABLE delta.`{other}/u` (id long) USING delta")
    spark.sql(f"INSERT INTO delta.`{other}/u` SELECT id FROM range(10)")
    spark.sql(f"DELETE FROM delta.`{other}/u` WHERE id > 6")
    assert spark.read.format("delta").load(f"{other}/u").count() == 7
    assert spark.read.format("delta").load(f"{other.replace('s3:', 's3a:')}/u").count() == 7
    print("settings of the session, in SQL")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
