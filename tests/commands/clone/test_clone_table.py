"""CLONE: contents by other readers, what a repeated clone does, races and sudden deaths."""

from __future__ import annotations

import os
import re
import shutil
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

import lakebed
from lakebed.commands.clone.clone_table import CloneOptions, clone_table
from lakebed.errors import (
    ConcurrentAppendError,
    ConcurrentWriteError,
    DataFileError,
    InvalidArgumentError,
    TableExistsError,
    TablePropertyError,
)
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.table_log import TableLog
from lakebed.spec.features import is_supported
from lakebed.storage import Store, open_store
from testkit.faults import FaultStore, killed_at_every_call
from testkit.other_writers import Meanwhile
from testkit.readers.log_json import last
from testkit.readers.other_readers import read_elsewhere
from testkit.schemas import column
from testkit.servers.s3_server import S3Server
from testkit.tables.arbitrary_tables import add_file, make_table
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
def source(tmp_path: Path) -> Path:
    return tmp_path / "source"


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "target"


def metrics(path: Path) -> dict[str, int]:
    row = lakebed.open(path).history(1).to_pylist()[0]
    assert row["operation"] == "CLONE"
    return {name: int(value) for name, value in row["operationMetrics"]}


def files(path: Path) -> list[str]:
    return sorted(str(each.relative_to(path)) for each in path.rglob("*.*") if each.is_file())


# --- contents -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shallow", [False, True])
def test_a_clone_has_the_rows_of_its_source_for_every_reader(
    source: Path, target: Path, shallow: bool
) -> None:
    make(source, partition_by="day", properties=VECTORS)
    delete(source, [0, 3])
    clone = lakebed.open(source).clone(target, shallow=shallow)
    expected = [1, 2, *range(4, 20)]
    assert clone.version == 0
    assert ids(target) == ids_here(clone) == expected
    if not shallow:  # DuckDB takes absolute paths for relative ones
        assert ids_by_duckdb(target) == expected
    assert clone.partition_columns == ("day",)
    assert lakebed.open(target).to_arrow(where="day = 'tue'").num_rows == 10


def test_a_deep_clone_stands_alone(source: Path, target: Path) -> None:
    make(source, properties=VECTORS)
    delete(source, [0])
    lakebed.open(source).clone(target)
    shutil.rmtree(source)
    assert ids(target) == ids_here(target) == list(range(1, 20))


def test_a_shallow_clone_refers_to_the_files_and_has_none(source: Path, target: Path) -> None:
    make(source, properties=VECTORS)
    delete(source, [0])
    lakebed.open(source).clone(target, shallow=True)
    assert not [name for name in files(target) if not name.startswith("_delta_log")]
    adds = last(target, "add")
    assert all(add["path"].startswith(f"file:{source}/") for add in adds)
    vector = next(add["deletionVector"] for add in adds if "deletionVector" in add)
    assert vector["storageType"] == "p"
    assert vector["pathOrInlineDv"].startswith(f"file:{source}/deletion_vector_")


def test_writes_to_a_clone_and_to_its_source_do_not_meet(source: Path, target: Path) -> None:
    make(source, properties=VECTORS)
    lakebed.open(source).clone(target, shallow=True)
    lakebed.write(target, numbers(70, 72))
    delete(target, [9])
    lakebed.write(source, numbers(80, 81))
    assert ids(source) == [*range(20), 80]
    assert ids(target) == ids_here(target) == [*range(9), *range(10, 20), 70, 71]


def test_a_version_of_the_past_is_cloned_as_it_was(source: Path, target: Path) -> None:
    make(source)
    lakebed.open(source, version=0).clone(target)
    assert ids(target) == list(range(10))
    assert dict(lakebed.open(target).history().to_pylist()[0]["operationParameters"]) == {
        "source": f"delta.`{source.as_uri()}`",
        "sourceVersion": "0",
    }


