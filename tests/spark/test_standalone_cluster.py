"""Delta tables on a real cluster: a master, two workers, and an application in its own process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

import lakebed
from lakebed.formats.deletion_vectors import RowIndexSet, write_vectors
from lakebed.spec.actions import Add, Remove
from lakebed.spec.vector_descriptors import file_name, new_file, stored_vector
from testkit.readers.log_json import log_files
from testkit.readers.other_readers import read_elsewhere
from testkit.servers.standalone_cluster import run_application, standalone_cluster
from testkit.tables.arbitrary_tables import commit

APPLICATION = Path(__file__).parent / "cluster_application.py"
REGIONS = ("north", "south", "west")

pytestmark = pytest.mark.slow("a master, two workers and an application start")


@pytest.fixture(scope="module")
def cluster(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:  # noqa: ARG001
    with standalone_cluster(tmp_path_factory.mktemp("cluster")) as master:
        yield master


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tables") / "orders"
    _make(path)
    return path


@pytest.fixture(scope="module")
def found(cluster: str, orders: Path) -> dict[str, Any]:
    done = run_application(APPLICATION, cluster, str(orders), str(orders.parent / "copy"))
    assert done.returncode == 0, done.stderr[-5000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_an_application_on_two_executors_reads_what_others_read(
    found: dict[str, Any], orders: Path
) -> None:
    assert len(found["executors"]) == 2
    expected = _expected(orders)
    assert found["adaptive True"] == expected
    assert found["adaptive False"] == expected


@pytest.mark.usefixtures("found")
def test_what_two_executors_write_and_append_is_what_others_read(orders: Path) -> None:
    copy = orders.parent / "copy"
    before = _rows(orders)
    again = [{**row, "id": row["id"] + 1000} for row in before if row["amount"] < 300]
    assert _rows(copy) == [*before, *again]
    assert DeltaTable(str(copy)).metadata().partition_columns == ["region"]
    assert log_files(copy) == [f"{version:020}.json" for version in (0, 1)]


@pytest.mark.usefixtures("found")
def test_a_stream_on_two_executors_copies_each_row_once(orders: Path) -> None:
    copy = orders.parent / "copy_by_stream"
    assert _rows(copy) == _rows(orders)
    assert log_files(copy) == [f"{version:020}.json" for version in (0, 1, 2)]


def _rows(path: Path) -> list[dict[str, Any]]:
    return sorted(read_elsewhere(path).to_pylist(), key=lambda row: row["id"])


def _expected(path: Path) -> dict[str, Any]:
    rows = _rows(path)
    south = [row for row in rows if row["region"] == "south"]
    north = [row for row in rows if row["region"] == "north"]
    return {
        "count": len(rows),
        "south": [[row["id"], row["amount"]] for row in south if row["amount"] >= 600],
        "joined": [
            [letter, len(part), sum(row["amount"] for row in part)]
            for letter, part in (("N", north), ("S", south))
        ],
        "first": 100,
    }


def _make(path: Path) -> None:
    """300 rows in nine files; then every seventh row of every file is deleted by a vector."""
    lakebed.write(
        path,
        _orders(0),
        partition_by=["region"],
        properties={"delta.enableDeletionVectors": "true"},
    )
    for start in (100, 200):
        lakebed.write(path, _orders(start))
    lines = [line for name in log_files(path) for line in _log(path, name)]
    adds = [Add.parse(line["add"]) for line in lines if "add" in line]
    deleted = RowIndexSet.from_indexes(range(0, 34, 7))
    content, stored = write_vectors([deleted] * len(adds))
    prefix, unique = new_file()
    (path / file_name(prefix, unique)).write_bytes(content)
    actions: list[Any] = []
    for add, place in zip(adds, stored, strict=True):
        where = place.offset, place.size_in_bytes, place.cardinality
        vector = stored_vector(prefix, unique, *where)
        actions.append(Remove(add.path, data_change=True, deletion_timestamp=1))
        actions.append(replace(add, deletion_vector=vector))
    commit(path, *actions)


def _log(path: Path, name: str) -> list[dict[str, Any]]:
    text = (path / "_delta_log" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def _orders(start: int) -> pa.Table:
    numbers = range(start, start + 100)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "region": [REGIONS[number % 3] for number in numbers],
            "amount": pa.array([3 * number for number in numbers], pa.int64()),
        }
    )
