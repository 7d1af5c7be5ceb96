"""Tables with Iceberg compatibility: made, written, changed, and what is refused there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table import StaticTable

import lakebed
from lakebed.errors import (
    ConcurrentAppendError,
    InvalidArgumentError,
    InvalidCommitError,
    LakebedError,
    MetadataChangedError,
    SchemaError,
    TablePropertyError,
    UnsupportedFeatureError,
)
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Add
from lakebed.storage import open_store
from lakebed.transaction import Operation, Transaction
from testkit.readers.iceberg_compat_facts import problems
from testkit.readers.log_json import actions_of, configuration_of, live_adds, metadata_of
from testkit.readers.other_readers import by_deltalake, by_duckdb

V1 = {"delta.enableIcebergCompatV1": "true"}
V2 = {"delta.enableIcebergCompatV2": "true"}
MAPPED = {"delta.columnMapping.mode": "name"}
FORMATS = "delta.universalFormat.enabledFormats"
FLAT = pa.table(
    {
        "id": pa.array([1, 2, None], pa.int64()),
        "p": ["a", "b", None],
        "s": pa.array([{"x": 1, "y": "u"}, None, {"x": None, "y": "v"}]),
    }
)
NESTED = FLAT.append_column(
    "l", pa.array([[[1], [2, 3]], None, []], pa.list_(pa.list_(pa.int32())))
).append_column(
    "m",
    pa.array(
        [[("k", {"z": [1]})], [], None],
        pa.map_(pa.string(), pa.struct([("z", pa.list_(pa.int64()))])),
    ),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t"


def rows(found: list[dict[str, Any]]) -> list[str]:
    return sorted(repr(row) for row in found)


def check(path: Path, version: int, expected: pa.Table) -> None:
    assert problems(path, version) == []
    readers = [by_deltalake, lambda each: lakebed.open(each).to_arrow().to_pylist()]
    if not metadata_of(path)["partitionColumns"]:
        # DuckDB finds nulls in partition columns of any table with column mapping.
        readers.append(by_duckdb)
    for reader in readers:
        found = reader(path)
        assert rows(_plain(found)) == rows(_plain(expected.to_pylist()))


def _plain(found: Any) -> Any:
    """Maps come as dictionaries or as pairs."""
    text = json.dumps(found, default=str)
    return [json.loads(each) for each in map(json.dumps, json.loads(text, object_hook=_pairs))]


def _pairs(found: dict[str, Any]) -> Any:
    if set(found) == {"k"}:
        return [["k", found["k"]]]
    return found


# --- new tables ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "data", "partition_by"),
    [(1, FLAT, None), (1, FLAT, ["p"]), (2, FLAT, ["p"]), (2, NESTED, None), (2, NESTED, ["p"])],
    ids=["v1", "v1 by p", "v2 by p", "v2 nested", "v2 nested by p"],
)
def test_a_new_table_has_ids_in_all_files_and_others_read_it(
    path: Path, version: int, data: pa.Table, partition_by: list[str] | None
) -> None:
    properties = {f"delta.enableIcebergCompatV{version}": "true"}
    lakebed.write(path, data, partition_by=partition_by, properties=properties)
    lakebed.write(path, data)
    assert configuration_of(path)["delta.columnMapping.mode"] == "name"
    features = lakebed.open(path).protocol.writer_features or ()
    assert {"columnMapping", f"icebergCompatV{version}"} <= set(features)
    check(path, version, pa.concat_tables([data, data]))


def test_new_columns_get_ids_of_their_own_at_every_depth(path: Path) -> None:
    lakebed.write(path, FLAT, properties=V2)
    lakebed.write(path, NESTED, merge_schema=True)
    empty = NESTED.slice(0, 0)
    old = pa.concat_tables([FLAT, empty], promote_options="default")
    check(path, 2, pa.concat_tables([old, NESTED]))


def test_an_overwrite_with_another_schema_keeps_the_ids_of_columns_that_stay(path: Path) -> None:
    lakebed.write(path, NESTED, properties=V2)
    before = json.loads(metadata_of(path)["schemaString"])["fields"]
    changed = NESTED.drop_columns(["id"])
    lakebed.write(path, changed, mode="overwrite", overwrite_schema=True)
    after = json.loads(metadata_of(path)["schemaString"])["fields"]
    assert after == [field for field in before if field["name"] != "id"]
    check(path, 2, changed)


def test_deletion_vectors_that_are_only_a_default_stay_off(path: Path) -> None:
    from lakebed.commands.target.write_options import WriteOptions
    from lakebed.commands.target.write_target import new_table
    from lakebed.formats.arrow_types import from_arrow_schema

    vectors = {"delta.enableDeletionVectors": "true"}
    options = WriteOptions(properties=V2, default_properties=vectors)
    made = new_table(from_arrow_schema(FLAT.schema), options)
    assert "delta.enableDeletionVectors" not in made.metadata.configuration
    with pytest.raises(TablePropertyError, match="are both true"):
        lakebed.write(path, FLAT, properties={**V2, **vectors})
    assert not path.exists()


REFUSED: dict[str, tuple[pa.Table, dict[str, str]]] = {
    "both": (FLAT, {**V1, **V2}),
    "no mapping": (FLAT, {**V2, "delta.columnMapping.mode": "none"}),
    "array in v1": (NESTED, V1),
    "void in v2": (FLAT.append_column("n", pa.nulls(3)), V2),
    "only formats": (FLAT, {FORMATS: "iceberg"}),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_a_version_does_not_allow_is_no_new_table(
    path: Path, case: tuple[pa.Table, dict[str, str]]
) -> None:
    with pytest.raises((TablePropertyError, SchemaError)):
        lakebed.write(path, case[0], properties=case[1])
    assert not path.exists()


def test_empty_partition_values_are_null_in_the_files_as_they_are_in_the_log(path: Path) -> None:
    data = pa.table({"id": [1, 2, 3], "p": ["", "a", None], "b": [b"x", b"", b""]})
    lakebed.write(path, data, partition_by=["p", "b"], properties={**V2, FORMATS: "iceberg"})
    wanted = [(1, None, b"x"), (2, "a", None), (3, None, None)]
    by_iceberg = StaticTable.from_metadata(str(path)).scan().to_arrow().to_pylist()
    for found in (by_deltalake(path), by_iceberg, lakebed.open(path).to_arrow().to_pylist()):
        assert sorted(tuple(row.values()) for row in found) == wanted
    files = [pq.ParquetFile(path / each).read() for each in live_adds(path)]
    stored = [tuple(row.values()) for each in files for row in each.to_pylist()]
    assert sorted(stored) == wanted


# --- changes of the table -----------------------------------------------------------------------

CHANGES: dict[str, Any] = {
    "vectors": lambda table: table.set_properties({"delta.enableDeletionVectors": "true"}),
    "v1 too": lambda table: table.set_properties(V1),
    "other partitions": lambda table: table.write(
        FLAT, mode="overwrite", overwrite_schema=True, partition_by=["id"]
    ),
    "renamed partition": lambda table: table.rename_column("p", "q"),
    "void column": lambda table: table.add_columns({"n": "void"}),
    "variant column": lambda table: table.add_columns({"n": "variant"}),
    "date to timestamp": lambda table: table.alter_column("d", type="timestamp_ntz"),
    "mapping": lambda table: table.drop_feature("columnMapping"),
    "the feature": lambda table: table.drop_feature("icebergCompatV2"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_that_the_version_does_not_allow_is_refused(path: Path, change: Any) -> None:
    data = FLAT.append_column("d", pa.array([1, 2, 3], pa.date32()))
    features = {"delta.enableTypeWidening": "true", "delta.feature.variantType": "supported"}
    table = lakebed.write(path, data, partition_by=["p"], properties={**V2, **features})
    with pytest.raises(LakebedError) as caught:
        change(table)
    assert isinstance(
        caught.value,
        TablePropertyError | SchemaError | InvalidArgumentError | UnsupportedFeatureError,
    )
    assert len(list((path / "_delta_log").glob("*.json"))) == 1


def test_columns_are_renamed_added_dropped_and_widened(path: Path) -> None:
    data = pa.table({"n": pa.array([1], pa.int32()), "old": ["x"]})
    table = lakebed.write(path, data, properties={**V2, "delta.enableTypeWidening": "true"})
    table = table.alter_column("n", type="bigint").rename_column("old", "new")
    table = table.add_columns({"l": "array<string>"}).drop_columns("new")
    more = pa.table({"n": pa.array([2], pa.int64()), "l": [["a", None]]})
    lakebed.write(path, more)
    expected = pa.table({"n": pa.array([1, 2], pa.int64()), "l": pa.array([None, ["a", None]])})
    assert problems(path, 2) == []
    assert rows(by_duckdb(path)) == rows(expected.to_pylist())


def test_turning_the_version_off_ends_the_promise_to_readers_of_iceberg(path: Path) -> None:
    table = lakebed.write(path, FLAT, properties={**V2, FORMATS: "iceberg"})
    table.set_properties({"delta.enableIcebergCompatV2": "false"})
    assert FORMATS not in configuration_of(path)
    with pytest.raises(TablePropertyError, match="UPGRADE UNIFORM"):
        lakebed.open(path).set_properties({FORMATS: "iceberg"})
    lakebed.open(path).set_properties({**V2, FORMATS: "iceberg"})
    lakebed.open(path).unset_properties("delta.enableIcebergCompatV2")
    assert FORMATS not in configuration_of(path)


# --- turning it on ------------------------------------------------------------------------------


def test_a_table_whose_files_have_ids_can_turn_it_on(path: Path) -> None:
    lakebed.write(path, FLAT, properties=MAPPED)
    lakebed.open(path).set_properties({**V2, FORMATS: "iceberg"})
    lakebed.write(path, FLAT)
    assert rows(by_deltalake(path)) == rows(pa.concat_tables([FLAT, FLAT]).to_pylist())


@pytest.mark.parametrize(
    ("data", "partition_by", "properties", "change"),
    [
        (FLAT, None, {}, {**V2, **MAPPED}),
        (FLAT, None, {}, V2),
        (FLAT, ["p"], MAPPED, V1),
        (NESTED, None, MAPPED, V2),
        (FLAT, None, {**MAPPED, "delta.enableDeletionVectors": "true"}, V2),
    ],
    ids=["no ids", "no mapping", "no partition values", "no ids inside", "vectors"],
)
def test_a_table_with_other_files_is_sent_to_reorg(
    path: Path,
    data: pa.Table,
    partition_by: list[str] | None,
    properties: dict[str, str],
    change: dict[str, str],
) -> None:
    lakebed.write(path, data, partition_by=partition_by, properties=properties)
    with pytest.raises(TablePropertyError) as caught:
        lakebed.open(path).set_properties(change)
    assert "REORG TABLE ... APPLY (UPGRADE UNIFORM" in (caught.value.hint or "")
    assert len(list((path / "_delta_log").glob("*.json"))) == 1


# --- commits, restores, clones ------------------------------------------------------------------


def test_a_file_without_a_number_of_rows_is_not_committed(path: Path) -> None:
    lakebed.write(path, FLAT, properties=V2)
    log = TableLog(open_store(str(path)))
    [known] = live_adds(path).values()
    add = Add.parse({**known, "path": "other.parquet", "stats": None})
    transaction = Transaction(log.snapshot(), operation=Operation("WRITE"))
    transaction.stage(add)
    with pytest.raises(InvalidCommitError, match="numRecords"):
        transaction.commit()


def test_a_write_that_began_before_is_a_conflict(path: Path) -> None:
    """It knows nothing of the ids and values that its files would need."""
    lakebed.write(path, FLAT, properties=MAPPED)
    log = TableLog(open_store(str(path)))
    transaction = Transaction(log.snapshot(), operation=Operation("WRITE"))
    [known] = live_adds(path).values()
    transaction.stage(Add.parse({**known, "path": "other.parquet"}))
    lakebed.open(path).set_properties(V2)
    with pytest.raises(MetadataChangedError):
        transaction.commit().unwrap()


def test_files_that_come_while_it_is_turned_on_are_a_conflict(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakebed.commands.alter import table_properties as properties

    lakebed.write(path, FLAT, partition_by=["p"], properties=MAPPED)
    lakebed.write(path, FLAT.slice(0, 0), mode="overwrite")
    check_files = properties.check_files

    def check_and_write(*arguments: Any) -> None:
        check_files(*arguments)
        lakebed.write(path, FLAT)

    monkeypatch.setattr(properties, "check_files", check_and_write)
    table = lakebed.open(path)
    with pytest.raises(ConcurrentAppendError):
        table.set_properties(V2)


def test_tags_are_in_checkpoints(path: Path) -> None:
    from lakebed.formats.file_actions import adds_from_table

    lakebed.write(path, FLAT, properties=V2).checkpoint()
    (path / "_delta_log" / f"{0:020d}.json").unlink()
    [add] = adds_from_table(lakebed.open(path).snapshot.files())
    assert add.tags == {"ICEBERG_COMPAT_VERSION": "2"}


def test_a_restored_table_and_a_clone_keep_the_tags_and_the_ids(path: Path) -> None:
    table = lakebed.write(path, NESTED, partition_by=["p"], properties=V2)
    lakebed.write(path, NESTED, mode="overwrite")
    table.refresh().restore(0)
    check(path, 2, NESTED)
    lakebed.open(path).clone(path.parent / "clone")
    check(path.parent / "clone", 2, NESTED)
    lakebed.write(path.parent / "clone", NESTED)
    check(path.parent / "clone", 2, pa.concat_tables([NESTED, NESTED]))


def test_a_clone_does_not_turn_the_version_on(path: Path) -> None:
    table = lakebed.write(path, FLAT, properties=MAPPED)
    with pytest.raises(InvalidArgumentError, match="cannot turn"):
        table.clone(path.parent / "clone", properties=V2)


def test_the_commit_says_what_the_protocol_wants(path: Path) -> None:
    lakebed.write(path, FLAT, properties=V2)
    [protocol] = [each["protocol"] for each in actions_of(path) if "protocol" in each]
    assert protocol["minReaderVersion"] == 2
    assert protocol["minWriterVersion"] == 7
    [add] = live_adds(path).values()
    assert add["tags"] == {"ICEBERG_COMPAT_VERSION": "2"}
