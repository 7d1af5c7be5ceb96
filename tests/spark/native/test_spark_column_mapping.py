"""Columns under other names than in the data files, at every depth; the scan stays native."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed.spec.columns.column_mapping import physical_name
from lakebed.spec.schema import STRING, StructField, StructType, schema_to_json, transform
from testkit.readers.scan_facts import assert_native, load, num_files, plan, pushed, rows
from testkit.schemas import column
from testkit.tables.arbitrary_tables import add_file, commit, make_table

DATA = pa.table(
    {
        "a": [1, 2, None],
        "s": [{"x": 1, "t": {"y": "u"}}, None, {"x": None, "t": None}],
        "l": [[{"e": 1}], [], None],
        "m": pa.array(
            [[("k", {"v": 2})], [], None], pa.map_(pa.string(), pa.struct([("v", pa.int64())]))
        ),
        "p": ["one", "two", None],
    }
)


def rename(path: Path, *, prefix: str = "new ") -> None:
    """New logical names for all columns and fields."""
    snapshot = lakebed.open(path).snapshot
    renamed = transform(
        snapshot.schema,
        lambda _, field: StructField(
            f"{prefix}{field.name}", field.data_type, field.nullable, field.metadata
        ),
    )
    partitions = tuple(f"{prefix}{name}" for name in snapshot.partition_columns)
    changed = replace(
        snapshot.metadata, schema_string=schema_to_json(renamed), partition_columns=partitions
    )
    commit(path, changed)


@pytest.fixture(params=["name", "id"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def path(tmp_path: Path, mode: str) -> Path:
    properties = {"delta.columnMapping.mode": mode}
    lakebed.write(tmp_path / "t", DATA, partition_by="p", properties=properties)
    rename(tmp_path / "t")
    return tmp_path / "t"


def test_renamed_columns_have_their_values_at_every_depth(spark: SparkSession, path: Path) -> None:
    frame = load(spark, path)
    assert_native(frame.select("new a", "new s", "new p"))
    assert frame.columns == ["new a", "new s", "new l", "new m", "new p"]
    assert rows(frame) == rows(lakebed.open(path).to_arrow())
    assert frame.where("`new s` IS NULL").count() == 1


def test_filters_on_renamed_columns_skip_files_and_reach_the_reader(
    spark: SparkSession, path: Path, mode: str
) -> None:
    frame = load(spark, path)
    by_field = frame.where("`new s`.`new x` = 1")
    assert num_files(by_field) == 1
    assert by_field.count() == 1
    by_column = frame.where("`new a` > 1")
    assert num_files(by_column) == 1
    assert [row["new p"] for row in by_column.collect()] == ["two"]
    assert num_files(frame.where("`new p` = 'one'")) == 1
    assert frame.where("`new s`.`new t`.`new y` LIKE 'u%'").count() == 1
    if mode == "name":
        # With ids Spark itself does without row-group filters.
        assert "GreaterThan" in pushed(by_column)


def test_only_the_fields_that_are_asked_for_are_read(spark: SparkSession, path: Path) -> None:
    found = load(spark, path).select("new s.new t.new y")
    assert [row[0] for row in found.orderBy("new y").collect()] == [None, None, "u"]
    schema = plan(found).partition("ReadSchema: ")[2]
    assert schema.count("struct<") <= 3
    assert "map<" not in schema


def test_columns_may_swap_their_names(spark: SparkSession, tmp_path: Path) -> None:
    data = pa.table({"a": [1], "b": [2], "s": [{"x": 3, "y": 4}]})
    lakebed.write(tmp_path / "t", data, properties={"delta.columnMapping.mode": "name"})
    snapshot = lakebed.open(tmp_path / "t").snapshot
    other = {"a": "b", "b": "a", "x": "y", "y": "x", "s": "s"}
    swapped = transform(
        snapshot.schema,
        lambda _, field: StructField(
            other[field.name], field.data_type, field.nullable, field.metadata
        ),
    )
    commit(tmp_path / "t", replace(snapshot.metadata, schema_string=schema_to_json(swapped)))
    frame = load(spark, tmp_path / "t")
    assert frame.select("a", "b", "s.x", "s.y").collect()[0] == (2, 1, 4, 3)
    assert frame.where("a = 2 AND s.x = 4").count() == 1
    assert frame.where("a = 1 OR s.x = 3").count() == 0


def test_in_mode_id_the_field_id_decides_and_not_the_name(
    spark: SparkSession, tmp_path: Path
) -> None:
    properties = {"delta.columnMapping.mode": "id"}
    table = make_table(tmp_path, column("a"), column("b", STRING), properties=properties)
    fields = [
        pa.field("whatever", pa.string(), metadata={"PARQUET:field_id": "2"}),
        pa.field(
            physical_name(table.schema.field("b")),
            pa.int64(),
            metadata={"PARQUET:field_id": "1"},
        ),
    ]
    add_file(tmp_path, pa.table([["x"], [7]], schema=pa.schema(fields)))
    assert load(spark, tmp_path).collect()[0] == (7, "x")


def test_in_mode_id_a_single_field_of_a_struct_is_found_by_its_id(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark forgets the ids of fields where it reads only some of them."""
    inner = StructType((column("x"), column("y", STRING)))
    make_table(tmp_path, column("s", inner), properties={"delta.columnMapping.mode": "id"})
    fields = [
        pa.field("other y", pa.string(), metadata={"PARQUET:field_id": "3"}),
        pa.field("other x", pa.int64(), metadata={"PARQUET:field_id": "2"}),
    ]
    struct = pa.field("other s", pa.struct(fields), metadata={"PARQUET:field_id": "1"})
    values = [{"other y": "v", "other x": 7}, None]
    add_file(tmp_path, pa.table([pa.array(values, struct.type)], schema=pa.schema([struct])))
    frame = load(spark, tmp_path)
    assert [row[0] for row in frame.select("s.y").collect()] == ["v", None]
    assert frame.where("s.x = 7").select("s.y").collect() == [("v",)]
    assert frame.where("s IS NULL").count() == 1
    assert frame.schema["s"].metadata == {}


def test_a_dropped_column_is_not_seen_and_a_new_one_of_its_name_is_null(
    spark: SparkSession, path: Path, mode: str
) -> None:
    del mode
    snapshot = lakebed.open(path).snapshot
    new = StructField(
        "new a",
        STRING,
        True,
        {"delta.columnMapping.id": 100, "delta.columnMapping.physicalName": "col-new"},
    )
    schema = StructType((new, *snapshot.schema.fields[1:]))
    configuration = {
        **snapshot.metadata.configuration,
        "delta.columnMapping.maxColumnId": "100",
    }
    changed: Any = replace(
        snapshot.metadata, schema_string=schema_to_json(schema), configuration=configuration
    )
    commit(path, changed)
    assert [row[0] for row in load(spark, path).select("new a").collect()] == [None] * 3
