"""Which files VACUUM takes, by their names, ages and what the log says about them."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pytest
from deltalake import DeltaTable

import lakebed
from lakebed.commands.vacuum.vacuum import vacuum_table
from lakebed.commands.vacuum.vacuum_options import VacuumOptions
from lakebed.errors import InvalidArgumentError, LakebedError, UnsupportedFeatureError
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Add, AddCdc, Protocol
from lakebed.spec.vector_descriptors import relative_path
from lakebed.storage import open_store
from testkit.tables.aged_tables import DAY, HOUR, START, AgedTable, put
from testkit.tables.small_tables import column, create, features, metadata


@pytest.fixture
def table(tmp_path: Path) -> AgedTable:
    return AgedTable(tmp_path / "table")


def lost(table: AgedTable, **options: object) -> list[int]:
    found = table.vacuum(**options).lost_versions.column("version").to_pylist()
    return [int(version) for version in found]


# --- retention ----------------------------------------------------------------------------------


def test_the_retention_is_that_of_the_table(table: AgedTable) -> None:
    table.append()
    table.overwrite()
    table.tick(71)
    assert table.vacuum().num_files == 0
    table.tick(2)
    result = table.vacuum()
    assert result.retention_ms == 3 * DAY
    assert result.num_files == 1
    assert result.lost_versions.to_pydict()["version"] == [1]
    assert table.read(1) is None
    assert table.read(2) is not None


def test_a_shorter_retention_is_refused_unless_the_check_is_off(table: AgedTable) -> None:
    table.append()
    table.overwrite()
    table.tick(30)
    disk, newest = table.data_files(), table.newest
    with pytest.raises(InvalidArgumentError, match="72 hours") as error:
        table.vacuum(retention_hours=71.9)
    assert "enforce_retention" in str(error.value.hint)
    assert (table.data_files(), table.newest) == (disk, newest)
    assert table.vacuum(retention_hours=72).num_files == 0
    assert table.vacuum(retention_hours=29, enforce_retention=False).num_files == 1


@pytest.mark.parametrize("hours", [-1, float("nan"), float("inf"), "1", True])
def test_what_is_no_retention_is_refused(table: AgedTable, hours: object) -> None:
    with pytest.raises(InvalidArgumentError):
        table.vacuum(retention_hours=hours, enforce_retention=False)


@pytest.mark.parametrize("options", [{"mode": "quick"}, {"mode": None}])
def test_other_modes_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InvalidArgumentError, match="mode"):
        VacuumOptions.of(**options)


def test_versions_inside_a_longer_retention_stay_although_tombstones_have_left_the_checkpoint(
    table: AgedTable,
) -> None:
    """delta-spark goes by tombstones alone, and would take the files of version 1."""
    table.append()
    table.tick(300)
    table.overwrite()
    table.tick(100)
    table.append()
    table.checkpoint()
    assert table.snapshot().tombstones(["path"]).num_rows == 0
    assert table.vacuum(retention_hours=200).num_files == 0
    assert table.read(1) is not None


def test_a_tombstone_from_a_clock_that_was_behind_does_not_cost_a_version(
    table: AgedTable,
) -> None:
    table.append()
    (add,) = table.live()
    table.tick(100)
    removal = replace(table.removal(add), deletion_timestamp=START)
    table.commit("DELETE", [removal])
    table.tick(1)
    assert lost(table) == []
    assert table.read(1) is not None
    table.tick(72)
    assert lost(table) == [1]


def test_a_tombstone_from_a_clock_that_was_ahead_keeps_its_file_as_in_delta_spark(
    table: AgedTable,
) -> None:
    table.append()
    (add,) = table.live()
    removal = replace(table.removal(add), deletion_timestamp=START + 10 * HOUR)
    table.commit("DELETE", [removal])
    table.tick(80)
    for mode in ("lite", "full"):
        assert table.vacuum(mode=mode).num_files == 0
    table.tick(10)
    assert table.vacuum(mode="lite").num_files == 1


def test_versions_that_go_with_the_log_are_in_the_forecast(table: AgedTable) -> None:
    """VACUUM END is version 8 and makes a checkpoint, after which the log is cleaned up."""
    for _ in range(6):
        table.overwrite()
        table.tick(48)
    table.tick(200)
    assert 0 not in table.vacuum(dry_run=True, record=False).lost_versions["version"].to_pylist()
    forecast = table.vacuum(dry_run=True)
    assert forecast.lost_versions["version"].to_pylist() == list(range(6))
    assert lost(table) == list(range(6))
    assert not table.store.exists(f"_delta_log/{3:020}.json")
    assert [table.read(version) is not None for version in range(9)] == [False] * 6 + [True] * 3


# --- names --------------------------------------------------------------------------------------

STAY = [
    "_delta_log/old.tmp",
    "_delta_log/_commits/x.json",
    "_metadata/file",
    ".hidden",
    ".part-1.parquet.crc",
    "sub/_SUCCESS",
    "sub/_temporary/0/part.parquet",
    "sub/.x/part.parquet",
    "_other=1/part.parquet",
]
GO = [
    "part-orphan.parquet",
    "deletion_vector_0.bin",
    "a b/ü%41.parquet",
    "sub/deeper/file",
    "_change_data/cdc-1.parquet",
    "_delta_index/bloom",
    "_p=1/part.parquet",
    "metadata/v1.json",
]


@pytest.fixture
def partitioned(tmp_path: Path) -> AgedTable:
    table = AgedTable(tmp_path / "table")
    new = replace(
        metadata(column("id"), column("_p", "string"), partition_by=("_p",)),
        configuration=table.snapshot().metadata.configuration,
    )
    table.commit("REPLACE", [new])
    return table


def test_hidden_names_stay_and_the_rest_goes(partitioned: AgedTable) -> None:
    for path in (*STAY, *GO):
        put(partitioned, path)
    result = partitioned.vacuum()
    assert result.paths == sorted(GO)
    assert result.size_in_bytes == 7 * len(GO)
    assert all((partitioned.folder / path).exists() for path in STAY)
    assert not any((partitioned.folder / path).exists() for path in GO)


def test_young_files_stay_whatever_the_log_says(table: AgedTable) -> None:
    put(table, "young.parquet", days_old=2.9)
    put(table, "old.parquet", days_old=3.1)
    assert table.vacuum().paths == ["old.parquet"]


def test_checksums_of_hadoop_go_with_their_files(table: AgedTable) -> None:
    put(table, "sub/part.parquet")
    put(table, "sub/.part.parquet.crc")
    assert table.vacuum().paths == ["sub/part.parquet"]
    assert not (table.folder / "sub/.part.parquet.crc").exists()


def test_folders_go_with_the_last_of_their_files(table: AgedTable) -> None:
    put(table, "write-0b5a/p=1/part-0.parquet")
    put(table, "write-0b5a/__lakebed_partition_0=1/part-1.parquet")
    put(table, "mixed/old/part.parquet")
    put(table, "mixed/young/part.parquet", days_old=1)
    (table.folder / "kept").mkdir()
    assert table.vacuum().num_files == 3
    folders = {str(each.relative_to(table.folder)) for each in table.folder.rglob("*/")}
    assert {"mixed", "mixed/young", "kept"} <= folders
    assert not {"write-0b5a", "mixed/old"} & folders


def test_iceberg_metadata_stays_where_the_table_has_it(table: AgedTable) -> None:
    before = table.snapshot().metadata
    formats = {"delta.universalFormat.enabledFormats": "iceberg"}
    put(table, "metadata/v1.metadata.json")
    with_formats = replace(before, configuration={**before.configuration, **formats})
    # By a writer that does not ask for Iceberg compatibility first.
    log = table.folder / "_delta_log" / f"{table.newest + 1:020}.json"
    log.write_text(json.dumps({"metaData": with_formats.to_json()}))
    assert table.vacuum().num_files == 0


def test_a_table_inside_the_folder_is_left_alone(table: AgedTable) -> None:
    inner = AgedTable(table.folder / "inner" / "table")
    inner.append()
    for file in inner.folder.rglob("*"):
        os.utime(file, ns=((table.now - 30 * DAY) * 1_000_000,) * 2)
    put(table, "inner/orphan.parquet")
    assert table.vacuum().paths == ["inner/orphan.parquet"]
    assert inner.read(1) is not None


# --- references ---------------------------------------------------------------------------------


def test_a_file_is_known_by_every_spelling_of_its_place(table: AgedTable) -> None:
    spelled = {
        "plain.parquet": "plain.parquet",
        "a b.parquet": "a%20b.parquet",
        "absolute.parquet": f"{table.folder}/absolute.parquet",
        "url.parquet": f"file://{table.folder}/url.parquet",
        "hadoop.parquet": f"file:{table.folder}/hadoop.parquet",
    }
    adds = [Add(text, {}, 7, START, True, stats='{"numRecords":1}') for text in spelled.values()]
    for path in spelled:
        put(table, path)
    table.commit("WRITE", adds)
    assert table.vacuum().num_files == 0
    table.commit("DELETE", [table.removal(add) for add in adds])
    table.tick(80)
    assert table.vacuum().paths == sorted(spelled)


def test_files_of_another_table_are_never_touched(tmp_path: Path) -> None:
    """A shallow clone has the files of its source by their addresses, live and removed."""
    source, clone = AgedTable(tmp_path / "source"), AgedTable(tmp_path / "clone")
    source.append(2)
    borrowed = [replace(add, path=f"file://{source.folder}/{add.path}") for add in source.live()]
    clone.commit("CLONE", borrowed)
    clone.commit("DELETE", [clone.removal(borrowed[0])])
    own = clone.new_file()
    clone.commit("WRITE", [own])
    clone.commit("DELETE", [clone.removal(own)])
    clone.tick(100)
    disk = source.data_files()
    for mode in ("lite", "full"):
        result = clone.vacuum(mode=mode)
        assert result.paths == ([own.path] if mode == "lite" else [])
    assert source.data_files() == disk
    # DuckDB does not follow addresses.
    assert clone.read_by_lakebed(clone.newest) == {20, 21, 22}
    assert source.read(1) == {10, 11, 12, 20, 21, 22}


def test_a_file_that_the_log_has_by_the_address_of_a_link_stays(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    table = AgedTable(tmp_path / "real" / "table")
    add = table.new_file()
    table.commit("WRITE", [replace(add, path=f"file://{tmp_path}/link/table/{add.path}")])
    table.tick(100)
    assert table.vacuum().num_files == 0
    assert table.read_by_lakebed(1) == {10, 11, 12}


def test_a_scheme_that_nobody_knows_is_elsewhere(table: AgedTable) -> None:
    table.commit("CLONE", [Add("dbfs:/other/a.parquet", {}, 7, START, True)])
    put(table, "orphan.parquet")
    put(table, "sub/a.parquet")
    assert table.vacuum().paths == ["orphan.parquet"]


def test_vector_files_stay_as_long_as_one_of_their_vectors_is_needed(table: AgedTable) -> None:
    table.append(2)
    table.mark(0)
    first = vector_of(table)
    table.tick(80)
    table.mark(0)
    second = vector_of(table)
    assert first != second
    assert table.vacuum().num_files == 0
    table.tick(80)
    assert table.vacuum().paths == [first]
    assert table.read(2) is None
    assert table.read(3) == {12, 20, 21, 22}


def vector_of(table: AgedTable) -> str:
    (vector,) = [add.deletion_vector for add in table.live() if add.deletion_vector]
    return relative_path(vector)


def test_change_files_of_commits_inside_the_retention_stay(tmp_path: Path) -> None:
    table = AgedTable(tmp_path / "table")
    names = ("appendOnly", "changeDataFeed", "deletionVectors", "invariants")
    table.commit("UPGRADE", [Protocol(3, 7, ("deletionVectors",), names)])
    for name in ("old", "new"):
        put(table, f"_change_data/{name}.parquet")
        table.commit("UPDATE", [AddCdc(f"_change_data/{name}.parquet", {}, 7)])
        table.tick(60)
    assert table.vacuum(dry_run=True, mode="lite").paths == ["_change_data/old.parquet"]
    assert table.vacuum().paths == ["_change_data/old.parquet"]


# --- the record ---------------------------------------------------------------------------------


def test_the_history_has_delta_sparks_start_and_end(table: AgedTable) -> None:
    put(table, "sub/a.parquet")
    put(table, "sub/b.parquet")
    table.vacuum(retention_hours=0, enforce_retention=False)
    end, start = table.log.history(2).to_pylist()
    assert (start["operation"], end["operation"]) == ("VACUUM START", "VACUUM END")
    assert dict(start["operationParameters"]) == {
        "retentionCheckEnabled": "false",
        "defaultRetentionMillis": str(3 * DAY),
        "specifiedRetentionMillis": "0",
    }
    assert dict(start["operationMetrics"]) == {"numFilesToDelete": "2", "sizeOfDataToDelete": "14"}
    assert dict(end["operationParameters"]) == {"status": "COMPLETED"}
    assert dict(end["operationMetrics"]) == {"numDeletedFiles": "2", "numVacuumedDirectories": "2"}
    assert {start["isolationLevel"], end["isolationLevel"]} == {"SnapshotIsolation"}


def test_without_a_record_there_are_no_commits(table: AgedTable) -> None:
    put(table, "a.parquet")
    newest = table.newest
    assert table.vacuum(record=False).num_files == 1
    assert table.newest == newest


def test_a_dry_run_leaves_no_trace(table: AgedTable) -> None:
    put(table, "a.parquet")
    before = sorted(str(file) for file in table.folder.rglob("*"))
    assert table.vacuum(dry_run=True).paths == ["a.parquet"]
    result = vacuum_table(table.log, VacuumOptions(dry_run=True))
    assert result.dry_run
    assert sorted(str(file) for file in table.folder.rglob("*")) == before


# --- protocol -----------------------------------------------------------------------------------


def test_a_table_with_the_protocol_check_is_vacuumed(tmp_path: Path) -> None:
    store = open_store(str(tmp_path))
    create(store, features("vacuumProtocolCheck", reader=("vacuumProtocolCheck",)))
    (tmp_path / "orphan").write_bytes(b"x")
    os.utime(tmp_path / "orphan", (1, 1))
    assert vacuum_table(TableLog(store)).paths == ["orphan"]


def test_writer_features_that_are_not_known_keep_every_file(table: AgedTable) -> None:
    """PROTOCOL: Vacuum Protocol Check. A reader could read this table; VACUUM must not touch it."""
    put(table, "belongs-to-a-feature")
    path = table.folder / "_delta_log" / f"{table.newest + 1:020}.json"
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"],
        "writerFeatures": ["deletionVectors", "ofTheFuture"],
    }
    path.write_text(json.dumps({"protocol": protocol}) + "\n")
    disk = table.data_files()
    lakebed.open(table.folder).to_arrow()
    for dry_run in (True, False):
        with pytest.raises(UnsupportedFeatureError, match="ofTheFuture"):
            lakebed.open(table.folder).vacuum(dry_run=dry_run)
    assert table.data_files() == disk


def test_a_damaged_commit_costs_only_versions_up_to_the_next_checkpoint(
    table: AgedTable,
) -> None:
    for _ in range(6):
        table.overwrite()
        table.tick(1)
    (table.folder / "_delta_log" / f"{2:020}.json").write_text("{")
    assert [table.read(v) is not None for v in range(7)] == [True] * 2 + [False] * 2 + [True] * 3
    table.tick(69)
    forecast = table.vacuum(dry_run=True)
    before = table.read_all()
    table.vacuum()
    after = table.read_all()
    gone = [v for v, rows in before.items() if rows is not None and after[v] is None]
    assert forecast.lost_versions.column("version").to_pylist() == gone


# --- what it shows ------------------------------------------------------------------------------


def test_the_report_says_what_goes_and_what_it_costs(table: AgedTable) -> None:
    table.append()
    table.tick(1)
    table.overwrite()
    table.tick(80)
    result = table.vacuum(dry_run=True)
    text = repr(result)
    size = table.data_files()["part-1.parquet"]
    assert text.splitlines() == [
        f"VACUUM DRY RUN file://{table.folder}",
        "  mode          full",
        "  retention     72 hours, from 2024-10-04 09:00:00.000 UTC on",
        f"  would delete  1 file ({size} B)",
        "  would lose    1 version that could no longer be read",
        "    versions  from                     until",
        "    1         2024-10-04 00:00:00 UTC  2024-10-04 01:00:00 UTC",
    ]
    html = result._repr_html_()
    assert "2024-10-04 01:00:00 UTC" in html
    assert "would delete" in html
    assert result.files.to_pylist()[0]["path"] == "part-1.parquet"
    (row,) = result.lost_versions.to_pylist()
    # Both commits of the first moment: times of versions always grow.
    assert round((row["until"] - row["timestamp"]).total_seconds() * 1000) == HOUR - 1


def test_standalone_tables_vacuum_by_the_clocks(tmp_path: Path) -> None:
    table = lakebed.write(tmp_path / "t", pa.table({"id": [1]}))
    table = table.write(pa.table({"id": [2]}), mode="overwrite")
    assert table.vacuum().num_files == 0
    with pytest.raises(LakebedError):
        table.vacuum(0)
    assert table.vacuum(0, enforce_retention=False).num_files == 1
    assert lakebed.open(tmp_path / "t").to_arrow().to_pydict() == {"id": [2]}
    assert sorted(path.name for path in (tmp_path / "t").glob("vacuum-clock*")) == []


def test_deltalake_would_delete_the_same_files_and_reads_the_table_afterwards(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "t"
    table = lakebed.write(folder, pa.table({"id": [0], "p": ["x"]}), partition_by=["p"])
    for number in range(1, 4):
        rows = pa.table({"id": [number], "p": ["y z"]})
        table = table.write(rows, mode="overwrite" if number % 2 else "append")
    (folder / "orphan.parquet").write_bytes(b"x")
    for file in folder.rglob("*.parquet"):
        os.utime(file, (1, 1))
    # Commits of one millisecond get times of their own, of which the last is still to come.
    time.sleep(0.05)
    other = DeltaTable(folder)
    theirs = other.vacuum(0, dry_run=True, enforce_retention_duration=False, full=True)
    result = table.vacuum(0, enforce_retention=False)
    assert sorted(unquote(path) for path in theirs) == result.paths
    assert len(result.paths) == 4
    rows = DeltaTable(folder).to_pyarrow_table().to_pylist()
    assert [row["id"] for row in rows] == [3]
    operations = [entry["operation"] for entry in DeltaTable(folder).history(2)]
    assert operations == ["VACUUM END", "VACUUM START"]