def test_a_clone_of_a_clone_copies_what_the_first_refers_to(
    source: Path, target: Path, tmp_path: Path
) -> None:
    make(source, properties=VECTORS, partition_by="day")
    delete(source, [0])
    lakebed.open(source).clone(target, shallow=True)
    again = tmp_path / "again"
    lakebed.open(target).clone(again, shallow=True)
    deep = tmp_path / "deep"
    lakebed.open(target).clone(deep)
    assert ids(again) == ids_here(again) == list(range(1, 20))
    shutil.rmtree(source)
    assert ids(deep) == ids_here(deep) == list(range(1, 20))


@pytest.mark.parametrize("shallow", [False, True])
def test_odd_names_of_files_and_folders_survive(tmp_path: Path, shallow: bool) -> None:
    source, target = tmp_path / "a b%20ü#", tmp_path / "c d%41"
    make_table(source, column("id"))
    add_file(source, numbers(0, 3).select(["id"]), "x y%25.parquet", logged_as="x%20y%2525.parquet")
    lakebed.write(source, numbers(3, 5).select(["id"]))
    clone = lakebed.open(source).clone(target, shallow=shallow)
    assert ids_here(clone) == ids_here(target) == list(range(5))
    if shallow:
        expected = f"file:{tmp_path}/a%20b%2520ü%23/"
        assert all(add["path"].startswith(expected) for add in last(target, "add"))


def test_a_clone_of_a_clone_with_urls_of_three_slashes_has_hadoops_spelling(
    source: Path, target: Path, tmp_path: Path
) -> None:
    make(source, properties=VECTORS)
    delete(source, [0])
    lakebed.open(source).clone(target, shallow=True)
    commit = target / "_delta_log" / f"{0:020}.json"
    # Commits of other engines have no digest.
    text = re.sub(r',?"(lakebedEnd":true|lakebedCrc32":"[0-9a-f]+")', "", commit.read_text())
    commit.write_text(text.replace(f"file:{source}", source.as_uri()))
    assert ids(target) == ids_here(target) == list(range(1, 20))
    again = tmp_path / "again"
    lakebed.open(target).clone(again, shallow=True)
    text = (again / "_delta_log" / f"{0:020}.json").read_text()
    assert f'"path":"file:{source}/' in text
    assert f'"pathOrInlineDv":"file:{source}/' in text
    delete(again, [1])
    assert ids(again) == ids_here(again) == list(range(2, 20))


# --- metadata -----------------------------------------------------------------------------------


def test_properties_replace_those_of_the_source(source: Path, target: Path) -> None:
    make(source, properties={"delta.appendOnly": "true", "mine": "1"})
    asked = {"delta.appendOnly": "false", "delta.enableDeletionVectors": "true"}
    clone = lakebed.open(source).clone(target, properties=asked)
    assert clone.properties == {**asked, "mine": "1"}
    assert is_supported(clone.protocol, "deletionVectors")
    assert clone.snapshot.metadata.id != lakebed.open(source).snapshot.metadata.id


def test_a_clone_gives_out_row_ids_of_its_own(source: Path, target: Path) -> None:
    make(source, properties={"delta.enableRowTracking": "true"})
    clone = lakebed.open(source).clone(target)
    found = sorted(add.base_row_id or 0 for add in adds_from_table(clone.snapshot.files()))
    assert found == [0, 10]
    names = [key for key in clone.properties if "materialized" in key]
    assert len(names) == 2
    assert not {clone.properties[k] for k in names} & set(lakebed.open(source).properties.values())


def test_pins_stay_with_the_source_and_clustering_goes_along(source: Path, target: Path) -> None:
    make(source)
    lakebed.open(source).cluster_by(["id"])
    lakebed.open(source).pin("audit", 1)
    clone = lakebed.open(source).clone(target)
    assert clone.pins() == {}
    assert clone.detail()["clusteringColumns"].to_pylist() == [["id"]]


