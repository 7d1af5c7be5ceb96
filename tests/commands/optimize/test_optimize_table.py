"""OPTIMIZE without Spark: what files there are after it, and the same rows as before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from deltalake import QueryBuilder

import lakebed
from lakebed.errors import InvalidArgumentError, UnsupportedFeatureError
from lakebed.settings.setting_table import CHANGE_MEMORY
from lakebed.tables.table import Table

VECTORS = {"delta.enableDeletionVectors": "true"}


def make(path: Path, **more: Any) -> Table:
    """Ten files of a hundred rows, in no order."""
    numbers = [(n * 389) % 1000 for n in range(1000)]
    data = {"id": numbers, "x": [n % 31 for n in numbers], "part": [n % 2 for n in numbers]}
    return lakebed.write(path, data, max_rows_per_file=100, **more)


def rows(path: Path) -> list[tuple[Any, ...]]:
    """By delta-rs."""
    query = QueryBuilder().register("t", deltalake.DeltaTable(str(path)))
    found = pa.table(query.execute("SELECT id, x, part FROM t").read_all()).to_pylist()
    return sorted(tuple(row.values()) for row in found)


def test_small_files_are_put_together_and_deleted_rows_left_behind(tmp_path: Path) -> None:
    properties = {**VECTORS, "delta.enableRowTracking": "true"}
    table = make(tmp_path / "t", properties=properties)
    table.delete("id < 5")
    before = rows(tmp_path / "t")
    done = table.optimize()
    assert (done.num_files_added, done.num_files_removed) == (1, 10)
    assert done.num_bytes_added < done.num_bytes_removed
    assert rows(tmp_path / "t") == before
    assert len(before) == 995
    entry = done.table.history(1).to_pylist()[0]
    assert entry["operation"] == "OPTIMIZE"
    assert dict(entry["operationMetrics"])["numDeletionVectorsRemoved"] == "2"
    again = done.table.optimize()
    assert (again.num_files_added, again.table.version) == (0, done.table.version)


def test_only_chosen_partitions_are_put_in_order(tmp_path: Path) -> None:
    table = make(tmp_path / "t", partition_by=["part"])
    done = table.optimize("part = 1")
    assert done.table.files("part = 1").num_rows == 1
    assert done.table.files("part = 0").num_rows > 1
    with pytest.raises(InvalidArgumentError, match="non-partition column"):
        table.optimize("id = 1")


def test_purge_rewrites_only_files_with_deleted_rows(tmp_path: Path) -> None:
    table = make(tmp_path / "t", properties=VECTORS)
    table.delete("id = 7")
    done = table.optimize(purge=True)
    assert (done.num_files_added, done.num_files_removed) == (1, 1)
    assert done.table.num_files == 10


@pytest.mark.parametrize("clustered", [False, True], ids=["z-order", "clustering"])
def test_arranged_rows_are_found_in_few_files(tmp_path: Path, clustered: bool) -> None:
    names = ["id", "x"]
    path = tmp_path / "t"
    table = make(path, cluster_by=names if clustered else None)
    before, where = rows(path), "id BETWEEN 100 AND 150 AND x < 8"
    assert table.files(where).num_rows == 10
    size = table.size_in_bytes // 8
    if clustered:
        done = table.optimize(target_size=size)
    else:
        done = table.optimize(zorder_by=names, target_size=size)
    assert done.table.num_files > 4
    assert done.table.files(where).num_rows < done.table.num_files / 2
    assert rows(path) == before


def test_what_does_not_fit_into_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = make(tmp_path / "t")
    assert CHANGE_MEMORY.environment is not None
    monkeypatch.setenv(CHANGE_MEMORY.environment, "4kb")
    with pytest.raises(UnsupportedFeatureError, match="without Spark"):
        table.optimize(zorder_by="id", target_size=1000)
    assert table.refresh().version == 0
    assert table.optimize(target_size=1 << 20).num_files_added == 1


def test_changes_of_rows_that_come_first_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakebed.commands.optimize.optimize_table import _Optimize

    table = make(tmp_path / "t", properties=VECTORS)
    commit, done = _Optimize._commit, []

    def late(self: Any, *given: Any) -> None:
        if not done:
            done.append(lakebed.open(tmp_path / "t").delete("id = 7"))
        commit(self, *given)

    monkeypatch.setattr(_Optimize, "_commit", late)
    table.optimize()
    assert len(rows(tmp_path / "t")) == 999
    assert 7 not in {row[0] for row in rows(tmp_path / "t")}
