"""OPTIMIZE on Spark: the same rows for every reader, in better files."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from deltalake import QueryBuilder
from pyspark.sql import DataFrame, SparkSession

import lakebed
from lakebed.commands.optimize.optimize import _Optimize
from lakebed.commands.optimize.placement import addresses
from lakebed.data_files.curves import Curve
from lakebed.errors import InvalidArgumentError, JobFailedError, SchemaError
from lakebed.settings.setting_table import OPTIMIZE_LOCAL_BYTES, ZORDER_CHECK_STATS
from lakebed.spark.native.native_plane import NativePlane
from lakebed.spark.plane.plane import Plane
from lakebed.spark.workers.workers_plane import WorkersPlane
from lakebed.storage import open_store

VECTORS = {"delta.enableDeletionVectors": "true"}
MAX_FILE = "spark.databricks.delta.optimize.maxFileSize"
BATCH = "spark.databricks.delta.optimize.batchSize"
LOCAL = "spark.lakebed.optimize.localBytes"


@pytest.fixture(params=["arrow", "spark"])
def way(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[None]:
    """Who rewrites: this process, or Spark."""
    if request.param == "spark":
        spark.conf.set(LOCAL, "0")
    yield
    spark.conf.unset(LOCAL)


def make(
    spark: SparkSession, path: Path, *, parts: int = 6, partition: str | None = None, **options: str
) -> lakebed.DeltaTable:
    frame = spark.range(600).selectExpr(
        "id", "id % 3 AS part", "id * 7919 % 600 AS x", "concat('n', id * 31 % 100) AS name"
    )
    writer = frame.repartition(parts).write.format("delta").options(**options)
    (writer if partition is None else writer.partitionBy(partition)).save(str(path))
    return lakebed.DeltaTable.forPath(spark, str(path))


def rows(path: Path) -> list[tuple[Any, ...]]:
    """By delta-rs."""
    query = QueryBuilder().register("t", deltalake.DeltaTable(str(path)))
    found = pa.table(query.execute("SELECT id, part, x, name FROM t").read_all())
    return sorted(tuple(row.values()) for row in found.to_pylist())


def files(path: Path) -> pa.Table:
    return lakebed.open(path).files(stats=True)


def last(path: Path) -> list[dict[str, Any]]:
    newest = max((path / "_delta_log").glob("*.json"))
    return [json.loads(line) for line in newest.read_text().splitlines()]


def metrics(frame: DataFrame) -> Any:
    [row] = frame.collect()
    return row["metrics"]


@pytest.mark.parametrize("plane", ["native", "workers"])
def test_compaction(spark: SparkSession, tmp_path: Path, plane: str) -> None:
    path = tmp_path / "t"
    table = make(spark, path, **VECTORS)
    table.delete("id % 10 = 1")
    before = rows(path)
    spark.conf.set("spark.lakebed.dataPlane", plane)
    spark.conf.set(LOCAL, "0")
    try:
        done = metrics(table.optimize().executeCompaction())
        again = metrics(table.optimize().executeCompaction())
    finally:
        spark.conf.unset("spark.lakebed.dataPlane")
        spark.conf.unset(LOCAL)
    assert rows(path) == before
    assert (done["numFilesAdded"], done["numFilesRemoved"]) == (1, 6)
    assert done["deletionVectorStats"]["numDeletionVectorRowsRemoved"] == 60
    assert (again["numFilesAdded"], again["numFilesRemoved"]) == (0, 0)
    assert lakebed.open(path).version == 2
    changes = [each for action in last(path) for key, each in action.items() if key != "commitInfo"]
    assert {each["dataChange"] for each in changes} == {False}
    [info] = [action["commitInfo"] for action in last(path) if "commitInfo" in action]
    assert info["operation"] == "OPTIMIZE"
    assert info["operationParameters"]["zOrderBy"] == "[]"


def test_partitions_and_where(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = make(spark, path, partition="part", **{"delta.columnMapping.mode": "name"})
    before = rows(path)
    done = metrics(table.optimize().where("part < 2").executeCompaction())
    assert (done["partitionsOptimized"], done["numFilesAdded"]) == (2, 2)
    assert rows(path) == before
    assert files(path).num_rows == 2 + 6
    with pytest.raises(InvalidArgumentError, match="references non-partition column"):
        table.optimize().where("id = 3").executeCompaction()
    with pytest.raises(InvalidArgumentError, match="part is a partition column"):
        table.optimize().executeZOrderBy("part")


@pytest.mark.usefixtures("way")
def test_row_ids_are_kept(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = make(spark, path, parts=3, **VECTORS, **{"delta.enableRowTracking": "true"})
    table.update("id = 5", {"name": "'other'"})

    before = ids_by_scan(table)
    table.optimize().executeCompaction()
    scan = ids_by_scan(table)
    assert len(scan) == 600
    assert len({row for row, _ in scan.values()}) == 600
    assert scan[5][1] == 1
    assert {version for key, (_, version) in scan.items() if key != 5} == {0}
    assert scan == before


def ids_by_scan(table: lakebed.DeltaTable) -> dict[int, tuple[int, int]]:
    from lakebed.commands.rows.row_scan import ROW_ID, ROW_VERSION, RowScan
    from lakebed.formats.file_actions import adds_from_table

    snapshot = table._log.snapshot()
    scan = RowScan(snapshot, table._plane(), list(adds_from_table(snapshot.files())))
    return {
        row[0]: (row[1], row[2]) for row in scan.frame().select("id", ROW_ID, ROW_VERSION).collect()
    }


@pytest.mark.usefixtures("way")
def test_z_order_skips_files(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = make(spark, path)
    before = rows(path)
    with_settings(spark, {MAX_FILE: "400"}, lambda: table.optimize().executeZOrderBy("x", "name"))
    assert rows(path) == before
    total = files(path).num_rows
    assert total >= 16
    opened = lakebed.open(path)
    assert opened.files("x = 300").num_rows <= total / 2
    assert opened.files("x = 300 AND name = 'n50'").num_rows <= total / 4
    with pytest.raises(SchemaError):
        table.optimize().executeZOrderBy("nope")


@pytest.mark.parametrize("local", ["0", "1mb"])
def test_any_number_of_columns_can_be_arranged_by(
    spark: SparkSession, tmp_path: Path, local: str
) -> None:
    """More than a key has bits, and more than files have statistics of if one insists."""
    path, names = tmp_path / "t", [f"c{n}" for n in range(70)]
    columns = {name: [n * 31 % 40 for n in range(40)] for name in names}
    lakebed.write(path, pa.table(columns), max_rows_per_file=10)
    table = lakebed.DeltaTable.forPath(spark, str(path))
    before = deltalake_rows(path)
    with pytest.raises(SchemaError, match="no statistics of c32"):
        table.optimize().executeZOrderBy(names)
    settings = {
        ZORDER_CHECK_STATS.name: "false",
        OPTIMIZE_LOCAL_BYTES.name: local,
        MAX_FILE: "20000",
    }
    with_settings(spark, settings, lambda: table.optimize().executeZOrderBy(names))
    assert deltalake_rows(path) == before
    assert lakebed.open(path).files("c0 = 7").num_rows < lakebed.open(path).num_files


def with_settings(spark: SparkSession, settings: dict[str, str], run: Callable[[], Any]) -> Any:
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        return run()
    finally:
        for key in settings:
            spark.conf.unset(key)


def test_clustering_is_incremental(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = make(spark, path)
    lakebed.open(path).cluster_by(["x", "name"])
    first = metrics(with_settings(spark, {MAX_FILE: "1000"}, table.optimize().executeCompaction))
    assert first["numFilesRemoved"] == 6
    clustered = files(path).num_rows
    assert clustered >= 4
    assert metrics(table.optimize().executeCompaction())["numFilesRemoved"] == 0
    more = spark.range(600, 620).selectExpr(
        "id", "id % 3 AS part", "id - 300 AS x", "concat('n', id) AS name"
    )
    more.coalesce(1).write.format("delta").mode("append").save(str(path))
    before = rows(path)
    second = metrics(table.optimize().executeCompaction())
    assert (second["numFilesRemoved"], second["numFilesAdded"]) == (1, 1)
    assert rows(path) == before
    [added] = [action["add"] for action in last(path) if "add" in action]
    assert added["clusteringProvider"] == "liquid"
    assert json.loads(added["tags"]["ZCUBE_ZORDER_BY"]) == ["x", "name"]
    with pytest.raises(InvalidArgumentError, match="clustered by"):
        table.optimize().executeZOrderBy("x")
    full = metrics(table.optimize().executeFull())
    assert full["numFilesRemoved"] == clustered + 1
    assert rows(path) == before


def test_purge_rewrites_only_files_with_deleted_rows(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = make(spark, path, parts=1, **VECTORS)
    make(spark, tmp_path / "other", parts=1).toDF().write.format("delta").mode("append").save(
        str(path)
    )
    table.delete("id = 3 AND part = 0")
    before = rows(path)
    done = metrics(table.optimize().executePurge())
    assert done["numFilesRemoved"] in (1, 2)
    assert rows(path) == before
    assert not any(files(path)["deletionVector"].to_pylist())
    assert metrics(table.optimize().executePurge())["numFilesRemoved"] == 0


def test_purge_takes_what_dropped_columns_left_in_files(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    properties = {"delta.columnMapping.mode": "id", "delta.enableRowTracking": "true"}
    row = {"id": 1, "gone": "secret", "s": [{"a": 1, "b": "secret"}]}
    lakebed.write(path, pa.Table.from_pylist([row]), properties=properties)
    table = lakebed.DeltaTable.forPath(spark, str(path))
    table.dropColumns("gone", "s.element.b")
    lakebed.write(path, pa.Table.from_pylist([{"id": 9, "s": [{"a": 9}]}]))
    before = deltalake_rows(path)
    assert metrics(table.optimize().executePurge())["numFilesRemoved"] == 1
    assert deltalake_rows(path) == before
    for name in files(path)["path"].to_pylist():
        assert b"secret" not in (path / name).read_bytes()
    assert metrics(table.optimize().executePurge())["numFilesRemoved"] == 0


def deltalake_rows(path: Path) -> list[str]:
    query = QueryBuilder().register("t", deltalake.DeltaTable(str(path)))
    return sorted(map(str, pa.table(query.execute("SELECT * FROM t").read_all()).to_pylist()))


@pytest.mark.usefixtures("way")
def test_others_may_write_meanwhile(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An append does not matter; after a change of rows OPTIMIZE starts over with what is there."""
    path = tmp_path / "t"
    table = make(spark, path, **VECTORS)
    append = spark.createDataFrame([(1000, 1, 1, "n")], "id LONG, part LONG, x LONG, name STRING")
    steps = [
        lambda: table.delete("id = 7"),
        lambda: append.write.format("delta").mode("append").save(str(path)),
    ]
    write = _Optimize._written

    def interrupted(*given: Any) -> Any:
        found = write(*given)
        if steps:
            steps.pop()()
        return found

    monkeypatch.setattr(_Optimize, "_written", interrupted)
    table.optimize().executeCompaction()
    expected = [row for row in rows(path) if row[0] != 7]
    table.optimize().executeCompaction()
    assert rows(path) == expected
    assert len(expected) == 600
    assert not steps


