"""Reading data files: what the log says about a file wins over what the file says."""

from __future__ import annotations

import datetime as dt
import json
import math
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakebed
from lakebed.errors import (
    DataFileError,
    InvalidArgumentError,
    PredicateError,
    SchemaError,
    VersionNotFoundError,
)
from lakebed.formats.deletion_vectors import RowIndexSet, encode_bitmap, write_vectors
from lakebed.spec.actions import DeletionVector, Remove
from lakebed.spec.columns.column_mapping import physical_name
from lakebed.spec.schema import (
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    ArrayType,
    DecimalType,
    MapType,
    StructField,
    StructType,
    schema_to_json,
    transform,
)
from lakebed.spec.vector_descriptors import file_name, inline_vector, new_file, stored_vector
from testkit.readers.log_json import data_files
from testkit.readers.other_readers import read_elsewhere
from testkit.schemas import column
from testkit.tables.arbitrary_tables import add_file, commit, make_table, rows

UTC = dt.timezone.utc


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


# --- columns ------------------------------------------------------------------------------------

WIDE = pa.table({"a": [1, 2], "b": ["x", None], "c": [{"d": 1.5, "e": [1]}, None], "p": [1, 2]})


def test_columns_are_given_in_the_order_asked_for_in_the_tables_spelling(path: Path) -> None:
    lakebed.write(path, WIDE, partition_by="p")
    found = lakebed.open(path).to_arrow(["P", "c", "A"])
    assert found.column_names == ["p", "c", "a"]
    assert rows(found) == rows(WIDE.select(["p", "c", "a"]))


def test_only_partition_columns_can_be_read(path: Path) -> None:
    lakebed.write(path, WIDE, partition_by="p")
    assert sorted(lakebed.open(path).to_arrow(["p"])["p"].to_pylist()) == [1, 2]


def test_columns_that_only_the_predicate_needs_are_not_given(path: Path) -> None:
    lakebed.write(path, WIDE)
    assert lakebed.open(path).to_arrow(["b"], "c.d > 1 AND p = 1").to_pydict() == {"b": ["x"]}


@pytest.mark.parametrize(
    ("columns", "kind", "message"),
    [
        (["aa"], SchemaError, "no column 'aa'"),
        (["a", "A"], InvalidArgumentError, "twice"),
        ([], InvalidArgumentError, "not a list of column names"),
        ("a", InvalidArgumentError, "not a list of column names"),
        ([1], SchemaError, "no column 1"),
    ],
)
def test_columns_that_are_not_there_are_refused(
    path: Path, columns: Any, kind: type, message: str
) -> None:
    lakebed.write(path, WIDE)
    with pytest.raises(kind, match=message):
        lakebed.open(path).scan(columns)


def test_the_nearest_column_is_suggested(path: Path) -> None:
    table = lakebed.write(path, pa.table({"price": [1], "amount": [2]}))
    with pytest.raises(SchemaError) as caught:
        table.scan(["prize"])
    assert caught.value.hint == "did you mean 'price'?"
    with pytest.raises(PredicateError) as refused:
        table.scan(where="amuont > 1")
    assert "amount" in str(refused.value.hint)


# --- predicates ---------------------------------------------------------------------------------

FACTS = pa.table(
    {
        "id": list(range(12)),
        "part": ["a", "b", None] * 4,
        "score": [1.5, math.nan, None, -0.0, math.inf, 2.5] * 2,
        "name": ["ann", "bob", None, "Ann", "", "ü"] * 2,
        "info": [{"n": 1, "t": "x"}, None, {"n": None, "t": "y"}] * 4,
        "on": [dt.date(2024, 1, 1), None, dt.date(2024, 6, 1)] * 4,
    }
)
PREDICATES = [
    "id > 5",
    "part = 'a'",
    "part IS NULL",
    "part <> 'a' OR id = 2",
    "id IN (1, 3, 5) AND part = 'b'",
    "NOT (part = 'a')",
    "score < 1",
    "score IS NULL",
    "score = 0",
    "name LIKE 'a%'",
    "name = ''",
    "name IS NOT NULL AND name <> 'bob'",
    "info.n = 1",
    "info.t = 'y' AND info.n IS NULL",
    "info IS NULL",
    "id BETWEEN 3 AND 7",
    "on >= DATE '2024-03-01'",
    "id % 2 = 0 AND id + 1 > 5",
    "coalesce(part, 'none') = 'none'",
]


