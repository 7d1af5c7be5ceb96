"""OPTIMIZE of every kind: killed at each write to the store, beside a writer, and by SIGKILL."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.table_log import TableLog
from lakebed.settings.setting_table import OPTIMIZE_LOCAL_BYTES
from lakebed.spark.stores.location import open_location
from lakebed.storage import Store
from lakebed.tables import DeltaOptimizeBuilder
from lakebed.transaction import Operation, Transaction
from testkit.faults import Fault, FaultStore, Killed
from testkit.readers.other_readers import rows_by_deltalake, rows_by_duckdb
from testkit.servers.standalone_cluster import environ
from testkit.tables.spark_tables import settings

Rows = list[tuple[object, ...]]
SMALL_BATCHES = {
    "spark.databricks.delta.optimize.batchSize": "1",
    "spark.databricks.delta.optimize.maxFileSize": "1mb",
}
# Each batch has written its files and waits a moment before it commits them: there it is killed.
APPLICATION = """
import sys, time, lakebed
from lakebed.transaction import Transaction
commit = Transaction.commit
Transaction.commit = lambda self: time.sleep(0.15) or commit(self)
spark = lakebed.session("optimizes", master="local[1]", spark_ui_enabled=False, **{
    "spark.databricks.delta.optimize.batchSize": "1", "spark.driver.host": "127.0.0.1",
    "spark.lakebed.optimize.localBytes": "0"})
lakebed.DeltaTable.forPath(spark, sys.argv[1]).optimize().executeCompaction()
"""
ENGINES = {"arrow": "100mb", "spark": "0"}
"""Up to how many bytes are put in order without Spark."""
KINDS: dict[str, Callable[[DeltaOptimizeBuilder], Any]] = {
    "compaction": lambda builder: builder.executeCompaction(),
    "z-order": lambda builder: builder.executeZOrderBy("x", "id"),
    "clustering": lambda builder: builder.executeCompaction(),
    "purge": lambda builder: builder.executePurge(),
}


class Commits(FaultStore):
    """Only what changes the store counts. `act` runs before the first commit."""

    act: Callable[[], object] | None = None

    def _record(self, method: str, path: str) -> Fault | None:
        if method not in ("put", "put_if_absent", "delete"):
            return None
        act, is_commit = self.act, method == "put_if_absent" and path.endswith(".json")
        if act is not None and is_commit:
            self.act = None
            act()
        return super()._record(method, path)


@pytest.fixture(scope="module")
def origins(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files in two partitions, two in each, of which one has a deleted row; or one clustered."""
    folder = tmp_path_factory.mktemp("origins")
    found = {}
    for name, layout in (
        ("partitioned", {"partition_by": "p"}),
        ("clustered", {"cluster_by": ["x", "id"]}),
    ):
        make(folder / name, layout)
        found[name] = folder / name
    return found


def make(path: Path, layout: dict[str, Any], parts: int = 2) -> None:
    size = 10 * parts
    for number in range(2):
        ids = range(number * size, (number + 1) * size)
        rows = {"id": ids, "x": [i * 7 % 10 for i in ids], "p": [i % parts for i in ids]}
        properties = {"delta.enableDeletionVectors": "true"} if not number else {}
        lakebed.write(path, pa.table(rows), properties=properties, **(layout if not number else {}))
    snapshot = lakebed.open(path).snapshot
    transaction = Transaction(snapshot, operation=Operation("DELETE"))
    seen: set[str | None] = set()
    for add in adds_from_table(snapshot.files()):
        part = add.partition_values.get("p")
        if part not in seen:
            transaction.mark_rows(add, RowIndexSet.from_indexes([1]))
        seen.add(part)
    transaction.commit().unwrap()


def origin(origins: dict[str, Path], kind: str) -> Path:
    return origins["clustered" if kind == "clustering" else "partitioned"]


def run(
    spark: SparkSession,
    path: Path,
    kind: str,
    wrap: Callable[[Store], Store],
    engine: str = "arrow",
) -> Store:
    plain, root = open_location(spark, str(path), {})
    store = wrap(plain)
    with settings(spark, {**SMALL_BATCHES, OPTIMIZE_LOCAL_BYTES.name: ENGINES[engine]}):
        KINDS[kind](lakebed.DeltaTable(spark, TableLog(store), root, {}).optimize())
    return store


def seen_by_all(path: Path) -> Rows:
    rows = rows_by_deltalake(path)
    assert rows == rows_by_duckdb(path)
    found = lakebed.open(path).to_arrow()
    names = sorted(found.column_names)
    assert rows == sorted(tuple(row[name] for name in names) for row in found.to_pylist())
    return rows


