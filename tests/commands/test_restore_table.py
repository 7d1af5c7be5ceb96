"""RESTORE: contents by other readers, what is refused, races and sudden deaths."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

import lakebed
from lakebed.commands.restore_table import RestoreOptions, restore_table
from lakebed.commands.target.clustering_columns import DOMAIN as CLUSTERING
from lakebed.errors import (
    AppendOnlyError,
    ConcurrentAppendError,
    ConflictError,
    DataFileError,
    InvalidArgumentError,
    VersionNotFoundError,
)
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Txn
from lakebed.spec.columns.column_metadata import identity
from lakebed.spec.features import is_supported, upgraded
from lakebed.storage import Store
from testkit.faults import killed_at_every_call
from testkit.other_writers import Meanwhile
from testkit.readers.log_json import last
from testkit.readers.other_readers import read_elsewhere
from testkit.schemas import column
from testkit.tables.arbitrary_tables import commit, make_table
from testkit.tables.numbered_tables import (
    VECTORS,
    delete,
    ids,
    ids_by_duckdb,
    ids_here,
    make,
    numbers,
    opened,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


def test_a_version_comes_back_as_it_was_for_every_reader(path: Path) -> None:
    make(path)
    lakebed.write(path, numbers(50, 53), mode="overwrite")
    restored = lakebed.open(path).restore(version=1)
    assert restored.version == 3
    assert ids(path) == ids_by_duckdb(path) == ids_here(restored) == list(range(20))
    assert ids_here(lakebed.open(path, version=2)) == [50, 51, 52]


def test_a_restore_can_itself_be_undone(path: Path) -> None:
    make(path)
    lakebed.open(path).restore(version=0)
    assert ids(path) == list(range(10))
    lakebed.open(path).restore(version=1)
    assert ids(path) == list(range(20))


def test_vectors_come_and_go_with_their_files(path: Path) -> None:
    make(path, properties=VECTORS)
    delete(path, [0, 1])
    delete(path, [5])
    lakebed.open(path).restore(version=2)
    assert ids(path) == ids_by_duckdb(path) == list(range(2, 20))
    restored, removed = last(path, "add"), last(path, "remove")
    assert [each["path"] for each in restored] == [each["path"] for each in removed]
    assert restored[0]["deletionVector"]["cardinality"] == 2
    assert removed[0]["deletionVector"]["cardinality"] == 3
    lakebed.open(path).restore(version=1)
    assert ids(path) == list(range(20))
    assert "deletionVector" not in last(path, "add")[0]


def test_the_history_has_the_names_and_numbers_of_delta_spark(path: Path) -> None:
    make(path)
    lakebed.write(path, numbers(50, 53), mode="overwrite")
    size = {version: lakebed.open(path, version=version).size_in_bytes for version in (1, 2)}
    lakebed.open(path).restore(version=1)
    row = lakebed.open(path).history(1).to_pylist()[0]
    assert row["operation"] == "RESTORE"
    assert dict(row["operationParameters"]) == {"version": "1", "timestamp": None}
    assert dict(row["operationMetrics"]) == {
        "tableSizeAfterRestore": str(size[1]),
        "numOfFilesAfterRestore": "2",
        "numRemovedFiles": "1",
        "numRestoredFiles": "2",
        "removedFilesSize": str(size[2]),
        "restoredFilesSize": str(size[1]),
    }


def test_a_time_restores_the_version_of_then(path: Path) -> None:
    make(path)
    then = lakebed.open(path, version=0).timestamp
    lakebed.open(path).restore(timestamp=then)
    assert ids(path) == list(range(10))
    shown = dict(lakebed.open(path).history(1).to_pylist()[0]["operationParameters"])
    assert shown == {"version": None, "timestamp": str(then)}


def test_the_schema_and_properties_of_the_version_come_back(path: Path) -> None:
    make(path)
    wider = numbers(20, 21).append_column("more", pa.array(["x"]))
    lakebed.write(path, wider, merge_schema=True)
    restored = lakebed.open(path).restore(version=1)
    assert restored.schema.names == ("id", "day")
    assert read_elsewhere(path).column_names == ["id", "day"]


def test_the_protocol_never_goes_down_unless_it_may(path: Path) -> None:
    make(path)
    snapshot = lakebed.open(path).snapshot
    newer = upgraded(snapshot.protocol, ["deletionVectors"])
    on = replace(snapshot.metadata, configuration={**snapshot.metadata.configuration, **VECTORS})
    commit(path, newer, on)
    restored = lakebed.open(path).restore(version=0)
    assert is_supported(restored.protocol, "deletionVectors")
    assert restored.properties == {}
    down = restore_table(
        TableLog(opened(path)), version=0, options=RestoreOptions(allow_downgrade=True)
    )
    assert not is_supported(down.snapshot.protocol, "deletionVectors")
    assert ids(path) == list(range(10))


def test_ids_that_were_given_out_are_not_given_out_again(path: Path) -> None:
    start = {"delta.identity.start": 1, "delta.identity.step": 1}
    more = {"delta.identity.allowExplicitInsert": False}
    make_table(path, column("key", metadata={**start, **more}), column("value"))
    lakebed.write(path, pa.table({"value": [1, 2, 3]}))
    lakebed.open(path).restore(version=0)
    mark = identity(lakebed.open(path).schema.field("key"))
    assert mark is not None
    assert mark.high_water_mark == 3
    lakebed.write(path, pa.table({"value": [4]}))
    assert read_elsewhere(path).to_pylist() == [{"key": 4, "value": 4}]


def test_rows_keep_their_ids_and_fresh_rows_get_new_ones(path: Path) -> None:
    make(path, properties={"delta.enableRowTracking": "true"})
    names = {k: v for k, v in lakebed.open(path).properties.items() if "materialized" in k}
    before = {a.path: a.base_row_id for a in adds_from_table(lakebed.open(path).snapshot.files())}
    lakebed.write(path, numbers(30, 40), mode="overwrite")
    restored = lakebed.open(path).restore(version=1)
    after = {a.path: a.base_row_id for a in adds_from_table(restored.snapshot.files())}
    assert after == before
    assert {k: v for k, v in restored.properties.items() if "materialized" in k} == names
    lakebed.write(path, numbers(60, 61))
    newest = adds_from_table(lakebed.open(path).snapshot.files())
    assert max(add.base_row_id for add in newest if add.base_row_id is not None) == 30


def test_times_can_be_travelled_to_after_in_commit_timestamps_came_and_went(path: Path) -> None:
    make(path)
    lakebed.open(path).set_properties({"delta.enableInCommitTimestamps": "true"})
    on = lakebed.write(path, numbers(20, 22))
    off = on.restore(version=1)
    assert "delta.enableInCommitTimestamps" not in off.properties
    again = off.restore(version=3)
    assert again.properties["delta.inCommitTimestampEnablementVersion"] == "5"
    assert lakebed.open(path, timestamp=again.timestamp).version == 5
    assert ids(path) == list(range(22))


def test_statistics_come_back_from_checkpoints_that_have_them_as_columns(path: Path) -> None:
    json_off = {"delta.checkpoint.writeStatsAsJson": "false"}
    make(path, properties=json_off).checkpoint()
    for commit_file in (path / "_delta_log").glob("0*[01].json"):
        commit_file.unlink()
    lakebed.write(path, numbers(50, 51), mode="overwrite")
    restored = lakebed.open(path).restore(version=1)
    assert all('"numRecords":10' in add["stats"] for add in last(path, "add"))
    assert restored.scan(where="id = 3").num_files == 1


def test_pins_are_kept_whatever_is_restored(path: Path) -> None:
    make(path)
    lakebed.open(path).pin("audit", 1)
    restored = lakebed.open(path).restore(version=0)
    assert restored.pins() == {"audit": 1}


def test_clustering_columns_come_back(path: Path) -> None:
    make(path)
    lakebed.open(path).cluster_by(["id"])
    lakebed.open(path).cluster_by(["day"])
    restored = lakebed.open(path).restore(version=2)
    assert restored.detail()["clusteringColumns"].to_pylist() == [["id"]]
    assert restored.restore(version=1).detail()["clusteringColumns"].to_pylist() == [[]]


def test_a_partitioned_version_over_a_clustered_one_is_not_clustered(path: Path) -> None:
    lakebed.write(path, numbers(0, 10), partition_by="day")
    lakebed.write(path, numbers(20, 30), mode="overwrite", overwrite_schema=True, cluster_by="id")
    restored = lakebed.open(path).restore(version=0)
    assert "clustering" not in restored.detail()["tableFeatures"].to_pylist()[0]
    assert CLUSTERING not in TableLog(opened(path)).snapshot().domains
    removed = last(path, "domainMetadata")
    assert [(each["domain"], each["removed"]) for each in removed] == [(CLUSTERING, True)]
    assert restored.partition_columns == ("day",)
    assert ids(path) == ids_by_duckdb(path) == list(range(10))
    lakebed.write(path, numbers(10, 12))
    assert ids(path) == list(range(12))
    back = lakebed.open(path).restore(version=1)
    assert back.detail()["clusteringColumns"].to_pylist() == [["id"]]
    assert back.partition_columns == ()
    assert ids(path) == ids_by_duckdb(path) == list(range(20, 30))


def test_followers_of_changes_see_the_rows_that_came_back_and_went(path: Path) -> None:
    make(path, properties={"delta.enableChangeDataFeed": "true"})
    lakebed.open(path).restore(version=0)
    feed = pa.table(DeltaTable(str(path)).load_cdf(starting_version=2).read_all())
    assert sorted(feed.column("id").to_pylist()) == list(range(10, 20))
    assert set(feed.column("_change_type").to_pylist()) == {"delete"}


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize("kept", ["data", "vectors"])
def test_files_that_are_gone_are_named_and_nothing_changes(path: Path, kept: str) -> None:
    make(path, properties=VECTORS)
    delete(path, [0, 1])
    vectors = list(path.glob("deletion_vector_*.bin"))
    lakebed.write(path, numbers(50, 53), mode="overwrite")
    data = [path / each["path"] for each in last(path, "remove")]
    gone = vectors if kept == "data" else data
    for file in gone:
        file.unlink()
    with pytest.raises(DataFileError) as caught:
        lakebed.open(path).restore(version=2)
    assert all(file.name in str(caught.value) for file in gone)
    assert lakebed.open(path).version == 3
    assert ids(path) == [50, 51, 52]


def test_files_that_are_gone_may_be_ignored(path: Path) -> None:
    make(path)
    lakebed.write(path, numbers(50, 53), mode="overwrite")
    for gone in last(path, "remove"):
        (path / gone["path"]).unlink()
    restored = lakebed.open(path).restore(version=1, ignore_missing_files=True)
    assert restored.num_files == 2


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({}, InvalidArgumentError),
        ({"version": 0, "timestamp": 1}, InvalidArgumentError),
        ({"version": 1}, InvalidArgumentError),
        ({"version": 2}, VersionNotFoundError),
        ({"version": -1}, InvalidArgumentError),
        ({"timestamp": "2001-01-01"}, VersionNotFoundError),
        ({"timestamp": "never"}, InvalidArgumentError),
    ],
)
def test_what_cannot_be_restored_is_refused(
    path: Path, asked: dict[str, object], error: type[Exception]
) -> None:
    make(path)
    with pytest.raises(error):
        lakebed.open(path).restore(**asked)  # type: ignore[arg-type]
    assert lakebed.open(path).version == 1


def test_an_append_only_table_loses_no_rows(path: Path) -> None:
    make(path, properties={"delta.appendOnly": "true"})
    with pytest.raises(AppendOnlyError):
        lakebed.open(path).restore(version=0)


# --- others at work -----------------------------------------------------------------------------


def restore_with(path: Path, monkeypatch: pytest.MonkeyPatch, other: Callable[[], Any]) -> None:
    monkeypatch.setattr("lakebed.commands.restore_table.Transaction", Meanwhile)
    Meanwhile.other = other
    lakebed.open(path).restore(version=0)


def test_rows_that_were_appended_meanwhile_are_not_lost(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(path)
    with pytest.raises(ConcurrentAppendError):
        restore_with(path, monkeypatch, lambda: lakebed.write(path, numbers(90, 92)))
    assert ids(path) == [*range(20), 90, 91]
    lakebed.open(path).restore(version=0)
    assert ids(path) == list(range(10))


def test_a_change_of_metadata_meanwhile_is_a_conflict(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(path)
    wider = numbers(20, 21).append_column("more", pa.array(["x"]))
    with pytest.raises(ConflictError):
        restore_with(path, monkeypatch, lambda: lakebed.write(path, wider, merge_schema=True))
    assert lakebed.open(path).schema.names == ("id", "day", "more")


def test_a_commit_that_touches_no_rows_is_not_in_the_way(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(path)
    restore_with(path, monkeypatch, lambda: commit(path, Txn("app", 1)))
    assert lakebed.open(path).version == 3
    assert ids(path) == list(range(10))


def test_killed_at_any_moment_the_table_is_as_before_or_restored(
    tmp_path: Path,
) -> None:
    model = tmp_path / "model"
    make(model, properties=VECTORS)
    delete(model, [0, 1])
    lakebed.write(model, numbers(50, 53), mode="overwrite")
    tries = count()
    place: list[Path] = []

    def fresh() -> Store:
        place[:] = [tmp_path / f"try{next(tries)}"]
        shutil.copytree(model, place[0])
        return opened(place[0])

    def check() -> None:
        found = ids_here(place[0])
        assert found in ([50, 51, 52], list(range(2, 20)))
        if found == [50, 51, 52]:
            lakebed.open(place[0]).restore(version=2)
        assert ids_here(place[0]) == list(range(2, 20))

    calls = killed_at_every_call(
        lambda store: restore_table(TableLog(store), version=2), fresh, check
    )
    assert calls > 5
    assert ids(place[0]) == list(range(2, 20))
