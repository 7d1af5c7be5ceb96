"""Spark Connect without Lakebed on the server: the versions that queries and writes read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakebed
from lakebed.errors import ConflictError, SchemaChangedError
from lakebed.spark.internals.connect.connect_plans import sources_of
from testkit.other_writers import before_commit, is_blind


@pytest.fixture
def path(tmp_path: Path) -> str:
    made = str(tmp_path / "table")
    lakebed.write(made, pa.table({"id": [1, 2], "k": ["a", "b"]}))
    return made


def test_a_dataframe_sees_new_rows_with_the_columns_that_it_was_created_with(
    remote: Any, path: str
) -> None:
    frame = remote.read.format("delta").load(path)
    pinned = remote.read.format("delta").option("versionAsOf", 0).load(path)
    assert frame.count() == 2
    more = pa.table({"id": [3], "k": ["c"], "new": [1.5]})
    lakebed.write(path, more, mode="append", merge_schema=True)
    assert sorted(tuple(row) for row in frame.collect()) == [(1, "a"), (2, "b"), (3, "c")]
    assert lakebed.DeltaTable.forPath(remote, path).toDF().count() == 3
    assert pinned.count() == 2
    lakebed.write(path, pa.table({"id": ["x"]}), mode="overwrite", overwrite_schema=True)
    with pytest.raises(SchemaChangedError, match="read the table again"):
        frame.collect()


def test_a_write_that_reads_its_table_conflicts_with_a_delete(remote: Any, path: str) -> None:
    table = lakebed.DeltaTable.forPath(remote, path)
    rows = remote.read.format("delta").load(path).selectExpr("id + 10 AS id", "k")
    with before_commit(lambda: table.delete("id = 1")), pytest.raises(ConflictError):
        rows.write.format("delta").mode("append").save(path)
    assert lakebed.open(path).to_arrow()["id"].to_pylist() == [2]


def test_rows_of_other_tables_are_a_blind_append(remote: Any, path: str, tmp_path: Path) -> None:
    other = str(tmp_path / "other")
    lakebed.write(other, pa.table({"id": [5], "k": ["e"]}))
    remote.read.format("delta").load(other).write.format("delta").mode("append").save(path)
    assert is_blind(path) is True


def test_the_plan_of_a_client_names_its_sources(remote: Any, path: str) -> None:
    """Breaks: what a write reads is unknown on Spark Connect."""
    frame = remote.read.format("delta").load(path)
    (found,) = sources_of(frame.join(remote.range(3), "id"))
    assert found is not None
    assert (found[0], found[1]["lakebed.url"]) == ("lakebed", lakebed.open(path).url)
    assert list(sources_of(remote.table("some_view"))) == [None]
    assert None in sources_of(frame.where("id IN (SELECT id FROM some_view)"))
