"""Tables by name: `DeltaTable.forName` and its like find them through the session's catalog."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import deltalake
import pytest
from pyspark.sql import SparkSession

from lakebed.errors import (
    InvalidArgumentError,
    LakebedError,
    SchemaMismatchError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from lakebed.spark.catalog.table_names import find_table, path_in
from lakebed.tables import DeltaTable


@pytest.fixture(scope="module")
def place(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with names of all kinds that lead there; its name has what URLs escape."""
    folder = tmp_path_factory.mktemp("named") / "or ders%20ä"
    spark.range(5).write.format("delta").save(str(folder))
    spark.range(3).write.parquet(f"{folder}-parquet")
    for text in (
        "CREATE DATABASE names_db",
        f"CREATE TABLE names_db.Orders (id BIGINT) USING delta LOCATION '{folder}'",
        f"CREATE TABLE orders_here (id BIGINT) USING DELTA LOCATION '{folder}'",
        "CREATE TABLE names_managed (id BIGINT) USING delta",
        f"CREATE TABLE names_gone (id BIGINT) USING delta LOCATION '{folder}-gone'",
        f"CREATE TABLE names_parquet USING parquet LOCATION '{folder}-parquet'",
        "CREATE VIEW names_view AS SELECT 1 AS a",
        "CREATE TEMP VIEW names_temp AS SELECT 1 AS a",
    ):
        spark.sql(text)
    shutil.rmtree(f"{folder}-gone")
    yield folder
    spark.sql("DROP DATABASE names_db CASCADE")
    for kind, name in (
        ("TABLE", "orders_here"),
        ("TABLE", "names_managed"),
        ("TABLE", "names_gone"),
        ("TABLE", "names_parquet"),
        ("VIEW", "names_view"),
        ("VIEW", "names_temp"),
    ):
        spark.sql(f"DROP {kind} {name}")


def commits(path: Path) -> int:
    return len(list((path / "_delta_log").glob("*.json")))


def test_for_name_has_the_arguments_of_delta_spark() -> None:
    assert list(inspect.signature(DeltaTable.forName).parameters) == [
        "sparkSession",
        "tableOrViewName",
    ]


@pytest.mark.parametrize(
    "name",
    [
        "names_db.Orders",
        "NAMES_DB.orders",
        "`names_db` . `orders`",
        "spark_catalog.names_db.orders",
        "orders_here",
        "delta.`{path}`",
        "DELTA.`file:{path}`",
    ],
)
def test_a_name_opens_the_table_that_the_catalog_has(
    spark: SparkSession, place: Path, name: str
) -> None:
    table = DeltaTable.forName(spark, name.format(path=place))
    assert sorted(row.id for row in table.toDF().collect()) == [0, 1, 2, 3, 4]
    assert DeltaTable.isDeltaTable(spark, name.format(path=place)) is True


def test_a_table_opened_by_name_is_changed_where_it_is(spark: SparkSession, place: Path) -> None:
    before = commits(place)
    table = DeltaTable.forName(spark, "names_db.orders")
    table.update(set={"id": "id"})
    assert commits(place) == before + 1
    assert table.detail().collect()[0]["location"].endswith("or ders%20ä")


def test_names_are_those_of_the_current_database(spark: SparkSession, place: Path) -> None:
    del place
    with pytest.raises(TableNotFoundError):
        DeltaTable.forName(spark, "orders")
    spark.sql("USE names_db")
    try:
        assert DeltaTable.forName(spark, "orders").toDF().count() == 5
        spark.sql("CREATE TEMP VIEW orders AS SELECT 1 AS a")
        # As in Spark's own queries, the view hides the table.
        with pytest.raises(InvalidArgumentError, match="is a view"):
            DeltaTable.forName(spark, "orders")
        assert DeltaTable.forName(spark, "names_db.orders").toDF().count() == 5
    finally:
        spark.sql("DROP VIEW IF EXISTS orders")
        spark.sql("USE default")


@pytest.mark.parametrize(
    ("name", "error", "text"),
    [
        ("names_db.oders", TableNotFoundError, "did you mean orders"),
        ("name_db.orders", TableNotFoundError, "did you mean names_db"),
        ("names_parqet", TableNotFoundError, "did you mean names_parquet"),
        ("zzzzzz", TableNotFoundError, "forPath"),
        ("`a*'; b`", TableNotFoundError, "no table"),
        ("names_parquet", InvalidArgumentError, "table of parquet, not a Delta table"),
        ("names_view", InvalidArgumentError, "is a view"),
        ("names_temp", InvalidArgumentError, "is a view"),
        ("names_gone", TableNotFoundError, "the catalog has names_gone at .*no Delta"),
        ("other.names_db.orders", UnsupportedFeatureError, "catalog other"),
        ("/data/orders", InvalidArgumentError, "forPath takes paths"),
        ("a.`b", InvalidArgumentError, "not the name of a table"),
        ("", InvalidArgumentError, "not the name of a table"),
        (None, InvalidArgumentError, "not the name of a table"),
        ("delta.`/no/such/folder`", TableNotFoundError, "/no/such/folder"),
    ],
)
def test_what_is_no_delta_table_is_refused_with_advice(
    spark: SparkSession, place: Path, name: Any, error: type[LakebedError], text: str
) -> None:
    del place
    with pytest.raises(error, match=f"(?s){text}"):
        DeltaTable.forName(spark, name)