@pytest.mark.parametrize("partition", [None, "part"])
@pytest.mark.parametrize("where", PREDICATES)
def test_predicates_keep_the_rows_that_duckdb_keeps(
    path: Path, where: str, partition: str | None
) -> None:
    table = lakebed.write(path, FACTS, partition_by=partition, max_rows_per_file=5)
    sql = where.replace("on ", '"on" ')
    with duckdb.connect() as connection:
        connection.register("facts", FACTS)
        expected = connection.sql(f"SELECT * FROM facts WHERE {sql}").to_arrow_table()
    assert 0 < expected.num_rows < FACTS.num_rows
    assert rows(table.to_arrow(where=where)) == rows(expected)


def test_nan_is_larger_than_every_number_and_equal_to_itself(path: Path) -> None:
    table = lakebed.write(path, FACTS, max_rows_per_file=3)
    assert table.to_arrow(["id"], "score > 1e300")["id"].to_pylist() == [1, 4, 7, 10]
    assert table.to_arrow(["id"], "score = double('NaN')")["id"].to_pylist() == [1, 7]


def test_a_predicate_that_is_null_keeps_nothing(path: Path) -> None:
    table = lakebed.write(path, pa.table({"a": pa.array([None, None], pa.int64())}))
    assert table.to_arrow(where="a = 1").num_rows == 0
    assert table.to_arrow(where="NOT (a = 1)").num_rows == 0


def test_a_predicate_must_be_text(path: Path) -> None:
    table = lakebed.write(path, WIDE)
    with pytest.raises(InvalidArgumentError, match="not a SQL predicate"):
        table.scan(where=["a = 1"])  # type: ignore[arg-type]


# --- time travel --------------------------------------------------------------------------------


def test_versions_are_found_by_number_and_by_time(path: Path) -> None:
    for number in range(4):
        lakebed.write(
            path, pa.table({"n": [number]}), mode="overwrite" if number == 2 else "append"
        )
        os.utime(path / "_delta_log" / f"{number:020d}.json", (1_700_000_000 + 60 * number,) * 2)
    expected = [[0], [0, 1], [2], [2, 3]]
    for number, values in enumerate(expected):
        moment = dt.datetime.fromtimestamp(1_700_000_000 + 60 * number, UTC)
        by_time = lakebed.open(path, timestamp=moment)
        assert by_time.version == number
        assert by_time.timestamp == moment
        assert sorted(by_time.to_arrow()["n"].to_pylist()) == values
        by_number = lakebed.open(path, version=number)
        assert sorted(by_number.to_arrow()["n"].to_pylist()) == values
    between = lakebed.open(path, timestamp="2023-11-14T23:14:50+01:00")
    assert between.version == 1
    with pytest.raises(VersionNotFoundError, match="before the oldest"):
        lakebed.open(path, timestamp="2020-01-01")


# --- deletion vectors ---------------------------------------------------------------------------


def _vector(path: Path, kind: str, deleted: list[int]) -> DeletionVector:
    index = RowIndexSet.from_indexes(deleted)
    if kind == "inline":
        return inline_vector(encode_bitmap(index), index.cardinality)
    # A file packs many vectors; ours is the second.
    data, stored = write_vectors([RowIndexSet.from_indexes([0]), index])
    place = stored[1]
    if kind == "absolute":
        file = path.parent / "elsewhere ü" / "vector.bin"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(data)
        where = file.as_uri()
        return DeletionVector("p", where, place.size_in_bytes, place.cardinality, place.offset)
    prefix, unique = new_file(2 if kind == "prefixed" else 0)
    file = path / file_name(prefix, unique)
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(data)
    return stored_vector(prefix, unique, place.offset, place.size_in_bytes, place.cardinality)


@pytest.mark.parametrize("kind", ["inline", "relative", "prefixed", "absolute"])
def test_deleted_rows_are_gone_wherever_their_vector_is(path: Path, kind: str) -> None:
    make_table(path, column("n"), properties={"delta.enableDeletionVectors": "true"})
    deleted = [0, 3, 4, 999, 2047]
    add_file(path, pa.table({"n": list(range(2048))}), deletion_vector=_vector(path, kind, deleted))
    expected = [n for n in range(2048) if n not in deleted]
    table = lakebed.open(path)
    assert table.to_arrow()["n"].to_pylist() == expected
    assert table.to_arrow(where="n < 6")["n"].to_pylist() == [1, 2, 5]
    if kind != "absolute":
        assert sorted(read_elsewhere(path)["n"].to_pylist()) == expected


