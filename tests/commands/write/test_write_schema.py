"""Schema enforcement, evolution and replacement; files laid out by partition and property."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakebed
from lakebed.errors import (
    ConstraintViolationError,
    PartitionValueError,
    SchemaError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from lakebed.spec.columns.type_widening import type_changes
from lakebed.spec.schema import (
    BINARY,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP_NTZ,
    VOID,
    ArrayType,
    StructField,
    StructType,
)
from testkit.readers.log_json import data_files, log_files
from testkit.readers.other_readers import read_elsewhere
from testkit.schemas import column
from testkit.tables.arbitrary_tables import add_file, make_table, rows

BASE = pa.table({"id": [1], "who": pa.array([{"name": "a"}])})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


# --- enforcement --------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["append", "overwrite"])
@pytest.mark.parametrize(
    ("data", "differences"),
    [
        ({"id": ["x"]}, ["id: the table has long, the data has string"]),
        ({"id": [1.5]}, ["id: the table has long, the data has double"]),
        ({"id": [1], "more": [2]}, ["more: the table does not have it"]),
        (
            {"id": [1], "who": [{"name": 5, "age": 3}]},
            ["who.name: the table has string, the data has long", "who.age: the table does not"],
        ),
        ({"id": [[1]]}, ["id: the table has long, the data has array<long>"]),
    ],
)
def test_data_that_does_not_fit_is_refused_and_the_table_stays_as_it_was(
    path: Path, data: dict[str, Any], differences: list[str], mode: Any
) -> None:
    lakebed.write(path, BASE)
    before = (log_files(path), data_files(path))
    with pytest.raises(SchemaMismatchError) as caught:
        lakebed.write(path, pa.table(data), mode=mode)
    message = caught.value.message
    for difference in differences:
        assert difference in message
    assert "schema of the table:" in message
    assert "schema of the data:" in message
    assert (log_files(path), data_files(path)) == before
    assert rows(lakebed.open(path)) == rows(BASE)


def test_absent_columns_are_null_and_narrower_types_are_taken(path: Path) -> None:
    lakebed.write(path, BASE)
    lakebed.write(path, pa.table({"ID": pa.array([7], pa.int8())}))
    expected = pa.concat_tables(
        [BASE, pa.table({"id": [7], "who": pa.array([None], BASE["who"].type)})]
    )
    assert rows(lakebed.open(path)) == rows(read_elsewhere(path)) == rows(expected)


def test_columns_come_in_any_order_and_case_also_inside_structs(path: Path) -> None:
    first = pa.table({"id": [1], "who": [{"name": "a", "age": 3}]})
    lakebed.write(path, first)
    lakebed.write(path, pa.table({"WHO": [{"AGE": 4, "Name": "b"}], "Id": [2]}))
    expected = pa.table({"id": [1, 2], "who": [{"name": "a", "age": 3}, {"name": "b", "age": 4}]})
    assert rows(lakebed.open(path)) == rows(expected)


def test_a_value_that_does_not_fit_its_type_is_refused(path: Path) -> None:
    lakebed.write(path, pa.table({"n": pa.array([1], pa.int64())}))
    huge = pa.table({"n": pa.array([2**64 - 1], pa.uint64())})
    with pytest.raises(SchemaMismatchError):
        lakebed.write(path, huge)
    assert lakebed.open(path).version == 0


# --- evolution ----------------------------------------------------------------------------------


def test_merge_schema_adds_columns_at_every_depth(path: Path) -> None:
    lakebed.write(path, pa.table({"a": [1], "s": [{"x": 1}], "l": [[{"y": 1}]]}))
    data = pa.table({"s": [{"x": 2, "z": "n"}], "l": [[{"y": 2, "w": True}]], "b": [2.5]})
    lakebed.write(path, data, merge_schema=True)
    expected = [
        {"a": 1, "s": {"x": 1, "z": None}, "l": [{"y": 1, "w": None}], "b": None},
        {"a": None, "s": {"x": 2, "z": "n"}, "l": [{"y": 2, "w": True}], "b": 2.5},
    ]
    found = sorted(lakebed.open(path).to_arrow().to_pylist(), key=str, reverse=False)
    assert found == sorted(expected, key=str)
    assert lakebed.open(path, version=0).schema.names == ("a", "s", "l")


def test_merge_schema_without_news_leaves_the_metadata_alone(path: Path) -> None:
    lakebed.write(path, BASE)
    lakebed.write(path, BASE, merge_schema=True)
    assert "metaData" not in (path / "_delta_log" / log_files(path)[1]).read_text()


def test_merge_schema_does_not_change_types(path: Path) -> None:
    lakebed.write(path, pa.table({"a": pa.array([1], pa.int32())}))
    with pytest.raises(SchemaMismatchError, match="the table has integer, the data has long"):
        lakebed.write(path, pa.table({"a": [2**40]}), merge_schema=True)


def test_merge_schema_widens_types_where_the_table_allows_it(path: Path) -> None:
    properties = {"delta.enableTypeWidening": "true"}
    small = pa.table({"a": pa.array([1], pa.int8()), "s": [{"f": 1.5}]})
    small = small.cast(pa.schema([("a", pa.int8()), ("s", pa.struct([("f", pa.float32())]))]))
    lakebed.write(path, small, properties=properties)
    with pytest.raises(SchemaMismatchError):
        lakebed.write(path, pa.table({"a": [2**40]}))
    lakebed.write(path, pa.table({"a": [2**40], "s": [{"f": 0.1}]}), merge_schema=True)
    table = lakebed.open(path)
    assert table.schema.field("a").data_type == LONG
    assert [str(c.to_type) for c in type_changes(table.schema.field("a"))] == ["long"]
    assert rows(table) == rows(pa.table({"a": [1, 2**40], "s": [{"f": 1.5}, {"f": 0.1}]}))
    assert lakebed.open(path, version=0).schema.field("a").data_type != LONG


def test_a_type_that_needs_another_protocol_is_not_added_unasked(path: Path) -> None:
    lakebed.write(path, BASE)
    data = pa.table({"id": [2], "local": pa.array([dt.datetime(2024, 1, 1)])})
    with pytest.raises(UnsupportedFeatureError, match="timestampNtz"):
        lakebed.write(path, data, merge_schema=True)
    assert len(data_files(path)) == 1


def test_overwrite_schema_replaces_columns_and_partitioning(path: Path) -> None:
    lakebed.write(path, pa.table({"a": [1], "p": [1]}), partition_by="p")
    data = pa.table({"b": ["x", "y"], "Q": [1, 2]})
    lakebed.write(path, data, mode="overwrite", overwrite_schema=True, partition_by="q")
    table = lakebed.open(path)
    assert table.partition_columns == ("Q",)
    assert rows(table) == rows(read_elsewhere(path)) == rows(data)
    assert rows(lakebed.open(path, version=0)) == rows(pa.table({"a": [1], "p": [1]}))


def test_overwrite_schema_keeps_the_partitioning_unless_told_otherwise(path: Path) -> None:
    lakebed.write(path, pa.table({"a": [1], "p": [1]}), partition_by="p")
    with pytest.raises(SchemaError, match="no column 'p' to partition by"):
        lakebed.write(path, pa.table({"b": [1]}), mode="overwrite", overwrite_schema=True)
    lakebed.write(
        path, pa.table({"b": [1]}), mode="overwrite", overwrite_schema=True, partition_by=[]
    )
    assert lakebed.open(path).partition_columns == ()


def test_overwrite_schema_of_mapped_columns_keeps_the_ids_of_those_that_stay(path: Path) -> None:
    properties = {"delta.columnMapping.mode": "name"}
    before = lakebed.write(path, pa.table({"a": [1], "b": [1]}), properties=properties).schema
    data = pa.table({"b": [2], "c": ["x"]})
    after = lakebed.write(path, data, mode="overwrite", overwrite_schema=True)
    assert after.schema.field("b").metadata == before.field("b").metadata
    ids = [field.metadata["delta.columnMapping.id"] for field in after.schema.fields]
    assert ids == [2, 3]
    assert rows(lakebed.open(path)) == rows(read_elsewhere(path)) == rows(data)
    assert rows(lakebed.open(path, version=0)) == rows(pa.table({"a": [1], "b": [1]}))


def test_a_struct_without_fields_is_refused(path: Path) -> None:
    with pytest.raises(SchemaError, match="cannot be written as Parquet"):
        lakebed.write(path, pa.table({"s": pa.array([{}], pa.struct([])), "n": [1]}))
    assert not path.exists()


def test_overwriting_away_a_column_that_a_constraint_names_is_refused(path: Path) -> None:
    properties = {"delta.constraints.c": "a > 0"}
    lakebed.write(path, pa.table({"a": [1], "b": [1]}), properties=properties)
    with pytest.raises(UnsupportedFeatureError, match="no column a"):
        lakebed.write(path, pa.table({"b": [1]}), mode="overwrite", overwrite_schema=True)
    assert lakebed.open(path).version == 0


# --- void ---------------------------------------------------------------------------------------


def test_void_columns_are_null_at_every_depth(path: Path) -> None:
    kind = pa.struct(
        [
            ("x", pa.int64()),
            ("n", pa.null()),
            ("deep", pa.struct([("y", pa.int64()), ("m", pa.null())])),
        ]
    )
    data = pa.table(
        {
            "a": [1, 2],
            "s": pa.array([{"x": 1, "n": None, "deep": {"y": 2, "m": None}}, None], kind),
            "v": pa.nulls(2),
        }
    )
    lakebed.write(path, data)
    table = lakebed.open(path)
    assert table.schema.field("v").data_type == VOID
    assert table.to_arrow().equals(data)
    assert pq.read_schema(path / data_files(path)[0]).names == ["a", "s"]


@pytest.mark.parametrize(
    "data",
    [
        {"v": pa.nulls(1)},
        {"a": [1], "l": pa.array([[None]], pa.list_(pa.null()))},
        {"a": [1], "s": pa.array([{"n": None}], pa.struct([("n", pa.null())]))},
    ],
)
def test_void_that_no_file_can_leave_out_is_refused(path: Path, data: dict[str, Any]) -> None:
    with pytest.raises(SchemaError, match="no data can be written"):
        lakebed.write(path, pa.table(data))
    assert not path.exists()


def test_a_void_column_takes_the_type_of_the_first_data(path: Path) -> None:
    lakebed.write(path, pa.table({"a": [1], "v": pa.nulls(1)}))
    lakebed.write(path, pa.table({"a": [2], "v": ["x"]}), merge_schema=True)
    assert lakebed.open(path).schema.field("v").data_type == STRING
    assert rows(lakebed.open(path)) == rows(pa.table({"a": [1, 2], "v": [None, "x"]}))


# --- partitions ---------------------------------------------------------------------------------

UTC = dt.timezone.utc
SPECIAL = ["a/b", "a=b", "a b", "100%", "%41", "ü✓", "'\"", "a:b?c#d", "\\", "..", "."]
PARTITIONS = {
    "string": pa.array(["a", "b", None, "b"]),
    "special": pa.array([*SPECIAL, None]),
    "long": pa.array([1, -1, None, 2**62]),
    "integer": pa.array([1, None, -5], pa.int32()),
    "short": pa.array([1, None, -5], pa.int16()),
    "byte": pa.array([1, None, -5], pa.int8()),
    "float": pa.array([1.5, None, float("inf"), -0.0], pa.float32()),
    "double": pa.array([1e300, None, -0.1], pa.float64()),
    "boolean": pa.array([True, False, None]),
    "decimal": pa.array([decimal.Decimal("1.50"), None], pa.decimal128(10, 2)),
    "date": pa.array([dt.date(2024, 2, 29), None, dt.date(1, 1, 1)]),
    "timestamp": pa.array([dt.datetime(2024, 1, 1, 1, 2, 3, 456789, UTC), None]),
    "timestamp_ntz": pa.array([dt.datetime(2024, 1, 1, 1, 2, 3, 456789), None]),
    "binary": pa.array([b"abc", None]),
}


@pytest.mark.parametrize("kind", PARTITIONS)
@pytest.mark.parametrize("mode", ["none", "name"])
def test_partition_values_of_every_type_come_back(path: Path, kind: str, mode: str) -> None:
    values = PARTITIONS[kind]
    data = pa.table({"p": values, "n": list(range(len(values)))})
    if kind == "timestamp":
        data = data.cast(pa.schema([("p", pa.timestamp("us", "UTC")), ("n", pa.int64())]))
    properties = {"delta.columnMapping.mode": mode}
    lakebed.write(path, data, partition_by="p", properties=properties)
    table = lakebed.open(path)
    assert table.num_files == len(set(values.to_pylist()))
    assert rows(table) == rows(read_elsewhere(path)) == rows(data)


def test_an_empty_string_is_null_as_a_partition_value(path: Path) -> None:
    lakebed.write(path, pa.table({"p": ["", None, "x"], "n": [1, 2, 3]}), partition_by="p")
    table = lakebed.open(path)
    assert table.num_files == 2
    assert rows(table) == rows(pa.table({"p": [None, None, "x"], "n": [1, 2, 3]}))


def test_an_empty_string_in_a_partition_column_without_nulls_is_refused(path: Path) -> None:
    make_table(path, column("p", STRING, nullable=False), column("n"), partition_by=("p",))
    with pytest.raises(ConstraintViolationError, match="'p' is NOT NULL"):
        lakebed.write(path, pa.table({"p": [""], "n": [1]}))
    assert data_files(path) == []


def test_several_partition_columns_with_odd_names(path: Path) -> None:
    data = pa.table({"row": [1, 1, 2], "0": ["x", "y", "x"], "ü": [1, 2, 3]})
    lakebed.write(path, data, partition_by=["0", "row"])
    lakebed.write(path, data, partition_by=["0", "ROW"])
    table = lakebed.open(path)
    assert table.partition_columns == ("0", "row")
    assert rows(table) == rows(read_elsewhere(path)) == rows(pa.concat_tables([data, data]))
    assert {str(Path(name).parent) for name in data_files(path)} == {
        "0=x/row=1",
        "0=y/row=1",
        "0=x/row=2",
    }


@pytest.mark.parametrize("values", [[{"a": 1}], [[1]], pa.nulls(1)], ids=str)
def test_types_without_partition_values_are_refused(path: Path, values: Any) -> None:
    with pytest.raises(PartitionValueError, match="'p' of type"):
        lakebed.write(path, pa.table({"p": values, "n": [1]}), partition_by="p")
    assert not path.exists()


def test_another_partitioning_than_the_tables_is_refused(path: Path) -> None:
    data = pa.table({"p": [1], "q": [1], "n": [1]})
    lakebed.write(path, data, partition_by="p")
    with pytest.raises(SchemaMismatchError, match=r"partitioned by \['p'\], not by \['q'\]"):
        lakebed.write(path, data, partition_by="q")
    with pytest.raises(SchemaError, match="no column 'pp'"):
        lakebed.write(path.with_name("new"), data, partition_by="pp")


def test_partition_columns_are_written_into_the_files_of_tables_that_ask_for_it(path: Path) -> None:
    data = pa.table({"p": ["x", "y"], "n": [1, 2]})
    properties = {"delta.feature.materializePartitionColumns": "supported"}
    lakebed.write(path, data, partition_by="p", properties=properties)
    assert pq.ParquetFile(path / data_files(path)[0]).schema_arrow.names == ["n", "p"]
    assert rows(lakebed.open(path)) == rows(data)


# --- names, statistics, file settings -----------------------------------------------------------


def test_names_that_only_mapped_columns_may_have_are_refused_without_mapping(path: Path) -> None:
    with pytest.raises(SchemaError, match="column names must not have") as caught:
        lakebed.write(path, pa.table({"a b": [1]}))
    assert "columnMapping" in str(caught.value.hint)
    assert not path.exists()


def test_a_table_that_has_such_names_can_be_written_and_grown(path: Path) -> None:
    make_table(path, column("a b"))
    add_file(path, pa.table({"a b": [1]}))
    lakebed.write(path, pa.table({"a b": [2], "c": [3]}), merge_schema=True)
    assert rows(lakebed.open(path)) == rows(pa.table({"a b": [1, 2], "c": [None, 3]}))
    with pytest.raises(SchemaError, match="must not have"):
        lakebed.write(path, pa.table({"d e": [1]}), merge_schema=True)


def _stats(path: Path) -> dict[str, Any]:
    files = lakebed.open(path).files(stats=True)
    return json.loads(files["stats"][0].as_py())


@pytest.mark.parametrize("mode", ["none", "name"])
def test_statistics_follow_the_tables_properties(path: Path, mode: str) -> None:
    data = pa.table({"a": [1], "b": [{"c": 2, "d": 3}], "e": [4]})
    properties = {"delta.dataSkippingNumIndexedCols": "2", "delta.columnMapping.mode": mode}
    lakebed.write(path, data, properties=properties)
    assert len(_stats(path)["nullCount"]) == 2
    named = {"delta.dataSkippingStatsColumns": "e,b.d", "delta.columnMapping.mode": "none"}
    lakebed.write(path.with_name("named"), data, properties=named)
    stats = _stats(path.with_name("named"))
    assert stats["minValues"] == {"b": {"d": 3}, "e": 4}
    assert lakebed.open(path).files(where="e > 100").num_rows == 1


def test_many_columns_have_statistics_of_the_first_32(path: Path) -> None:
    lakebed.write(path, pa.table({f"c{i}": [i] for i in range(40)}))
    assert list(_stats(path)["maxValues"]) == [f"c{i}" for i in range(32)]


@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "gzip", "zstd", "lz4_raw"])
def test_files_are_compressed_as_the_table_says(path: Path, codec: str) -> None:
    properties = {"delta.parquet.compression.codec": codec}
    lakebed.write(path, pa.table({"a": [1]}), properties=properties)
    chunk = pq.read_metadata(path / data_files(path)[0]).row_group(0).column(0)
    assert chunk.compression.lower() == codec.replace("lz4_raw", "lz4")
    assert rows(read_elsewhere(path)) == rows(pa.table({"a": [1]}))


def test_not_null_of_arrow_fields_becomes_not_null_of_the_table(path: Path) -> None:
    fields = [pa.field("id", pa.int64(), nullable=False), pa.field("l", pa.list_(pa.int64()))]
    table = lakebed.write(path, pa.table([[1], [[2]]], schema=pa.schema(fields)))
    assert table.schema == StructType(
        (StructField("id", LONG, False), StructField("l", ArrayType(LONG)))
    )
    with pytest.raises(SchemaMismatchError, match="does not take nulls"):
        lakebed.write(path, pa.table({"l": [[1]]}))


def test_other_spellings_of_types_are_stored_as_the_protocol_has_them(path: Path) -> None:
    data = pa.table(
        {
            "u8": pa.array([255], pa.uint8()),
            "u16": pa.array([65535], pa.uint16()),
            "u32": pa.array([2**32 - 1], pa.uint32()),
            "ns": pa.array([1000], pa.timestamp("ns")),
            "paris": pa.array([0], pa.timestamp("ms", "Europe/Paris")),
            "view": pa.array([b"x"], pa.binary_view()),
            "fixed": pa.array([[1, 2]], pa.list_(pa.int32(), 2)),
        }
    )
    table = lakebed.write(path, data)
    kinds = [str(field.data_type) for field in table.schema.fields]
    assert kinds == [
        "short",
        "integer",
        "long",
        str(TIMESTAMP_NTZ),
        "timestamp",
        str(BINARY),
        f"array<{INTEGER}>",
    ]
    row = table.to_arrow().to_pylist()[0]
    assert row["ns"] == dt.datetime(1970, 1, 1, 0, 0, 0, 1)
    assert row["paris"] == dt.datetime(1970, 1, 1, tzinfo=UTC)
    assert (row["view"], row["fixed"], row["u32"]) == (b"x", [1, 2], 2**32 - 1)


# --- partition columns ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"merge_schema": True},
        {"partition_by": "p"},
        {"mode": "overwrite"},
        {"mode": "overwrite", "merge_schema": True},
        {"mode": "overwrite", "partition_overwrite": "dynamic"},
        {"mode": "overwrite", "replace_where": "p = 'x'"},
    ],
    ids=str,
)
def test_data_without_the_partition_column_is_refused(path: Path, options: Any) -> None:
    lakebed.write(path, pa.table({"a": [1], "p": ["x"]}), partition_by="p")
    before = log_files(path), data_files(path)
    for data in ({"a": [2]}, {"a": [2], "other": [1]}):
        with pytest.raises(SchemaMismatchError, match="partition column 'p'"):
            lakebed.write(path, pa.table(data), **options)
    assert (log_files(path), data_files(path)) == before


def test_a_partition_of_nulls_is_written_where_the_data_has_nulls(path: Path) -> None:
    lakebed.write(path, pa.table({"a": [1], "p": ["x"]}), partition_by="p")
    lakebed.write(path, pa.table({"a": [2], "P": pa.array([None], pa.string())}))
    assert rows(lakebed.open(path)) == rows(read_elsewhere(path))
    assert lakebed.open(path).to_arrow().sort_by("a")["p"].to_pylist() == ["x", None]


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [({"delta.generationExpression": "a + 1"}, 3), ({"CURRENT_DEFAULT": "7"}, 7)],
)
def test_partition_columns_that_the_table_fills_may_be_absent(
    path: Path, metadata: dict[str, Any], expected: int
) -> None:
    make_table(path, column("a"), column("p", LONG, metadata), partition_by=("p",))
    lakebed.write(path, pa.table({"a": [1]}))
    lakebed.write(path, pa.table({"a": [2]}), mode="overwrite")
    assert lakebed.open(path).to_arrow().to_pylist() == [{"a": 2, "p": expected}]
