"""A session whose names are in an embedded catalog, which another process changes too."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import lakebed
from lakebed import DeltaTable
from lakebed.catalog.embedded import EmbeddedCatalog
from lakebed.errors import InvalidArgumentError, TableNotFoundError
from lakebed.settings.setting_table import CATALOG, UNDROP_RETENTION


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("embedded")


@pytest.fixture(scope="module")
def sql(spark: SparkSession, folder: Path) -> Iterator[SparkSession]:
    spark.sql("CREATE TABLE of_the_session (a INT) USING delta")
    spark.conf.set(CATALOG.name, f"sqlite://{folder}/catalog.db")
    spark.sql(f"CREATE SCHEMA shop COMMENT 'it''s' LOCATION '{folder}/shop'")
    spark.sql("USE shop")
    yield spark
    spark.sql("USE default")
    spark.sql("DROP SCHEMA IF EXISTS shop CASCADE")
    spark.conf.unset(CATALOG.name)
    spark.sql("DROP TABLE of_the_session")


@pytest.fixture
def other(folder: Path, sql: SparkSession) -> EmbeddedCatalog:
    """The same catalog as another process sees it."""
    del sql
    return EmbeddedCatalog(f"sqlite://{folder}/catalog.db", "/unused")


def test_tables_are_made_dropped_and_brought_back(
    sql: SparkSession, folder: Path, other: EmbeddedCatalog
) -> None:
    sql.sql("CREATE TABLE orders USING delta COMMENT 'all' AS SELECT id FROM range(3)")
    record = other.find("shop", "orders")
    assert record is not None
    assert (record.is_managed, record.comment, record.created > 0) == (True, "all", True)
    assert record.owner
    assert Path(record.location.removeprefix("file:")).parent == folder / "shop"
    assert sql.sql("SELECT count(*) FROM shop.orders").collect()[0][0] == 3
    assert [row.tableName for row in sql.sql("SHOW TABLES").collect()] == ["orders"]
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        sql.sql("CREATE TABLE orders (a INT) USING delta")
    sql.sql("DROP TABLE orders")
    assert not sql.catalog.tableExists("orders")
    sql.range(1).write.format("delta").saveAsTable("orders")
    sql.sql("ALTER TABLE orders RENAME TO newer")
    sql.sql("UNDROP TABLE orders")
    assert (sql.table("orders").count(), sql.table("newer").count()) == (3, 1)
    sql.sql("DROP TABLE newer PURGE")
    assert len(list((folder / "shop").glob("orders-*"))) == 1
    with pytest.raises(TableNotFoundError):
        sql.sql("UNDROP TABLE newer")
    sql.sql(f"CREATE TABLE ext USING delta LOCATION '{folder}/ext' AS SELECT 1 AS a")
    sql.sql("DROP TABLE ext PURGE")
    assert lakebed.open(str(folder / "ext")).to_arrow().num_rows == 1
    sql.sql("DROP TABLE orders")


def test_a_session_sees_what_another_process_changes(
    sql: SparkSession, other: EmbeddedCatalog
) -> None:
    sql.sql("CREATE TABLE seen USING delta AS SELECT 1 AS a")
    other.rename("shop", "seen", "renamed")
    assert sql.table("renamed").count() == 1
    assert not sql.catalog.tableExists("seen")
    other.drop("shop", "renamed")
    with pytest.raises(TableNotFoundError):
        DeltaTable.forName(sql, "renamed")
    other.undrop("shop", "renamed")
    assert DeltaTable.forName(sql, "shop.renamed").toDF().count() == 1
    # What the session had before is its own, and is left alone.
    assert DeltaTable.forName(sql, "default.of_the_session").toDF().count() == 0
    sql.sql("DROP TABLE renamed")


def test_a_schema_that_is_dropped_keeps_its_files_until_the_retention_ends(
    sql: SparkSession, folder: Path, other: EmbeddedCatalog
) -> None:
    place = f"{folder}/sch ool"
    sql.sql(f"CREATE SCHEMA IF NOT EXISTS school LOCATION '{place}'")
    with pytest.raises(AnalysisException, match="SCHEMA_ALREADY_EXISTS"):
        sql.sql("CREATE SCHEMA school")
    sql.sql("CREATE TABLE school.pupils USING delta AS SELECT 1 AS a")
    sql.sql("DROP SCHEMA school CASCADE")
    assert not sql.catalog.databaseExists("school")
    sql.sql(f"CREATE SCHEMA school LOCATION '{place}'")
    sql.sql("UNDROP TABLE school.pupils")
    assert sql.table("school.pupils").count() == 1
    assert other.namespace("school") is not None
    sql.conf.set(UNDROP_RETENTION.name, "0 days")
    try:
        sql.sql("DROP TABLE school.pupils")
    finally:
        sql.conf.unset(UNDROP_RETENTION.name)
    assert list(Path(place).glob("pupils-*")) == []
    sql.sql("DROP SCHEMA school")


@pytest.mark.parametrize("name", ["my-schema", "a b", "naïve", "global_temp"])
def test_a_schema_that_spark_refuses_is_not_stored(
    sql: SparkSession, other: EmbeddedCatalog, name: str
) -> None:
    before = other.content()
    with pytest.raises((InvalidArgumentError, AnalysisException)):
        sql.sql(f"CREATE SCHEMA `{name}`")
    assert other.content() == before
    assert sql.sql("SHOW TABLES").collect() == []


def test_a_schema_whose_folder_spark_cannot_make_is_not_stored(
    sql: SparkSession, other: EmbeddedCatalog
) -> None:
    before = other.content()
    with pytest.raises(InvalidArgumentError, match="nowhere"):
        sql.sql("CREATE SCHEMA nowhere LOCATION 'no-such-store://bucket/x'")
    assert other.content() == before
    assert not sql.catalog.databaseExists("nowhere")


def test_entries_that_spark_cannot_show_hinder_no_others(
    sql: SparkSession, folder: Path, other: EmbeddedCatalog, caplog: pytest.LogCaptureFixture
) -> None:
    """They may come from an earlier version, or from a session with another store."""
    sql.sql("CREATE TABLE good USING delta AS SELECT 1 AS a")
    with sqlite3.connect(folder / "catalog.db") as raw:
        for space, location in (("my-schema", "/x"), ("far", "no-such-store://bucket/x")):
            raw.execute(
                "INSERT INTO lakebed_namespaces VALUES (?, ?, NULL, NULL)", (space, location)
            )
        for name, location in (("a-b", "/x"), ("odd", "no:such::place"), ("empty", "")):
            raw.execute(
                "INSERT INTO lakebed_tables VALUES (?, 'shop', ?, ?, 0, NULL, NULL, 1, NULL)",
                (name, name, location),
            )
        raw.execute("UPDATE lakebed_state SET value = value + 1 WHERE name = 'generation'")
    raw.close()
    with caplog.at_level(logging.WARNING, "lakebed"):
        assert sql.table("good").count() == 1
        sql.sql("CREATE TABLE after USING delta AS SELECT 2 AS a")
    for each in ("my-schema", "far", "shop.a-b", "shop.odd", "shop.empty"):
        assert sum(f"{each!r}" in record.getMessage() for record in caplog.records) == 1
    assert [row.tableName for row in sql.sql("SHOW TABLES").collect()] == ["after", "good"]
    for space in ("my-schema", "far"):
        assert other.drop_namespace(space)
    for name in ("a-b", "odd", "empty"):
        assert other.drop("shop", name)
    sql.sql("DROP TABLE good")
    sql.sql("DROP TABLE after")
    assert sql.sql("SHOW TABLES").collect() == []
