"""Programs for delta-spark whose session is one of Spark Connect."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """\
import sys

import lakebed

lakebed.install_as_delta()

from delta.tables import DeltaTable
from delta.connect.tables import DeltaTable as ConnectTable
from pyspark.sql import SparkSession

path = sys.argv[2]
spark = (
    SparkSession.builder.remote(sys.argv[1])
    .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .config("spark.sql.shuffle.partitions", "3")
    .getOrCreate()
)
spark.range(4).write.format("delta").save(path)
table = DeltaTable.forPath(spark, path)
table.delete("id = 2")
print(sorted(row.id for row in table.toDF().collect()), ConnectTable is DeltaTable)
print(spark.conf.get("spark.sql.shuffle.partitions"))
for name in ("newSession", "cloneSession"):
    if hasattr(type(spark), name):
        other = getattr(spark, name)()
        print(name, other.read.format("delta").load(path).count(), file=sys.stderr)
        other.stop()  # else PySpark waits for its channel for ever
spark.stop()
"""


def test_a_session_of_spark_connect_is_enabled_by_its_builder(
    connect_server: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, connect_server, str(tmp_path / "t")],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout == "[0, 1, 3] True\n3\n", done.stderr
    from pyspark.sql.connect.session import SparkSession

    for name in ("newSession", "cloneSession"):  # not in all versions of Spark
        assert (f"{name} 3" in done.stderr) == hasattr(SparkSession, name)
