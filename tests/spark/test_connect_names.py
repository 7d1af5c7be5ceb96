"""Tables by name in a session of Spark Connect, whose catalog is the server's."""

from __future__ import annotations

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
