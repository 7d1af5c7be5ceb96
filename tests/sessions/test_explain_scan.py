"""`lakebed.explain_scan`: the numbers are those of the scan, and no predicate is forgotten."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import lakebed
from lakebed.errors import InvalidArgumentError
from lakebed.spark.read.scan_reports import ScanReport
from testkit.tables.deleted_rows import delete


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two commits of three partitions: six files with ten rows each."""
    path = tmp_path_factory.mktemp("tables") / "orders"
    for start in (0, 30):
        numbers = range(start, start + 30)
        data = pa.table(
            {
                "id": list(numbers),
                "name": [f"n{number}" for number in numbers],
                "day": [number % 3 for number in numbers],
            }
        )
        mode = "append" if start else "error"
        lakebed.write(path, data, mode=mode, partition_by=["day"])
    return str(path)


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("tables") / "days"
    lakebed.write(path, pa.table({"number": [0, 1, 2], "word": ["a", "b", "c"]}))
    return str(path)


def load(spark: SparkSession, path: str | Path, **options: Any) -> DataFrame:
    return spark.read.format("delta").options(**options).load(str(path))


def only_scan(frame: DataFrame) -> ScanReport:
    (scan,) = lakebed.explain_scan(frame)
    return scan


def effects(scan: ScanReport) -> dict[str, tuple[str, int | None]]:
    shown = (each for each in scan.predicates if "IS NOT NULL" not in each.sql)
    return {each.sql: (each.kind, each.files_spared) for each in shown}


# --- files --------------------------------------------------------------------------------------


def test_files_are_counted_by_what_left_them_out(spark: SparkSession, orders: str) -> None:
    frame = load(spark, orders).where("day > 0 AND id < 30").select("id")
    scan = only_scan(frame)
    counts = (scan.files_listed, scan.files_pruned_by_partition, scan.files_skipped_by_statistics)
    assert counts == (6, 2, 2)
    assert scan.files_read == 2 == len(frame.inputFiles()) - 4
    assert (scan.rows_read, scan.rows_total) == (20, 60)
    assert 0 < scan.bytes_read < scan.bytes_total
    assert scan.columns_read == ("id",)
    assert scan.version == 1
    assert scan.table.endswith("/orders")


def test_each_predicate_says_what_it_did(spark: SparkSession, orders: str) -> None:
    condition = "day > 0 AND id < 30 AND name LIKE '%9' AND (day = 1 OR id = 7) AND rand() < 0.9"
    scan = only_scan(load(spark, orders).where(condition))
    found = effects(scan)
    assert found["(day > 0L)"] == ("partition", 2)
    assert found["(id < 30L)"] == ("statistics", 2)
    assert found["endswith(name, '9')"] == ("rows", None)
    assert found["((day = 1L) OR (id = 7L))"] == ("rows", None)
    assert any(sql.startswith("(rand(") for sql in found)
    assert len(found) == 5
    notes = {each.sql: each.note for each in scan.predicates}
    assert notes["((day = 1L) OR (id = 7L))"] == "partition and data columns in one condition"
    assert "LessThan(id,30)" in scan.row_group_filters


