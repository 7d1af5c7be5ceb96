"""Types, nullability and defaults of columns."""

from __future__ import annotations

import datetime as dt
import decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakebed
from lakebed.errors import InvalidArgumentError, LakebedError, SchemaError, UnsupportedFeatureError
from lakebed.spec.columns.column_metadata import IDENTITY_START, IDENTITY_STEP
from lakebed.spec.schema import LONG, VOID
from testkit.readers.log_json import operations, schema_json
from testkit.readers.other_readers import by_duckdb
from testkit.schemas import column
from testkit.tables.arbitrary_tables import make_table

WIDE = {"delta.enableTypeWidening": "true"}

WIDENINGS: dict[str, tuple[pa.Array, str, Any]] = {
    "byte to int": (pa.array([1, None], pa.int8()), "int", 1),
    "int to bigint": (pa.array([-5, None], pa.int32()), "bigint", -5),
    "int to double": (pa.array([3, None], pa.int32()), "double", 3.0),
    "int to decimal": (pa.array([3, None], pa.int32()), "decimal(12,2)", decimal.Decimal(3)),
    "float to double": (pa.array([0.5, None], pa.float32()), "double", 0.5),
    "decimals": (
        pa.array([decimal.Decimal("1.5"), None], pa.decimal128(5, 1)),
        "decimal(12,3)",
        decimal.Decimal("1.5"),
    ),
    "date to timestamp": (
        pa.array([dt.date(2024, 2, 29), None]),
        "timestamp_ntz",
        dt.datetime(2024, 2, 29),
    ),
}


@pytest.mark.parametrize("case", WIDENINGS.values(), ids=WIDENINGS)
def test_wider_types_take_old_and_new_rows(tmp_path: Path, case: tuple[Any, str, Any]) -> None:
    old, kind, value = case
    path = tmp_path / "t"
    table = lakebed.write(path, pa.table({"v": old}), properties=WIDE)
    if kind == "timestamp_ntz":
        table = table.add_feature("timestampNtz")
    table = table.alter_column("v", type=kind)
    new = table.arrow_schema.field("v").type
    table = table.write(pa.table({"v": pa.array([value], new)}))
    for rows in (table.to_arrow().to_pylist(), by_duckdb(path)):
        values = [row["v"] for row in rows]
        assert len(values) == 3
        assert [each for each in values if each is not None] == [value, value]
    changes = schema_json(path)["v"]["metadata"]["delta.typeChanges"]
    assert [change.keys() for change in changes] == [{"fromType", "toType"}]


def test_types_inside_arrays_and_maps_widen_by_their_path(tmp_path: Path) -> None:
    path = tmp_path / "t"
    data = pa.table(
        {
            "a": pa.array([[1]], pa.list_(pa.int32())),
            "m": pa.array([[(1, 2)]], pa.map_(pa.int16(), pa.int32())),
            "s": pa.array([{"x": 1}], pa.struct({"x": "int32"})),
        }
    )
    table = lakebed.write(path, data, properties=WIDE)
    for name in ("a.element", "m.key", "m.value", "s.x"):
        table = table.alter_column(name, type="bigint")
    fields = schema_json(path)
    change = {"fromType": "integer", "toType": "long"}
    assert fields["a"]["metadata"]["delta.typeChanges"] == [{**change, "fieldPath": "element"}]
    assert fields["m"]["metadata"]["delta.typeChanges"] == [
        {"fromType": "short", "toType": "long", "fieldPath": "key"},
        {**change, "fieldPath": "value"},
    ]
    assert fields["s"]["type"]["fields"][0]["metadata"]["delta.typeChanges"] == [change]
    assert table.write(data).to_arrow().to_pylist() == data.to_pylist() * 2


def test_every_widening_of_a_column_is_recorded_in_turn(tmp_path: Path) -> None:
    table = lakebed.write(tmp_path / "t", pa.table({"v": pa.array([1], "int8")}), properties=WIDE)
    table.alter_column("v", type="smallint").alter_column("v", type="bigint")
    changes = schema_json(tmp_path / "t")["v"]["metadata"]["delta.typeChanges"]
    assert [(each["fromType"], each["toType"]) for each in changes] == [
        ("byte", "short"),
        ("short", "long"),
    ]


def test_partition_columns_widen(tmp_path: Path) -> None:
    data = pa.table({"p": pa.array([1, 2], "int32"), "v": [1, 2]})
    table = lakebed.write(tmp_path / "t", data, partition_by="p", properties=WIDE)
    table = table.alter_column("p", type="bigint").write(pa.table({"p": [2**40], "v": [3]}))
    assert table.scan(where=f"p = {2**40}").to_arrow().to_pylist() == [{"p": 2**40, "v": 3}]
    assert table.scan(where="p = 1").to_arrow().num_rows == 1


REFUSED_TYPES = {
    "narrower": ("big", "int"),
    "another": ("big", "string"),
    "a struct": ("s", "struct<x:bigint>"),
    "decimals that lose digits": ("small", "decimal(10,2)"),
    "text with a limit": ("text", "varchar(5)"),
    "no type": ("small", "nope"),
    "a limit inside": ("s.t", "varchar(5)"),
}


