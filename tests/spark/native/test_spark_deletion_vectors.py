"""Deleted rows are gone, and the scan is as native as without deletion vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import lakebed
from lakebed.errors import DataFileError
from lakebed.formats.deletion_vectors import RowIndexSet, encode_bitmap, write_vectors
from lakebed.spark.internals.classic_columns import BYTE_ARRAY_OFFSET
from lakebed.spark.native import table_files as table_files_module
from lakebed.spark.native.vector_columns import Bitmaps, BlockBitmaps, FlatBitmaps
from lakebed.spec.actions import DeletionVector
from lakebed.spec.schema import STRING, StructType
from lakebed.spec.vector_descriptors import file_name, inline_vector, new_file, stored_vector
from testkit.readers.other_readers import read_elsewhere
from testkit.readers.scan_facts import assert_native, load, num_files, pushed
from testkit.schemas import column
from testkit.tables.arbitrary_tables import add_file, make_table

VECTORS = {"delta.enableDeletionVectors": "true"}


def inline(*deleted: int) -> DeletionVector:
    index = RowIndexSet.from_indexes(deleted)
    return inline_vector(encode_bitmap(index), index.cardinality)


def stored(path: Path, *deleted: int) -> DeletionVector:
    data, places = write_vectors([RowIndexSet.from_indexes(deleted)])
    prefix, unique = new_file()
    (path / file_name(prefix, unique)).write_bytes(data)
    place = places[0]
    return stored_vector(prefix, unique, place.offset, place.size_in_bytes, place.cardinality)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Two files with vectors and one without, in two partitions; 30 rows of which 4 are deleted."""
    make_table(tmp_path, column("n"), column("p", STRING), partition_by=("p",), properties=VECTORS)
    for number, vector in enumerate([inline(0, 9), stored(tmp_path, 3, 5), None]):
        data = pa.table({"n": range(10 * number, 10 * number + 10)})
        partition = {"p": "a" if number < 2 else "b"}
        add_file(
            tmp_path,
            data,
            f"{number}.parquet",
            partition_values=partition,
            deletion_vector=vector,
        )
    return tmp_path


LEFT = [n for n in range(30) if n not in (0, 9, 13, 15)]


def test_deleted_rows_are_not_read(spark: SparkSession, table: Path) -> None:
    frame = load(spark, table)
    assert_native(frame)
    assert sorted(row.n for row in frame.collect()) == LEFT
    assert sorted(read_elsewhere(table)["n"].to_pylist()) == LEFT
    assert frame.columns == ["n", "p"]
    assert frame.where("p = 'a'").count() == 16


def test_filters_still_skip_files_and_reach_the_reader(spark: SparkSession, table: Path) -> None:
    found = load(spark, table).where("n > 8 AND p = 'a'")
    assert "GreaterThan(n,8)" in pushed(found)
    assert sorted(row.n for row in found.collect()) == [n for n in LEFT if 8 < n < 20]
    assert num_files(load(spark, table).where("p = 'b'")) == 1


def test_row_groups_that_are_left_out_do_not_move_the_row_indexes(
    spark: SparkSession, tmp_path: Path
) -> None:
    make_table(tmp_path, column("n"), properties=VECTORS)
    data = pa.table({"n": range(10_000)})
    deleted = (1, 5_000, 9_999)
    add_file(tmp_path, data, deletion_vector=inline(*deleted), parquet={"row_group_size": 1000})
    found = load(spark, tmp_path).where("n >= 4999 AND n <= 5002 OR n > 9997")
    assert sorted(row.n for row in found.collect()) == [4999, 5001, 5002, 9998]


def test_rows_of_a_plan_without_columns_are_counted(spark: SparkSession, table: Path) -> None:
    assert load(spark, table).count() == len(LEFT)
    assert load(spark, table).selectExpr("1 AS one").toArrow().num_rows == len(LEFT)
    assert load(spark, table).agg({"n": "max"}).collect()[0][0] == 29


