"""Changes so large that the driver must not hold their rows: executors write the vectors.

The tables are small; only the limit is smaller.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from test_row_change_matrix import CHANGES, Rows, others, source, start, states

import lakebed
from lakebed.formats.deletion_vectors import RowIndexSet, encode_bitmap
from lakebed.log.deleted_rows import deleted_rows
from lakebed.spark.native.native_plane import NativePlane
from lakebed.spark.plane.plane import Plane
from lakebed.spark.plane.position_bitmaps import FILE, POSITION
from lakebed.spark.workers.workers_plane import WorkersPlane
from lakebed.spec.actions import DeletionVector
from lakebed.spec.vector_descriptors import file_name, inline_vector, new_file, stored_vector
from lakebed.storage import open_store

__all__ = ["states"]

FOUND = [(0, 3), (0, 64), (0, 2**32 + 7), (0, 3), (5, 0), (5, 2**33), (70_000, 65_536)]
OLD = {0: [1, 2**32], 5: [9]}


# The changes build on each other: those of copies and of workers are the first ones.
@pytest.mark.parametrize(
    ("plane", "vectors", "partitioned", "count"),
    [
        ("native", True, True, len(CHANGES)),
        ("native", False, False, 3),
        ("workers", True, False, 3),
    ],
)
def test_all_changes(
    spark: SparkSession,
    tmp_path: Path,
    states: list[Rows],
    written: list[int],
    plane: str,
    vectors: bool,
    partitioned: bool,
    count: int,
) -> None:
    path = str(tmp_path / "table")
    writer = start(spark).write.format("delta").option("delta.enableDeletionVectors", vectors)
    (writer.partitionBy("part") if partitioned else writer).save(path)
    spark.conf.set("spark.lakebed.dataPlane", plane)
    for change, expected in list(zip(CHANGES, states[1:], strict=True))[:count]:
        written.clear()
        change(lakebed.DeltaTable.forPath(spark, path), source(spark))
        assert others(path) == expected, change.__name__
        assert written, change.__name__


@pytest.fixture
def written(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many vectors each job wrote, while the driver may hold no rows."""
    found: list[int] = []
    target = lakebed.DeltaTable._target
    monkeypatch.setattr(
        lakebed.DeltaTable, "_target", lambda table: replace(target(table), most_rows=0)
    )
    for kind in (NativePlane, WorkersPlane):
        monkeypatch.setattr(kind, "write_vectors", counting(kind.write_vectors, found))
    yield found
    spark.conf.unset("spark.lakebed.dataPlane")


def counting(write: Any, found: list[int]) -> Any:
    def counted(*given: Any) -> Any:
        vectors = write(*given)
        found.append(len(vectors))
        return vectors

    return counted


@pytest.fixture(params=["native", "workers"])
def plane(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Plane:
    store = open_store(tmp_path)
    if request.param == "workers":
        return WorkersPlane(spark, store)
    return NativePlane(spark, store, tmp_path.as_uri())


def positions_frame(spark: SparkSession) -> Any:
    frame = spark.createDataFrame(FOUND, f"{FILE} int, {POSITION} long")
    return frame.repartition(3)


def expected_rows() -> dict[int, set[int]]:
    return {file: {row for each, row in FOUND if each == file} for file, _ in FOUND}


def test_positions_beyond_32_bits_doubles_and_sums(spark: SparkSession, plane: Plane) -> None:
    sums = {"large": F.col(POSITION) > 100, "nothing": F.lit(None).cast("boolean")}
    found = plane.find_positions(positions_frame(spark), sums)
    assert {file: set(rows.to_arrow().to_pylist()) for file, rows in found.rows.items()} == (
        expected_rows()
    )
    assert (found.num_seen, found.num_rows, found.has_doubles) == (7, 6, True)
    assert found.sums == {"large": 3, "nothing": 0}


def test_written_vectors_have_the_old_rows_too(spark: SparkSession, plane: Plane) -> None:
    old = old_vectors()
    sums = {"large": F.col(POSITION) > 100}
    written = plane.write_vectors(positions_frame(spark), sums, old, 2)
    assert {each.file: (each.num_seen, dict(each.sums), each.marked) for each in written} == {
        0: (4, {"large": 1}, 3),
        5: (2, {"large": 1}, 2),
        70_000: (1, {"large": 1}, 1),
    }
    for each in written:
        rows = deleted_rows(plane.store, each.vector, file="f")  # type: ignore[attr-defined]
        expected = expected_rows()[each.file] | set(OLD.get(each.file, ()))
        assert set(rows.to_arrow().to_pylist()) == expected
        assert len(each.vector.path_or_inline_dv) == 2 + 20


def test_no_rows_write_no_vector(spark: SparkSession, plane: Plane, tmp_path: Path) -> None:
    nothing = positions_frame(spark).where("false")
    assert plane.write_vectors(nothing, {}, {}, 0) == []
    assert plane.find_positions(nothing, {}).rows == {}
    assert not list(tmp_path.rglob("*.bin"))


@pytest.mark.parametrize("kind", ["inline", "stored", "absolute", "old format"])
def test_old_vectors_of_every_kind(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    store = open_store(tmp_path)
    plane = NativePlane(spark, store, tmp_path.as_uri())
    old = vector_of(tmp_path, kind, [1, 2, 2**32 + 1 if kind != "old format" else 70_000])
    written = plane.write_vectors(positions_frame(spark), {}, {0: old}, 0)
    [first] = [each for each in written if each.file == 0]
    found = deleted_rows(store, first.vector, file="f")
    before = deleted_rows(store, old, file="f")
    assert found == before.union(RowIndexSet.from_indexes(sorted(expected_rows()[0])))


def old_vectors() -> Mapping[int, DeletionVector]:
    made = {}
    for file, indexes in OLD.items():
        rows = RowIndexSet.from_indexes(indexes)
        made[file] = inline_vector(encode_bitmap(rows), rows.cardinality)
    return made


def vector_of(folder: Path, kind: str, indexes: list[int]) -> DeletionVector:
    from lakebed.formats.deletion_vectors import write_vectors

    rows = RowIndexSet.from_indexes(indexes)
    if kind == "inline":
        return inline_vector(encode_bitmap(rows), rows.cardinality)
    if kind == "old format":
        return inline_vector(old_format(indexes), rows.cardinality)
    content, [place] = write_vectors([rows])
    prefix, uuid = new_file()
    path = folder / ("elsewhere file.bin" if kind == "absolute" else file_name(prefix, uuid))
    path.write_bytes(content)
    vector = stored_vector(prefix, uuid, place.offset, place.size_in_bytes, place.cardinality)
    if kind == "absolute":
        return replace(vector, storage_type="p", path_or_inline_dv=path.as_uri())
    return vector


def old_format(indexes: list[int]) -> bytes:
    """What delta-spark wrote first: a count, and each bitmap behind its length."""
    import struct

    from pyroaring import BitMap

    bitmap = BitMap(indexes).serialize()
    return struct.pack("<iii", 1681511376, 1, len(bitmap)) + bitmap