def test_a_partitioned_source_over_a_clustered_table_is_not_clustered(
    source: Path, target: Path
) -> None:
    lakebed.write(source, numbers(0, 10), partition_by="day")
    lakebed.write(target, numbers(20, 30), cluster_by="id")
    clone = lakebed.open(source).clone(target, replace=True)
    assert "clustering" not in clone.detail()["tableFeatures"].to_pylist()[0]
    assert clone.partition_columns == ("day",)
    assert clone.detail()["clusteringColumns"].to_pylist() == [[]]
    assert ids(target) == ids_by_duckdb(target) == list(range(10))
    lakebed.write(target, numbers(10, 12))
    back = clone.restore(version=0)
    assert back.detail()["clusteringColumns"].to_pylist() == [["id"]]
    assert ids(target) == ids_by_duckdb(target) == list(range(20, 30))


def test_in_commit_timestamps_start_afresh(source: Path, target: Path) -> None:
    make(source, properties={"delta.enableInCommitTimestamps": "true"})
    clone = lakebed.open(source).clone(target)
    lakebed.write(target, numbers(20, 21))
    assert lakebed.open(target, timestamp=clone.timestamp).version == 0


def test_mapped_columns_keep_their_physical_names(source: Path, target: Path) -> None:
    make(source, properties={"delta.columnMapping.mode": "name"})
    clone = lakebed.open(source).clone(target)
    assert clone.schema == lakebed.open(source).schema
    assert ids_here(target) == ids_by_duckdb(target) == list(range(20))
    with pytest.raises(InvalidArgumentError, match=r"columnMapping\.mode"):
        lakebed.open(source).clone(f"{target}2", properties={"delta.columnMapping.mode": "none"})


# --- again --------------------------------------------------------------------------------------


def test_a_clone_that_is_repeated_copies_only_what_is_new(source: Path, target: Path) -> None:
    make(source, properties=VECTORS)
    lakebed.open(source).clone(target)
    assert metrics(target)["numCopiedFiles"] == 2
    written = {name: (target / name).stat().st_mtime_ns for name in files(target)}
    lakebed.write(source, numbers(20, 25))
    lakebed.open(source).clone(target, replace=True)
    assert ids(target) == list(range(25))
    found = metrics(target)
    assert (found["numCopiedFiles"], found["numRemovedFiles"]) == (1, 0)
    assert found["sourceNumOfFiles"] == 3
    newest = max(lakebed.open(source).files().to_pylist(), key=lambda f: f["modificationTime"])
    assert found["copiedFilesSize"] == newest["size"]
    for name in written:
        assert (target / name).stat().st_mtime_ns == written[name]


def test_rows_that_were_deleted_since_copy_a_vector_and_no_data(source: Path, target: Path) -> None:
    make(source, properties={**VECTORS, "delta.enableRowTracking": "true"})
    lakebed.open(source).clone(target)
    ids_of = {a.path: a.base_row_id for a in adds_from_table(lakebed.open(target).snapshot.files())}
    before = files(target)
    delete(source, [0, 1])
    lakebed.open(source).clone(target, replace=True)
    assert ids(target) == list(range(2, 20))
    assert metrics(target)["numCopiedFiles"] == 0
    fresh = set(files(target)) - set(before)
    assert [n for n in fresh if "_delta_log" not in n] == [p.name for p in source.glob("*.bin")]
    after = adds_from_table(lakebed.open(target).snapshot.files())
    assert {add.path: add.base_row_id for add in after} == ids_of


def test_files_that_went_from_the_source_go_from_the_clone(source: Path, target: Path) -> None:
    make(source)
    lakebed.open(source).clone(target)
    lakebed.write(source, numbers(50, 51), mode="overwrite")
    lakebed.open(source).clone(target, replace=True)
    assert ids(target) == [50]
    assert (metrics(target)["numRemovedFiles"], metrics(target)["numCopiedFiles"]) == (2, 1)
    assert ids_here(lakebed.open(target, version=0)) == list(range(20))