def test_without_statistics_the_reason_is_named(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    properties = {"delta.dataSkippingNumIndexedCols": "0"}
    lakebed.write(path, pa.table({"id": [1, 2]}), properties=properties)
    (predicate,) = [
        each
        for each in only_scan(load(spark, path).where("id = 7")).predicates
        if "NULL" not in each.sql
    ]
    assert (predicate.files_spared, predicate.note) == (0, "no statistics of id")


def test_renamed_columns_have_the_names_of_the_table(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    properties = {"delta.columnMapping.mode": "name"}
    lakebed.write(path, pa.table({"id": [1], "p q": ["id"]}), properties=properties)
    scan = only_scan(load(spark, path).where("id = 3 AND `p q` = 'id'"))
    assert effects(scan) == {"(id = 3L)": ("statistics", 1), "(p q = 'id')": ("statistics", 0)}
    assert "EqualTo(id,3)" in scan.row_group_filters
    assert scan.columns_read == ("id", "p q")


def test_files_with_deletion_vectors_are_counted(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    properties = {"delta.enableDeletionVectors": "true"}
    lakebed.write(path, pa.table({"id": [1, 2, 3]}), properties=properties)
    delete(path, [0])
    lakebed.write(path, pa.table({"id": [7]}), mode="append")
    scan = only_scan(load(spark, path).where("id > 0"))
    assert (scan.files_read, scan.files_with_deletion_vectors) == (2, 1)
    assert (scan.rows_read, scan.columns_read) == (3, ("id",))
    assert effects(scan) == {"(id > 0L)": ("statistics", 0)}
    assert only_scan(load(spark, path).where("_metadata.row_index = 0")).files_read == 2


# --- plans --------------------------------------------------------------------------------------


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_a_dynamic_filter_is_shown_as_such(
    spark: SparkSession, orders: str, days: str, adaptive: str
) -> None:
    before = spark.conf.get("spark.sql.adaptive.enabled")
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        right = load(spark, days).where("word = 'b'")
        left = load(spark, orders).withColumnRenamed("day", "number")
        fact, dimension = lakebed.explain_scan(left.join(right, "number"))
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", before)
    assert fact.is_dynamic
    assert not dimension.is_dynamic
    assert [each.note for each in fact.predicates if each.kind == "dynamic"] == [
        "known only when the query runs"
    ]
    assert dimension.table.endswith("/days")


def test_scans_of_unions_subqueries_and_caches_are_found(
    spark: SparkSession, orders: str, days: str
) -> None:
    load(spark, days).createOrReplaceTempView("explained_days")
    load(spark, orders, versionAsOf=0).createOrReplaceTempView("explained_orders")
    union = "SELECT id FROM explained_orders UNION ALL SELECT number FROM explained_days"
    assert tables(spark.sql(union)) == [("orders", 0), ("days", 0)]
    nested = "SELECT * FROM explained_orders WHERE id < (SELECT sum(number) FROM explained_days)"
    assert sorted(tables(spark.sql(nested))) == [("days", 0), ("orders", 0)]
    cached = load(spark, orders).groupBy("day").count().cache()
    try:
        assert tables(cached.where("day = 1")) == [("orders", 1)]
    finally:
        cached.unpersist()


def test_a_dataframe_is_explained_after_another_of_the_same_version_is_gone(
    spark: SparkSession, orders: str
) -> None:
    kept = load(spark, orders)
    load(spark, orders).schema  # noqa: B018 - read and forgotten
    gc.collect()
    spark._jvm.System.gc()
    assert only_scan(kept).files_read == 6


def test_what_is_no_delta_scan_is_not_there(spark: SparkSession, days: str) -> None:
    assert len(lakebed.explain_scan(spark.range(3))) == 0
    from_the_log = lakebed.explain_scan(load(spark, days).selectExpr("count(*)"))
    assert "No scan of a Delta table" in str(from_the_log)
    assert "No scan of a Delta table" in from_the_log._repr_html_()


def test_streams_and_other_things_are_refused(spark: SparkSession) -> None:
    with pytest.raises(InvalidArgumentError, match="a stream has no scan"):
        lakebed.explain_scan(spark.readStream.format("rate").load())
    with pytest.raises(InvalidArgumentError, match="str is not a DataFrame"):
        lakebed.explain_scan("orders")  # type: ignore[arg-type]


# --- how it looks -------------------------------------------------------------------------------


def test_the_text_fits_a_terminal(spark: SparkSession, orders: str) -> None:
    frame = load(spark, orders).where("day = 0 AND id >= 30 AND name LIKE '%9'").select("id")
    explanation = lakebed.explain_scan(frame)
    table, read, total = explanation[0].table, explanation[0].bytes_read, explanation[0].bytes_total
    size = "{:.1f} KiB"
    assert str(explanation) == repr(explanation)
    assert str(explanation).splitlines() == [
        f"Delta scan of {table}, version 1",
        "  files       1 of 6 read",
        "              4 pruned by partition",
        "              1 skipped by statistics",
        f"  bytes       {read} B of {size.format(total / 1024)}",
        "  rows        10 of 60 in these files",
        "  columns     id, name",
        "  row groups  IsNotNull(id) and IsNotNull(name) and GreaterThanOrEqual(id,30) "
        "and StringEndsWith(name,9)",
        "  predicates",
        "    partition   (day IS NOT NULL)",
        "                  leaves out no file",
        "    partition   (day = 0L)",
        "                  leaves out 4 files",
        "    statistics  (id IS NOT NULL)",
        "                  leaves out no file",
        "    statistics  (name IS NOT NULL)",
        "                  leaves out no file",
        "    statistics  (id >= 30L)",
        "                  leaves out one file",
        "    rows only   endswith(name, '9')",
        "                  no statistics can tell",
    ]


def test_the_page_escapes_what_the_query_says(spark: SparkSession, orders: str) -> None:
    page = lakebed.explain_scan(load(spark, orders).where("name = '<b>'"))._repr_html_()
    assert "<code>(name = &#x27;&lt;b&gt;&#x27;)</code>" in page
    assert page.count("<div") == page.count("</div>")


def tables(frame: DataFrame) -> list[tuple[str, int]]:
    return [(scan.table.rpartition("/")[2], scan.version) for scan in lakebed.explain_scan(frame)]