@pytest.mark.parametrize("case", REFUSED_TYPES.values(), ids=REFUSED_TYPES)
def test_types_that_do_not_take_all_values_are_refused(
    tmp_path: Path, case: tuple[str, str]
) -> None:
    data = pa.table(
        {
            "small": pa.array([1], "int32"),
            "big": [1],
            "text": ["a"],
            "s": pa.array([{"x": 1, "t": "a"}], pa.struct({"x": "int32", "t": "string"})),
        }
    )
    table = lakebed.write(tmp_path / "t", data, properties=WIDE)
    with pytest.raises(SchemaError):
        table.alter_column(case[0], type=case[1])
    assert operations(tmp_path / "t") == ["WRITE"]


def test_types_widen_only_where_the_table_says_so(tmp_path: Path) -> None:
    table = lakebed.write(tmp_path / "t", pa.table({"v": pa.array([1], "int32")}))
    with pytest.raises(SchemaError) as refused:
        table.alter_column("v", type="bigint")
    assert "delta.enableTypeWidening" in str(refused.value.hint)
    assert table.alter_column("v", type="int").schema == table.schema


def test_identity_columns_keep_their_type(tmp_path: Path) -> None:
    made = column("i", LONG, {IDENTITY_START: 1, IDENTITY_STEP: 1})
    table = make_table(tmp_path / "t", made, column("v"), properties=WIDE)
    with pytest.raises(SchemaError, match="identity"):
        table.alter_column("i", type="decimal(20,0)")


def test_a_void_column_takes_any_type_without_a_feature(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", column("v", VOID), column("id"))
    table = table.write(pa.table({"id": [1]})).alter_column("v", type="struct<a:int>")
    assert table.to_arrow().to_pylist() == [{"v": None, "id": 1}]


def test_limits_of_text_can_be_raised_and_lifted(tmp_path: Path) -> None:
    table = lakebed.write(tmp_path / "t", pa.table({"id": [1]})).add_columns({"v": "varchar(3)"})
    table = table.alter_column("v", type="varchar(5)")
    table.write(pa.table({"id": [2], "v": ["abcde"]}))
    with pytest.raises(SchemaError):
        table.alter_column("v", type="varchar(4)")
    table = table.alter_column("v", type="string")
    assert schema_json(tmp_path / "t")["v"]["metadata"] == {}


# --- nullability --------------------------------------------------------------------------------


def test_not_null_can_be_dropped_and_not_be_set(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", column("a", nullable=False), column("b"))
    with pytest.raises(LakebedError):
        table.write(pa.table({"a": pa.array([None], "int64"), "b": [1]}))
    table = table.alter_column("a", nullable=True)
    assert schema_json(tmp_path / "t")["a"]["nullable"] is True
    table = table.write(pa.table({"a": pa.array([None], "int64"), "b": [1]}))
    with pytest.raises(SchemaError) as refused:
        table.alter_column("a", nullable=False)
    assert "IS NOT NULL" in str(refused.value.hint)


# --- defaults -----------------------------------------------------------------------------------


def test_defaults_need_their_feature_and_fill_new_rows(tmp_path: Path) -> None:
    table = lakebed.write(tmp_path / "t", pa.table({"id": [1], "v": ["old"]}))
    with pytest.raises(UnsupportedFeatureError, match="allowColumnDefaults"):
        table.alter_column("v", default="'none'")
    assert operations(tmp_path / "t") == ["WRITE"]
    table = table.add_feature("allowColumnDefaults").alter_column("v", default="'none'")
    assert schema_json(tmp_path / "t")["v"]["metadata"] == {"CURRENT_DEFAULT": "'none'"}
    table = table.write(pa.table({"id": [2]}))
    table = table.alter_column("v", drop_default=True).write(pa.table({"id": [3]}))
    found = {row["id"]: row["v"] for row in by_duckdb(tmp_path / "t")}
    assert found == {1: "old", 2: "none", 3: None}


@pytest.mark.parametrize("sql", ["id + 1", "nope(", "'text'", ""])
def test_defaults_that_no_row_could_get_are_refused(tmp_path: Path, sql: str) -> None:
    table = lakebed.write(
        tmp_path / "t",
        pa.table({"id": [1], "v": [1]}),
        properties={"delta.feature.allowColumnDefaults": "supported"},
    )
    with pytest.raises(LakebedError):
        table.alter_column("v", default=sql)
    assert operations(tmp_path / "t") == ["WRITE"]


def test_moments_can_be_defaults(tmp_path: Path) -> None:
    table = lakebed.write(
        tmp_path / "t",
        pa.table({"id": [1], "at": pa.array([None], pa.timestamp("us", "UTC"))}),
        properties={"delta.feature.allowColumnDefaults": "supported"},
    )
    table.alter_column("at", default="current_timestamp()")
    assert "CURRENT_DEFAULT" in schema_json(tmp_path / "t")["at"]["metadata"]


@pytest.mark.parametrize(
    "arguments",
    [{}, {"default": "1", "drop_default": True}, {"comment": 1}, {"nullable": "yes"}, {"type": 7}],
)
def test_arguments_are_checked(tmp_path: Path, arguments: dict[str, Any]) -> None:
    table = lakebed.write(tmp_path / "t", pa.table({"id": [1]}))
    with pytest.raises(InvalidArgumentError):
        table.alter_column("id", **arguments)
