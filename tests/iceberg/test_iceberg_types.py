"""Types, partition values and metrics: what Iceberg's readers find is what Delta's find."""

from __future__ import annotations

import math
import struct
from dataclasses import replace
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest
from pyiceberg.table import StaticTable

import lakebed
from lakebed.errors import UnsupportedFeatureError
from lakebed.iceberg.iceberg_schema import iceberg_fields
from lakebed.iceberg.iceberg_values import partition_summary, to_bytes
from lakebed.spec.columns.column_mapping import COLUMN_ID
from lakebed.spec.schema import (
    DOUBLE,
    LONG,
    VARIANT,
    ArrayType,
    DecimalType,
    StructField,
    StructType,
)
from testkit.tables.iceberg_tables import (
    ON,
    by_duckdb,
    by_pyiceberg,
    check_same,
    commit,
    document,
    entries,
    live,
    rows,
)

UTC = timezone.utc
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "boolean": (pa.bool_(), [True, False]),
    "byte": (pa.int8(), [-128, 127]),
    "short": (pa.int16(), [-(2**15), 2**15 - 1]),
    "integer": (pa.int32(), [-(2**31), 2**31 - 1]),
    "long": (pa.int64(), [-(2**63), 2**63 - 1]),
    "float": (pa.float32(), [0.5, 1.5]),
    "double": (pa.float64(), [0.1, -1e300]),
    "small": (pa.decimal128(9, 2), [Decimal("-1234567.89"), Decimal("0.01")]),
    "large": (pa.decimal128(38, 10), [Decimal("9" * 28 + "." + "9" * 10), Decimal("-0.5")]),
    "text": (pa.string(), ["", "ü€😀" * 20]),
    "bytes": (pa.binary(), [b"", b"\x00\xff"]),
    "date": (pa.date32(), [date(1, 1, 1), date(9999, 12, 31)]),
    "zoned": (
        pa.timestamp("us", "UTC"),
        [datetime(1900, 1, 1, tzinfo=UTC), datetime(2024, 5, 6, 7, 8, 9, 123456, UTC)],
    ),
    "local": (pa.timestamp("us"), [datetime(1900, 1, 1), datetime(2024, 5, 6, 7, 8, 9, 999999)]),
}


def table_of(columns: dict[str, tuple[pa.DataType, list[Any]]]) -> pa.Table:
    """The values, and a row of nulls."""
    return pa.table({name: pa.array([*values, None], t) for name, (t, values) in columns.items()})


def bounds(path: Path, kind: str) -> list[dict[str, bytes]]:
    """By the names of columns, of each live file."""
    names = {field["id"]: field["name"] for field in document(path)["schemas"][-1]["fields"]}
    files = [entry["data_file"] for entry in entries(path) if entry["status"] != 2]
    return [{names[pair["key"]]: pair["value"] for pair in file[kind]} for file in files]


def test_values_of_all_types_are_read(tmp_path: Path) -> None:
    lakebed.write(tmp_path, table_of(COLUMNS), properties=ON)
    check_same(tmp_path)


def test_structs_are_read_by_their_ids(tmp_path: Path) -> None:
    inner = pa.struct([("a", pa.int32()), ("b", pa.struct([("c", pa.string())]))])
    data = [{"a": 1, "b": {"c": "x"}}, {"a": None, "b": None}, None]
    path = tmp_path / "t"
    lakebed.write(path, pa.table({"s": pa.array(data, inner)}), properties=ON)
    check_same(path)
    lakebed.open(path).rename_column("s.b.c", "d")
    check_same(path)
    counts = entries(path)[0]["data_file"]
    assert [pair["value"] for pair in counts["null_value_counts"]] == [2, 2]


# pyiceberg takes literals with all their digits alone.
_PLAIN: dict[str, list[Any]] = {
    "large": [Decimal("9" * 28 + "." + "9" * 10), Decimal("-0.5000000000")],
}


@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "bytes"])
def test_partition_values_of_all_types_are_typed(tmp_path: Path, name: str) -> None:
    kind, values = COLUMNS[name]
    values = _PLAIN.get(name) or [value for value in values if value != ""]
    data = pa.table({"p": pa.array([*values, None], kind), "id": range(len(values) + 1)})
    lakebed.write(tmp_path, data, partition_by=["p"], properties=ON)
    check_same(tmp_path)
    for row, value in enumerate(values):
        if name not in ("float", "double", "date", "zoned", "local"):
            literal = f"'{value}'" if isinstance(value, str) else str(value)
            found = by_pyiceberg(tmp_path, row_filter=f"p = {literal}")
            assert found.column("id").to_pylist() == [row]
    assert by_pyiceberg(tmp_path, row_filter="p is null").num_rows == 1


def test_partition_columns_of_odd_names_are_found(tmp_path: Path) -> None:
    data = pa.table({"1 Käse-a": ["x", "y"], "b": pa.array([1, 2], pa.int32()), "id": [1, 2]})
    path = tmp_path / "50% of a b"
    lakebed.write(path, data, partition_by=["1 Käse-a", "b"], properties=ON)
    lakebed.write(path, data)
    assert rows(StaticTable.from_metadata(str(metadata_file(path))).scan().to_arrow()) == rows(
        pa.concat_tables([data, data])
    )


def metadata_file(path: Path) -> Path:
    return path / "metadata" / "v2.metadata.json"


