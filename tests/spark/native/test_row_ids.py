"""Ids and commit versions of rows in `_metadata`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

NAMES = "row_id, row_commit_version, base_row_id, default_row_commit_version"
FIELDS = ", ".join(f"_metadata.{name}" for name in NAMES.split(", "))


@pytest.fixture(params=["none", "name", "id"])
def tracked(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    spark.sql(
        "CREATE TABLE tracked (id INT, s STRING) USING delta TBLPROPERTIES "
        "('delta.enableRowTracking' = 'true', 'delta.enableDeletionVectors' = 'true', "
        f"'delta.columnMapping.mode' = '{request.param}')"
    )
    spark.sql("INSERT INTO tracked VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    spark.sql("INSERT INTO tracked VALUES (4, 'd')")
    yield spark
    spark.sql("DROP TABLE tracked")


def asked(spark: SparkSession, more: str = "") -> list[tuple[int, ...]]:
    found = spark.sql(f"SELECT id, {FIELDS} FROM tracked {more}").collect()
    return sorted(tuple(row) for row in found)


def test_rows_have_ids_of_their_files(tracked: SparkSession) -> None:
    assert asked(tracked) == [(1, 0, 1, 0, 1), (2, 1, 1, 0, 1), (3, 2, 1, 0, 1), (4, 3, 2, 3, 2)]


def test_rows_keep_their_ids_in_new_files(tracked: SparkSession) -> None:
    tracked.sql("UPDATE tracked SET s = 'x' WHERE id = 2")
    tracked.sql("DELETE FROM tracked WHERE id = 1")
    found = {row[0]: row[1:3] for row in asked(tracked)}
    assert found == {2: (1, 3), 3: (2, 1), 4: (3, 2)}


def test_conditions_may_be_on_ids(tracked: SparkSession) -> None:
    assert [row[0] for row in asked(tracked, "WHERE _metadata.row_id = 1")] == [2]
    assert [row[0] for row in asked(tracked, "WHERE _metadata.base_row_id = 3")] == [4]


def test_one_query_may_read_the_table_with_ids_and_without(tracked: SparkSession) -> None:
    found = tracked.sql(
        "SELECT one.id, two._metadata.row_id FROM tracked one JOIN tracked two ON one.id = two.id"
    )
    assert sorted(tuple(row) for row in found.collect()) == [(1, 0), (2, 1), (3, 2), (4, 3)]


def test_a_frame_with_ids_follows_its_table(tracked: SparkSession) -> None:
    frame = tracked.table("tracked").select("id", "_metadata.row_id")
    assert frame.count() == 4
    tracked.sql("INSERT INTO tracked VALUES (5, 'e')")
    assert sorted(tuple(row) for row in frame.collect())[-1] == (5, 4)


def test_the_other_facts_of_a_file_are_beside_them(tracked: SparkSession) -> None:
    row = tracked.sql("SELECT _metadata FROM tracked WHERE id = 3").collect()[0]._metadata
    assert (row.row_index, row.row_id, row.file_name in row.file_path) == (2, 2, True)


def test_a_table_without_row_tracking_has_no_ids(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE untracked (id INT) USING delta")
    try:
        with pytest.raises(AnalysisException, match="row_id"):
            spark.sql("SELECT _metadata.row_id FROM untracked")
    finally:
        spark.sql("DROP TABLE untracked")
