"""A size in the log that is too small is an error: Spark would read but a part of the file."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed.errors import DataFileError
from lakebed.formats.deletion_vectors import RowIndexSet, encode_bitmap
from lakebed.log.listing.log_names import commit_path
from lakebed.spark.native.file_sizes import check_sizes
from lakebed.spec.actions import Add
from lakebed.spec.limits import DATA_FILE_BYTES, SMALLEST_FILE_BYTES
from lakebed.spec.vector_descriptors import inline_vector
from lakebed.storage import Store, open_store
from testkit.readers.scan_facts import load
from testkit.schemas import column
from testkit.tables.arbitrary_tables import add_file, make_table

ROWS = 100


def foreign_commit(path: Path, add: Add) -> None:
    """What Lakebed itself may refuse to commit."""
    file = path / commit_path(lakebed.open(path).version + 1)
    file.write_text(json.dumps({"add": add.to_json()}) + "\n")


@pytest.fixture
def add(tmp_path: Path) -> Add:
    """A file with ten row groups: a size that is too small leaves out some of them."""
    make_table(tmp_path, column("n"), properties={"delta.enableDeletionVectors": "true"})
    return add_file(tmp_path, pa.table({"n": range(ROWS)}), parquet={"row_group_size": ROWS // 10})


@pytest.mark.parametrize(
    ("times", "more"),
    [(0, 0), (0, 5), (0, 12), (0.5, 0), (1, -1), (0, DATA_FILE_BYTES + 1), (0, 2**62)],
)
def test_a_size_that_is_too_small_or_that_no_file_has_is_an_error(
    spark: SparkSession, tmp_path: Path, add: Add, times: float, more: int
) -> None:
    assert load(spark, tmp_path).count() == ROWS
    foreign_commit(tmp_path, replace(add, size=int(add.size * times) + more, stats=None))
    with pytest.raises(DataFileError, match="the log says that it has"):
        load(spark, tmp_path).collect()
    with pytest.raises(DataFileError, match="the log says that it has"):
        load(spark, tmp_path).where("n >= 0").agg({"n": "sum"}).collect()
    # Without Spark the file itself tells how large it is.
    assert lakebed.open(tmp_path).to_arrow().num_rows == ROWS


@pytest.mark.parametrize("more", [1, 5000, 2**30])
def test_a_size_that_is_too_large_changes_no_row(
    spark: SparkSession, tmp_path: Path, add: Add, more: int
) -> None:
    foreign_commit(tmp_path, replace(add, size=add.size + more, stats=None))
    assert sorted(row.n for row in load(spark, tmp_path).collect()) == list(range(ROWS))


def check(store: Store, paths: list[str], sizes: list[int], root: str) -> None:
    column = pa.chunked_array([pa.array(sizes, pa.int64())])
    uris = [f"{root}/{path}" for path in paths]
    check_sizes(store, pa.chunked_array([pa.array(paths, pa.string())]), uris, column)


def test_each_size_is_compared_with_the_file_on_a_disk(tmp_path: Path, add: Add) -> None:
    store, root = open_store(str(tmp_path)), f"file://{tmp_path}"
    os.mkfifo(tmp_path / "pipe")
    check(store, [add.path, f"{add.path}.gone"], [add.size, add.size], root)
    check(store, [], [], root)
    for size in (SMALLEST_FILE_BYTES, add.size // 2, add.size - 1):
        with pytest.raises(DataFileError, match=f"{size} bytes, but there are {add.size}"):
            check(store, [add.path, add.path], [add.size, size], root)
    with pytest.raises(DataFileError, match="not a regular file"):
        check(store, ["pipe"], [add.size], root)


@pytest.mark.parametrize("size", [0, 5, SMALLEST_FILE_BYTES - 1, DATA_FILE_BYTES + 1, 2**62])
def test_a_size_that_no_file_has_is_an_error_on_stores_that_are_not_asked(size: int) -> None:
    store = open_store("memory:///t")
    with pytest.raises(DataFileError, match=rf"b: .*{size} bytes, which no"):
        check(store, ["a", "b", "c"], [100, size, DATA_FILE_BYTES], "memory:///t")
    check(store, ["a", "c"], [100, DATA_FILE_BYTES], "memory:///t")


def test_a_pipe_in_the_place_of_a_file_is_an_error(
    spark: SparkSession, tmp_path: Path, add: Add
) -> None:
    (tmp_path / add.path).unlink()
    os.mkfifo(tmp_path / add.path)
    with pytest.raises(DataFileError, match="not a regular file"):
        load(spark, tmp_path).collect()
    with pytest.raises(DataFileError):
        lakebed.open(tmp_path).to_arrow()


@pytest.mark.parametrize("known", [True, False], ids=["num-records", "no-statistics"])
def test_a_deletion_vector_of_more_rows_than_a_file_may_have_is_an_error(
    spark: SparkSession, tmp_path: Path, add: Add, known: bool
) -> None:
    """2**32 rows take less than a megabyte in the log, and 32 gigabytes one by one."""
    rows = RowIndexSet.from_indexes(range(2**32))
    vector = inline_vector(encode_bitmap(rows), rows.cardinality)
    assert vector.size_in_bytes < 2**20
    stats = add.stats if known else None
    foreign_commit(tmp_path, replace(add, deletion_vector=vector, stats=stats))
    with pytest.raises(DataFileError, match="delete"):
        load(spark, tmp_path).collect()
    with pytest.raises(DataFileError, match="delete"):
        lakebed.open(tmp_path).to_arrow()
