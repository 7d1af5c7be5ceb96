"""CONVERT: the rows before, by pyarrow, are the rows afterwards, by readers of Delta."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakebed
from lakebed.commands.convert.convert_folder import ConvertOptions, convert_folder
from lakebed.errors import (
    ConcurrentWriteError,
    DataFileError,
    InvalidArgumentError,
    PartitionValueError,
    SchemaError,
    SchemaMismatchError,
)
from lakebed.log.table_log import TableLog
from lakebed.spec.schema import DATE, INTEGER, LONG, STRING, TIMESTAMP, StructField, StructType
from lakebed.storage import Store
from testkit.faults import killed_at_every_call
from testkit.other_writers import Meanwhile
from testkit.readers.log_json import actions, last
from testkit.readers.other_readers import read_elsewhere, rows_by_deltalake, rows_by_duckdb
from testkit.tables.arbitrary_tables import rows
from testkit.tables.numbered_tables import numbers, opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder"


def put(path: Path, name: str, columns: Mapping[str, Any] | pa.Table, **options: Any) -> None:
    table = columns if isinstance(columns, pa.Table) else pa.table(dict(columns))
    file = path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, file, **options)


def stats(path: Path) -> dict[str, dict[str, Any]]:
    return {add["path"]: json.loads(add["stats"]) for add in last(path, "add")}


# --- contents -----------------------------------------------------------------------------------


def test_a_folder_becomes_a_table_with_the_same_rows(path: Path) -> None:
    put(path, "a.parquet", {"id": [1, 2], "name": ["x", None]})
    put(path, "sub/b.parquet", {"id": [3], "name": ["z"]})
    before = {file: file.read_bytes() for file in path.rglob("*.parquet")}
    table = lakebed.convert(path)
    assert table.version == 0
    assert rows_by_deltalake(path) == rows_by_duckdb(path) == [(1, "x"), (2, None), (3, "z")]
    assert {file: file.read_bytes() for file in path.rglob("*.parquet")} == before
    assert table.schema == StructType((StructField("id", LONG), StructField("name", STRING)))


def test_statistics_come_from_the_footers(path: Path) -> None:
    put(path, "a.parquet", {"id": [1, 2, None], "f": [0.5, float("nan"), 1.0]})
    put(path, "b.parquet", {"id": [7], "f": [9.0]})
    table = lakebed.convert(path)
    assert stats(path)["a.parquet"] == {
        "numRecords": 3,
        "minValues": {"id": 1, "f": 0.5},
        "maxValues": {"id": 2},  # NaN is above all others
        "nullCount": {"id": 1, "f": 0},
    }
    assert table.scan(where="id > 5").num_files == 1
    assert table.to_arrow(where="id > 5").to_pylist() == [{"id": 7, "f": 9.0}]


def test_statistics_can_be_left_out(path: Path) -> None:
    put(path, "a.parquet", {"id": [1]})
    lakebed.convert(path, stats=False)
    assert "stats" not in last(path, "add")[0]
    assert read_elsewhere(path).to_pylist() == [{"id": 1}]


def test_the_history_has_the_names_of_delta_spark(path: Path) -> None:
    put(path, "d=1/a.parquet", {"id": [1]})
    table = lakebed.convert(path, "d INT")
    row = table.history().to_pylist()[0]
    assert row["operation"] == "CONVERT"
    assert dict(row["operationParameters"]) == {
        "numFiles": "1",
        "partitionedBy": '["d"]',
        "collectStats": "true",
        "sourceFormat": "parquet",
    }
    assert dict(row["operationMetrics"]) == {"numConvertedFiles": "1"}


def test_properties_are_those_of_a_new_table(path: Path) -> None:
    put(path, "a.parquet", {"id": [1]})
    table = lakebed.convert(path, properties={"delta.enableDeletionVectors": "true", "mine": "1"})
    assert table.properties == {"delta.enableDeletionVectors": "true", "mine": "1"}
    lakebed.write(path, pa.table({"id": [2]}))
    assert rows_by_deltalake(path) == [(1,), (2,)]


def test_what_is_hidden_is_left_out(path: Path) -> None:
    put(path, "a.parquet", {"id": [1]})
    for name in ("_b.parquet", ".c.parquet", "_temporary/d.parquet", ".x/e.parquet"):
        put(path, name, {"id": [9]})
    (path / "_SUCCESS").touch()
    (path / ".a.parquet.crc").write_bytes(b"x")
    assert lakebed.convert(path).num_files == 1
    assert rows_by_deltalake(path) == [(1,)]


def test_odd_names_of_files_are_found_again(path: Path) -> None:
    names = ["x y.parquet", "50%.parquet", "a#b?.parquet", "ü.parquet", "no-ending", "%20.parquet"]
    for number, name in enumerate(names):
        put(path, name, {"id": [number]})
    table = lakebed.convert(path)
    expected = [(number,) for number in range(len(names))]
    assert rows_by_deltalake(path) == expected
    assert sorted(table.to_arrow()["id"].to_pylist()) == list(range(len(names)))


def test_a_table_that_was_converted_before_stays_as_it_is(path: Path) -> None:
    put(path, "a.parquet", {"id": [1]})
    lakebed.convert(path)
    put(path, "b.parquet", {"id": [2]})
    assert lakebed.convert(path, "nonsense INT").version == 0
    assert rows_by_deltalake(path) == [(1,)]


def test_a_folder_of_a_streaming_query_has_only_what_the_query_committed(path: Path) -> None:
    for number in range(4):
        put(path, f"part-{number}.parquet", {"id": [number]})
    log = path / "_spark_metadata"
    log.mkdir()

    def entry(number: int, action: str = "add") -> str:
        file = path / f"part-{number}.parquet"
        return json.dumps({"path": file.as_uri(), "size": 1, "action": action})

    (log / "0").write_text(f"v1\n{entry(3)}")
    (log / "1.compact").write_text(f"v1\n{entry(0)}\n{entry(1)}")
    (log / "2").write_text(f"v1\n{entry(2)}")
    (log / ".2.crc").write_text("x")
    lakebed.convert(path)
    assert rows_by_deltalake(path) == [(0,), (1,), (2,)]


# --- partitions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schema",
    [
        "day DATE, n INT",
        "`day` date, n int",
        StructType((StructField("day", DATE), StructField("n", INTEGER))),
        pa.schema([("day", pa.date32()), ("n", pa.int32())]),
    ],
)
def test_folders_give_typed_values(path: Path, schema: Any) -> None:
    put(path, "day=2026-01-31/n=01/a.parquet", {"id": [1]})
    put(path, "day=2026-02-01/n=2/b.parquet", {"id": [2]})
    table = lakebed.convert(path, schema)
    day = dt.date(2026, 1, 31)
    assert rows_by_deltalake(path) == [(day, 1, 1), (dt.date(2026, 2, 1), 2, 2)]
    assert rows_by_duckdb(path) == rows_by_deltalake(path)
    assert table.partition_columns == ("day", "n")
    assert table.scan(where="n = 1").num_files == 1
    assert last(path, "add")[0]["partitionValues"] == {"day": "2026-01-31", "n": "1"}


def test_null_and_escaped_values_and_names(path: Path) -> None:
    put(path, "a%3Ab=__HIVE_DEFAULT_PARTITION__/x.parquet", {"id": [1]})
    put(path, "a%3Ab=x%2Fy %25/x.parquet", {"id": [2]})
    put(path, "a%3Ab=ü/x.parquet", {"id": [3]})
    table = lakebed.convert(path, "`a:b` STRING")
    found = {row["id"]: row["a:b"] for row in table.to_arrow().to_pylist()}
    assert found == {1: None, 2: "x/y %", 3: "ü"}
    elsewhere = {row["id"]: row["a:b"] for row in read_elsewhere(path).to_pylist()}
    assert elsewhere == found


def test_partition_folders_may_begin_with_an_underscore(path: Path) -> None:
    put(path, "_p=1/a.parquet", {"id": [1]})
    assert lakebed.convert(path, "_p INT").to_arrow().to_pylist() == [{"id": 1, "_p": 1}]


def test_the_folders_count_where_the_files_have_the_column_too(path: Path) -> None:
    put(path, "p=1/a.parquet", {"p": ["other"], "id": [5]})
    table = lakebed.convert(path, "p INT")
    assert table.schema.names == ("p", "id")
    assert read_elsewhere(path).to_pylist() == [{"p": 1, "id": 5}]


@pytest.mark.parametrize(
    ("file", "schema", "error", "words"),
    [
        ("p=1/a.parquet", None, InvalidArgumentError, "no partition schema"),
        ("p=1/q=2/a.parquet", "p INT", InvalidArgumentError, "'q'"),
        ("p=1/q=2/a.parquet", "q INT, p INT", InvalidArgumentError, "order|'q', 'p'"),
        ("a.parquet", "p INT", InvalidArgumentError, "partition columns"),
        ("p=x/a.parquet", "p INT", PartitionValueError, "p=x/a.parquet"),
        ("p=/a.parquet", "p INT", PartitionValueError, "no value"),
        ("p=1/a.parquet", "p ARRAY<INT>", PartitionValueError, "array"),
        ("p=1/a.parquet", "p nonsense", SchemaError, "nonsense"),
        ("p=1/a.parquet", 3, InvalidArgumentError, "int"),
    ],
)
def test_folders_that_do_not_fit_the_schema_are_refused(
    path: Path, file: str, schema: Any, error: type[Exception], words: str
) -> None:
    put(path, file, {"id": [1]})
    with pytest.raises(error, match=words):
        lakebed.convert(path, schema)
    assert not (path / "_delta_log").exists()


def test_the_hint_guesses_the_types_of_partitions(path: Path) -> None:
    put(path, "d=2026-01-31/n=1/s=x/a.parquet", {"id": [1]})
    put(path, "d=2026-01-31/n=5000000000/s=1/a.parquet", {"id": [1]})
    with pytest.raises(InvalidArgumentError) as caught:
        lakebed.convert(path)
    assert "d DATE, n BIGINT, s STRING" in (caught.value.hint or "")


# --- schemas ------------------------------------------------------------------------------------


def test_columns_of_all_files_are_merged(path: Path) -> None:
    put(path, "1.parquet", {"a": pa.array([1], pa.int16()), "s": [{"x": 1}]})
    put(path, "2.parquet", {"a": pa.array([2], pa.int32()), "b": ["t"], "s": [{"y": 2}]})
    put(path, "3.parquet", {"A": pa.array([300000], pa.int32())})
    table = lakebed.convert(path)
    assert table.schema.field("a").data_type == INTEGER
    assert table.schema.names == ("a", "s", "b")
    found = sorted(table.to_arrow().to_pylist(), key=lambda row: row["a"])
    assert found == [
        {"a": 1, "s": {"x": 1, "y": None}, "b": None},
        {"a": 2, "s": {"x": None, "y": 2}, "b": "t"},
        {"a": 300000, "s": None, "b": None},
    ]
    # A file that spells a column otherwise has no statistics of it, rather than wrong ones.
    assert stats(path)["3.parquet"] == {
        "numRecords": 1,
        "minValues": {},
        "maxValues": {},
        "nullCount": {},
    }
    assert table.to_arrow(where="a = 300000").num_rows == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pa.array([1]), pa.array(["x"])),
        (pa.array([1], pa.int32()), pa.array([1], pa.int64())),
        (pa.array([1.0], pa.float32()), pa.array([1.0])),
        (pa.array([1], pa.decimal128(5, 2)), pa.array([1], pa.decimal128(6, 2))),
        (pa.array([[1]]), pa.array([["x"]])),
    ],
)
def test_types_that_do_not_merge_are_named_with_their_files(
    path: Path, first: pa.Array, second: pa.Array
) -> None:
    put(path, "1.parquet", {"id": [1], "col": first})
    put(path, "2.parquet", {"id": [1], "col": second})
    with pytest.raises(SchemaMismatchError, match=r"col.*1\.parquet.*2\.parquet"):
        lakebed.convert(path)
    assert not (path / "_delta_log").exists()


def test_times_are_what_they_are_in_spark(path: Path) -> None:
    moment = dt.datetime(2026, 1, 31, 12, 0, 0, 123456)
    columns = {
        "old": pa.array([moment], pa.timestamp("us")),
        "nested": pa.array([[{"t": moment}]], pa.list_(pa.struct([("t", pa.timestamp("us"))]))),
    }
    put(path, "a.parquet", columns, use_deprecated_int96_timestamps=True)
    table = lakebed.convert(path)
    assert table.schema.field("old").data_type == TIMESTAMP
    utc = moment.replace(tzinfo=dt.timezone.utc)
    found = table.to_arrow().to_pylist()[0]
    assert found == {"old": utc, "nested": [{"t": utc}]}


def test_nanoseconds_are_refused(path: Path) -> None:
    put(path, "a.parquet", {"t": pa.array([1], pa.timestamp("ns"))})
    with pytest.raises(SchemaError, match=r"a\.parquet.*nanoseconds"):
        lakebed.convert(path)


def test_the_schema_that_spark_left_in_a_file_counts(path: Path) -> None:
    field = {"name": "id", "type": "long", "nullable": False, "metadata": {"comment": "key"}}
    spark = {"type": "struct", "fields": [field]}
    key = "org.apache.spark.sql.parquet.row.metadata"
    table = pa.table({"id": [1]}).replace_schema_metadata({key: json.dumps(spark)})
    put(path, "a.parquet", table)
    found = lakebed.convert(path).schema.field("id")
    assert (found.nullable, found.metadata) == (True, {"comment": "key"})


def test_a_name_that_delta_does_not_take_is_refused(path: Path) -> None:
    put(path, "a.parquet", {"a b": [1]})
    with pytest.raises(SchemaError, match="a b"):
        lakebed.convert(path)


def test_columns_cannot_be_mapped_while_converting(path: Path) -> None:
    put(path, "a.parquet", {"id": [1]})
    with pytest.raises(InvalidArgumentError, match="columnMapping"):
        lakebed.convert(path, properties={"delta.columnMapping.mode": "name"})
    with pytest.raises(InvalidArgumentError, match="row tracking"):
        lakebed.convert(path, stats=False, properties={"delta.enableRowTracking": "true"})
    assert not (path / "_delta_log").exists()


# --- what is not Parquet ------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"PAR1", b"id,name\n1,x\n", b"PAR1" * 100])
def test_a_file_that_is_no_parquet_is_named(path: Path, content: bytes) -> None:
    put(path, "a.parquet", {"id": [1]})
    (path / "readme.txt").write_bytes(content)
    with pytest.raises(DataFileError, match=r"readme\.txt"):
        lakebed.convert(path)
    assert not (path / "_delta_log").exists()


def test_an_empty_or_absent_folder_is_refused(path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="no Parquet files"):
        lakebed.convert(path)
    path.mkdir()
    (path / "_SUCCESS").touch()
    with pytest.raises(InvalidArgumentError, match="no Parquet files"):
        lakebed.convert(path)


# --- others at work -----------------------------------------------------------------------------


def test_a_table_that_appears_meanwhile_is_kept(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(path, "a.parquet", numbers(0, 3))
    monkeypatch.setattr("lakebed.commands.convert.convert_folder.Transaction", Meanwhile)
    Meanwhile.other = lambda: lakebed.write(path, numbers(50, 52))
    with pytest.raises(ConcurrentWriteError):
        lakebed.convert(path)
    assert sorted(read_elsewhere(path)["id"].to_pylist()) == [50, 51]


def test_killed_at_any_moment_the_folder_is_as_before_or_converted(tmp_path: Path) -> None:
    model = tmp_path / "model"
    for number in range(3):
        put(model, f"p={number}/x.parquet", {"id": [number]})
    options = ConvertOptions(StructType((StructField("p", INTEGER),)))
    tries, place = count(), [model]

    def fresh() -> Store:
        place[0] = tmp_path / f"try{next(tries)}"
        shutil.copytree(model, place[0])
        return opened(place[0])

    def check() -> None:
        table = lakebed.convert(place[0], "p INT")
        assert table.version == 0
        assert rows(table) == rows(pa.table({"id": [0, 1, 2], "p": [0, 1, 2]}))

    calls = killed_at_every_call(
        lambda store: convert_folder(TableLog(store), options), fresh, check
    )
    assert calls > 5
    assert rows_by_deltalake(place[0]) == [(0, 0), (1, 1), (2, 2)]
    assert len(actions(place[0], 0)) == 6
