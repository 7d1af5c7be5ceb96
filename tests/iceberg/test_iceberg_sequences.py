"""Whatever happens to a table, readers of Iceberg see the rows of its newest Delta version."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import lakebed
from lakebed.errors import InvalidArgumentError
from lakebed.iceberg import snapshots
from lakebed.spec.actions import Metadata
from lakebed.spec.schema import DOUBLE, StructField
from testkit.tables.iceberg_tables import (
    ON,
    by_pyiceberg,
    check_same,
    commit,
    document,
    entries,
    foreign_commit,
    ids,
    live,
    make,
    manifests,
    numbers,
    removal,
    rows,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a table ä"


def test_an_append_writes_one_manifest_and_keeps_the_others(path: Path) -> None:
    make(path)
    before = manifests(path)
    lakebed.write(path, numbers(10, 20))
    check_same(path)
    after = manifests(path)
    assert before[0] in after
    assert len(after) == 2
    newest = document(path)["snapshots"][-1]
    assert newest["summary"]["operation"] == "append"
    assert newest["summary"]["total-records"] == "20"
    assert newest["parent-snapshot-id"] == document(path)["snapshots"][0]["snapshot-id"]


def test_a_removal_rewrites_only_the_manifest_that_has_the_file(path: Path) -> None:
    make(path)
    for start in (10, 20, 30):
        lakebed.write(path, numbers(start, start + 10))
    before = manifests(path)
    commit(path, removal(live(path)[1]), operation="DELETE")
    check_same(path)
    assert [m for m in manifests(path) if m in before] == [before[0], before[2], before[3]]
    assert document(path)["snapshots"][-1]["summary"]["operation"] == "delete"
    assert [e["status"] for e in entries(path)].count(2) == 1
    # The note of the deletion is for the one snapshot.
    lakebed.write(path, numbers(50, 51))
    assert [e["status"] for e in entries(path)] == [1, 1, 1, 1]
    check_same(path)


def test_overwrite_replace_where_and_compaction_are_followed(path: Path) -> None:
    make(path, partition_by=["day"])
    lakebed.write(path, numbers(10, 20, "it's 50% a/b=c"))
    lakebed.write(path, numbers(20, 30, None))
    check_same(path)
    lakebed.write(path, numbers(90, 95), mode="overwrite", replace_where="day = 'mon'")
    check_same(path)
    assert document(path)["snapshots"][-1]["summary"]["operation"] == "overwrite"
    old = live(path)[0]
    moved = replace(old, path=f"moved/{old.path.rpartition('/')[2]}", data_change=False)
    (path / "moved").mkdir()
    shutil.copy(path / old.path, path / moved.path)
    commit(path, removal(old, data_change=False), moved, operation="OPTIMIZE")
    check_same(path)
    assert document(path)["snapshots"][-1]["summary"]["operation"] == "replace"
    lakebed.write(path, numbers(0, 3), mode="overwrite")
    check_same(path)
    assert ids(path) == [0, 1, 2]
    lakebed.open(path).restore(version=2)
    check_same(path)
    assert ids(path) == list(range(30))


def test_partition_values_prune_and_special_ones_are_read(path: Path) -> None:
    make(path, partition_by=["day"])
    for number, day in enumerate(["a b", "ü/%20", "#?", None, "x=y"]):
        lakebed.write(path, numbers(100 + number, 101 + number, day))
    check_same(path)
    assert by_pyiceberg(path, row_filter="day = 'ü/%20'").column("id").to_pylist() == [101]
    assert by_pyiceberg(path, row_filter="day is null").column("id").to_pylist() == [103]


def test_schema_changes_get_new_ids_and_old_files_are_read_by_them(path: Path) -> None:
    table = make(path)
    first = document(path)
    table = table.add_columns([StructField("x", DOUBLE)])
    check_same(path)
    second = document(path)
    assert len(second["snapshots"]) == 1, "no file has changed"
    assert (first["current-schema-id"], second["current-schema-id"]) == (0, 1)
    assert second["last-column-id"] == first["last-column-id"] + 1
    lakebed.write(path, pa.table({"id": [77], "day": ["tue"], "x": [1.5]}))
    check_same(path)
    table.refresh().rename_column("x", "y z").drop_columns("day")
    check_same(path)
    lakebed.open(path).add_columns([StructField("day", DOUBLE)])
    check_same(path)
    document_now = document(path)
    assert document_now["table-uuid"] == first["table-uuid"]
    assert [each["schema-id"] for each in document_now["schemas"]] == [0, 1, 2, 3, 4]


def test_overwriting_the_schema_and_the_partitions_starts_anew(path: Path) -> None:
    make(path)
    data = pa.table({"day": pa.array([1, 2], pa.int32()), "part": ["a", "b"]})
    lakebed.write(path, data, mode="overwrite", overwrite_schema=True, partition_by=["part"])
    check_same(path)
    assert len(document(path)["snapshots"]) == 1
    lakebed.write(path, data)
    check_same(path)


def test_an_empty_table_is_an_empty_iceberg_table(path: Path) -> None:
    lakebed.write(path, numbers(0, 0), properties=ON)
    check_same(path)
    assert ids(path) == []


def test_turning_it_on_publishes_what_is_there(path: Path) -> None:
    compatible = "delta.enableIcebergCompatV2"
    lakebed.write(path, numbers(0, 10), properties={compatible: "true"})
    lakebed.write(path, numbers(10, 20))
    assert not (path / "metadata").exists()
    lakebed.open(path).set_properties(ON)
    check_same(path)
    lakebed.open(path).unset_properties("delta.universalFormat.enabledFormats")
    lakebed.write(path, numbers(20, 30))
    assert ids(path) == list(range(20)), "nobody publishes any more"
    with pytest.raises(InvalidArgumentError, match="not a table for readers of Iceberg"):
        lakebed.open(path).generate("iceberg")


def test_a_file_that_is_added_again_is_there_once(path: Path) -> None:
    make(path)
    lakebed.write(path, numbers(10, 20))
    again = replace(live(path)[0], tags={"a": "b"})
    foreign_commit(path, again)
    lakebed.write(path, numbers(20, 30))
    check_same(path)
    assert ids(path) == list(range(30))


def test_many_small_manifests_are_put_together(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "MANY_MANIFESTS", 4)
    make(path)
    for start in range(10, 70, 10):
        lakebed.write(path, numbers(start, start + 10))
        check_same(path)
    assert len(manifests(path)) < 5
    commit(path, removal(live(path)[2]), removal(live(path)[5]))
    check_same(path)


def test_files_without_statistics_have_their_rows_counted_by_their_footers(path: Path) -> None:
    make(path)
    bare = replace(live(path)[0], stats=None)
    foreign_commit(path, removal(bare), bare)
    lakebed.write(path, numbers(10, 15))
    check_same(path)
    live_ones = [e["data_file"] for e in entries(path) if e["status"] != 2]
    assert sorted(file["record_count"] for file in live_ones) == [5, 10]


def test_a_copied_table_is_published_at_its_own_place(path: Path, tmp_path: Path) -> None:
    make(path)
    copy = tmp_path / "copy"
    shutil.copytree(path, copy)
    lakebed.write(copy, numbers(10, 20))
    shutil.rmtree(path)
    check_same(copy)


def test_a_table_that_was_made_anew_in_its_place_starts_anew(path: Path) -> None:
    make(path)
    lakebed.write(path, numbers(10, 20))
    shutil.rmtree(path / "_delta_log")
    lakebed.write(path, numbers(40, 50), properties=ON)
    check_same(path)
    assert ids(path) == list(range(40, 50))


def test_generate_writes_it_all_anew(path: Path) -> None:
    make(path)
    lakebed.write(path, numbers(10, 20))
    for file in (path / "metadata").glob("*.avro"):
        file.write_bytes(b"damaged")
    lakebed.open(path).generate("iceberg")
    check_same(path)
    assert len(manifests(path)) == 1


def test_older_snapshots_can_be_read_by_their_delta_version(path: Path) -> None:
    make(path)
    lakebed.write(path, numbers(10, 20))
    for snapshot in document(path)["snapshots"]:
        table = lakebed.open(path, version=int(snapshot["summary"]["delta-version"]))
        found = by_pyiceberg(path, snapshot_id=snapshot["snapshot-id"])
        assert rows(found) == rows(table.to_arrow())


def test_nothing_is_written_for_tables_without_the_property(path: Path) -> None:
    lakebed.write(path, numbers(0, 10))
    assert not (path / "metadata").exists()


def test_properties_for_iceberg_are_passed_on(path: Path) -> None:
    key = "delta.universalFormat.config.iceberg."
    make(path).set_properties({f"{key}commit.retry.num-retries": "7"})
    properties = document(path)["properties"]
    assert properties["commit.retry.num-retries"] == "7"
    assert properties["gc.enabled"] == "false", "data files are Delta's to delete"


def test_columns_without_ids_are_refused_and_the_commit_stands(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lakebed.write(path, numbers(0, 10))
    snapshot = lakebed.open(path).snapshot
    formats = {"delta.universalFormat.enabledFormats": "iceberg"}
    configuration = {**snapshot.metadata.configuration, **formats}
    metadata: Metadata = replace(snapshot.metadata, configuration=configuration)
    foreign_commit(path, metadata)
    commit(path, removal(live(path)[0]))
    assert lakebed.open(path).version == 2
    assert "no column mapping, and Iceberg needs its ids" in caplog.text
    assert not (path / "metadata").exists()
