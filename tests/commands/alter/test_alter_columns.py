"""Adding, renaming, dropping and moving columns, against readers that know nothing of Lakebed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakebed
from lakebed.commands.alter.columns.add_columns import add_columns
from lakebed.commands.alter.columns.drop_columns import drop_columns
from lakebed.errors import (
    InvalidArgumentError,
    LakebedError,
    MetadataChangedError,
    SchemaError,
    UnsupportedFeatureError,
)
from lakebed.spec.columns.column_metadata import GENERATION_EXPRESSION
from lakebed.spec.schema import LONG, STRING, StructField, StructType
from testkit.other_writers import interrupted
from testkit.readers.log_json import last_commit, operations, schema_json
from testkit.readers.other_readers import by_deltalake, by_duckdb, ordered
from testkit.schemas import column
from testkit.tables.arbitrary_tables import make_table

ITEM = {"sku": "a", "count": 1}
ROWS = pa.table(
    {
        "id": [1, 2],
        "day": ["mon", "tue"],
        "address": pa.array([{"city": "Ulm", "zip": 7}, None]),
        "items": pa.array([[ITEM], []], pa.list_(pa.struct({"sku": "string", "count": "int64"}))),
    }
)
MAPPED = {"delta.columnMapping.mode": "name"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    lakebed.write(tmp_path / "t", ROWS)
    return tmp_path / "t"


@pytest.fixture
def mapped(tmp_path: Path) -> Path:
    lakebed.write(tmp_path / "m", ROWS, partition_by="day", properties=MAPPED)
    return tmp_path / "m"


# --- adding -------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["none", "name"])
def test_added_columns_are_null_in_the_rows_that_are_there(path: Path, mode: str) -> None:
    table = lakebed.open(path)
    if mode == "name":
        table = table.set_properties(MAPPED)
    table = table.add_columns({"price": "decimal(10,2)", "address.street": "string"})
    new = {"id": 3, "day": "wed", "address": {"city": "Bonn", "zip": 1, "street": "x"}, "items": []}
    table.write(pa.Table.from_pylist([{**new, "price": 5}], schema=table.arrow_schema))
    old = [{**row, "price": None} for row in ROWS.to_pylist()]
    old[0]["address"] = {**old[0]["address"], "street": None}
    for read in (by_deltalake, by_duckdb):
        found = {row["id"]: row for row in read(path)}
        assert [found[1], found[2]] == old
        assert (found[3]["address"]["street"], int(found[3]["price"])) == ("x", 5)


def test_columns_go_where_one_says(path: Path) -> None:
    table = lakebed.open(path).add_columns({"a": "int", "b": "int"}, first=True)
    table = table.add_columns({"c": "int", "d": "int"}, after="ID")
    assert table.schema.names == ("a", "b", "id", "c", "d", "day", "address", "items")
    shown = json.loads(last_commit(path)["commitInfo"]["operationParameters"]["columns"])
    assert [(each["column"]["name"], each["position"]) for each in shown] == [
        ("c", "AFTER ID"),
        ("d", "AFTER c"),
    ]
    table = table.add_columns({"address.land": "string"}, after="city")
    inner = table.schema.field("address").data_type
    assert isinstance(inner, StructType)
    assert inner.names == ("city", "land", "zip")
    assert [list(row)[:3] for row in by_deltalake(path)] == [["a", "b", "id"]] * 2


def test_columns_inside_arrays_and_maps_are_named_by_element_key_and_value(tmp_path: Path) -> None:
    data = pa.table(
        {"m": pa.array([[("k", {"x": 1})]], pa.map_("string", pa.struct({"x": "int64"})))}
    )
    table = lakebed.write(tmp_path / "t", data).add_columns({"m.value.y": "int"})
    assert table.to_arrow().to_pylist() == [{"m": [("k", {"x": 1, "y": None})]}]
    with pytest.raises(SchemaError, match="items"):
        table.add_columns({"m.items.y": "int"})


def test_a_schema_brings_comments_along(path: Path) -> None:
    fields = [
        pa.field("a", pa.int32(), metadata={"comment": "from Arrow"}),
        StructField("b", STRING, metadata={"comment": "of ours"}),
        pa.field("odd.name", pa.int8()),
    ]
    lakebed.open(path).set_properties(MAPPED).add_columns(fields)
    found = schema_json(path)
    assert found["a"]["metadata"]["comment"] == "from Arrow"
    assert found["b"]["metadata"]["comment"] == "of ours"
    assert found["odd.name"]["type"] == "byte"


def test_limits_of_text_are_kept_with_their_column(path: Path) -> None:
    table = lakebed.open(path).add_columns({"code": "varchar(3)", "list": "array<char(2)>"})
    found = schema_json(path)
    assert found["code"]["type"] == "string"
    assert found["code"]["metadata"]["__CHAR_VARCHAR_TYPE_STRING"] == "varchar(3)"
    assert found["list"]["metadata"]["__CHAR_VARCHAR_TYPE_STRING"] == "array<char(2)>"
    with pytest.raises(LakebedError):
        table.write(pa.table({"id": [9], "day": ["x"], "code": ["abcd"]}))


NOT_ADDED: dict[str, tuple[Any, dict[str, Any]]] = {
    "exists": ({"ID": "int"}, {}),
    "twice": ([pa.field("a", pa.int8()), pa.field("A", pa.int8())], {}),
    "no parent": ({"nope.x": "int"}, {}),
    "no struct": ({"id.x": "int"}, {}),
    "not null": ([pa.field("a", pa.int8(), nullable=False)], {}),
    "not null inside": ([pa.field("a", pa.struct([pa.field("x", "int8", False)]))], {}),
    "default": ([StructField("a", LONG, metadata={"CURRENT_DEFAULT": "1"})], {}),
    "generated": ([StructField("a", LONG, metadata={GENERATION_EXPRESSION: "id"})], {}),
    "bad name": ({"`a b`": "int"}, {}),
    "bad type": ({"a": "intt"}, {}),
    "needs a feature": ({"a": "timestamp_ntz"}, {}),
    "limit inside": ({"address.x": "varchar(3)"}, {}),
    "nothing": ({}, {}),
    "no columns": ("a", {}),
    "no neighbour": ({"a": "int"}, {"after": "nope"}),
    "two places": ({"a": "int"}, {"after": "id", "first": True}),
    "places apart": ({"a": "int", "address.x": "int"}, {"first": True}),
}


@pytest.mark.parametrize("case", NOT_ADDED.values(), ids=NOT_ADDED)
def test_columns_that_cannot_be_added_change_nothing(path: Path, case: Any) -> None:
    with pytest.raises((SchemaError, InvalidArgumentError, UnsupportedFeatureError)):
        lakebed.open(path).add_columns(case[0], **case[1])
    assert operations(path) == ["WRITE"]


# --- renaming and dropping ----------------------------------------------------------------------


def test_renamed_columns_keep_their_data(mapped: Path) -> None:
    table = lakebed.open(mapped).set_properties({"delta.dataSkippingStatsColumns": "id,address"})
    for old, new in (("ID", "key"), ("day", "weekday"), ("address.city", "town")):
        table = table.rename_column(old, new)
    table = table.rename_column("address", "place").rename_column("items.element.sku", "code")
    assert table.partition_columns == ("weekday",)
    assert table.properties["delta.dataSkippingStatsColumns"] == "key,place"
    wanted = [
        {"key": 1, "weekday": "mon", "place": {"town": "Ulm", "zip": 7}},
        {"key": 2, "weekday": "tue", "place": None},
    ]
    assert ordered(_without(by_deltalake(mapped), "items")) == ordered(wanted)
    # DuckDB finds no values of partition columns in any table with mapped names.
    found = _without(by_duckdb(mapped), "items", "weekday")
    assert ordered(found) == ordered(_without(wanted, "weekday"))
    assert table.scan(where="weekday = 'mon' and key = 1").num_files == 1
    parameters = last_commit(mapped)["commitInfo"]["operationParameters"]
    assert parameters == {
        "oldColumnPath": "items.element.sku",
        "newColumnPath": "items.element.code",
    }
    table.write(pa.table({"key": [3], "weekday": ["wed"]}))
    assert len(by_deltalake(mapped)) == 3


def _without(rows: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    return [{key: value for key, value in row.items() if key not in names} for row in rows]


def test_a_name_may_change_its_case(mapped: Path) -> None:
    table = lakebed.open(mapped).rename_column("id", "ID")
    assert table.schema.names[0] == "ID"


def test_a_dropped_column_does_not_come_back_under_its_name(mapped: Path) -> None:
    table = lakebed.open(mapped).drop_columns("id", "address.zip")
    assert table.schema.names == ("day", "address", "items")
    shown = json.loads(last_commit(mapped)["commitInfo"]["operationParameters"]["columns"])
    assert shown == ["id", "address.zip"]
    table = table.add_columns({"id": "bigint"}, first=True)
    for read in (by_deltalake, by_duckdb):
        assert [row["id"] for row in read(mapped)] == [None, None]
    assert int(table.properties["delta.columnMapping.maxColumnId"]) == 9


def test_dropped_columns_leave_the_settings(mapped: Path) -> None:
    table = lakebed.open(mapped).set_properties(
        {"delta.dataSkippingStatsColumns": "id,address.zip,`address`.city"}
    )
    table = table.drop_columns("address.zip")
    assert table.properties["delta.dataSkippingStatsColumns"] == "id,address.city"


Change = Callable[[lakebed.Table], Any]
NOT_CHANGED: dict[str, Change] = {
    "rename to another": lambda t: t.rename_column("id", "DAY"),
    "rename what is not there": lambda t: t.rename_column("nope", "x"),
    "rename to nothing": lambda t: t.rename_column("id", ""),
    "rename an element": lambda t: t.rename_column("items.element", "x"),
    "drop what is not there": lambda t: t.drop_columns("nope"),
    "drop twice": lambda t: t.drop_columns("id", "id"),
    "drop nothing": lambda t: t.drop_columns(),
    "drop a partition column": lambda t: t.drop_columns("day"),
    "drop all but the partitions": lambda t: t.drop_columns("id", "address", "items"),
    "drop the whole inside": lambda t: t.drop_columns("address.city", "address.zip"),
    "no name": lambda t: t.drop_columns("a,b"),
}


@pytest.mark.parametrize("change", NOT_CHANGED.values(), ids=NOT_CHANGED)
def test_renames_and_drops_that_cannot_be_change_nothing(mapped: Path, change: Change) -> None:
    with pytest.raises((SchemaError, InvalidArgumentError)):
        change(lakebed.open(mapped))
    assert operations(mapped) == ["WRITE"]


@pytest.mark.parametrize(
    "change", [lambda t: t.rename_column("id", "x"), lambda t: t.drop_columns("id")]
)
def test_without_mapping_names_stay_and_the_hint_says_what_to_do(
    path: Path, change: Change
) -> None:
    with pytest.raises(SchemaError) as refused:
        change(lakebed.open(path))
    assert "delta.columnMapping.mode" in str(refused.value.hint)
    assert operations(path) == ["WRITE"]


CHANGES: dict[str, Change] = {
    "rename": lambda t: t.rename_column("a", "z"),
    "drop": lambda t: t.drop_columns("a"),
    "retype": lambda t: t.alter_column("a", type="decimal(20,0)"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("sql", ["a > 0", "`A` is not null", "transform_only_spark_knows(a)"])
def test_what_a_constraint_speaks_of_stays(tmp_path: Path, change: Change, sql: str) -> None:
    properties = {**MAPPED, "delta.constraints.c": sql, "delta.enableTypeWidening": "true"}
    table = make_table(tmp_path / "t", column("a"), column("b"), properties=properties)
    with pytest.raises(SchemaError, match="constraint c"):
        change(table)
    assert operations(tmp_path / "t") == ["CREATE TABLE"]
    assert table.rename_column("b", "a2").schema.names == ("a", "a2")


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_a_generated_column_is_made_of_stays(tmp_path: Path, change: Change) -> None:
    made = column("g", metadata={GENERATION_EXPRESSION: "a + 1"})
    properties = {**MAPPED, "delta.enableTypeWidening": "true"}
    table = make_table(tmp_path / "t", column("a"), made, column("b"), properties=properties)
    with pytest.raises(SchemaError, match="generated column g"):
        change(table)
    assert table.drop_columns("a", "g").schema.names == ("b",)


def test_what_a_table_is_clustered_by_cannot_be_dropped_but_renamed(tmp_path: Path) -> None:
    data = pa.table({"a": [1], "s": pa.array([{"x": 1, "y": 2}])})
    table = lakebed.write(tmp_path / "t", data, properties=MAPPED).cluster_by(["a", "s.x"])
    for name in ("a", "s.x", "s"):
        with pytest.raises(SchemaError, match="clustered"):
            table.drop_columns(name)
    table = table.rename_column("a", "b").rename_column("s", "z").drop_columns("z.y")
    assert table.clustering_columns == ("b", "z.x")


# --- moving and commenting ----------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["none", "name"])
def test_columns_move_and_keep_their_data(path: Path, mode: str) -> None:
    table = lakebed.open(path)
    if mode == "name":
        table = table.set_properties(MAPPED)
    table = table.alter_column("items", first=True).alter_column("id", after="address")
    table = table.alter_column("address.zip", first=True)
    assert table.schema.names == ("items", "day", "address", "id")
    info = last_commit(path)["commitInfo"]
    assert info["operation"] == "CHANGE COLUMN"
    assert info["operationParameters"]["position"] == "FIRST"
    assert json.loads(info["operationParameters"]["column"])["name"] == "address.zip"
    wanted = [{"zip": 7, "city": "Ulm"}, None]
    found = sorted(by_duckdb(path), key=lambda row: row["id"])
    assert [row["address"] for row in found] == wanted
    assert list(found[0]) == ["items", "day", "address", "id"]


def test_comments_of_columns_are_kept_through_other_changes(path: Path) -> None:
    table = lakebed.open(path).alter_column("address.city", comment="where")
    table = table.alter_column("id", comment="first").alter_column("id", after="day")
    assert schema_json(path)["id"]["metadata"] == {"comment": "first"}
    inner = schema_json(path)["address"]["type"]["fields"][0]
    assert inner["metadata"] == {"comment": "where"}
    with pytest.raises(SchemaError, match="only its type"):
        table.alter_column("items.element", comment="no")


# --- others at the same time --------------------------------------------------------------------


def test_rows_that_come_meanwhile_are_there_without_the_new_column(path: Path) -> None:
    rows = interrupted(path, lambda: lakebed.write(path, ROWS))
    add_columns(rows, {"price": "int"})
    assert [row["price"] for row in by_deltalake(path)] == [None] * 4


def test_two_changes_of_the_columns_at_once_conflict(mapped: Path) -> None:
    rows = interrupted(mapped, lambda: lakebed.open(mapped).add_columns({"x": "int"}))
    with pytest.raises(MetadataChangedError):
        drop_columns(rows, ["id"])
    assert operations(mapped) == ["WRITE", "ADD COLUMNS"]
    assert "id" in by_deltalake(mapped)[0]