def test_a_vector_that_is_gone_or_damaged_is_an_error(path: Path) -> None:
    make_table(path, column("n"), properties={"delta.enableDeletionVectors": "true"})
    add_file(path, pa.table({"n": [1, 2]}), deletion_vector=_vector(path, "relative", [1]))
    file = next(path.glob("deletion_vector_*.bin"))
    data = bytearray(file.read_bytes())
    data[-6] ^= 0xFF
    file.write_bytes(data)
    with pytest.raises(DataFileError, match="checksum"):
        lakebed.open(path).to_arrow()
    file.unlink()
    with pytest.raises(DataFileError, match="deletion vector is gone"):
        lakebed.open(path).to_arrow()


# --- files that differ from the table -----------------------------------------------------------


@pytest.mark.parametrize("mode", ["name", "id"])
def test_renamed_columns_are_found_at_every_depth(path: Path, mode: str) -> None:
    data = pa.table(
        {
            "a": [1],
            "s": [{"x": 1, "l": [{"y": "z"}]}],
            "m": pa.array(
                [[("k", {"v": 2})]], pa.map_(pa.string(), pa.struct([("v", pa.int64())]))
            ),
        }
    )
    lakebed.write(path, data, properties={"delta.columnMapping.mode": mode})
    snapshot = lakebed.open(path).snapshot
    renamed = transform(
        snapshot.schema,
        lambda _, field: StructField(
            f"new {field.name}", field.data_type, field.nullable, field.metadata
        ),
    )
    commit(path, replace(snapshot.metadata, schema_string=schema_to_json(renamed)))
    expected = [
        {
            "new a": 1,
            "new s": {"new x": 1, "new l": [{"new y": "z"}]},
            "new m": [("k", {"new v": 2})],
        }
    ]
    table = lakebed.open(path)
    assert table.to_arrow().to_pylist() == expected
    assert table.to_arrow(where="`new s`.`new x` = 1").num_rows == 1
    assert table.to_arrow(where="`new s`.`new x` = 2").num_rows == 0


def test_in_mode_id_the_field_id_decides_and_not_the_name(path: Path) -> None:
    make_table(
        path, column("a"), column("b", STRING), properties={"delta.columnMapping.mode": "id"}
    )
    fields = [
        pa.field("whatever", pa.string(), metadata={"PARQUET:field_id": "2"}),
        pa.field(
            physical_name(lakebed.open(path).schema.field("b")),
            pa.int64(),
            metadata={"PARQUET:field_id": "1"},
        ),
    ]
    add_file(path, pa.table([["x"], [7]], schema=pa.schema(fields)))
    assert lakebed.open(path).to_arrow().to_pylist() == [{"a": 7, "b": "x"}]


WIDENED = [
    (pa.int8(), [1], LONG, [1]),
    (pa.int32(), [-5], DOUBLE, [-5.0]),
    (pa.float32(), [1.5], DOUBLE, [1.5]),
    (pa.int32(), [7], DecimalType(12, 2), ["7.00"]),
    (pa.decimal128(5, 2), ["1.25"], DecimalType(8, 3), ["1.250"]),
    (pa.date32(), [dt.date(2024, 1, 1)], TIMESTAMP_NTZ, [dt.datetime(2024, 1, 1)]),
    (pa.list_(pa.int16()), [[1]], ArrayType(INTEGER), [[1]]),
    (pa.struct([("x", pa.int16())]), [{"x": 1}], StructType((column("x"),)), [{"x": 1}]),
    (
        pa.map_(pa.int8(), pa.float32()),
        [[(1, 1.5)]],
        MapType(LONG, DOUBLE),
        [[(1, 1.5)]],
    ),
]


