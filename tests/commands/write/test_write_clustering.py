"""What writes do to the clustering columns of a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

import lakebed
from lakebed.errors import InvalidArgumentError, SchemaError, SchemaMismatchError
from testkit.readers.other_readers import read_elsewhere

ROWS = pa.table({"x": [1, 2], "y": ["a", "b"], "s": pa.array([{"z": 1}, {"z": 2}])})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


def domain(path: Path) -> list[list[str]] | None:
    """As the newest commit has it."""
    newest = max((path / "_delta_log").glob("*.json"))
    for line in map(json.loads, newest.read_text().splitlines()):
        if "domainMetadata" in line:
            found: list[list[str]] = json.loads(line["domainMetadata"]["configuration"])[
                "clusteringColumns"
            ]
            return found
    return None


def test_a_new_table_is_clustered_from_its_first_commit(path: Path) -> None:
    table = lakebed.write(path, ROWS, cluster_by=["X", "s.z"])
    assert table.version == 0
    assert table.clustering_columns == ("x", "s.z")
    assert domain(path) == [["x"], ["s", "z"]]
    assert DeltaTable(str(path)).protocol().writer_features == [
        "appendOnly",
        "clustering",
        "domainMetadata",
        "invariants",
    ]
    lakebed.write(path, ROWS)
    assert domain(path) is None
    assert sorted(read_elsewhere(path)["x"].to_pylist()) == [1, 1, 2, 2]


def test_one_name_and_mapped_columns(path: Path) -> None:
    lakebed.write(path, ROWS, cluster_by="y", properties={"delta.columnMapping.mode": "name"})
    assert lakebed.open(path).clustering_columns == ("y",)
    [[physical]] = domain(path) or []
    assert physical.startswith("col-")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"cluster_by": ["x"], "partition_by": ["y"]}, InvalidArgumentError),
        ({"cluster_by": ["nope"]}, SchemaError),
        ({"cluster_by": ["s"]}, SchemaError),
        ({"cluster_by": [3]}, InvalidArgumentError),
        ({"cluster_by": ["x", "x"]}, InvalidArgumentError),
    ],
)
def test_what_cannot_be_leaves_no_table(path: Path, options: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        lakebed.write(path, ROWS, **options)
    assert not path.exists()


def test_a_write_may_repeat_the_columns_and_not_change_them(path: Path) -> None:
    lakebed.write(path, ROWS, cluster_by=["x", "y"])
    lakebed.write(path, ROWS, cluster_by=["X", "y"])
    for mode in ("append", "overwrite"):
        with pytest.raises(SchemaMismatchError, match="clustered by x, y, not by y"):
            lakebed.write(path, ROWS, cluster_by="y", mode=mode)  # type: ignore[arg-type]
    plain = lakebed.write(path.with_name("plain"), ROWS)
    with pytest.raises(SchemaMismatchError, match="clustered by nothing"):
        plain.write(ROWS, cluster_by="y")
    assert lakebed.open(path).version == 1


@pytest.mark.parametrize("mode", ["none", "name"])
def test_a_new_schema_keeps_the_columns_or_is_given_others(path: Path, mode: str) -> None:
    properties = {"delta.columnMapping.mode": mode}
    lakebed.write(path, ROWS, cluster_by="x", properties=properties)
    wider = pa.table({"x": [1.5], "more": [1]})
    table = lakebed.write(path, wider, mode="overwrite", overwrite_schema=True)
    assert table.clustering_columns == ("x",)
    other = pa.table({"more": [1], "w": ["a"]})
    with pytest.raises(SchemaError, match="clustered by x, and the new schema has no x"):
        lakebed.write(path, other, mode="overwrite", overwrite_schema=True)
    table = lakebed.write(path, other, mode="overwrite", overwrite_schema=True, cluster_by="w")
    assert table.clustering_columns == ("w",)
    assert lakebed.open(path).clustering_columns == ("w",)
    assert read_elsewhere(path)["more"].to_pylist() == [1]


def test_a_clustered_table_does_not_become_a_partitioned_one(path: Path) -> None:
    """PROTOCOL: writers must not define clustered and partition columns at the same time."""
    lakebed.write(path, ROWS, cluster_by="x").cluster_by(None)
    with pytest.raises(InvalidArgumentError, match="clustered table cannot be partitioned"):
        lakebed.write(path, ROWS, mode="overwrite", overwrite_schema=True, partition_by="y")
    assert lakebed.open(path).version == 1


def test_a_partitioned_table_becomes_clustered_when_it_is_written_anew(path: Path) -> None:
    lakebed.write(path, ROWS, partition_by="y")
    table = lakebed.write(path, ROWS, mode="overwrite", overwrite_schema=True, cluster_by="x")
    assert (table.partition_columns, table.clustering_columns) == ((), ("x",))
    assert DeltaTable(str(path)).metadata().partition_columns == []
    assert sorted(read_elsewhere(path)["y"].to_pylist()) == ["a", "b"]