@pytest.mark.parametrize(
    ("kind", "engine"), [*((kind, "arrow") for kind in KINDS), ("z-order", "spark")]
)
def test_killed_at_any_write_the_rows_stay_and_the_next_run_finishes(
    spark: SparkSession, tmp_path: Path, origins: dict[str, Path], kind: str, engine: str
) -> None:
    whole = tmp_path / "whole"
    shutil.copytree(origin(origins, kind), whole)
    before = seen_by_all(whole)
    calls = run(spark, whole, kind, Commits, engine).calls  # type: ignore[attr-defined]
    assert seen_by_all(whole) == before
    commits = {c.path for c in calls if c.method == "put_if_absent" and c.path.endswith(".json")}
    assert len(commits) == (1 if kind == "clustering" else 2)
    for number in range(1, len(calls) + 1):
        path = tmp_path / f"killed-{number}"
        shutil.copytree(origin(origins, kind), path)
        fault = Fault(None, number, "before", Killed())
        with pytest.raises(Killed):
            run(spark, path, kind, lambda store: Commits(store, fault), engine)  # noqa: B023
        assert seen_by_all(path) == before
        run(spark, path, kind, Commits, engine)
        assert seen_by_all(path) == before
        assert in_order(path) == in_order(whole)


def in_order(path: Path) -> tuple[int, bool, bool]:
    """What OPTIMIZE has to show for itself: few files, none with deleted rows, cubes."""
    files = lakebed.open(path).snapshot.files(["path", "deletionVector", "clusteringProvider"])
    vectors = any(vector is not None for vector in files["deletionVector"].to_pylist())
    return files.num_rows, vectors, "liquid" in files["clusteringProvider"].to_pylist()


@pytest.mark.parametrize(
    ("kind", "engine"), [*((kind, "arrow") for kind in KINDS), ("compaction", "spark")]
)
def test_rows_that_are_appended_and_deleted_meanwhile_count(
    spark: SparkSession, tmp_path: Path, origins: dict[str, Path], kind: str, engine: str
) -> None:
    """The append comes in at once. A file that loses a row costs OPTIMIZE its batch, no more."""
    path = tmp_path / "t"
    shutil.copytree(origin(origins, kind), path)
    before = seen_by_all(path)

    def others() -> None:
        lakebed.write(path, pa.table({"id": [100], "x": [1], "p": [0]}))
        snapshot = lakebed.open(path).snapshot
        newest = max(adds_from_table(snapshot.files()), key=lambda add: add.stats or "")
        transaction = Transaction(snapshot, operation=Operation("DELETE"))
        transaction.mark_rows(newest, RowIndexSet.from_indexes([0]))
        transaction.commit().unwrap()
        expected.extend(rows_by_duckdb(path))

    expected: Rows = []

    def beside(store: Store) -> Store:
        found = Commits(store)
        found.act = others
        return found

    run(spark, path, kind, beside, engine)
    assert len(expected) == len(before)
    assert seen_by_all(path) == expected
    run(spark, path, kind, Commits, engine)
    assert seen_by_all(path) == expected


def test_a_process_that_is_killed_beside_a_writer_leaves_all_rows_and_the_rest_of_the_work(
    spark: SparkSession, tmp_path: Path
) -> None:
    """SIGKILL to Python and the JVM at once, in the midst of a batch. Appends never wait."""
    path, parts = tmp_path / "t", 30
    make(path, {"partition_by": "p"}, parts)
    first = lakebed.open(path).version
    expected = {row[0] for row in rows_by_deltalake(path)}
    number = 1000
    with application(path):
        deadline = time.monotonic() + 180
        while operations(path).count("OPTIMIZE") < 2:
            assert time.monotonic() < deadline
            if number < 1005:
                lakebed.write(path, pa.table({"id": [number], "x": [1], "p": [number % parts]}))
                expected.add(number)
                number += 1
            time.sleep(0.05)
        time.sleep(random.uniform(0, 0.2))
    assert first < lakebed.open(path).version
    assert operations(path).count("OPTIMIZE") < parts
    assert {row[0] for row in seen_by_all(path)} == expected
    lakebed.DeltaTable.forPath(spark, str(path)).optimize().executeCompaction()
    assert {row[0] for row in seen_by_all(path)} == expected
    assert lakebed.open(path).num_files == parts


def operations(path: Path) -> list[str]:
    return lakebed.open(path).history()["operation"].to_pylist()


@contextmanager
def application(path: Path) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "-c", APPLICATION, str(path)],
        env=environ(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
