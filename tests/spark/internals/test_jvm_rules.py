"""What of Spark's inside the rules of Lakebed stand on; a test names what breaks without it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import lakebed
from lakebed.spark.internals.jvm import ROW_INDEX
from lakebed.spark.internals.startup.rules import METADATA_ONLY, install_rule
from lakebed.spark.native.vector_columns import HIDDEN
from testkit.tables.deleted_rows import delete


def test_the_compiler_of_spark_compiles_rules_and_the_optimizer_takes_them(
    spark: SparkSession,
) -> None:
    assert "lakebed.scans.MetadataOnly" in rule_names(spark)


def test_enabling_twice_adds_no_second_rule(spark: SparkSession) -> None:
    install_rule(spark, METADATA_ONLY)
    assert rule_names(spark).count("lakebed.scans.MetadataOnly") == 1


def test_a_new_session_has_the_rules_once_it_is_enabled(spark: SparkSession) -> None:
    other = spark.newSession()
    assert rule_names(other) == []
    assert rule_names(lakebed.enable(other)) == ["lakebed.scans.MetadataOnly"]


def test_rules_of_others_are_kept(spark: SparkSession) -> None:
    other = spark.newSession()
    none = other._jsparkSession.experimental().extraOptimizations().empty()
    experimental = other._jsparkSession.experimental()
    convert = "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation$"
    theirs = getattr(getattr(spark._jvm, convert), "MODULE$")
    getattr(experimental, "extraOptimizations_$eq")(none.appended(theirs))
    install_rule(other, METADATA_ONLY)
    assert rule_names(other) == [convert.rstrip("$"), "lakebed.scans.MetadataOnly"]


@pytest.fixture
def marked(spark: SparkSession, tmp_path: Path) -> Path:
    """Ten rows, of which one is deleted."""
    path = tmp_path / "t"
    rows = spark.range(10).coalesce(1).selectExpr("id", "id * 2 AS n")
    writer = rows.write.format("delta").option("delta.enableDeletionVectors", "true")
    writer.save(str(path))
    delete(path, [3])
    return path


def test_metadata_is_made_only_where_it_is_read(spark: SparkSession, marked: Path) -> None:
    """Breaks: the speed of such scans; Spark would make six columns for each row."""
    frame = spark.read.format("delta").load(str(marked))
    assert scanned(frame.select("id")) == {"id", ROW_INDEX, HIDDEN}
    assert scanned(frame.where("n > 4").select("id")) == {"id", "n", ROW_INDEX, HIDDEN}
    read = scanned(frame.select("id", "_metadata.file_name"))
    assert read >= {"id", "file_name", ROW_INDEX, HIDDEN}


def test_metadata_above_a_filter_on_deleted_rows(spark: SparkSession, marked: Path) -> None:
    """Breaks: `_metadata` of tables with vectors; makeCopy is gone, or the mark of the column."""
    frame = spark.read.format("delta").load(str(marked))
    assert frame.columns == ["id", "n"]
    found = frame.where("_metadata.row_index > 7").select("id", "_metadata.row_index")
    assert [tuple(row) for row in found.collect()] == [(8, 8), (9, 9)]
    name, size = frame.select("_metadata.file_name", "_metadata.file_size").first()
    file = next(marked.rglob(name))
    assert file.stat().st_size == size
    assert frame.where(F.col("_metadata.file_name") != name).count() == 0
    joined = frame.join(frame.select("id", "_metadata.file_name"), "id")
    assert joined.select("file_name").distinct().count() == 1


def scanned(frame: DataFrame) -> set[str]:
    """The columns that the scan of the physical plan makes."""
    plan = frame._jdf.queryExecution().sparkPlan()
    while plan.children().nonEmpty():
        plan = plan.children().head()
    return {str(plan.output().apply(i).name()) for i in range(plan.output().length())}


def rule_names(session: SparkSession) -> list[str]:
    rules = session._jsparkSession.experimental().extraOptimizations()
    return [str(rules.apply(i).ruleName()) for i in range(rules.length())]
