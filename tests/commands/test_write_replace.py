"""Overwrites that replace some of the rows: by a predicate, or by partition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest

import lakebed
from lakebed.errors import (
    ConstraintViolationError,
    InvalidArgumentError,
    PredicateError,
    UnsupportedFeatureError,
)


def rows_of(path: Path) -> list[dict[str, Any]]:
    """By an independent reader."""
    table = deltalake.DeltaTable(str(path)).to_pyarrow_table()
    return sorted(table.to_pylist(), key=lambda row: (row["id"], str(row)))


def table_of(ids: list[int], days: list[str | None]) -> pa.Table:
    return pa.table({"id": ids, "day": pa.array(days, pa.string())})


def test_replace_where_on_partitions_removes_whole_files_and_writes_none_again(
    tmp_path: Path,
) -> None:
    lakebed.write(tmp_path, table_of([1, 2, 3], ["a", "b", None]), partition_by="day")
    new = table_of([9], ["a"])
    done = lakebed.write(tmp_path, new, mode="overwrite", replace_where="day = 'a'")
    assert [row["id"] for row in rows_of(tmp_path)] == [2, 3, 9]
    last = done.history(1).to_pylist()[0]
    assert dict(last["operationParameters"])["predicate"] == "day = 'a'"
    metrics = dict(last["operationMetrics"])
    assert (metrics["numFiles"], metrics["numRemovedFiles"]) == ("1", "1")


def test_replace_where_on_data_columns_keeps_the_other_rows_of_a_file(tmp_path: Path) -> None:
    lakebed.write(tmp_path, table_of([1, 2, 3, 4], ["a", "b", None, "d"]))
    lakebed.write(tmp_path, table_of([50], ["z"]))
    new = table_of([2, 3], ["x", "y"])
    lakebed.write(tmp_path, new, mode="overwrite", replace_where="id >= 2 AND id < 10")
    assert [(row["id"], row["day"]) for row in rows_of(tmp_path)] == [
        (1, "a"),
        (2, "x"),
        (3, "y"),
        (50, "z"),
    ]


def test_a_row_whose_predicate_is_null_is_not_replaced(tmp_path: Path) -> None:
    lakebed.write(tmp_path, table_of([1, 2], ["a", None]))
    lakebed.write(tmp_path, table_of([9], ["a"]), mode="overwrite", replace_where="day = 'a'")
    assert [row["id"] for row in rows_of(tmp_path)] == [2, 9]


def test_new_rows_outside_the_predicate_are_refused_and_nothing_changes(tmp_path: Path) -> None:
    before = lakebed.write(tmp_path, table_of([1], ["a"]), partition_by="day")
    with pytest.raises(ConstraintViolationError, match="day = 'a'"):
        lakebed.write(tmp_path, table_of([9], ["b"]), mode="overwrite", replace_where="day = 'a'")
    assert lakebed.open(tmp_path).version == before.version
    assert [row["id"] for row in rows_of(tmp_path)] == [1]


def test_replace_where_creates_a_table_that_does_not_exist(tmp_path: Path) -> None:
    lakebed.write(tmp_path, table_of([1], ["a"]), mode="overwrite", replace_where="id = 1")
    assert [row["id"] for row in rows_of(tmp_path)] == [1]


@pytest.mark.parametrize("feature", ["delta.enableChangeDataFeed", "delta.enableRowTracking"])
def test_a_rewrite_that_would_break_a_feature_is_refused_by_name(
    tmp_path: Path, feature: str
) -> None:
    lakebed.write(tmp_path, table_of([1, 2], ["a", "b"]), properties={feature: "true"})
    with pytest.raises(UnsupportedFeatureError, match="replaceWhere"):
        lakebed.write(tmp_path, table_of([1], ["c"]), mode="overwrite", replace_where="id = 1")
    assert lakebed.open(tmp_path).version == 0


def test_a_predicate_that_cannot_be_parsed_is_refused(tmp_path: Path) -> None:
    lakebed.write(tmp_path, table_of([1], ["a"]))
    with pytest.raises(PredicateError):
        lakebed.write(tmp_path, table_of([1], ["a"]), mode="overwrite", replace_where="id ==== 1")


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "append", "replace_where": "id = 1"},
        {"mode": "append", "partition_overwrite": "dynamic"},
        {"mode": "overwrite", "replace_where": "id = 1", "overwrite_schema": True},
        {"mode": "overwrite", "replace_where": "id = 1", "partition_overwrite": "dynamic"},
        {"mode": "overwrite", "partition_overwrite": "sometimes"},
        {"mode": "overwrite", "replace_where": 7},
    ],
)
def test_options_that_contradict_each_other_are_refused(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    if options == {"mode": "append", "partition_overwrite": "dynamic"}:
        # As in Spark: a setting that says how to overwrite does not matter to an append.
        lakebed.write(tmp_path, table_of([1], ["a"]), **options)
        return
    with pytest.raises(InvalidArgumentError):
        lakebed.write(tmp_path, table_of([1], ["a"]), **options)
    assert not lakebed.is_delta_table(tmp_path)


@pytest.mark.parametrize("mapping", ["none", "name"])
def test_a_dynamic_overwrite_replaces_the_partitions_that_have_new_rows(
    tmp_path: Path, mapping: str
) -> None:
    properties = {"delta.columnMapping.mode": mapping}
    data = pa.table(
        {"id": [1, 2, 3, 4], "day": ["a", "b", None, "a"], "hour": pa.array([1, 1, 2, 2])}
    )
    lakebed.write(tmp_path, data, partition_by=["day", "hour"], properties=properties)
    new = pa.table(
        {"id": [7, 8], "day": pa.array(["a", None]), "hour": pa.array([1, 2], pa.int64())}
    )
    done = lakebed.write(tmp_path, new, mode="overwrite", partition_overwrite="dynamic")
    assert sorted(done.to_arrow()["id"].to_pylist()) == [2, 4, 7, 8]


def test_a_dynamic_overwrite_without_rows_changes_no_file(tmp_path: Path) -> None:
    lakebed.write(tmp_path, table_of([1], ["a"]), partition_by="day")
    none = table_of([1], ["a"]).slice(0, 0)
    lakebed.write(tmp_path, none, mode="overwrite", partition_overwrite="dynamic")
    assert [row["id"] for row in rows_of(tmp_path)] == [1]


def test_a_dynamic_overwrite_of_a_table_without_partitions_replaces_all(tmp_path: Path) -> None:
    lakebed.write(tmp_path, table_of([1], ["a"]))
    lakebed.write(tmp_path, table_of([2], ["b"]), mode="overwrite", partition_overwrite="dynamic")
    assert [row["id"] for row in rows_of(tmp_path)] == [2]
