"""SET and UNSET TBLPROPERTIES, the comment of a table, and what they turn on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

import lakebed
from lakebed.commands.alter import row_tracking_ids as row_ids
from lakebed.commands.alter.table_properties import set_properties
from lakebed.errors import (
    InvalidArgumentError,
    LakebedError,
    MetadataChangedError,
    SchemaError,
    TablePropertyError,
    UnsupportedFeatureError,
)
from lakebed.spec.features import supported_features
from testkit.other_writers import interrupted, target
from testkit.readers.log_json import last_commit, operations, schema_json
from testkit.readers.other_readers import by_deltalake, by_duckdb, ordered

ROWS = pa.table({"id": [1, 2, 3], "s": pa.array([{"x": "a"}, None, {"x": "c"}])})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    lakebed.write(tmp_path / "t", ROWS)
    return tmp_path / "t"


def test_properties_are_set_and_read_by_others(path: Path) -> None:
    table = lakebed.open(path).set_properties({"DELTA.appendonly": "true", "owner": "me"})
    assert table.version == 1
    assert table.properties == {"delta.appendOnly": "true", "owner": "me"}
    assert DeltaTable(str(path)).metadata().configuration == table.properties
    info = last_commit(path)["commitInfo"]
    assert info["operation"] == "SET TBLPROPERTIES"
    asked = {"delta.appendOnly": "true", "owner": "me"}
    assert json.loads(info["operationParameters"]["properties"]) == asked
    assert "protocol" not in last_commit(path)
    assert ordered(by_deltalake(path)) == ordered(ROWS.to_pylist())


def test_a_table_opened_long_ago_changes_its_newest_version(path: Path) -> None:
    old = lakebed.open(path)
    old.set_properties({"a": "1"})
    assert old.set_properties({"b": "2"}).properties == {"a": "1", "b": "2"}
    assert old.version == 0


FEATURES: dict[str, tuple[dict[str, str], str]] = {
    "feed": ({"delta.enableChangeDataFeed": "true"}, "changeDataFeed"),
    "vectors": ({"delta.enableDeletionVectors": "true"}, "deletionVectors"),
    "timestamps": ({"delta.enableInCommitTimestamps": "true"}, "inCommitTimestamp"),
    "checkpoints": ({"delta.checkpointPolicy": "v2"}, "v2Checkpoint"),
    "widening": ({"delta.enableTypeWidening": "true"}, "typeWidening"),
    "mapping": ({"delta.columnMapping.mode": "name"}, "columnMapping"),
    "row tracking": ({"delta.enableRowTracking": "true"}, "rowTracking"),
    "named": ({"delta.feature.timestampNtz": "supported"}, "timestampNtz"),
    "legacy versions": ({"delta.minWriterVersion": "4"}, "generatedColumns"),
}


@pytest.mark.parametrize("case", FEATURES.values(), ids=FEATURES)
def test_properties_that_turn_on_a_feature_upgrade_the_protocol(
    path: Path, case: tuple[dict[str, str], str]
) -> None:
    properties, feature = case
    table = lakebed.open(path).set_properties(properties)
    assert feature in supported_features(table.protocol)
    assert ordered(table.to_arrow().to_pylist()) == ordered(ROWS.to_pylist())
    assert ordered(by_duckdb(path)) == ordered(ROWS.to_pylist())
    after = table.write(ROWS)
    assert after.to_arrow().num_rows == 6
    stored = {k for k in properties if not k.startswith(("delta.feature.", "delta.min"))}
    assert stored <= after.properties.keys()
    assert not any(key.startswith("delta.feature.") for key in after.properties)


def test_in_commit_timestamps_say_from_when_on_they_are(path: Path) -> None:
    table = lakebed.open(path).set_properties({"delta.enableInCommitTimestamps": "true"})
    info = last_commit(path)["commitInfo"]
    assert table.properties["delta.inCommitTimestampEnablementVersion"] == "1"
    stamp = table.properties["delta.inCommitTimestampEnablementTimestamp"]
    assert int(stamp) == info["inCommitTimestamp"]


def test_mapping_gives_ids_and_keeps_the_names_of_the_files(path: Path) -> None:
    table = lakebed.open(path).set_properties({"delta.columnMapping.mode": "name"})
    fields = schema_json(path)
    inner = fields["s"]["type"]["fields"][0]
    metadata = [fields["id"]["metadata"], fields["s"]["metadata"], inner["metadata"]]
    assert [m["delta.columnMapping.physicalName"] for m in metadata] == ["id", "s", "x"]
    assert sorted(m["delta.columnMapping.id"] for m in metadata) == [1, 2, 3]
    assert table.properties["delta.columnMapping.maxColumnId"] == "3"
    assert ordered(by_deltalake(path)) == ordered(ROWS.to_pylist())


def test_row_tracking_gives_ids_to_the_rows_that_are_there_in_batches(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(4):
        lakebed.write(path, ROWS)
    monkeypatch.setattr(row_ids, "FILES_PER_COMMIT", 2)
    table = lakebed.open(path).set_properties({"delta.enableRowTracking": "true"})
    backfill = ["ROW TRACKING BACKFILL"] * 3
    assert operations(path)[5:] == ["UPGRADE PROTOCOL", *backfill, "SET TBLPROPERTIES"]
    assert last_commit(path)["commitInfo"]["tags"]["rowTrackingEnablementOnly"] == "true"
    files = table.snapshot.files(["baseRowId", "defaultRowCommitVersion"]).to_pylist()
    assert sorted(row["baseRowId"] for row in files) == [0, 3, 6, 9, 12]
    assert sorted(row["defaultRowCommitVersion"] for row in files) == [6, 6, 7, 7, 8]
    assert table.properties["delta.rowTracking.materializedRowIdColumnName"]
    assert table.to_arrow().num_rows == 15
    written = table.write(ROWS)
    assert written.snapshot.files(["baseRowId"]).column("baseRowId").null_count == 0


def test_rows_that_come_while_row_tracking_is_turned_on_get_ids(path: Path) -> None:
    rows = interrupted(path, lambda: lakebed.write(path, ROWS))
    snapshot = set_properties(rows, {"delta.enableRowTracking": "true"})
    ids = snapshot.files(["baseRowId"]).column("baseRowId").to_pylist()
    assert sorted(ids) == [0, 3]


REFUSED: dict[str, tuple[dict[str, Any], type[LakebedError]]] = {
    "unknown": ({"delta.apendOnly": "true"}, TablePropertyError),
    "bad value": ({"delta.appendOnly": "maybe"}, TablePropertyError),
    "no text": ({"delta.appendOnly": True}, TablePropertyError),
    "none": ({}, InvalidArgumentError),
    "constraint": ({"delta.constraints.c": "id > 0"}, TablePropertyError),
    "location": ({"location": "/elsewhere"}, TablePropertyError),
    "clustering": ({"delta.feature.clustering": "supported"}, TablePropertyError),
    "max id": ({"delta.columnMapping.maxColumnId": "7"}, TablePropertyError),
    "id mode": ({"delta.columnMapping.mode": "id"}, SchemaError),
    "no such feature": ({"delta.feature.warpDrive": "supported"}, UnsupportedFeatureError),
    "no such column": ({"delta.dataSkippingStatsColumns": "id,nope"}, TablePropertyError),
    "retentions": ({"delta.logRetentionDuration": "interval 1 day"}, TablePropertyError),
    "iceberg": ({"delta.enableIcebergCompatV3": "true"}, UnsupportedFeatureError),
    "with ids": (
        {"delta.enableRowTracking": "true", "delta.rowTrackingSuspended": "true"},
        TablePropertyError,
    ),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_set_is_refused_and_changes_nothing(
    path: Path, case: tuple[dict[str, Any], type[LakebedError]]
) -> None:
    with pytest.raises(case[1]):
        lakebed.open(path).set_properties(case[0])
    assert operations(path) == ["WRITE"]


def test_a_table_with_the_names_of_the_feed_cannot_turn_it_on(tmp_path: Path) -> None:
    table = lakebed.write(tmp_path / "t", pa.table({"_change_type": ["a"]}))
    with pytest.raises(SchemaError, match="_change_type"):
        table.set_properties({"delta.enableChangeDataFeed": "true"})


def test_properties_are_unset(path: Path) -> None:
    table = lakebed.open(path).set_properties({"delta.appendOnly": "true", "a": "1", "b": "2"})
    table = table.unset_properties("DELTA.APPENDONLY", "a")
    assert table.properties == {"b": "2"}
    info = last_commit(path)["commitInfo"]
    assert info["operation"] == "UNSET TBLPROPERTIES"
    assert json.loads(info["operationParameters"]["properties"]) == ["delta.appendOnly", "a"]
    assert info["operationParameters"]["ifExists"] is False
    assert DeltaTable(str(path)).metadata().configuration == {"b": "2"}


def test_what_is_not_there_can_be_unset_only_if_one_says_so(path: Path) -> None:
    with pytest.raises(TablePropertyError, match="nope"):
        lakebed.open(path).unset_properties("nope")
    assert operations(path) == ["WRITE"]
    assert lakebed.open(path).unset_properties("nope", if_exists=True).properties == {}


@pytest.mark.parametrize(
    "change", [{"delta.columnMapping.mode": "none"}, "delta.columnMapping.mode"]
)
def test_mapping_does_not_go_by_a_property(path: Path, change: Any) -> None:
    table = lakebed.open(path).set_properties({"delta.columnMapping.mode": "name"})
    with pytest.raises(SchemaError) as refused:
        table.set_properties(change) if isinstance(change, dict) else table.unset_properties(change)
    assert "drop_feature" in str(refused.value.hint)
    with pytest.raises(TablePropertyError):
        table.unset_properties("delta.columnMapping.maxColumnId")


def test_the_comment_of_a_table_is_its_description(path: Path) -> None:
    table = lakebed.open(path).set_comment("all orders")
    assert table.description == "all orders"
    assert table.properties == {}
    assert DeltaTable(str(path)).metadata().description == "all orders"
    parameters = last_commit(path)["commitInfo"]["operationParameters"]
    assert json.loads(parameters["properties"]) == {"comment": "all orders"}
    assert table.set_comment(None).description is None


def test_appends_may_come_meanwhile_and_both_are_there(path: Path) -> None:
    rows = interrupted(path, lambda: lakebed.write(path, ROWS))
    snapshot = set_properties(rows, {"a": "1"})
    assert snapshot.version == 2
    assert len(by_deltalake(path)) == 6
    assert lakebed.open(path).properties == {"a": "1"}


def test_two_changes_of_the_metadata_at_once_conflict(path: Path) -> None:
    rows = interrupted(path, lambda: lakebed.open(path).set_properties({"a": "1"}))
    with pytest.raises(MetadataChangedError) as conflict:
        set_properties(rows, {"b": "2"})
    assert (conflict.value.version, conflict.value.operation) == (1, "SET TBLPROPERTIES")
    assert lakebed.open(path).properties == {"a": "1"}


def test_a_writer_that_was_under_way_does_not_pass_over_the_new_rules(path: Path) -> None:
    table = lakebed.open(path)
    set_properties(target(path), {"delta.appendOnly": "true"})
    with pytest.raises(MetadataChangedError):
        table.write(ROWS, mode="overwrite")
    assert ordered(by_deltalake(path)) == ordered(ROWS.to_pylist())