@pytest.mark.parametrize(("stored", "values", "kind", "expected"), WIDENED, ids=str)
def test_older_files_have_narrower_types(
    path: Path, stored: pa.DataType, values: list[Any], kind: Any, expected: list[Any]
) -> None:
    make_table(path, column("c", kind), properties={"delta.enableTypeWidening": "true"})
    if pa.types.is_decimal(stored):
        array = pa.array(values).cast(stored)
    else:
        array = pa.array(values, stored)
    add_file(path, pa.table({"c": array}))
    found = lakebed.open(path).to_arrow()["c"].to_pylist()
    assert [str(v) if isinstance(kind, DecimalType) else v for v in found] == expected


def test_columns_that_a_file_lacks_are_null_at_every_depth(path: Path) -> None:
    inner = StructType((column("x"), column("new", STRING), column("void", VOID)))
    make_table(path, column("a"), column("b"), column("s", inner), column("l", ArrayType(inner)))
    add_file(path, pa.table({"a": [1], "s": [{"x": 2}], "l": [[{"x": 3}]]}), "one.parquet")
    add_file(path, pa.table({"unknown": [9, 9]}), "two.parquet")
    table = lakebed.open(path)
    full = {"x": 2, "new": None, "void": None}
    assert rows(table) == sorted(
        repr(sorted(row.items()))
        for row in [
            {"a": 1, "b": None, "s": full, "l": [{**full, "x": 3}]},
            *[{"a": None, "b": None, "s": None, "l": None}] * 2,
        ]
    )
    assert table.to_arrow(["b"]).num_rows == 3
    assert table.to_arrow(where="b IS NULL").num_rows == 3


def test_names_in_files_may_differ_in_case(path: Path) -> None:
    make_table(path, column("Id"), column("S", StructType((column("Inner"),))))
    add_file(path, pa.table({"iD": [1], "s": [{"INNER": 2}]}))
    assert lakebed.open(path).to_arrow().to_pylist() == [{"Id": 1, "S": {"Inner": 2}}]


def test_partition_values_of_the_log_win_over_the_file(path: Path) -> None:
    make_table(path, column("p", STRING), column("n"), partition_by=("p",))
    add_file(path, pa.table({"p": ["wrong"], "n": [1]}), partition_values={"p": "right"})
    assert lakebed.open(path).to_arrow().to_pylist() == [{"p": "right", "n": 1}]


def test_files_anywhere_are_read_by_their_absolute_path(path: Path, tmp_path: Path) -> None:
    make_table(path, column("n"))
    outside = tmp_path / "out side ü"
    for number, name in enumerate(["a.parquet", "b.parquet"]):
        add_file(path, pa.table({"n": [number]}), name, logged_as=(outside / name).as_uri())
    outside.mkdir()
    for file in path.glob("*.parquet"):
        shutil.move(file, outside / file.name)
    assert sorted(lakebed.open(path).to_arrow()["n"].to_pylist()) == [0, 1]


def test_int96_timestamps_are_read_to_the_microsecond(path: Path) -> None:
    moments = [
        dt.datetime(1, 1, 1),
        dt.datetime(2024, 1, 1, 12, 0, 0, 123456),
        dt.datetime(9999, 12, 31, 23),
    ]
    make_table(path, column("t", TIMESTAMP), column("s", StructType((column("t", TIMESTAMP),))))
    array = pa.array(moments, pa.timestamp("us"))
    data = pa.table({"t": array, "s": pa.StructArray.from_arrays([array], ["t"])})
    add_file(path, data, parquet={"use_deprecated_int96_timestamps": True})
    expected = [moment.replace(tzinfo=UTC) for moment in moments]
    found = lakebed.open(path).to_arrow()
    assert found["t"].to_pylist() == expected
    assert [row["t"] for row in found["s"].to_pylist()] == expected


def test_strings_stored_as_dictionaries_or_bytes_are_strings(path: Path) -> None:
    make_table(path, column("a", STRING), column("b", STRING), column("d", DATE))
    data = pa.table(
        {
            "a": pa.array(["x", None]).dictionary_encode(),
            "b": pa.array([b"y", None]),
            "d": pa.array([dt.date(2024, 1, 1), None]),
        }
    )
    add_file(path, data)
    found = lakebed.open(path).to_arrow()
    assert found.to_pydict() == {
        "a": ["x", None],
        "b": ["y", None],
        "d": [dt.date(2024, 1, 1), None],
    }
    assert found.schema.types == [pa.string(), pa.string(), pa.date32()]


