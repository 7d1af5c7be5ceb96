"""DROP and UNDROP: what becomes of the files, and how long."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed import DeltaTable
from lakebed.commands.create import dropped_tables
from lakebed.errors import InvalidArgumentError, TableExistsError, TableNotFoundError
from lakebed.settings.setting_table import UNDROP_RETENTION


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dropped")


@pytest.fixture(scope="module")
def sql(spark: SparkSession, folder: Path) -> Iterator[SparkSession]:
    spark.sql(f"CREATE DATABASE dropped_db LOCATION '{folder}/db'")
    spark.sql("USE dropped_db")
    yield spark
    spark.sql("USE default")
    spark.sql("DROP DATABASE dropped_db CASCADE")


def make(sql: SparkSession, name: str, number: int) -> None:
    sql.sql(f"CREATE TABLE {name} USING delta COMMENT 'c' AS SELECT {number} AS a")


def value(sql: SparkSession, name: str) -> int:
    return int(sql.sql(f"SELECT a FROM {name}").collect()[0].a)


def test_dropping_a_managed_table_deletes_and_undrop_brings_back(
    sql: SparkSession, folder: Path
) -> None:
    make(sql, "kept", 1)
    sql.sql("DROP TABLE kept")
    assert not sql.catalog.tableExists("kept")
    assert not (folder / "db" / "kept").exists()
    make(sql, "kept", 2)
    sql.sql("DROP TABLE IF EXISTS Kept")
    sql.sql("DROP TABLE IF EXISTS kept")
    # The one that was dropped last comes back first.
    sql.sql("UNDROP TABLE dropped_db.kept")
    assert value(sql, "kept") == 2
    assert sql.catalog.getTable("kept").name == "kept"
    with pytest.raises(TableExistsError, match="there is a table"):
        sql.sql("UNDROP TABLE kept")
    sql.sql("DROP TABLE kept PURGE")
    sql.sql("UNDROP kept")
    assert value(sql, "kept") == 1
    sql.sql("DROP TABLE kept PURGE")
    with pytest.raises(TableNotFoundError, match="7 days"):
        sql.sql("UNDROP TABLE kept")


def test_the_retention_ends(sql: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    make(sql, "old", 1)
    sql.sql("DROP TABLE old")
    week = dropped_tables._now() + 7 * 86_400_000 + 1
    make(sql, "other", 1)
    monkeypatch.setattr(dropped_tables, "_now", lambda: week)
    sql.sql("DROP TABLE other")
    with pytest.raises(TableNotFoundError):
        sql.sql("UNDROP TABLE old")
    make(sql, "at_once", 3)
    make(sql, "other", 3)
    try:
        sql.conf.set(UNDROP_RETENTION.name, "0 days")
        sql.sql("DROP TABLE at_once")
        with pytest.raises(TableNotFoundError):
            sql.sql("UNDROP TABLE at_once")
        sql.conf.set(UNDROP_RETENTION.name, "soon")
        with pytest.raises(InvalidArgumentError, match="soon"):
            sql.sql("DROP TABLE other")
    finally:
        sql.conf.unset(UNDROP_RETENTION.name)
    assert value(sql, "other") == 3
    sql.sql("DROP TABLE other")


def test_dropping_an_external_table_keeps_its_files(sql: SparkSession, folder: Path) -> None:
    sql.sql(f"CREATE TABLE outside USING delta LOCATION '{folder}/out side' AS SELECT 1 AS a")
    sql.sql("DROP TABLE outside")
    assert not sql.catalog.tableExists("outside")
    assert lakebed.open(str(folder / "out side")).to_arrow().to_pylist() == [{"a": 1}]
    sql.sql(f"CREATE TABLE outside USING delta LOCATION '{folder}/out side'")
    assert value(sql, "outside") == 1
    sql.sql("DROP TABLE outside PURGE")
    assert (folder / "out side" / "_delta_log").is_dir()
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        sql.sql("DROP TABLE outside")


def test_who_dies_while_dropping_leaves_what_undrop_or_drop_mends(
    sql: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Died(BaseException):
        pass

    def die(*_: object) -> None:
        raise Died

    make(sql, "dying", 4)
    with monkeypatch.context() as patched:
        patched.setattr(dropped_tables, "drop_entry", die)
        with pytest.raises(Died):
            sql.sql("DROP TABLE dying")
    with pytest.raises(TableNotFoundError, match="no Delta table"):
        DeltaTable.forName(sql, "dying")
    sql.sql("UNDROP TABLE dying")
    assert value(sql, "dying") == 4
    with monkeypatch.context() as patched:
        patched.setattr(dropped_tables, "drop_entry", die)
        with pytest.raises(Died):
            sql.sql("DROP TABLE dying")
    sql.sql("DROP TABLE dying")
    assert not sql.catalog.tableExists("dying")
    sql.sql("UNDROP TABLE dying")
    assert value(sql, "dying") == 4
    sql.sql("DROP TABLE dying PURGE")


def test_renaming_keeps_rows_and_history(sql: SparkSession, folder: Path) -> None:
    make(sql, "before", 6)
    sql.sql("ALTER TABLE before RENAME TO after")
    assert value(sql, "after") == 6
    assert not sql.catalog.tableExists("before")
    sql.sql(f"CREATE TABLE ext USING delta LOCATION '{folder}/ext' AS SELECT 7 AS a")
    sql.sql("ALTER TABLE ext RENAME TO ext2")
    assert value(sql, "ext2") == 7
    assert (folder / "ext" / "_delta_log").is_dir()
    with pytest.raises(InvalidArgumentError, match="is a path"):
        sql.sql(f"ALTER TABLE delta.`{folder}/ext` RENAME TO x")
    sql.sql("DROP TABLE after")
    sql.sql("DROP TABLE ext2")


def test_a_schema_goes_with_its_managed_tables_and_no_others(
    sql: SparkSession, folder: Path
) -> None:
    sql.sql(f"CREATE SCHEMA going LOCATION '{folder}/going'")
    sql.sql("CREATE TABLE going.managed USING delta AS SELECT 1 AS a")
    sql.sql(f"CREATE TABLE going.far USING delta LOCATION '{folder}/far' AS SELECT 1 AS a")
    sql.sql("CREATE TABLE going.near USING delta LOCATION 'near' AS SELECT 1 AS a")
    with pytest.raises(InvalidArgumentError, match=r"going\.near is an external table inside"):
        sql.sql("DROP SCHEMA going CASCADE")
    assert (folder / "going" / "near" / "_delta_log").is_dir()
    sql.sql("DROP TABLE going.near")
    sql.sql("DROP SCHEMA going CASCADE")
    assert not (folder / "going" / "managed").exists()
    assert lakebed.open(str(folder / "far")).to_arrow().num_rows == 1
