"""What `spark.catalog`, DESCRIBE EXTENDED and SHOW TABLE EXTENDED say about Delta tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed.errors import InvalidArgumentError
from lakebed.settings.setting_table import CATALOG


@pytest.fixture(params=["own", "embedded"])
def names(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[SparkSession]:
    """A database with a managed, an external and a Parquet table, in either kind of catalog."""
    if request.param == "embedded":
        spark.conf.set(CATALOG.name, f"sqlite://{tmp_path}/catalog.db")
    spark.catalog.clearCache()
    for text in (
        f"CREATE SCHEMA answers LOCATION '{tmp_path}/answers'",
        "USE answers",
        "CREATE TABLE managed (id BIGINT NOT NULL COMMENT 'key', day DATE) "
        "USING delta PARTITIONED BY (day) COMMENT 'first'",
        f"CREATE TABLE external (a INT, b INT) USING delta CLUSTER BY (a) LOCATION '{tmp_path}/x'",
        "CREATE TABLE other (id INT) USING parquet",
    ):
        spark.sql(text)
    yield spark
    spark.sql("USE default")
    spark.sql("DROP SCHEMA IF EXISTS answers CASCADE")
    spark.sql("DROP TABLE IF EXISTS answers.other")
    spark.conf.unset(CATALOG.name)


def test_kinds_and_columns_are_those_of_now(names: SparkSession, tmp_path: Path) -> None:
    names.sql("ALTER TABLE managed ADD COLUMNS (note ARRAY<STRING> COMMENT 'hm')")
    names.sql("COMMENT ON TABLE managed IS 'second'")
    # By path, so that the catalog cannot know.
    lakebed.open(str(tmp_path / "x")).add_columns({"c": "double"})
    catalog = names.catalog
    kinds = {"managed": "MANAGED", "external": "EXTERNAL", "other": "MANAGED"}
    assert {each.name: each.tableType for each in catalog.listTables()} == kinds
    assert {name: catalog.getTable(name).tableType for name in kinds} == kinds
    assert catalog.getTable("spark_catalog.answers.MANAGED").description == "second"
    assert [each.name for each in catalog.listTables("answers", "m*")] == ["managed"]
    assert [tuple(each)[:5] for each in catalog.listColumns("managed")] == [
        ("id", "key", "bigint", False, False),
        ("day", None, "date", True, True),
        ("note", "hm", "array<string>", True, False),
    ]
    found = catalog.listColumns("answers.external")
    assert [(each.name, each.isCluster) for each in found] == [
        ("a", True),
        ("b", False),
        ("c", False),
    ]
    assert catalog.tableExists(f"delta.`{tmp_path}/x`")
    assert not catalog.tableExists(f"delta.`{tmp_path}/nothing`")
    assert not catalog.tableExists("nothing")


def test_extended_descriptions_tell_kind_owner_and_columns(names: SparkSession) -> None:
    names.sql("ALTER TABLE managed ADD COLUMNS (note STRING)")
    for name, kind in (("managed", "MANAGED"), ("external", "EXTERNAL")):
        rows = names.sql(f"DESCRIBE EXTENDED {name}").collect()
        told = {row["col_name"]: row["data_type"] for row in rows}
        assert told["Type"] == kind
        assert told["Owner"]
    listed = names.sql("SHOW TABLE EXTENDED IN answers LIKE '*'")
    assert listed.columns == ["namespace", "tableName", "isTemporary", "information"]
    text = {row["tableName"]: row["information"] for row in listed.collect()}
    assert sorted(text) == ["external", "managed", "other"]
    if names.conf.get(CATALOG.name, None) is None:
        # Spark's own catalog answers, in which tables of an embedded one are external.
        assert "Type: MANAGED\nProvider: delta" in text["managed"]
        assert "|-- note: string (nullable = true)" in text["managed"]
    assert "Type: EXTERNAL\nProvider: delta" in text["external"]
    assert "Provider: parquet" in text["other"]


def test_methods_that_change_tables_go_the_way_of_sql(names: SparkSession, tmp_path: Path) -> None:
    catalog = names.catalog
    if not hasattr(catalog, "dropTable"):
        pytest.skip("new in Spark 4.3")
    names.sql("INSERT INTO external VALUES (1, 2)")
    catalog.truncateTable("external")
    assert lakebed.open(str(tmp_path / "x")).to_arrow().num_rows == 0
    assert catalog.getTableProperties("external")["delta.minWriterVersion"] == "7"
    assert "CLUSTER BY (`a`)" in catalog.getCreateTableString("external")
    catalog.dropTable("managed")
    names.sql("UNDROP TABLE managed")
    catalog.dropTable("external")
    assert lakebed.open(str(tmp_path / "x")).version == 2
    if names.conf.get(CATALOG.name, None) is not None:
        return
    names.sql(f"CREATE TABLE inside (a INT) USING delta LOCATION '{tmp_path}/answers/inside'")
    with pytest.raises(InvalidArgumentError, match="inside of the folder"):
        catalog.dropDatabase("answers", cascade=True)
    catalog.dropTable("inside")


def test_tables_and_views_of_them_are_refreshed(names: SparkSession) -> None:
    for name in ("managed", "answers.external", "other"):
        names.catalog.refreshTable(name)
        names.sql(f"REFRESH TABLE {name}")
    names.sql("CREATE VIEW seen AS SELECT m.id FROM managed m, other o WHERE m.id = o.id")
    names.catalog.refreshTable("seen")
    names.sql("DROP VIEW seen")
