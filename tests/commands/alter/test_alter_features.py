"""Protocol upgrades, and features that come and go."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import lakebed
from lakebed.commands.alter.features import feature_cleanup
from lakebed.commands.alter.features.drop_feature import drop_feature
from lakebed.errors import (
    ConflictError,
    FeatureDropPendingError,
    InvalidArgumentError,
    LakebedError,
    SchemaError,
    UnsupportedFeatureError,
)
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.listing.listing import list_log
from lakebed.log.maintenance.checkpoint_writer import write_checkpoint
from lakebed.spec.actions import DomainMetadata, Protocol
from lakebed.spec.features import supported_features
from lakebed.spec.schema import VARIANT
from lakebed.transaction import Operation, Transaction
from testkit.other_writers import interrupted
from testkit.readers.log_json import last_commit, operations, schema_json
from testkit.readers.other_readers import by_deltalake, by_duckdb, ordered
from testkit.schemas import column
from testkit.tables.arbitrary_tables import commit, make_table

ROWS = pa.table({"id": pa.array([1, 2, 3], "int32"), "p": ["a", "a", "b"]})
NO_WAIT = {"delta.dropFeatureTruncateHistory.retentionDuration": "interval 0 hours"}


def make(path: Path, **properties: str) -> lakebed.Table:
    given = {key.replace("__", "."): value for key, value in properties.items()}
    return lakebed.write(path, ROWS, partition_by="p", properties=given)


def delete_row(path: Path) -> None:
    """The first of partition a, by a deletion vector."""
    snapshot = lakebed.open(path).snapshot
    transaction = Transaction(snapshot, operation=Operation("DELETE"))
    adds = adds_from_table(snapshot.files())
    chosen = next(add for add in adds if add.partition_values == {"p": "a"})
    transaction.mark_rows(chosen, RowIndexSet.from_indexes([0]))
    transaction.commit().unwrap()


def an_hour_ago(path: Path) -> None:
    """All that is in the log happened an hour ago."""
    for place, file in enumerate(sorted((path / "_delta_log").glob("*"))):
        moment = time.time() - 3600 + place / 100
        os.utime(file, (moment, moment))


# --- upgrades -----------------------------------------------------------------------------------


def test_versions_bring_the_features_that_they_imply(tmp_path: Path) -> None:
    table = make(tmp_path / "t").upgrade_protocol(2, 5)
    assert table.protocol == Protocol(2, 5)
    assert DeltaTable(str(tmp_path / "t")).protocol().min_writer_version == 5
    info = last_commit(tmp_path / "t")["commitInfo"]
    assert info["operation"] == "SET TBLPROPERTIES"
    assert json.loads(info["operationParameters"]["properties"])["delta.minWriterVersion"] == "5"
    assert table.properties == {}
    assert table.upgrade_protocol(1, 2).version == table.version
    assert table.upgrade_protocol(3, 7).version == table.version


@pytest.mark.parametrize("versions", [(0, 2), (4, 7), (1, 8), ("1", 2), (True, 2)])
def test_versions_that_are_not_there_are_refused(tmp_path: Path, versions: Any) -> None:
    with pytest.raises(LakebedError):
        make(tmp_path / "t").upgrade_protocol(*versions)
    assert operations(tmp_path / "t") == ["WRITE"]


def test_a_feature_comes_with_what_it_needs(tmp_path: Path) -> None:
    table = make(tmp_path / "t").add_feature("DELETIONVECTORS").add_feature("rowTracking")
    assert table.protocol.reader_features == ("deletionVectors",)
    features = {"appendOnly", "invariants", "deletionVectors", "rowTracking", "domainMetadata"}
    assert set(table.protocol.writer_features or ()) == features
    assert ordered(by_duckdb(tmp_path / "t")) == ordered(ROWS.to_pylist())


@pytest.mark.parametrize("name", ["nope", "catalogManaged", "variantShredding", "clustering", 3])
def test_features_that_lakebed_cannot_keep_are_refused(tmp_path: Path, name: Any) -> None:
    with pytest.raises(LakebedError):
        make(tmp_path / "t").add_feature(name)
    assert operations(tmp_path / "t") == ["WRITE"]


# --- dropping features for writers --------------------------------------------------------------


def test_features_for_writers_go_at_once(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = make(path, delta__enableInCommitTimestamps="true")
    table = table.set_properties({"delta.minWriterVersion": "3"})
    table = table.drop_feature("inCommitTimestamp").drop_feature("checkConstraints")
    assert table.protocol == Protocol(1, 2)
    assert table.properties == {"delta.enableInCommitTimestamps": "false"}
    assert operations(path)[-1] == "DROP FEATURE"
    parameters = last_commit(path)["commitInfo"]["operationParameters"]
    assert parameters == {"featureName": "checkConstraints", "truncateHistory": False}
    write_deltalake(DeltaTable(str(path)), ROWS, mode="append")
    assert len(by_deltalake(path)) == 6


def test_timestamps_that_came_later_leave_no_trace(tmp_path: Path) -> None:
    table = make(tmp_path / "t").set_properties({"delta.enableInCommitTimestamps": "true"})
    table = table.drop_feature("inCommitTimestamp")
    assert table.properties == {"delta.enableInCommitTimestamps": "false"}
    assert table.timestamp
    assert table.write(ROWS).history().num_rows == 5


def test_row_tracking_goes_with_all_ids(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = make(path, delta__enableRowTracking="true").drop_feature("rowTracking")
    assert table.snapshot.files(["baseRowId"]).column("baseRowId").null_count == 2
    assert table.properties == {}
    assert "delta.rowTracking" not in lakebed.open(path).snapshot.domains
    assert "rowTracking" not in supported_features(table.protocol)
    assert "ROW TRACKING UNBACKFILL" in operations(path)
    table = table.drop_feature("domainMetadata")
    assert table.protocol == Protocol(1, 2)
    assert ordered(by_deltalake(path)) == ordered(ROWS.to_pylist())


def test_domains_go_with_their_feature(tmp_path: Path) -> None:
    path = tmp_path / "t"
    make(path, delta__feature__domainMetadata="supported")
    commit(path, DomainMetadata("mine", "{}"))
    table = lakebed.open(path).drop_feature("domainMetadata")
    assert (table.snapshot.domains, table.protocol) == ({}, Protocol(1, 2))
    assert operations(path)[-2:] == ["DOMAIN METADATA CLEANUP", "DROP FEATURE"]


# --- dropping features for readers --------------------------------------------------------------


def with_vectors(path: Path) -> list[dict[str, Any]]:
    make(path, delta__enableDeletionVectors="true")
    delete_row(path)
    return lakebed.open(path).to_arrow().to_pylist()


def with_mapping(path: Path) -> list[dict[str, Any]]:
    table = make(path, delta__columnMapping__mode="name").rename_column("id", "key")
    table = table.add_columns({"new": "string"}).cluster_by(None)
    return table.to_arrow().to_pylist()


def with_wider_types(path: Path) -> list[dict[str, Any]]:
    table = make(path, delta__enableTypeWidening="true").alter_column("id", type="bigint")
    return table.write(pa.table({"id": [2**40], "p": ["a"]})).to_arrow().to_pylist()


def with_v2_checkpoints(path: Path) -> list[dict[str, Any]]:
    table = make(path, delta__checkpointPolicy="v2")
    write_checkpoint(table.snapshot, "v2-parquet", sidecars=1)
    return table.write(ROWS).to_arrow().to_pylist()


def with_vacuum_check(path: Path) -> list[dict[str, Any]]:
    return make(path, delta__feature__vacuumProtocolCheck="supported").to_arrow().to_pylist()


READER_FEATURES: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
    "deletionVectors": with_vectors,
    "columnMapping": with_mapping,
    "typeWidening": with_wider_types,
    "v2Checkpoint": with_v2_checkpoints,
    "vacuumProtocolCheck": with_vacuum_check,
}


@pytest.mark.parametrize("feature", READER_FEATURES)
def test_features_for_readers_go_behind_checkpoints(tmp_path: Path, feature: str) -> None:
    path = tmp_path / "t"
    rows = READER_FEATURES[feature](path)
    table = lakebed.open(path).drop_feature(feature)
    features = supported_features(table.protocol)
    assert feature not in features
    assert "checkpointProtection" in features
    assert table.protocol.min_reader_version == 1
    version = table.version
    assert table.properties["delta.requireCheckpointProtectionBeforeVersion"] == str(version)
    found = [f for f in list_log(table.snapshot.store) if f.kind == "checkpoint"]
    barriers = [f.version for f in found if f.version >= version - 3]
    assert barriers == [version - 3, version - 2, version - 1, version]
    assert not any(f.unique for f in found if f.version in barriers)
    for read in (by_deltalake, by_duckdb):
        assert ordered(read(path)) == ordered(rows)
    assert ordered(table.to_arrow().to_pylist()) == ordered(rows)
    assert table.write(table.to_arrow()).to_arrow().num_rows == 2 * len(rows)
    assert lakebed.open(path, version=version - 4).to_arrow().num_rows in (2, 3, 4, 6)


@pytest.mark.parametrize("feature", READER_FEATURES)
def test_features_for_readers_go_with_the_history_that_uses_them(
    tmp_path: Path, feature: str
) -> None:
    path = tmp_path / "t"
    rows = READER_FEATURES[feature](path)
    lakebed.open(path).set_properties(NO_WAIT)
    leaves_data = feature != "vacuumProtocolCheck"
    if leaves_data:
        with pytest.raises(FeatureDropPendingError):
            lakebed.open(path).drop_feature(feature, truncate_history=True)
        assert feature in supported_features(lakebed.open(path).protocol)
        assert ordered(by_duckdb(path)) == ordered(rows)
        with pytest.raises(FeatureDropPendingError, match="history"):
            lakebed.open(path).unset_properties(*NO_WAIT).drop_feature(
                feature, truncate_history=True
            )
        an_hour_ago(path)
        lakebed.open(path).set_properties(NO_WAIT)
    table = lakebed.open(path).drop_feature(feature, truncate_history=True)
    features = supported_features(table.protocol)
    assert not {feature, "checkpointProtection"} & features
    for read in (by_deltalake, by_duckdb):
        assert ordered(read(path)) == ordered(rows)
    if leaves_data:
        assert not (path / "_delta_log" / f"{0:020d}.json").exists()


def test_protection_goes_with_the_history_that_needs_it(tmp_path: Path) -> None:
    path = tmp_path / "t"
    with_mapping(path)
    table = lakebed.open(path).drop_feature("columnMapping")
    with pytest.raises(InvalidArgumentError, match="protects"):
        table.drop_feature("checkpointProtection")
    with pytest.raises(FeatureDropPendingError):
        table.drop_feature("checkpointProtection", truncate_history=True)
    an_hour_ago(path)
    table = table.set_properties(NO_WAIT)
    table = table.drop_feature("checkpointProtection", truncate_history=True)
    assert "checkpointProtection" not in supported_features(table.protocol)
    assert "delta.requireCheckpointProtectionBeforeVersion" not in table.properties
    assert len(by_deltalake(path)) == 3


def test_tombstones_keep_the_files_of_vectors_for_the_history(tmp_path: Path) -> None:
    path = tmp_path / "t"
    with_vectors(path)
    version = lakebed.open(path).version
    lakebed.open(path).drop_feature("deletionVectors")
    vector = next(path.glob("**/deletion_vector_*.bin"))
    removes = lakebed.open(path).snapshot.tombstones(["path"]).column("path").to_pylist()
    assert str(vector.relative_to(path)) in removes
    assert lakebed.open(path, version=version).to_arrow().num_rows == 2


def test_names_that_files_have_already_are_not_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = make(path).set_properties({"delta.columnMapping.mode": "name"})
    before = sorted(path.rglob("*.parquet"))
    table = table.drop_feature("columnMapping")
    assert sorted(p for p in path.rglob("*.parquet") if "_delta_log" not in p.parts) == before
    assert schema_json(path)["id"]["metadata"] == {}
    assert ordered(by_deltalake(path)) == ordered(ROWS.to_pylist())


def test_data_of_a_dropped_column_does_not_come_back_without_mapping(tmp_path: Path) -> None:
    path = tmp_path / "t"
    table = lakebed.write(path, ROWS).set_properties({"delta.columnMapping.mode": "name"})
    table = table.drop_columns("id").drop_feature("columnMapping").add_columns({"id": "int"})
    assert [row["id"] for row in table.to_arrow().to_pylist()] == [None] * 3
    assert [row["id"] for row in by_deltalake(path)] == [None] * 3


def test_only_files_with_narrow_types_are_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "t"
    with_wider_types(path)
    new = lakebed.open(path).files("id > 100").column("path").to_pylist()
    table = lakebed.open(path).drop_feature("typeWidening")
    kept = set(new) & set(table.files().column("path").to_pylist())
    assert len(kept) == 1
    assert "delta.typeChanges" not in schema_json(path)["id"]["metadata"]


REFUSED: dict[str, tuple[dict[str, str], str, type[LakebedError]]] = {
    "not there": ({}, "deletionVectors", InvalidArgumentError),
    "unknown": ({}, "nope", UnsupportedFeatureError),
    "not removable": ({}, "appendOnly", UnsupportedFeatureError),
    "needed": ({"delta.enableRowTracking": "true"}, "domainMetadata", InvalidArgumentError),
    "constraints": ({"delta.constraints.c": "id > 0"}, "checkConstraints", InvalidArgumentError),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_features_that_cannot_go_stay_and_nothing_changes(tmp_path: Path, case: Any) -> None:
    properties, name, error = case
    table = lakebed.write(tmp_path / "t", ROWS, properties=properties)
    with pytest.raises(error):
        table.drop_feature(name)
    assert operations(tmp_path / "t") == ["WRITE"]


def test_history_goes_only_for_features_that_readers_need(tmp_path: Path) -> None:
    table = make(tmp_path / "t", delta__feature__domainMetadata="supported")
    with pytest.raises(InvalidArgumentError, match="writers alone"):
        table.drop_feature("domainMetadata", truncate_history=True)


def test_names_that_files_cannot_have_keep_the_mapping(tmp_path: Path) -> None:
    table = make(tmp_path / "t", delta__columnMapping__mode="name").rename_column("id", "the id")
    with pytest.raises(SchemaError, match="the id"):
        table.drop_feature("columnMapping")
    assert operations(tmp_path / "t") == ["WRITE", "RENAME COLUMN"]


def test_rows_with_ids_are_not_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "t"
    make(path, delta__enableDeletionVectors="true", delta__enableRowTracking="true")
    delete_row(path)
    with pytest.raises(UnsupportedFeatureError, match="ids"):
        lakebed.open(path).drop_feature("deletionVectors")
    assert operations(path) == ["WRITE", "DELETE"]
    assert len(by_duckdb(path)) == 2


def test_a_table_with_a_type_of_its_own_keeps_the_feature(tmp_path: Path) -> None:
    table = make_table(tmp_path / "t", column("v", VARIANT), column("id"))
    with pytest.raises(UnsupportedFeatureError, match="cannot be dropped"):
        table.drop_feature("variantType")


def test_rows_that_come_while_names_are_written_into_files_are_a_conflict(tmp_path: Path) -> None:
    path = tmp_path / "t"
    rows = with_mapping(path)
    seen = []

    def write_late() -> None:
        seen.append(
            lakebed.write(path, pa.table({"key": pa.array([9], "int32"), "p": ["z"]})).version
        )

    late = interrupted(path, write_late)
    with pytest.raises(ConflictError):
        late.apply(feature_cleanup._plan_without_mapping)
    assert len(by_deltalake(path)) == len(rows) + 1
    drop_feature(late, "columnMapping")
    assert len(by_deltalake(path)) == len(rows) + 1
    assert seen == [3]
