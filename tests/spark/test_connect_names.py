"""Tables by name in a session of Spark Connect, whose catalog is the server's."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed import DeltaTable
from lakebed.errors import InvalidArgumentError, TableExistsError, TableNotFoundError

FAILS = "CAST(raise_error('broken') AS INT)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("connected")


@pytest.fixture(scope="module")
def remote(connect_server: str, folder: Path) -> Iterator[SparkSession]:
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    # Not through the usual builder, which allows one kind of session in a process alone.
    session = lakebed.enable(ConnectSession.builder.remote(connect_server).getOrCreate())
    session.sql(f"CREATE DATABASE far LOCATION '{folder}/f ar'")
    session.sql("USE far")
    yield session
    session.stop()


def test_managed_and_external_tables_on_a_server(remote: SparkSession, folder: Path) -> None:
    remote.sql("CREATE TABLE made (a INT NOT NULL COMMENT 'it''s', b STRING) USING delta")
    remote.createDataFrame([(1, "x")], "a INT, b STRING").write.insertInto("made")
    assert lakebed.open(str(folder / "f ar" / "made")).to_arrow().num_rows == 1
    remote.sql("CREATE TABLE copied USING delta AS SELECT * FROM made")
    with pytest.raises(TableExistsError):
        remote.sql("CREATE TABLE copied (a INT) USING delta")
    remote.sql("DROP TABLE made")
    assert not (folder / "f ar" / "made").exists()
    assert [tuple(row) for row in remote.sql("SELECT * FROM far.copied").collect()] == [(1, "x")]
    remote.sql("UNDROP TABLE made")
    assert DeltaTable.forName(remote, "made").toDF().count() == 1
    remote.range(2).write.format("delta").option("path", f"{folder}/out side").saveAsTable("out")
    remote.sql("DROP TABLE out")
    assert lakebed.open(str(folder / "out side")).to_arrow().num_rows == 2
    assert sorted(row.tableName for row in remote.sql("SHOW TABLES").collect()) == [
        "copied",
        "made",
    ]
    with pytest.raises(InvalidArgumentError, match="cannot be a name"):
        remote.sql("CREATE TABLE `a'; DROP` (a INT) USING delta")
    with pytest.raises(TableNotFoundError, match="copied"):
        DeltaTable.forName(remote, "far.copid")


def test_a_failing_query_leaves_no_name_on_a_server(remote: SparkSession, folder: Path) -> None:
    with pytest.raises(Exception, match="broken"):
        remote.sql(f"CREATE TABLE failing USING delta AS SELECT {FAILS} AS a FROM range(2)")
    assert not remote.catalog.tableExists("failing")
    assert not (folder / "f ar" / "failing" / "_delta_log").exists()
    remote.sql("CREATE TABLE failing USING delta AS SELECT 1 AS a")
    assert remote.table("failing").count() == 1
    remote.sql("DROP TABLE failing PURGE")


def test_tables_of_an_embedded_catalog_on_a_server(
    remote: SparkSession, tmp_path: Path, connect_server: str
) -> None:
    from pyspark.sql.connect.session import SparkSession as ConnectSession

    url = f"sqlite://{tmp_path}/names.db"
    remote.conf.set("spark.lakebed.catalog", url)
    try:
        remote.sql(f"CREATE SCHEMA emb LOCATION '{tmp_path}/emb'")
        remote.sql("CREATE TABLE emb.kept USING delta AS SELECT 7 AS n")
        remote.sql("CREATE TABLE emb.lost USING delta AS SELECT 8 AS n")
        remote.sql("CREATE FUNCTION emb.most() RETURNS INT RETURN SELECT max(n) FROM emb.kept")
        remote.sql("INSERT INTO emb.kept VALUES (9)")
        assert remote.sql("SELECT emb.most()").collect() == [(9,)]
        # Another process moves a table, so that the name is mirrored anew, and it is gone.
        shutil.rmtree(next((tmp_path / "emb").glob("lost-*")))
        other = lakebed.enable(ConnectSession.builder.remote(connect_server).create())
        remote.sql("DROP FUNCTION emb.most")
        remote.conf.unset("spark.lakebed.catalog")
        remote.sql("DROP DATABASE emb CASCADE")
        other.conf.set("spark.lakebed.catalog", url)
        assert other.sql("SELECT max(n) FROM emb.kept").collect() == [(9,)]
        with pytest.raises(TableNotFoundError):
            other.sql("SELECT * FROM emb.lost")
        other.sql("DROP SCHEMA emb CASCADE")
        other.stop()
    finally:
        remote.conf.unset("spark.lakebed.catalog")
