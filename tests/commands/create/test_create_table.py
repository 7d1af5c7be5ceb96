"""CREATE and REPLACE TABLE, without Spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

import lakebed
from lakebed.commands.create.create_table import Mode, TableDefinition, create_table
from lakebed.errors import (
    AppendOnlyError,
    ConcurrentAppendError,
    InvalidArgumentError,
    LakebedError,
    SchemaError,
    TableExistsError,
    TableNotFoundError,
)
from lakebed.spec.columns.column_metadata import GENERATION_EXPRESSION, Identity, with_identity
from lakebed.spec.features import supported_features
from lakebed.spec.schema import LONG, STRING, StructField, StructType
from testkit.other_writers import interrupted, target
from testkit.readers.log_json import last_commit, operations
from testkit.readers.other_readers import by_deltalake, by_duckdb

SCHEMA = StructType(
    (
        StructField("id", LONG, nullable=False),
        StructField("day", STRING, metadata={"comment": "when"}),
        StructField("s", StructType((StructField("x", LONG),))),
    )
)
PLAIN = TableDefinition(SCHEMA)
ROWS = pa.table({"id": [1, 2], "day": ["a", "b"]})
MODES: tuple[Mode, ...] = ("create", "create_if_not_exists", "create_or_replace")


@pytest.mark.parametrize("mode", MODES)
def test_a_table_is_made_as_it_is_described(tmp_path: Path, mode: Mode) -> None:
    path = tmp_path / "t"
    definition = TableDefinition(
        SCHEMA,
        partition_by=("DAY",),
        properties={"delta.appendOnly": "true", "mine": "1"},
        default_properties={"delta.enableChangeDataFeed": "true"},
        name="orders",
        comment="all of them",
    )
    create_table(target(path), definition, mode)
    found = DeltaTable(str(path))
    assert found.metadata().partition_columns == ["day"]
    assert found.metadata().description == "all of them"
    assert found.metadata().name == "orders"
    assert found.metadata().configuration == {
        "delta.appendOnly": "true",
        "delta.enableChangeDataFeed": "true",
        "mine": "1",
    }
    fields = {field.name: field for field in found.schema().fields}
    assert (fields["id"].nullable, fields["day"].metadata) == (False, {"comment": "when"})
    assert by_deltalake(path) == []
    info = last_commit(path)["commitInfo"]
    names = {"create_or_replace": "CREATE OR REPLACE TABLE"}
    assert info["operation"] == names.get(mode, "CREATE TABLE")
    parameters = info["operationParameters"]
    assert parameters["isManaged"] == "false"
    assert parameters["description"] == "all of them"
    assert json.loads(parameters["partitionBy"]) == ["day"]
    assert json.loads(parameters["clusterBy"]) == []
    assert json.loads(parameters["properties"])["mine"] == "1"
    assert lakebed.write(path, ROWS).to_arrow().num_rows == 2


def test_a_table_is_made_clustered(tmp_path: Path) -> None:
    path = tmp_path / "t"
    properties = {"delta.columnMapping.mode": "id"}
    definition = TableDefinition(SCHEMA, cluster_by=(("ID",), ("s", "x")), properties=properties)
    create_table(target(path), definition, "create")
    table = lakebed.open(path)
    assert table.clustering_columns == ("id", "s.x")
    assert {"clustering", "domainMetadata"} <= supported_features(table.protocol)
    stored = json.loads(last_commit(path)["domainMetadata"]["configuration"])
    assert stored["clusteringColumns"][0][0].startswith("col-")


def test_generated_and_identity_columns_work_from_the_first_row(tmp_path: Path) -> None:
    fields = (
        with_identity(StructField("i", LONG), Identity(10, 5)),
        StructField("v", LONG),
        StructField("g", LONG, metadata={GENERATION_EXPRESSION: "v * 2"}),
    )
    create_table(target(tmp_path / "t"), TableDefinition(StructType(fields)), "create")
    lakebed.write(tmp_path / "t", pa.table({"v": [1, 2]}))
    found = sorted(by_deltalake(tmp_path / "t"), key=lambda row: row["v"])
    assert found == [{"i": 10, "v": 1, "g": 2}, {"i": 15, "v": 2, "g": 4}]


REFUSED: dict[str, tuple[TableDefinition, type[LakebedError]]] = {
    "no columns": (TableDefinition(StructType()), InvalidArgumentError),
    "no such partition": (TableDefinition(SCHEMA, ("nope",)), SchemaError),
    "only partitions": (
        TableDefinition(StructType((StructField("a", LONG),)), ("a",)),
        LakebedError,
    ),
    "both layouts": (TableDefinition(SCHEMA, ("day",), (("id",),)), InvalidArgumentError),
    "no such cluster": (TableDefinition(SCHEMA, (), (("nope",),)), SchemaError),
    "bad property": (TableDefinition(SCHEMA, properties={"delta.x": "1"}), LakebedError),
    "bad name": (TableDefinition(StructType((StructField("a b", LONG),))), SchemaError),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_is_no_table_is_not_made(tmp_path: Path, case: Any) -> None:
    with pytest.raises(case[1]):
        create_table(target(tmp_path / "t"), case[0], "create")
    assert list(tmp_path.rglob("*.json")) == []


def test_a_table_that_exists_is_kept_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "t"
    lakebed.write(path, ROWS)
    with pytest.raises(TableExistsError):
        create_table(target(path), PLAIN, "create")
    assert create_table(target(path), PLAIN, "create_if_not_exists").version == 0
    assert operations(path) == ["WRITE"]
    with pytest.raises(TableNotFoundError):
        create_table(target(tmp_path / "none"), PLAIN, "replace")


@pytest.mark.parametrize("mode", ["create", "create_or_replace"])
def test_files_that_lie_around_do_not_become_part_of_a_table(tmp_path: Path, mode: Mode) -> None:
    path = tmp_path / "t"
    path.mkdir()
    (path / "part.parquet").write_bytes(b"PAR1")
    with pytest.raises(TableExistsError, match=r"part\.parquet"):
        create_table(target(path), PLAIN, mode)
    (path / "part.parquet").rename(path / "_hidden.parquet")
    assert create_table(target(path), PLAIN, mode).version == 0


@pytest.mark.parametrize("mode", ["replace", "create_or_replace"])
def test_a_replaced_table_is_empty_and_keeps_its_history(tmp_path: Path, mode: Mode) -> None:
    path = tmp_path / "t"
    old = lakebed.write(path, ROWS, properties={"delta.enableDeletionVectors": "true", "a": "1"})
    create_table(target(path), TableDefinition(SCHEMA, comment="new"), mode)
    table = lakebed.open(path)
    assert table.version == 1
    assert (table.properties, table.description) == ({}, "new")
    assert "deletionVectors" in supported_features(table.protocol)
    assert table.snapshot.metadata.id != old.snapshot.metadata.id
    assert by_deltalake(path) == []
    assert table.to_arrow().num_rows == 0
    assert lakebed.open(path, version=0).to_arrow().num_rows == 2
    name = "REPLACE TABLE" if mode == "replace" else "CREATE OR REPLACE TABLE"
    assert operations(path) == ["WRITE", name]


def test_ids_of_columns_never_come_again(tmp_path: Path) -> None:
    path = tmp_path / "t"
    properties = {"delta.columnMapping.mode": "name"}
    old = lakebed.write(path, ROWS, properties=properties)
    definition = TableDefinition(
        StructType((StructField("id", LONG), StructField("new", LONG))), properties=properties
    )
    create_table(target(path), definition, "replace")
    table = lakebed.open(path)
    before, after = old.schema.field("id").metadata, table.schema.field("id").metadata
    assert after == before
    assert table.schema.field("new").metadata["delta.columnMapping.id"] == 3
    assert table.properties["delta.columnMapping.maxColumnId"] == "3"


def test_what_a_table_was_clustered_by_goes_with_it(tmp_path: Path) -> None:
    path = tmp_path / "t"
    lakebed.write(path, ROWS).cluster_by("id")
    create_table(target(path), PLAIN, "replace")
    assert lakebed.open(path).clustering_columns == ()
    with pytest.raises(InvalidArgumentError, match="clustered"):
        create_table(target(path), TableDefinition(SCHEMA, ("day",)), "replace")


def test_an_append_only_table_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "t"
    lakebed.write(path, ROWS, properties={"delta.appendOnly": "true"})
    with pytest.raises(AppendOnlyError):
        create_table(target(path), PLAIN, "replace")
    assert len(by_deltalake(path)) == 2


def test_rows_that_come_while_a_table_is_replaced_are_a_conflict(tmp_path: Path) -> None:
    path = tmp_path / "t"
    lakebed.write(path, ROWS)
    with pytest.raises(ConcurrentAppendError):
        create_table(interrupted(path, lambda: lakebed.write(path, ROWS)), PLAIN, "replace")
    assert len(by_deltalake(path)) == 4


@pytest.mark.parametrize(
    ("mode", "outcome"),
    [("create", TableExistsError), ("create_if_not_exists", 2), ("create_or_replace", 0)],
)
def test_who_comes_second_goes_by_the_mode(tmp_path: Path, mode: Mode, outcome: Any) -> None:
    path = tmp_path / "t"
    late = interrupted(path, lambda: lakebed.write(path, ROWS))
    if isinstance(outcome, type):
        with pytest.raises(outcome):
            create_table(late, PLAIN, mode)
    else:
        create_table(late, PLAIN, mode)
    assert len(by_deltalake(path)) == (2 if mode == "create" else outcome)


# --- without Spark ------------------------------------------------------------------------------


def test_a_table_is_created_standalone(tmp_path: Path) -> None:
    path = tmp_path / "t"
    columns = {"id": "bigint", "s": "struct<a:int>", "code": "varchar(3)"}
    table = lakebed.create(
        path, columns, cluster_by="id", properties={"own": "1"}, name="n", comment="c"
    )
    assert (table.version, table.schema.names) == (0, ("id", "s", "code"))
    assert (table.name, table.description, table.properties) == ("n", "c", {"own": "1"})
    assert table.clustering_columns == ("id",)
    assert by_duckdb(path) == []
    with pytest.raises(TableExistsError):
        lakebed.create(path, columns)
    assert lakebed.create(path, {"x": "int"}, mode="create_if_not_exists").version == 0
    table.write(pa.table({"id": [1], "code": ["abc"]}))
    schema = pa.schema([pa.field("day", pa.date32(), nullable=False), ("v", pa.string())])
    table = lakebed.create(path, schema, mode="create_or_replace")
    assert (table.version, table.schema.names, by_duckdb(path)) == (2, ("day", "v"), [])
    assert not table.schema.field("day").nullable
    assert lakebed.open(path, version=1).to_arrow().num_rows == 1
    parts = lakebed.create(tmp_path / "p", schema, partition_by="day")
    assert parts.partition_columns == ("day",)


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ("id bigint", {}),
        (3, {}),
        ({}, {}),
        ({"id": "nope"}, {}),
        ({"id": "bigint"}, {"mode": "overwrite"}),
        ({"id": "bigint"}, {"mode": "replace"}),
        ({"id": "bigint"}, {"partition_by": 3}),
        ({"id": "bigint"}, {"cluster_by": ["x"]}),
        ({"id": "bigint", "b": "int"}, {"cluster_by": "id", "partition_by": "b"}),
        ({"id": "bigint"}, {"properties": "a"}),
        ({"id": "bigint"}, {"properties": {"delta.nope": "1"}}),
    ],
)
def test_what_is_no_table_is_not_created_standalone(
    tmp_path: Path, columns: Any, options: Any
) -> None:
    with pytest.raises(LakebedError):
        lakebed.create(tmp_path / "t", columns, **options)
    assert not lakebed.is_delta_table(tmp_path / "t")