@pytest.mark.parametrize("with_vectors", [True, False])
def test_metadata_columns_are_those_of_the_files(
    spark: SparkSession, table: Path, tmp_path: Path, with_vectors: bool
) -> None:
    if not with_vectors:
        table = tmp_path / "plain"
        lakebed.write(table, pa.table({"n": range(10, 20), "p": ["a"] * 10}))
    frame = load(spark, table)
    assert "_metadata" not in frame.columns
    found = frame.where("n = 14").select("n", "_metadata", "_metadata.row_index").collect()[0]
    assert found.row_index == found._metadata.row_index == 4
    assert found._metadata.file_path.startswith("file:")
    assert found._metadata.file_path.endswith(f"/{found._metadata.file_name}")
    file = Path("/" + found._metadata.file_path.removeprefix("file:").lstrip("/"))
    assert file.stat().st_size == found._metadata.file_size
    assert frame.where("_metadata.row_index = 4").where("n < 20").count() in (1, 2)


def test_rows_that_spark_cannot_read_in_batches_lose_their_deleted_ones_too(
    spark: SparkSession, table: Path
) -> None:
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", "false")
    try:
        frame = load(spark, table)
        assert_native(frame, batched=False)
        assert sorted(row.n for row in frame.collect()) == LEFT
        assert sorted(frame.toDF("m", "q").toArrow()["m"].to_pylist()) == LEFT
    finally:
        spark.conf.unset("spark.sql.parquet.enableVectorizedReader")


def test_blocks_of_bitmaps_keep_the_same_rows(
    spark: SparkSession, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_files_module, "MOST_FLAT_BYTES", 0)
    assert sorted(row.n for row in load(spark, table).collect()) == LEFT


def test_renamed_columns_and_deleted_rows_go_together(spark: SparkSession, tmp_path: Path) -> None:
    inner = StructType((column("x"),))
    properties = {**VECTORS, "delta.columnMapping.mode": "name"}
    made = make_table(tmp_path, column("n"), column("s", inner), properties=properties)
    outer, struct = made.snapshot.schema.fields
    names = [each.metadata["delta.columnMapping.physicalName"] for each in (outer, struct)]
    field = struct.data_type.fields[0].metadata["delta.columnMapping.physicalName"]  # type: ignore[attr-defined]
    data = pa.table({names[0]: [1, 2, 3], names[1]: [{field: 4}, None, {field: 6}]})
    add_file(tmp_path, data, deletion_vector=inline(0))
    frame = load(spark, tmp_path)
    assert [tuple(row) for row in frame.orderBy("n").collect()] == [(2, None), (3, (6,))]
    assert frame.where("s.x = 6").select("n", "_metadata.row_index").collect()[0] == (3, 2)


def test_a_vector_that_is_gone_is_named_with_its_file(spark: SparkSession, table: Path) -> None:
    next(table.glob("deletion_vector_*.bin")).unlink()
    with pytest.raises(DataFileError, match="deletion vector of this file is gone") as caught:
        load(spark, table).collect()
    assert "1.parquet" in str(caught.value.file)


def test_joins_of_a_table_with_itself_keep_their_rows_apart(
    spark: SparkSession, table: Path
) -> None:
    frame = load(spark, table)
    assert frame.alias("a").join(frame.alias("b"), "n").count() == len(LEFT)
    assert frame.unionAll(frame.where("n < 3")).count() == len(LEFT) + 2


# --- bitmaps -------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(st.sets(st.integers(0, 20_000), max_size=50), st.sampled_from([FlatBitmaps, BlockBitmaps]))
def test_a_bitmap_has_a_bit_for_every_row_that_is_kept(deleted: set[int], kind: Any) -> None:
    bitmap = kind().encode(RowIndexSet.from_indexes(sorted(deleted)))
    probes = {0, 1, 4095, 4096, 20_000, 2**31 - 1} | deleted | {each + 1 for each in deleted}
    for row in probes:
        assert is_set(kind(), bitmap, row) == (row not in deleted), row


def is_set(bitmaps: Bitmaps, bitmap: bytes, row: int) -> bool:
    """The lookup of the expression, in Python; Java's byte arrays begin with a header."""
    if isinstance(bitmaps, FlatBitmaps):
        place = min(row, 8 * len(bitmap) - 1)
        return bool(bitmap[place // 8] >> (place % 8) & 1)
    last = int.from_bytes(bitmap[:8], "little")
    entry = 8 + 8 * min(row >> 12, last)
    start = int.from_bytes(bitmap[entry : entry + 8], "little") - BYTE_ARRAY_OFFSET
    place = row & 4095
    return bool(bitmap[start + place // 8] >> (place % 8) & 1)