@pytest.mark.parametrize(
    "name", ["names_parquet", "names_view", "names_gone", "zzzzzz", "delta.`/no/such`"]
)
def test_what_is_no_delta_table_is_known_as_such(
    spark: SparkSession, place: Path, name: str
) -> None:
    del place
    assert DeltaTable.isDeltaTable(spark, name) is False


def test_conversion_by_name_makes_the_name_one_of_a_delta_table(
    spark: SparkSession, place: Path
) -> None:
    before = commits(place)
    assert DeltaTable.convertToDelta(spark, "names_db.orders").toDF().count() == 5
    assert commits(place) == before
    with pytest.raises(InvalidArgumentError, match="is a view"):
        DeltaTable.convertToDelta(spark, "names_view")
    with pytest.raises(TableNotFoundError):
        DeltaTable.convertToDelta(spark, "names_db.oders")
    spark.sql("CREATE TABLE names_old USING parquet AS SELECT id FROM range(3)")
    spark.sql(f"CREATE TABLE names_far USING parquet LOCATION '{place}-far' AS SELECT 1 AS a")
    for name, kind in (("names_old", "MANAGED"), ("names_far", "EXTERNAL")):
        table = DeltaTable.convertToDelta(spark, name)
        rows = table.toDF().count()
        table.delete()
        # Spark alone would go on to read the files that the table no longer has.
        assert (rows, spark.table(name).count()) == (3 if name == "names_old" else 1, 0)
        found = find_table(spark, name)
        assert found is not None
        assert (found.provider, found.kind) == ("delta", kind)
        spark.sql(f"DROP TABLE {name}")
    assert Path(f"{place}-far/_delta_log").exists()


def test_builders_take_names_that_the_catalog_has(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "built"
    spark.range(4).write.format("delta").save(str(path))
    spark.sql(f"CREATE TABLE names_built USING delta LOCATION '{path}'")
    try:
        with pytest.raises(TableExistsError):
            DeltaTable.create(spark).tableName("names_built").addColumn("a", "int").execute()
        elsewhere = DeltaTable.createOrReplace(spark).tableName("names_built").addColumn("a", "int")
        with pytest.raises(InvalidArgumentError, match="not at"):
            elsewhere.location(str(tmp_path / "other")).execute()
        assert not (tmp_path / "other").exists()
        replaced = DeltaTable.replace(spark).tableName("names_built").addColumn("a", "int")
        assert replaced.location(str(path)).execute().toDF().columns == ["a"]
        assert deltalake.DeltaTable(str(path)).version() == 1
    finally:
        spark.sql("DROP TABLE names_built")


def test_builders_add_names(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "built"
    make = DeltaTable.createIfNotExists(spark).tableName("names_new").addColumn("a", "int")
    assert make.comment("c").execute().toDF().columns == ["a"]
    assert make.addColumn("b", "int").execute().toDF().columns == ["a"]
    assert spark.table("names_new").columns == ["a"]
    with pytest.raises(TableExistsError, match="names_new"):
        DeltaTable.create(spark).tableName("names_new").addColumn("a", "int").execute()
    outside = DeltaTable.create(spark).tableName("names_out").location(str(path))
    outside.addColumn("a", "int").execute()
    spark.sql("DROP TABLE names_new")
    spark.sql("DROP TABLE names_out")
    assert path.is_dir()
    with pytest.raises(SchemaMismatchError):
        DeltaTable.create(spark).tableName("names_out").location(str(path)).addColumn(
            "b", "int"
        ).execute()
    with pytest.raises(InvalidArgumentError, match="cannot be a name"):
        DeltaTable.create(spark).tableName("`a b`").addColumn("a", "int").execute()


@pytest.mark.parametrize(
    ("identifier", "path"),
    [
        ("delta.`/a b`", "/a b"),
        (" Delta . `s3a://x/``y` ", "s3a://x/`y"),
        ("delta.orders", None),
        ("parquet.`/a`", None),
        ("delta.`a`.b", None),
        ("delta.`a", None),
    ],
)
def test_paths_in_identifiers(identifier: str, path: str | None) -> None:
    assert path_in(identifier) == path