def test_a_clone_without_changes_copies_nothing(source: Path, target: Path) -> None:
    make(source, partition_by="day")
    lakebed.open(source).clone(target)
    lakebed.open(source).clone(target, replace=True)
    assert {metrics(target)[name] for name in ("numCopiedFiles", "numRemovedFiles")} == {0}
    assert not last(target, "add")


def test_rows_that_were_written_to_a_clone_go_when_it_is_cloned_over(
    source: Path, target: Path
) -> None:
    make(source)
    first = lakebed.open(source).clone(target)
    lakebed.write(target, numbers(90, 99))
    clone = lakebed.open(source).clone(target, replace=True)
    assert ids(target) == list(range(20))
    assert clone.snapshot.metadata.id == first.snapshot.metadata.id


def test_a_file_of_the_same_name_with_other_rows_is_not_taken_for_a_copy(
    source: Path, target: Path
) -> None:
    """As with converted folders, whose files are all called the same."""
    for path, data in ((source, [1, 2]), (target, [3, 4, 5])):
        make_table(path, column("id"))
        add_file(path, pa.table({"id": data}), "same.parquet")
    lakebed.open(source).clone(target, replace=True)
    assert ids(target) == [1, 2]
    assert ids_here(lakebed.open(target, version=1)) == [3, 4, 5]
    lakebed.open(source).clone(target, replace=True)
    assert metrics(target)["numCopiedFiles"] == 0


def test_a_table_in_the_way_is_not_touched_unless_it_may_be(source: Path, target: Path) -> None:
    make(source)
    lakebed.write(target, pa.table({"other": ["x"]}))
    with pytest.raises(TableExistsError):
        lakebed.open(source).clone(target)
    assert read_elsewhere(target).to_pylist() == [{"other": "x"}]
    lakebed.open(source).clone(target, replace=True)
    assert ids(target) == list(range(20))
    assert lakebed.open(target, version=0).to_arrow().to_pylist() == [{"other": "x"}]


def test_shallow_after_deep_and_deep_after_shallow(source: Path, target: Path) -> None:
    make(source)
    lakebed.open(source).clone(target)
    lakebed.open(source).clone(target, shallow=True, replace=True)
    assert metrics(target)["numRemovedFiles"] == 2
    assert ids(target) == list(range(20))
    lakebed.open(source).clone(target, replace=True)
    shutil.rmtree(source)
    assert ids(target) == ids_here(target) == list(range(20))


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize("inside", ["", "/clone", "/.."])
def test_a_clone_into_its_source_is_refused(source: Path, inside: str) -> None:
    make(source)
    with pytest.raises(InvalidArgumentError, match="inside the other"):
        lakebed.open(source).clone(f"{source}{inside}")


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"properties": {"delta.nonsense": "1"}}, TablePropertyError),
        ({"properties": {"delta.appendOnly": 1}}, TablePropertyError),
        ({"properties": 3}, InvalidArgumentError),
        ({"shallow": "no"}, InvalidArgumentError),
        ({"replace": 1}, InvalidArgumentError),
    ],
)
def test_wrong_arguments_leave_nothing_behind(
    source: Path, target: Path, options: dict[str, Any], error: type[Exception]
) -> None:
    make(source)
    with pytest.raises(error):
        lakebed.open(source).clone(target, **options)
    assert not target.exists()


def test_a_source_that_lost_files_is_not_cloned(source: Path, target: Path) -> None:
    make(source)
    gone = lakebed.open(source).files().column("path").to_pylist()[0]
    (source / gone).unlink()
    with pytest.raises(DataFileError, match=gone):
        lakebed.open(source).clone(target)
    assert not lakebed.is_delta_table(target)


# --- others at work -----------------------------------------------------------------------------


