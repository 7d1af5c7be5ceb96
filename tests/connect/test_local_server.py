"""`remote("local[*]")` after `install_as_delta()`: a server in the process of its client."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

# The port is a free one for Spark's own tests alone; the JVM must not take itself for one of them.
_PROGRAM = """
import json, os, sys
import lakebed
lakebed.install_as_delta()
from pyspark import SparkContext
SparkContext._ensure_initialized()
os.environ["SPARK_TESTING"] = "1"
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.functions import col
from delta.connect.tables import DeltaTable

spark = (
    SparkSession.builder.config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
    .config("spark.ui.enabled", "false")
    .remote("local[2]")
    .getOrCreate()
)
spark.sql("CREATE TABLE t (id LONG) USING delta")
spark.range(5).write.format("delta").mode("append").saveAsTable("t")
table = DeltaTable.forName(spark, "t")
table.delete(col("id") == 3)
try:
    spark.sql("ALTER TABLE t SET TBLPROPERTIES ('delta.nope' = '1')")
except AnalysisException as error:
    condition = error.getCondition()
told = {
    "module": type(spark).__module__,
    "rows": sorted(row.id for row in table.toDF().collect()),
    "versions": spark.sql("DESCRIBE HISTORY t").count(),
    "condition": condition,
}
print("told", json.dumps(told))
spark.stop()
"""


@pytest.mark.slow("starts a JVM, a server and the Python process that answers for it")
@pytest.mark.usefixtures("java")
def test_a_local_server_knows_delta_tables(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    [line] = [each for each in done.stdout.splitlines() if each.startswith("told ")] or [
        done.stderr
    ]
    assert json.loads(line.removeprefix("told ")) == {
        "module": "pyspark.sql.connect.session",
        "rows": [0, 1, 2, 4],
        "versions": 3,
        "condition": "DELTA_UNKNOWN_CONFIGURATION",
    }
    assert done.returncode == 0
