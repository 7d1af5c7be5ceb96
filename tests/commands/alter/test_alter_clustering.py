"""By which columns a table is clustered: the log's side of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakebed
from lakebed.commands.alter.cluster_by import cluster_by
from lakebed.commands.target.clustering_columns import physical_clustering_columns
from lakebed.errors import (
    ConcurrentDomainError,
    InvalidArgumentError,
    LakebedError,
    ProtocolChangedError,
    SchemaError,
)
from lakebed.spec.actions import DomainMetadata
from testkit.other_writers import interrupted
from testkit.readers.log_json import last_commit, operations
from testkit.readers.other_readers import by_duckdb
from testkit.tables.arbitrary_tables import commit

ROWS = pa.table(
    {
        "a": [1, 2],
        "b": ["x", "y"],
        "s": pa.array([{"x": 1.5, "y": [1]}] * 2),
        "flag": [True, False],
        "c": [1, 2],
        "d": [1, 2],
        "e": [1, 2],
    }
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    lakebed.write(tmp_path / "t", ROWS)
    return tmp_path / "t"


def test_a_table_becomes_clustered(path: Path) -> None:
    assert lakebed.open(path).clustering_columns is None
    table = lakebed.open(path).cluster_by(["B", "s.x"])
    assert table.clustering_columns == ("b", "s.x")
    written = last_commit(path)
    assert {"clustering", "domainMetadata"} <= set(written["protocol"]["writerFeatures"])
    assert written["domainMetadata"]["domain"] == "delta.clustering"
    stored = json.loads(written["domainMetadata"]["configuration"])
    assert stored == {"clusteringColumns": [["b"], ["s", "x"]]}
    assert written["commitInfo"]["operation"] == "CLUSTER BY"
    assert written["commitInfo"]["operationParameters"] == {
        "oldClusteringColumns": "",
        "newClusteringColumns": "b,s.x",
    }
    assert len(by_duckdb(path)) == 2
    table = table.write(ROWS).cluster_by("a")
    assert lakebed.open(path).clustering_columns == ("a",)
    assert "protocol" not in last_commit(path)
    assert last_commit(path)["commitInfo"]["operationParameters"]["oldClusteringColumns"] == "b,s.x"
    assert table.cluster_by(None).clustering_columns == ()


def test_mapped_tables_have_physical_names_in_the_log(tmp_path: Path) -> None:
    properties = {"delta.columnMapping.mode": "name"}
    table = lakebed.write(tmp_path / "t", ROWS, properties=properties).cluster_by(["a", "s.x"])
    stored = physical_clustering_columns(table.snapshot)
    assert stored is not None
    assert [step.startswith("col-") for path in stored for step in path] == [True] * 3
    table = table.rename_column("a", "z")
    assert table.clustering_columns == ("z", "s.x")
    assert physical_clustering_columns(table.snapshot) == stored


def test_names_without_steps_are_read_too(path: Path) -> None:
    lakebed.open(path).cluster_by("a")
    plain = DomainMetadata("delta.clustering", '{"clusteringColumns":["b","c"]}')
    assert commit(path, plain).clustering_columns == ("b", "c")


def test_no_columns_on_a_plain_table_change_nothing(path: Path) -> None:
    assert lakebed.open(path).cluster_by(None).version == 0


REFUSED = {
    "no column": ["nope"],
    "no bounds": ["flag"],
    "array": ["s.y"],
    "struct": ["s"],
    "twice": ["a", "A"],
    "too many": ["a", "b", "c", "d", "e"],
}


@pytest.mark.parametrize("columns", REFUSED.values(), ids=REFUSED)
def test_columns_that_files_cannot_be_told_apart_by_are_refused(
    path: Path, columns: list[str]
) -> None:
    with pytest.raises((SchemaError, InvalidArgumentError)):
        lakebed.open(path).cluster_by(columns)
    assert operations(path) == ["WRITE"]


def test_columns_without_statistics_are_refused(path: Path) -> None:
    table = lakebed.open(path).set_properties({"delta.dataSkippingNumIndexedCols": "1"})
    with pytest.raises(SchemaError, match="statistics"):
        table.cluster_by("b")
    assert table.cluster_by("a").clustering_columns == ("a",)


def test_partitioned_tables_are_not_clustered(tmp_path: Path) -> None:
    table = lakebed.write(tmp_path / "t", ROWS, partition_by="b")
    with pytest.raises(InvalidArgumentError, match="partitioned"):
        table.cluster_by("a")


def test_two_choices_at_once_conflict(path: Path) -> None:
    first = interrupted(path, lambda: lakebed.open(path).cluster_by("b"))
    with pytest.raises(ProtocolChangedError):
        cluster_by(first, "a")
    second = interrupted(path, lambda: lakebed.open(path).cluster_by("c"))
    with pytest.raises(ConcurrentDomainError):
        cluster_by(second, "a")
    assert lakebed.open(path).clustering_columns == ("c",)


def test_a_broken_domain_says_so(path: Path) -> None:
    lakebed.open(path).cluster_by("a")
    for text in ("{}", '{"clusteringColumns":[[]]}', "no json"):
        table = commit(path, DomainMetadata("delta.clustering", text))
        with pytest.raises(LakebedError, match="clustering"):
            _ = table.clustering_columns


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.set_properties({"delta.dataSkippingStatsColumns": "c1"}),
        lambda table: table.set_properties({"delta.dataSkippingNumIndexedCols": "3"}),
        lambda table: table.alter_column("c5", after="c39"),
        lambda table: table.add_columns({f"n{n}": "int" for n in range(30)}, first=True),
    ],
)
def test_files_get_the_statistics_of_clustering_columns_whatever_changes(
    tmp_path: Path, change: Any
) -> None:
    """PROTOCOL: Writer Requirements for Clustered Table."""
    wide = pa.table({f"c{n}": [n] for n in range(40)})
    table = lakebed.write(tmp_path / "t", wide, cluster_by="c5")
    with pytest.raises(SchemaError, match="clustered by c5, and new files would have no stat"):
        change(table)
    assert lakebed.open(tmp_path / "t").version == 0
    table = table.set_properties({"delta.dataSkippingStatsColumns": "c1,c5"})
    table.alter_column("c5", after="c39").set_comment("fine")
    with pytest.raises(SchemaError, match="clustered by c5"):
        table.unset_properties("delta.dataSkippingStatsColumns")


def test_a_table_of_others_that_lacks_statistics_already_can_be_altered(tmp_path: Path) -> None:
    wide = pa.table({f"c{n}": [n] for n in range(40)})
    table = lakebed.write(tmp_path / "t", wide, cluster_by="c5")
    domain = DomainMetadata("delta.clustering", '{"clusteringColumns":[["c39"]]}')
    commit(tmp_path / "t", domain)
    assert table.refresh().clustering_columns == ("c39",)
    assert table.set_comment("more").description == "more"
