"""What a write reads is a condition of its commit: a lost update shows as a conflict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import lakebed
from lakebed.errors import ConcurrentAppendError, ConflictError
from testkit.other_writers import before_commit, is_blind

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(params=["copies", "vectors"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    made = str(tmp_path / "table")
    vectors = str(request.param == "vectors").lower()
    lakebed.write(
        made,
        pa.table({"id": [1, 2, 3, 4], "day": ["mon", "mon", "tue", "tue"]}),
        partition_by=["day"],
        properties={"delta.enableDeletionVectors": vectors},
    )
    return made


WRITES = {
    "insert select": "INSERT INTO delta.`{path}` SELECT id + 10, day FROM delta.`{path}`",
    "subquery": "INSERT INTO delta.`{path}` SELECT id + 10, day"
    " FROM VALUES (1, 'mon') AS v(id, day) WHERE EXISTS "
    "(SELECT * FROM delta.`{path}` t WHERE t.id = v.id)",
    "aggregate": "INSERT INTO delta.`{path}` SELECT max(id) + 1, 'mon' FROM delta.`{path}`",
    "view": "INSERT INTO delta.`{path}` SELECT id + 10, day FROM self_view",
    "with": "INSERT INTO delta.`{path}` WITH w AS (SELECT * FROM delta.`{path}`)"
    " SELECT id + 10, day FROM w",
    "overwrite": "INSERT OVERWRITE delta.`{path}` SELECT id + 10, day FROM delta.`{path}`",
    "replace where": "INSERT INTO delta.`{path}` REPLACE WHERE day = 'wed'"
    " SELECT id + 10, 'wed' FROM delta.`{path}`",
    "replace on": "INSERT INTO delta.`{path}` AS t REPLACE ON t.id = s.id"
    " (SELECT id + 10 AS id, 'mon' AS day FROM delta.`{path}`) AS s",
}


@pytest.mark.parametrize("write", list(WRITES))
def test_rows_that_a_write_read_are_deleted_by_another(
    spark: SparkSession, path: str, write: str
) -> None:
    spark.read.format("delta").load(path).createOrReplaceTempView("self_view")
    table = lakebed.DeltaTable.forPath(spark, path)
    with before_commit(lambda: table.delete("id = 1")), pytest.raises(ConflictError):
        spark.sql(WRITES[write].format(path=path))
    assert sorted(row.id for row in table.toDF().collect()) == [2, 3, 4]
    spark.catalog.dropTempView("self_view")


def test_a_dataframe_of_the_table_is_read_by_the_write_that_appends_it(
    spark: SparkSession, path: str
) -> None:
    table = lakebed.DeltaTable.forPath(spark, path)
    rows = spark.read.format("delta").load(path).selectExpr("id + 10 AS id", "day")
    raced = before_commit(lambda: table.update("id = 1", {"id": "99"}))
    with raced, pytest.raises(ConflictError):
        rows.write.format("delta").mode("append").save(path)
    rows.write.format("delta").mode("append").save(path)
    assert is_blind(path) is False
    found = sorted(row.id for row in table.toDF().collect())
    assert found == [2, 3, 4, 12, 13, 14, 99, 109]


def test_other_partitions_may_change_while_a_write_reads_one(
    spark: SparkSession, path: str
) -> None:
    table = lakebed.DeltaTable.forPath(spark, path)
    insert = f"INSERT INTO delta.`{path}` SELECT id + 10, day FROM delta.`{path}` WHERE day = 'mon'"
    with before_commit(lambda: table.delete("id = 3")):
        spark.sql(insert)
    assert sorted(row.id for row in table.toDF().collect()) == [1, 2, 4, 11, 12]


def test_rows_of_other_tables_and_of_older_versions_are_no_condition(
    spark: SparkSession, path: str, tmp_path: Path
) -> None:
    other = str(tmp_path / "other")
    lakebed.write(other, pa.table({"id": [5], "day": ["wed"]}))
    table = lakebed.DeltaTable.forPath(spark, path)
    for query in (f"SELECT * FROM delta.`{other}`", f"SELECT * FROM delta.`{path}@v0`"):
        with before_commit(lambda: table.delete("id = (SELECT min(id) FROM VALUES (1) AS v(id))")):
            spark.sql(f"INSERT INTO delta.`{path}` {query}")
        assert is_blind(path) is True


def test_serializable_tables_take_appends_of_others_for_a_conflict(
    spark: SparkSession, path: str
) -> None:
    """With WriteSerializable blind appends may come first: they could have come later as well."""
    table = lakebed.DeltaTable.forPath(spark, path)
    table.setProperties({"delta.isolationLevel": "WriteSerializable"})
    insert = f"INSERT INTO delta.`{path}` SELECT max(id) + 1, 'mon' FROM delta.`{path}`"
    new = pa.table({"id": [100], "day": ["mon"]})
    with before_commit(lambda: lakebed.write(path, new, mode="append")):
        spark.sql(insert)
    lakebed.DeltaTable.forPath(spark, path).setProperties({"delta.isolationLevel": "Serializable"})
    raced = before_commit(lambda: lakebed.write(path, new, mode="append"))
    with raced, pytest.raises(ConcurrentAppendError):
        spark.sql(insert)


def test_a_merge_whose_source_is_the_table_sees_what_came_first(
    spark: SparkSession, path: str
) -> None:
    """The command starts over: its source is read again too."""
    table = lakebed.DeltaTable.forPath(spark, path)
    source = spark.read.format("delta").load(path).selectExpr("max(id) AS top", "count(*) AS n")
    merge = (
        table.alias("t").merge(source, "t.id = 2").whenMatchedUpdate(set={"id": "top * 100 + n"})
    )
    with before_commit(lambda: table.delete("id = 4")):
        merge.execute()
    assert sorted(row.id for row in table.toDF().collect()) == [1, 3, 303]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE delta.`{path}` SET id = (SELECT max(id) * 100 FROM delta.`{path}`) WHERE id = 2",
        "DELETE FROM delta.`{path}` WHERE id = (SELECT max(id) FROM delta.`{path}`)",
    ],
)
def test_a_subquery_on_the_table_itself_sees_what_came_first(
    spark: SparkSession, path: str, change: str
) -> None:
    table = lakebed.DeltaTable.forPath(spark, path)
    with before_commit(lambda: table.update("id = 3", {"id": "7"})):
        spark.sql(change.format(path=path))
    found = sorted(row.id for row in table.toDF().collect())
    assert found == ([1, 4, 7, 700] if change.startswith("UPDATE") else [1, 2, 4])


def test_all_jobs_of_a_command_read_the_same_version_of_other_tables(
    spark: SparkSession, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row that comes to the source between two jobs of a MERGE must not count half."""
    from lakebed.log.newest_version import NewestVersion

    other = str(tmp_path / "other")
    lakebed.write(other, pa.table({"id": [1], "day": ["mon"]}))
    source = spark.read.format("delta").load(other)
    newest, calls = NewestVersion.snapshot, iter(range(50, 80))

    def racing(self: NewestVersion) -> object:
        found = newest(self)
        if self._known.store.url.endswith("other"):
            more = pa.table({"id": [next(calls)], "day": ["mon"]})
            lakebed.write(other, more, mode="append")
        return found

    monkeypatch.setattr(NewestVersion, "snapshot", racing)
    table = lakebed.DeltaTable.forPath(spark, path)
    merge = table.alias("t").merge(source.alias("s"), "t.id = s.id")
    merge.whenMatchedDelete().whenNotMatchedInsertAll().execute()
    monkeypatch.undo()
    assert sorted(row.id for row in table.toDF().collect()) == [2, 3, 4]
