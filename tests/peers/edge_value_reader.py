"""delta-spark reads tables of edge values, in a process of its own; its answer is JSON on stdout.

Arguments: the folder with the tables, and the package of delta-spark.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from testkit.edges.edge_check import lost_rows, queries_of_turn, without_zeros
from testkit.edges.edge_spark_reader import SparkReader
from testkit.edges.edge_writers import BY_OTHERS

NO_SESSION = 3
"""The status of the process if delta-spark did not start."""

_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
}


def main(folder: Path, package: str) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.jars.packages", package)
    for key, value in _SETTINGS.items():
        builder = builder.config(key, value)
    try:
        spark = builder.getOrCreate()
        spark.sql("SELECT 1").collect()
    except (Py4JError, PySparkException) as error:
        print(error, file=sys.stderr)
        sys.exit(NO_SESSION)
    reader = SparkReader(lambda path: spark.read.format("delta").load(str(path)))
    found = {}
    for turn, path in enumerate(sorted(folder.iterdir())):
        if (path / "_delta_log").exists():
            queries = [query[turn % 32 :: 32] for query in queries_of_turn(turn * 7)]
            if path.name in BY_OTHERS:
                queries = [without_zeros(each) for each in queries]
            found[path.name] = lost_rows(reader, path, queries)
            frame = spark.read.format("delta").load(str(path))
            found[path.name] += [
                condition
                for condition in ("double_nan > 100", "s.float_nan >= 100", "NOT (float_nan <= 5)")
                if [row.id for row in frame.where(condition).collect()] != [1]
            ]
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