# --- files that cannot be read ------------------------------------------------------------------


def test_a_data_file_that_is_gone_is_named(path: Path) -> None:
    lakebed.write(path, pa.table({"n": [1]}))
    name = data_files(path)[0]
    (path / name).unlink()
    with pytest.raises(DataFileError, match=name) as caught:
        lakebed.open(path).to_arrow()
    assert "VACUUM" in str(caught.value.hint)
    assert caught.value.file == f"{path.as_uri()}/{name}"


@pytest.mark.parametrize("damage", ["cut", "text", "empty", "flip"])
def test_a_data_file_that_is_damaged_is_named(path: Path, damage: str) -> None:
    lakebed.write(path, pa.table({"n": list(range(1000)), "t": ["text"] * 1000}))
    file = path / data_files(path)[0]
    data = file.read_bytes()
    flipped = data[:60] + bytes(byte ^ 0xFF for byte in data[60:400]) + data[400:]
    file.write_bytes(
        {"cut": data[:-200], "text": b"no parquet" * 9, "empty": b"", "flip": flipped}[damage]
    )
    with pytest.raises(DataFileError, match=file.name):
        lakebed.open(path).to_arrow()


def test_a_file_whose_types_are_not_the_tables_is_named(path: Path) -> None:
    make_table(path, column("n"))
    add_file(path, pa.table({"n": ["text"]}), "wrong.parquet")
    with pytest.raises(DataFileError, match=r"wrong\.parquet[\s\S]*column n"):
        lakebed.open(path).to_arrow()


def test_errors_come_through_a_reader_as_they_are(path: Path) -> None:
    table = lakebed.write(path, pa.table({"n": [1]}))
    (path / data_files(path)[0]).unlink()
    with pytest.raises(DataFileError):
        table.scan().to_reader().read_all()
    with pytest.raises(DataFileError):
        list(table.scan())


def test_a_table_without_columns_has_nothing_to_read(path: Path) -> None:
    make_table(path)
    with pytest.raises(SchemaError, match="no columns"):
        lakebed.open(path).to_arrow()


# --- streams ------------------------------------------------------------------------------------


def test_many_files_are_read_in_the_order_of_the_log_and_the_scan_can_be_repeated(
    path: Path,
) -> None:
    lakebed.write(path, pa.table({"n": list(range(40))}), max_rows_per_file=2)
    scan = lakebed.open(path).scan(where="n >= 10")
    first = scan.to_arrow()
    assert sorted(first["n"].to_pylist()) == list(range(10, 40))
    assert scan.to_reader().read_all().equals(first)
    assert pa.Table.from_batches(list(scan)).equals(first)
    assert first.schema == scan.schema


def test_a_scan_that_nobody_finishes_stops(path: Path) -> None:
    lakebed.write(path, pa.table({"n": list(range(40))}), max_rows_per_file=1)
    batches = iter(lakebed.open(path).scan())
    assert next(batches).num_rows == 1
    batches.close()  # type: ignore[attr-defined]
    with pytest.raises(StopIteration):
        next(batches)


def test_a_file_that_was_removed_is_not_read(path: Path) -> None:
    make_table(path, column("n"))
    add = add_file(path, pa.table({"n": [1]}), "one.parquet")
    add_file(path, pa.table({"n": [2]}), "two.parquet")
    commit(path, Remove.of(add, timestamp=1))
    assert lakebed.open(path).to_arrow()["n"].to_pylist() == [2]


def test_large_files_keep_their_rows_in_order_below_a_deletion_vector(path: Path) -> None:
    make_table(path, column("n"), properties={"delta.enableDeletionVectors": "true"})
    count = 300_000
    deleted = list(range(0, count, 7))
    data = pa.table({"n": list(range(count))})
    add_file(
        path,
        data,
        deletion_vector=_vector(path, "relative", deleted),
        parquet={"row_group_size": 10_000},
    )
    found = lakebed.open(path).to_arrow(where="n % 7 = 1")["n"].to_pylist()
    assert found == [n for n in range(count) if n % 7 == 1]
    assert pq.read_metadata(path / "by-hand.parquet").num_row_groups == 30
    assert (
        json.loads(lakebed.open(path).files(stats=True)["stats"][0].as_py())["numRecords"] == count
    )
