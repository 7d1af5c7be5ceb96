"""Spark Connect without Lakebed on the server: SQL and names of Delta tables are refused.

Nothing of it may read or write a table in another way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql.datasource import DataSource

import lakebed
from lakebed import DeltaTable
from lakebed.errors import UnsupportedFeatureError


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> str:
    made = str(tmp_path_factory.mktemp("other") / "table")
    lakebed.write(made, pa.table({"id": [1, 2]}))
    return made


class Other(DataSource):
    """A source that lets the server's catalog have a table of the format delta."""

    @classmethod
    def name(cls) -> str:
        return "delta"


@pytest.fixture(scope="module")
def named(connect_server: str, path: str) -> Iterator[str]:
    """A name of the server's catalog, as a metastore that others share has it."""
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(connect_server).create()
    session.dataSource.register(Other)
    session.sql(f"CREATE TABLE others_orders (id BIGINT) USING delta LOCATION '{path}'")
    yield "others_orders"
    session.sql("DROP TABLE others_orders")
    session.stop()


MERGE = "MERGE INTO {t} t USING (SELECT 1L id) s ON t.id = s.id WHEN MATCHED THEN DELETE"
BOTH = [
    "SELECT * FROM {t}",
    "SELECT * FROM {t} VERSION AS OF 0",
    "CREATE TEMPORARY VIEW seen AS SELECT * FROM {t}",
    "INSERT INTO {t} VALUES (5)",
    "INSERT OVERWRITE {t} VALUES (5)",
    "UPDATE {t} SET id = 9",
    "DELETE FROM {t}",
    MERGE,
    "OPTIMIZE {t}",
    "VACUUM {t}",
    "RESTORE TABLE {t} TO VERSION AS OF 0",
    "DESCRIBE HISTORY {t}",
    "BEGIN SELECT * FROM {t}; END",
    "EXECUTE IMMEDIATE 'SELECT * FROM {t}'",
]


def refused(do: Callable[[], Any]) -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        do()
    assert "`lakebed server`" in str(caught.value.hint)
    assert "spark.remote" in str(caught.value.hint)


@pytest.mark.parametrize("text", BOTH)
def test_sql_on_a_path_says_which_server_to_use(remote: Any, path: str, text: str) -> None:
    refused(lambda: remote.sql(text.format(t=f"delta.`{path}`")).collect())
    assert lakebed.open(path).version == 0


@pytest.mark.parametrize("text", [*BOTH, "TRUNCATE TABLE {t}", "ALTER TABLE {t} ADD COLUMN x INT"])
def test_sql_on_a_name_says_which_server_to_use(
    remote: Any, path: str, named: str, text: str
) -> None:
    refused(lambda: remote.sql(text.format(t=named)).collect())
    assert lakebed.open(path).version == 0


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE new_name (id INT) USING delta",
        "CREATE TABLE new_name USING delta LOCATION '{path}'",
        "CREATE TABLE new_name USING delta AS SELECT 1 AS id",
        "CREATE TEMPORARY VIEW new_name USING delta OPTIONS (path '{path}')",
    ],
)
def test_no_name_of_a_delta_table_is_created(remote: Any, path: str, text: str) -> None:
    refused(lambda: remote.sql(text.format(path=path)).collect())
    assert not remote.catalog.tableExists("new_name")


def test_names_in_the_api_are_refused_too(remote: Any, path: str, named: str) -> None:
    rows = remote.range(3)
    for do in (
        lambda: remote.table(named).collect(),
        lambda: remote.read.table(named).collect(),
        lambda: rows.write.format("delta").saveAsTable("new_name"),
        lambda: rows.write.insertInto(named),
        lambda: rows.writeTo(named).append(),
        lambda: rows.writeTo("new_name").using("delta").create(),
        lambda: remote.catalog.createTable("new_name", path=path, source="delta").collect(),
        lambda: DeltaTable.forName(remote, named),
        lambda: DeltaTable.create(remote).tableName("new_name").addColumn("id", "INT").execute(),
        lambda: DeltaTable.isDeltaTable(remote, "no_such_folder"),
    ):
        refused(do)
    assert lakebed.open(path).version == 0
    assert not remote.catalog.tableExists("new_name")


def test_paths_are_written_as_names_where_lakebed_reads_them(remote: Any, tmp_path: Path) -> None:
    name = f"delta.`{tmp_path}/made`"
    DeltaTable.create(remote).tableName(name).addColumn("id", "BIGINT").execute()
    remote.range(3).write.format("delta").mode("append").save(f"{tmp_path}/made")
    assert DeltaTable.forName(remote, name).toDF().count() == 3
    remote.range(2).write.parquet(f"{tmp_path}/files")
    assert DeltaTable.convertToDelta(remote, f"parquet.`{tmp_path}/files`").toDF().count() == 2


def test_sql_on_other_tables_and_its_errors_are_spark_s_own(remote: Any) -> None:
    assert remote.sql("SELECT count(*) FROM range(4)").collect() == [(4,)]
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        remote.sql("SELECT * FROM no_such_table").collect()
    with pytest.raises(ParseException):
        remote.sql("SELEKT 1").collect()
    assert remote.sql("BEGIN DECLARE x INT = 2; SELECT x; END").collect() == [(2,)]