def test_rows_that_come_to_the_clone_meanwhile_are_not_lost(
    source: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(source)
    lakebed.open(source, version=0).clone(target)
    monkeypatch.setattr("lakebed.commands.clone.clone_table.Transaction", Meanwhile)
    Meanwhile.other = lambda: lakebed.write(target, numbers(90, 92))
    with pytest.raises(ConcurrentAppendError):
        lakebed.open(source).clone(target, replace=True)
    assert ids(target) == [*range(10), 90, 91]
    lakebed.open(source).clone(target, replace=True)
    assert ids(target) == list(range(20))


def test_a_table_that_appears_meanwhile_is_kept(
    source: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(source)
    monkeypatch.setattr("lakebed.commands.clone.clone_table.Transaction", Meanwhile)
    Meanwhile.other = lambda: lakebed.write(target, numbers(90, 92))
    with pytest.raises(ConcurrentWriteError):
        lakebed.open(source).clone(target)
    assert ids(target) == [90, 91]


def test_commits_to_the_source_meanwhile_are_not_in_the_clone(
    source: Path, target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(source)
    monkeypatch.setattr("lakebed.commands.clone.clone_table.Transaction", Meanwhile)
    Meanwhile.other = lambda: lakebed.write(source, numbers(90, 92), mode="overwrite")
    lakebed.open(source).clone(target)
    assert ids(target) == list(range(20))


@pytest.mark.parametrize("shallow", [False, True])
@pytest.mark.parametrize("repeated", [False, True])
def test_killed_at_any_moment_a_clone_can_be_finished(
    source: Path, tmp_path: Path, repeated: bool, shallow: bool
) -> None:
    make(source, properties=VECTORS)
    model = tmp_path / "model"
    lakebed.open(source).clone(model, shallow=shallow)
    delete(source, [0])
    lakebed.write(source, numbers(20, 22))
    expected = list(range(1, 22))
    snapshot, tries = lakebed.open(source).snapshot, count()
    place: list[Path] = []

    def fresh() -> Store:
        place[:] = [tmp_path / f"try{next(tries)}"]
        if repeated:
            shutil.copytree(model, place[0])
        return opened(place[0])

    def run(store: Store) -> None:
        clone_table(snapshot, TableLog(store), CloneOptions(replace=True, shallow=shallow))

    def check() -> None:
        if lakebed.is_delta_table(place[0]):
            assert ids_here(place[0]) in (list(range(20)), expected)
        lakebed.open(source).clone(place[0], replace=True, shallow=shallow)
        assert ids_here(place[0]) == expected

    assert killed_at_every_call(run, fresh, check) > (4 if shallow else 8)
    assert ids(place[0]) == expected


# --- stores -------------------------------------------------------------------------------------


def test_clones_go_from_store_to_store(
    source: Path, target: Path, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakebed.storage.copying.CHUNK", 5 * 1024 * 1024)
    big = pa.table({"id": range(20_000), "noise": [os.urandom(400) for _ in range(20_000)]})
    lakebed.write(source, big)
    bucket, options = s3_server.new_bucket(), s3_server.storage_options
    first = lakebed.open(source).clone(f"{bucket}/a", storage_options=options)
    with monkeypatch.context() as patched:
        # Inside a bucket no byte passes through here.
        patched.setattr("lakebed.storage.copying._upload", None)
        second = first.clone(f"{bucket}/b", storage_options=options)
    second.clone(target)
    assert ids(target) == list(range(20_000))
    originals = [each.read_bytes() for each in source.glob("*.parquet")]
    assert [each.read_bytes() for each in target.glob("*.parquet")] == originals


def test_wrapped_stores_are_copied_by_get_and_put(source: Path) -> None:
    make(source)
    store = FaultStore(open_store("memory://clone-wrapped/t"))
    clone_table(lakebed.open(source).snapshot, TableLog(store), CloneOptions())
    assert store.counts["put"] >= 2
    assert DeltaTable(str(source)).version() == 1
    assert ids_here(lakebed.open("memory://clone-wrapped/t")) == list(range(20))