def test_bounds_are_there_only_where_they_are_values(tmp_path: Path) -> None:
    lakebed.write(tmp_path, table_of(COLUMNS), properties=ON)
    lower, upper = bounds(tmp_path, "lower_bounds")[0], bounds(tmp_path, "upper_bounds")[0]
    assert lower["long"] == struct.pack("<q", -(2**63))
    assert upper["byte"] == struct.pack("<i", 127)
    assert lower["small"] == (-123456789).to_bytes(4, "big", signed=True)
    assert upper["date"] == struct.pack("<i", (date(9999, 12, 31) - date(1970, 1, 1)).days)
    assert lower["double"] == struct.pack("<d", -1e300)
    # Delta cuts timestamps, rounds long decimals and leaves NaN out.
    assert not {"zoned", "local", "large"} & {*lower, *upper}
    assert not {"float", "double"} & set(upper)
    assert upper["text"].decode() >= "ü€😀" * 20
    nulls = {pair["value"] for pair in entries(tmp_path)[0]["data_file"]["null_value_counts"]}
    assert nulls == {1}


def test_zeros_and_nan_do_not_hide_rows(tmp_path: Path) -> None:
    lakebed.write(tmp_path, pa.table({"x": [0.0, 5.0], "p": [0.0, -0.0]}), properties=ON)
    lakebed.write(tmp_path, pa.table({"x": [math.nan, -0.0], "p": [1.0, 1.0]}))
    assert [each["x"] for each in bounds(tmp_path, "lower_bounds")] == [
        struct.pack("<d", -0.0),
        struct.pack("<d", -0.0),
    ]
    assert bounds(tmp_path, "upper_bounds") == [{}, {}]
    assert by_pyiceberg(tmp_path, row_filter="x >= 0.0").num_rows >= 3
    check = partition_summary([0.0, math.nan, None], DOUBLE)
    assert check["lower_bound"] == struct.pack("<d", -0.0)
    assert (check["contains_nan"], check["contains_null"]) == (True, True)
    assert partition_summary([None], DOUBLE)["lower_bound"] is None


def test_wide_bounds_of_other_writers_are_left_out(tmp_path: Path) -> None:
    lakebed.write(tmp_path, pa.table({"id": [1, 2], "s": ["a", "b"]}), properties=ON)
    add = live(tmp_path)[0]
    stats = orjson.dumps({**orjson.loads(add.stats or ""), "tightBounds": False}).decode()
    commit(tmp_path, replace(add, path=f"{add.path}?copy".replace("?", "%3F"), stats=stats))
    assert sorted(map(len, bounds(tmp_path, "lower_bounds"))) == [0, 2]


POINT = pa.struct([("x", pa.int32()), ("tags", pa.list_(pa.string()))])


def test_arrays_and_maps_are_read(tmp_path: Path) -> None:
    points = [[{"x": 1, "tags": ["a"]}, None], [], []]
    named = [[(1, {"x": 2, "tags": None})], [], []]
    data = table_of(
        {
            "list": (pa.list_(pa.int64()), [[1, None], []]),
            "lists": (pa.list_(pa.list_(pa.int32())), [[[1, None], None], []]),
            "map": (pa.map_(pa.string(), pa.decimal128(9, 2)), [[("a", Decimal("1.50"))], []]),
        }
    )
    data = data.append_column("points", pa.array(points, pa.list_(POINT)))
    data = data.append_column("named", pa.array(named, pa.map_(pa.int32(), POINT)))
    lakebed.write(tmp_path, data, properties=ON)
    check_same(tmp_path)
    lakebed.open(tmp_path).rename_column("points.element.x", "y")
    check_same(tmp_path)


def test_structs_in_arrays_and_maps_at_any_depth_are_read(tmp_path: Path) -> None:
    """By DuckDB: pyiceberg 0.12 loses nulls of such lists, and structs in lists of lists."""
    columns: dict[str, tuple[pa.DataType, list[Any]]] = {
        "points": (pa.list_(POINT), [[{"x": 1, "tags": ["a"]}, None], []]),
        "deep": (pa.list_(pa.list_(POINT)), [[[{"x": 1, "tags": ["a"]}, None]], [None]]),
        "both": (pa.map_(pa.int32(), pa.list_(POINT)), [[(1, [{"x": 2, "tags": None}])], []]),
    }
    lakebed.write(tmp_path, table_of(columns), properties=ON)
    lakebed.open(tmp_path).rename_column("deep.element.element.x", "y")
    assert rows(by_duckdb(tmp_path)) == rows(lakebed.open(tmp_path).to_arrow())


@pytest.mark.parametrize(
    ("unscaled", "encoded"),
    [(0, "00"), (127, "7f"), (128, "0080"), (-128, "80"), (-129, "ff7f"), (14, "0e")],
)
def test_decimals_take_the_fewest_bytes(unscaled: int, encoded: str) -> None:
    assert to_bytes(DecimalType(9, 2))(unscaled).hex() == encoded


def test_a_widened_column_starts_anew_so_that_bounds_fit_its_type(tmp_path: Path) -> None:
    data = pa.table({"x": pa.array([1, 2], pa.int32())})
    widening = {"delta.enableTypeWidening": "true"}
    lakebed.write(tmp_path, data, properties={**ON, **widening})
    lakebed.open(tmp_path).alter_column("x", type="long")
    check_same(tmp_path)
    assert bounds(tmp_path, "lower_bounds") == [{"x": struct.pack("<q", 1)}]
    lakebed.write(tmp_path, pa.table({"x": [2**40]}))
    check_same(tmp_path)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (StructField("v", VARIANT, metadata={COLUMN_ID: 1}), "Iceberg does not know"),
        (StructField("v", LONG), "has no id"),
        (StructField("v", ArrayType(LONG), metadata={COLUMN_ID: 1}), "'v.element' has no id"),
    ],
)
def test_columns_that_iceberg_has_no_words_for_are_refused(
    field: StructField, message: str
) -> None:
    with pytest.raises(UnsupportedFeatureError, match=message):
        iceberg_fields(StructType((field,)))
