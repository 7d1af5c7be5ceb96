"""The parts of the workers plane that need no Spark session: tasks, batches, errors, files."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.datasource import InputPartition
from pyspark.sql.pandas.types import to_arrow_schema as spark_to_arrow_schema
from pyspark.sql.types import StructType as SparkStructType

import lakebed
from lakebed.data_files.file_layout import FileLayout
from lakebed.errors import (
    ConcurrentAppendError,
    DataFileError,
    LakebedError,
    SchemaError,
    UnsupportedFeatureError,
)
from lakebed.formats.arrow_types import to_arrow_schema
from lakebed.formats.deletion_vectors import RowIndexSet, encode_bitmap
from lakebed.spark.errors.encoded_errors import EncodedError, encoding_errors, find_encoded
from lakebed.spark.plane.plane import FileSettings
from lakebed.spark.plane.plane_options import ScanOptions
from lakebed.spark.workers.batches import spark_batches, spark_schema
from lakebed.spark.workers.data_source import LakebedSource
from lakebed.spark.workers.read_tasks import TASK_BYTES, balanced
from lakebed.spark.workers.write_tasks import WriteTask, added
from lakebed.spec.schema import StructType, parse_schema
from lakebed.spec.vector_descriptors import inline_vector
from lakebed.storage import open_store
from testkit.schemas import column
from testkit.tables.arbitrary_tables import add_file, make_table

SCHEMA = parse_schema(
    '{"type":"struct","fields":['
    + ",".join(
        f'{{"name":"{name}","type":{kind},"nullable":true,"metadata":{{}}}}'
        for name, kind in {
            "i": '"integer"',
            "l": '"long"',
            "f": '"float"',
            "s": '"string"',
            "b": '"binary"',
            "ok": '"boolean"',
            "d": '"date"',
            "t": '"timestamp"',
            "n": '"timestamp_ntz"',
            "dec": '"decimal(10,2)"',
            "v": '"variant"',
            "st": '{"type":"struct","fields":[{"name":"x","type":"long","nullable":false,'
            '"metadata":{}},{"name":"v","type":"variant","nullable":true,"metadata":{}}]}',
            "ar": '{"type":"array","elementType":"variant","containsNull":true}',
            "m": '{"type":"map","keyType":"string","valueType":"decimal(5,1)",'
            '"valueContainsNull":false}',
            "mv": '{"type":"map","keyType":"string","valueType":"variant",'
            '"valueContainsNull":true}',
        }.items()
    )
    + "]}"
)


# --- tasks ---------------------------------------------------------------------------------------


def test_files_are_dealt_to_as_many_tasks_as_there_are_cores() -> None:
    tasks = balanced([10, 20, 30, 40, 50], 2)
    assert len(tasks) == 2
    assert sorted(place for task in tasks for place in task) == [0, 1, 2, 3, 4]


def test_large_files_do_not_share_a_task_and_no_files_make_no_task() -> None:
    assert sorted(map(sorted, balanced([TASK_BYTES, 1, TASK_BYTES, 1], 1))) != [[0, 1, 2, 3]]
    assert [0, 2] not in [sorted(task) for task in balanced([TASK_BYTES, 1, TASK_BYTES, 1], 2)]
    assert balanced([], 8) == []
    assert balanced([5], 8) == [[0]]


# --- batches -------------------------------------------------------------------------------------


def test_batches_have_the_schema_that_spark_makes_of_the_columns() -> None:
    shown = SparkStructType.fromJson(SCHEMA.to_json())
    expected = _of_spark(shown)
    assert spark_schema(SCHEMA).equals(expected)


def _of_spark(shown: SparkStructType) -> pa.Schema:
    try:
        return spark_to_arrow_schema(shown, timezone="UTC")
    except TypeError:
        # Before Spark 4.2 there was no choice.
        return spark_to_arrow_schema(shown)


def test_variants_come_in_the_order_of_spark_at_every_depth() -> None:
    schema = StructType(tuple(SCHEMA.field(name) for name in ("v", "st", "ar", "mv")))
    one = {"metadata": b"m", "value": b"v"}
    rows = [
        {"v": one, "st": {"x": 1, "v": one}, "ar": [one, None], "mv": [("k", one), ("n", None)]},
        {"v": None, "st": None, "ar": None, "mv": None},
        {"v": one, "st": {"x": 2, "v": None}, "ar": [], "mv": []},
    ]
    table = pa.Table.from_pylist(rows, schema=to_arrow_schema(schema))
    (batch,) = spark_batches(table, schema)
    assert batch.schema.equals(spark_schema(schema))
    assert batch.to_pylist() == table.to_pylist()
    (last,) = spark_batches(table.slice(2), schema)
    assert last.to_pylist() == table.slice(2).to_pylist()


# --- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        DataFileError("it is gone", file="a.parquet", hint="restore it"),
        ConcurrentAppendError("too late", version=3, operation="WRITE", files=["a", "b"]),
        UnsupportedFeatureError("no", features=["x"]),
        SchemaError("quotes ' and \" and\nlines"),
    ],
)
def test_an_error_arrives_as_it_was_raised(error: LakebedError) -> None:
    with pytest.raises(EncodedError) as caught, encoding_errors():
        raise error
    message = f"An exception was thrown from the Python worker: '{caught.value}' SQLSTATE: 38000"
    found = find_encoded(message)
    assert type(found) is type(error)
    assert vars(found) == vars(error)
    assert str(found) == str(error)


def test_other_errors_and_messages_are_left_alone() -> None:
    with pytest.raises(ZeroDivisionError), encoding_errors():
        _ = 1 / 0
    assert find_encoded("something else") is None


def test_workers_without_lakebed_are_told_from_other_trouble() -> None:
    found = find_encoded("ModuleNotFoundError: No module named 'lakebed'")
    assert found is not None
    assert "install lakebed" in str(found.hint)
    assert find_encoded("ModuleNotFoundError: No module named 'lakebedrock'") is None


# --- options -------------------------------------------------------------------------------------


def test_columns_are_a_list_of_names_or_json() -> None:
    assert ScanOptions.of({"Columns": " id, price "}).columns == ("id", "price")
    assert ScanOptions.of({"columns": '["a,b"]'}).columns == ("a,b",)
    assert ScanOptions.of({"mergeSchema": "true"}).others == {"mergeSchema": "true"}
    with pytest.raises(LakebedError, match="not a list of names"):
        ScanOptions.of({"columns": "[id"})


# --- the source, without Spark around it ---------------------------------------------------------


def read(source: LakebedSource) -> list[dict[str, Any]]:
    """What Spark does with a source, pickling included."""
    schema = source.schema()
    source = pickle.loads(pickle.dumps(source))
    reader = source.reader(schema)
    tasks = pickle.loads(pickle.dumps(list(reader.partitions()))) or [InputPartition(None)]
    return [row for task in tasks for batch in reader.read(task) for row in batch.to_pylist()]


def test_the_version_that_gave_the_schema_is_the_one_that_is_read(tmp_path: Path) -> None:
    lakebed.write(tmp_path, pa.table({"id": [1]}))
    source = LakebedSource({"path": str(tmp_path)})
    schema = source.schema()
    lakebed.write(tmp_path, pa.table({"id": [2]}))
    reader = source.reader(schema)
    assert [
        row for task in reader.partitions() for batch in reader.read(task) for row in batch["id"]
    ] == [pa.scalar(1)]
    assert len(read(LakebedSource({"path": str(tmp_path)}))) == 2
    assert len(read(LakebedSource({"PATH": str(tmp_path), "VersionAsOf": "0"}))) == 1


def test_a_table_without_files_gives_no_rows(tmp_path: Path) -> None:
    make_table(tmp_path, column("id"))
    assert read(LakebedSource({"path": str(tmp_path)})) == []


def test_deleted_rows_go_in_files_of_several_row_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakebed.arrow.scan._PIECE_BYTES", 1)
    make_table(tmp_path, column("id"), properties={"delta.enableDeletionVectors": "true"})
    gone = RowIndexSet.from_indexes([0, 3, 4, 9])
    vector = inline_vector(encode_bitmap(gone), gone.cardinality)
    data = pa.table({"id": pa.array(range(10), pa.int64())})
    add_file(tmp_path, data, parquet={"row_group_size": 4}, deletion_vector=vector)
    assert pq.ParquetFile(tmp_path / "by-hand.parquet").num_row_groups == 3
    rows = read(LakebedSource({"path": str(tmp_path)}))
    assert [row["id"] for row in rows] == [1, 2, 5, 6, 7, 8]


# --- writing -------------------------------------------------------------------------------------


def written(path: Path, batches: list[pa.RecordBatch], **settings: Any) -> list[int]:
    """The numbers of rows of the files that a task writes."""
    snapshot = lakebed.open(path).snapshot
    layout = FileLayout.of(snapshot.metadata, snapshot.protocol)
    store = open_store(str(path))
    task = pickle.loads(pickle.dumps(WriteTask.of(store, layout, FileSettings(**settings))))
    adds = [added(row) for batch in task(iter(batches)) for row in batch["add"].to_pylist()]
    return [pq.read_metadata(path / add.path).num_rows for add in adds]


def batches_of(count: int, size: int) -> list[pa.RecordBatch]:
    return [
        pa.record_batch({"id": pa.array(range(i * size, (i + 1) * size), pa.int64())})
        for i in range(count)
    ]


def test_a_task_fills_files_up_to_the_most_rows(tmp_path: Path) -> None:
    make_table(tmp_path, column("id"))
    assert written(tmp_path, batches_of(4, 6), max_rows_per_file=10) == [10, 10, 4]
    assert written(tmp_path, batches_of(1, 10), max_rows_per_file=10) == [10]
    assert written(tmp_path, batches_of(4, 6)) == [24]
    assert written(tmp_path, []) == []
    assert written(tmp_path, batches_of(2, 0)) == []


def test_a_task_ends_a_file_of_the_size_that_the_table_wants(tmp_path: Path) -> None:
    make_table(tmp_path, column("id"), properties={"delta.targetFileSize": "800b"})
    assert written(tmp_path, batches_of(3, 60)) == [120, 60]


def test_a_task_keeps_little_in_memory_whatever_the_number_of_partitions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakebed.spark.workers.write_tasks._MOST_HELD_BYTES", 400)
    make_table(tmp_path, column("id"), column("v"), partition_by=("v",))
    table = pa.table({"id": range(90), "v": [min(i % 6, 2) for i in range(90)]})
    counts = written(tmp_path, table.to_batches(max_chunksize=30))
    assert sum(counts) == 90
    assert len(counts) > 3


@pytest.mark.parametrize(("codec", "expected"), [(None, "ZSTD"), ("gzip", "GZIP")])
def test_a_write_may_ask_for_a_codec(tmp_path: Path, codec: str | None, expected: str) -> None:
    properties = {"delta.parquet.compression.codec": "zstd"}
    make_table(tmp_path, column("id"), properties=properties)
    written(tmp_path, batches_of(1, 3), compression=codec)
    (file,) = tmp_path.glob("*.parquet")
    assert pq.read_metadata(file).row_group(0).column(0).compression == expected
