"""Parameters of Lakebed's own statements: values are values, whatever their characters."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import lakebed
from lakebed.errors import SqlError

# Spark replaces the first in the text of statements, the others are signs of SQL.
TRICKY = ["${env:HOME}", "it's", 'say "hi"', "back\\slash \\' OR 1=1 --", ":p ?"]


@pytest.fixture
def table(tmp_path: Path) -> str:
    """Partitioned by p, with two files for each value."""
    path = tmp_path / "orders"
    for start in (0, 10):
        values = [*TRICKY, "other"]
        ids = list(range(start, start + len(values)))
        lakebed.write(path, pa.table({"id": ids, "p": values}), partition_by=["p"])
    return str(path)


def last(spark: SparkSession, path: str) -> Any:
    return spark.sql(f"DESCRIBE HISTORY delta.`{path}` LIMIT 1").first()


@pytest.mark.parametrize("value", TRICKY)
def test_optimize_where_takes_values(spark: SparkSession, table: str, value: str) -> None:
    spark.sql(f"OPTIMIZE delta.`{table}` WHERE p = :v AND p <> ':v'", {"v": value})
    entry = last(spark, table)
    assert entry["operationMetrics"]["numRemovedFiles"] == "2"
    assert spark.read.format("delta").load(table).count() == 2 * len(TRICKY) + 2
    shown = json.loads(entry["operationParameters"]["predicate"])
    kept = lakebed.open(table).to_arrow(where=shown[0])
    assert set(kept.column("p").to_pylist()) == {value}


def test_question_marks_go_by_their_order(spark: SparkSession, table: str) -> None:
    query = f"OPTIMIZE delta.`{table}` WHERE p IN (?, ?) OR p = ?"
    spark.sql(query, args=[TRICKY[0], TRICKY[1], "nothing"])
    assert last(spark, table)["operationMetrics"]["numRemovedFiles"] == "4"


@pytest.mark.parametrize("value", TRICKY)
def test_reorg_where_takes_values(spark: SparkSession, table: str, value: str) -> None:
    spark.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES (delta.enableDeletionVectors = true)")
    lakebed.write(table, pa.table({"id": [90, 91], "p": [value] * 2}))
    spark.sql(f"DELETE FROM delta.`{table}` WHERE id = 90")
    spark.sql(f"REORG TABLE delta.`{table}` WHERE p = :v APPLY (PURGE)", {"v": value})
    assert last(spark, table)["operation"] == "REORG"


def test_restore_takes_versions_and_times(spark: SparkSession, table: str) -> None:
    spark.sql(f"RESTORE delta.`{table}` TO VERSION AS OF :v", {"v": 0})
    assert spark.read.format("delta").load(table).count() == len(TRICKY) + 1
    spark.sql(f"RESTORE delta.`{table}` TO VERSION AS OF ?", args=["1"])
    assert spark.read.format("delta").load(table).count() == 2 * len(TRICKY) + 2
    when = spark.sql(f"DESCRIBE HISTORY delta.`{table}`").where("version = 0").head()["timestamp"]
    for given in (when, str(when)):
        spark.sql(f"RESTORE delta.`{table}` TO TIMESTAMP AS OF :t", {"t": given})
        assert spark.read.format("delta").load(table).count() == len(TRICKY) + 1
    for value in (*TRICKY, -1, 1.5, True, None):
        with pytest.raises(SqlError, match="not the number of a version"):
            spark.sql(f"RESTORE delta.`{table}` TO VERSION AS OF :v", {"v": value})
    with pytest.raises(SqlError, match="not a time"):
        spark.sql(f"RESTORE delta.`{table}` TO TIMESTAMP AS OF :t", {"t": "${env:HOME}"})


def test_paths_and_names_are_values(spark: SparkSession, tmp_path: Path) -> None:
    for place, name in enumerate(TRICKY):
        path = str(tmp_path / name)
        lakebed.write(path, pa.table({"id": [place]}))
        assert spark.sql("DESCRIBE DETAIL :path", {"path": path}).count() == 1
        assert spark.sql("DESCRIBE HISTORY ? LIMIT ?", args=[path, 1]).count() == 1
        quoted = path.replace("`", "``")
        given = {"t": f"delta.`{quoted}`", "h": 200, "path": path}
        assert spark.sql("VACUUM :path RETAIN :h HOURS DRY RUN", given).count() == 0
        assert spark.sql("OPTIMIZE IDENTIFIER(:t)", given).count() == 1
    with pytest.raises(SqlError, match="number of hours"):
        spark.sql("VACUUM :path RETAIN :h HOURS", {"path": path, "h": "200"})


def test_inventories_take_values(spark: SparkSession, table: str) -> None:
    names = ["a.parquet", "it's.parquet", "back\\slash.parquet"]
    for name in names:
        (Path(table) / name).write_bytes(b"x")
        os.utime(Path(table) / name, (1, 1))
    listed = ", ".join(f'(r"file:{table}/{name}", 1L, false, 1L)' for name in names)
    query = (
        f"VACUUM delta.`{table}` USING INVENTORY (SELECT * FROM VALUES {listed}"
        " AS t(path, length, isDir, modificationTime) WHERE path = :v) DRY RUN"
    )
    for name in names:
        found = spark.sql(query, {"v": f"file:{table}/{name}"}).collect()
        assert [row[0].rsplit("/", 1)[1] for row in found] == [name]


@pytest.mark.parametrize("value", TRICKY)
def test_copy_takes_values(spark: SparkSession, tmp_path: Path, value: str) -> None:
    source, target = tmp_path / "it's 100%", tmp_path / "target"
    spark.createDataFrame([(1, value), (2, "other")], "id INT, p STRING").write.json(str(source))
    lakebed.write(target, pa.table({"id": pa.array([0], pa.int32()), "p": ["a"]}))
    spark.sql(
        f"COPY INTO delta.`{target}` FROM (SELECT id, concat(p, :v) AS p FROM :source WHERE p = :v)"
        " FILEFORMAT = JSON COPY_OPTIONS ('force' = :force)",
        {"v": value, "source": str(source), "force": True},
    )
    found = spark.read.format("delta").load(str(target)).where("id > 0").collect()
    assert found == [(1, value + value)]


@pytest.mark.parametrize("value", TRICKY)
def test_clones_take_values(spark: SparkSession, table: str, tmp_path: Path, value: str) -> None:
    target = tmp_path / "clone"
    spark.sql(
        f"CREATE TABLE delta.`{target}` SHALLOW CLONE delta.`{table}` VERSION AS OF :n"
        " TBLPROPERTIES ('owner' = :v)",
        {"n": 0, "v": value},
    )
    assert spark.read.format("delta").load(str(target)).count() == len(TRICKY) + 1
    assert lakebed.open(str(target)).properties["owner"] == value


def test_computed_values_and_variables(spark: SparkSession, table: str) -> None:
    spark.sql("DECLARE OR REPLACE VARIABLE home STRING DEFAULT concat('$', '{env:HOME}')")
    text = f"OPTIMIZE delta.`{table}` WHERE p = :v"
    spark.sql(f"EXECUTE IMMEDIATE '{text}' USING home AS v")
    assert last(spark, table)["operationMetrics"]["numRemovedFiles"] == "2"
    spark.sql("DROP TEMPORARY VARIABLE home")
    spark.sql(text, {"v": F.lit("it's")})
    assert last(spark, table)["operationMetrics"]["numRemovedFiles"] == "2"


def test_markers_without_a_value_are_refused_by_spark(spark: SparkSession, table: str) -> None:
    for args in (None, {"q": 1}):
        with pytest.raises(AnalysisException, match="UNBOUND_SQL_PARAMETER"):
            spark.sql(f"OPTIMIZE delta.`{table}` WHERE p = :v", args)
    with pytest.raises(AnalysisException, match="UNBOUND_SQL_PARAMETER"):
        spark.sql(f"OPTIMIZE delta.`{table}` WHERE p = ? OR p = ?", args=["a"])