def test_a_change_of_rows_that_lost_against_optimize_succeeds(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t"
    table = make(spark, path, **VECTORS)
    from lakebed.commands.rows.row_change import RowChange

    commit, done = RowChange.commit, []

    def late(self: Any, *given: Any) -> Any:
        if not done:
            done.append(lakebed.DeltaTable.forPath(spark, str(path)).optimize().executeCompaction())
        return commit(self, *given)

    monkeypatch.setattr(RowChange, "commit", late)
    table.delete("id = 7")
    assert 7 not in {row[0] for row in rows(path)}
    assert len(rows(path)) == 599


def test_what_a_killed_run_committed_stays(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t"
    table = make(spark, path, partition="part")
    before = rows(path)
    write, calls = _Optimize._written, []

    def dying(*given: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return write(*given)

    monkeypatch.setattr(_Optimize, "_written", dying)
    with pytest.raises(KeyboardInterrupt):
        with_settings(spark, {BATCH: "1"}, table.optimize().executeCompaction)
    assert lakebed.open(path).version == 1
    assert rows(path) == before
    with_settings(spark, {BATCH: "1"}, table.optimize().executeCompaction)
    assert lakebed.open(path).version == 3
    assert (rows(path), files(path).num_rows) == (before, 3)


@pytest.mark.parametrize("kind", ["zorder", "hilbert"])
def test_both_planes_cut_a_curve_alike(spark: SparkSession, tmp_path: Path, kind: Any) -> None:
    store = open_store(tmp_path)
    planes: list[Plane] = [
        NativePlane(spark, store, tmp_path.as_uri()),
        WorkersPlane(spark, store),
    ]
    values = [
        (i, i * 37 % 101 - 50 if i % 7 else None, [0.5 * i, float("nan"), -0.0][i % 3], f"é{i % 9}")
        for i in range(200)
    ]
    frame = spark.createDataFrame(values, "id INT, a LONG, b DOUBLE, c STRING")
    sample = frame.select("a", "b", "c").toArrow()
    curve = Curve.of(kind, [sample.column(name) for name in "abc"])
    keys = curve.keys([sample.column(name) for name in "abc"])
    starts = sorted(set(keys))[40:160:40]
    given = (["a", "b", "c"], ["long", "double", "text"], curve, starts, [7, 8, 9, 10], "part")
    found = [
        {row["id"]: row["part"] for row in plane.with_parts(frame, *given).collect()}
        for plane in planes
    ]
    assert found[0] == found[1]
    assert set(found[0].values()) == {7, 8, 9, 10}


def test_addresses_are_where_spark_hashes_them_to(spark: SparkSession) -> None:
    for count in (2, 5, 200):
        numbers = [(number,) for number in addresses(count)]
        frame = spark.createDataFrame(numbers, "n INT").selectExpr(f"pmod(hash(n), {count}) AS p")
        assert [row["p"] for row in frame.collect()] == list(range(count))


def test_auto_compaction_after_a_write_and_a_change(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    settings = {"spark.databricks.delta.autoCompact.minNumFiles": "5"}
    table = with_settings(
        spark,
        settings,
        lambda: make(spark, path, parts=4, **VECTORS, **{"delta.autoOptimize.autoCompact": "true"}),
    )
    assert files(path).num_rows == 4
    before = rows(path)
    with_settings(spark, settings, lambda: table.update("id = 3", {"name": "'auto'"}))
    assert files(path).num_rows == 1
    [info] = [action["commitInfo"] for action in last(path) if "commitInfo" in action]
    assert (info["operation"], info["operationParameters"]["auto"]) == ("OPTIMIZE", True)
    expected = [(*row[:3], "auto" if row[0] == 3 else row[3]) for row in before]
    assert rows(path) == expected


def test_auto_compaction_may_be_forbidden_and_may_fail(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    asked = {
        "spark.databricks.delta.autoCompact.minNumFiles": "2",
        "spark.databricks.delta.autoCompact.enabled": "false",
    }
    with_settings(spark, asked, lambda: make(spark, tmp_path / "a", parts=4))
    assert files(tmp_path / "a").num_rows == 4

    def failing(*_: Any) -> Any:
        raise JobFailedError("no more disk")

    monkeypatch.setattr(_Optimize, "_written", failing)
    asked["spark.databricks.delta.autoCompact.enabled"] = "true"
    with_settings(spark, asked, lambda: make(spark, tmp_path / "b", parts=4))
    assert files(tmp_path / "b").num_rows == 4
    assert "no more disk" in caplog.text
