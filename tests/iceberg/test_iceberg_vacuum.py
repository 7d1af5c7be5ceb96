"""What VACUUM leaves for readers of Iceberg, and how old Iceberg metadata goes."""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path

import pytest

import lakebed
from lakebed.errors import StorageError
from lakebed.iceberg import document as documents
from lakebed.iceberg import publish
from testkit.tables.iceberg_tables import (
    by_pyiceberg,
    check_same,
    commit,
    document,
    ids,
    live,
    make,
    manifests,
    numbers,
    removal,
)

CONFIG = "delta.universalFormat.config.iceberg"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


def vacuum(path: Path) -> None:
    """Of files that are all older than this moment."""
    a_minute_ago = time.time() - 60
    for file in path.rglob("*"):
        if file.is_file() and "_delta_log" not in file.parts:
            os.utime(file, (a_minute_ago, a_minute_ago))
    lakebed.open(path).vacuum(retention_hours=0, enforce_retention=False)


def metadata_files(path: Path) -> list[str]:
    return sorted(file.name for file in (path / "metadata").iterdir())


def test_vacuum_leaves_what_the_newest_snapshot_needs_and_expires_the_others(path: Path) -> None:
    make(path)
    lakebed.write(path, numbers(10, 20))
    lakebed.write(path, numbers(20, 30), mode="overwrite")
    assert len(document(path)["snapshots"]) == 3
    vacuum(path)
    check_same(path)
    assert ids(path) == list(range(20, 30))
    assert len(document(path)["snapshots"]) == 1
    needed = {Path(m["manifest_path"]).name for m in manifests(path)}
    needed.add(Path(document(path)["snapshots"][0]["manifest-list"]).name)
    assert {name for name in metadata_files(path) if name.endswith(".avro")} == needed
    assert len(list(path.rglob("*.parquet"))) == 1


def test_vacuum_removes_manifests_that_nobody_names_but_no_file_of_others(path: Path) -> None:
    make(path)
    folder = path / "metadata"
    mine = next(folder.glob("lakebed-*-m0.avro"))
    shutil.copy(mine, folder / "lakebed-orphan-m0.avro")
    shutil.copy(mine, folder / "00001-by-another.metadata.json")
    before = metadata_files(path)
    vacuum(path)
    gone = set(before) - set(metadata_files(path))
    assert gone == {"lakebed-orphan-m0.avro"}
    check_same(path)


def test_vacuum_keeps_data_files_of_a_snapshot_that_is_behind(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    make(path)

    def fail(*_: object) -> bool:
        raise StorageError("no room")

    with monkeypatch.context() as patched:
        patched.setattr(publish_module(), "create_metadata", fail)
        lakebed.write(path, numbers(50, 60), mode="overwrite")
        vacuum(path)
    assert "its Iceberg metadata failed: [STORAGE] no room" in caplog.text
    assert ids(path) == list(range(10)), "the last snapshot can still be read"
    lakebed.write(path, numbers(60, 70))
    check_same(path)
    vacuum(path)
    check_same(path)
    assert len(list(path.rglob("*.parquet"))) == 2


def publish_module() -> object:
    return sys.modules[publish.__module__]


def test_without_the_property_the_metadata_is_rubbish_like_any_other(path: Path) -> None:
    make(path).unset_properties("delta.universalFormat.enabledFormats")
    vacuum(path)
    assert not list((path / "metadata").glob("*.avro"))


def test_only_the_last_metadata_files_stay(path: Path) -> None:
    make(path).set_properties({f"{CONFIG}.write.metadata.previous-versions-max": "2"})
    for start in range(10, 60, 10):
        lakebed.write(path, numbers(start, start + 10))
    assert [name for name in metadata_files(path) if name.endswith(".json")] == [
        "v5.metadata.json",
        "v6.metadata.json",
        "v7.metadata.json",
    ]
    check_same(path)


def test_snapshots_beyond_the_most_expire_with_their_manifests(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "MOST_SNAPSHOTS", 3)
    make(path)
    lakebed.write(path, numbers(10, 20))
    commit(path, removal(live(path)[0]))
    commit(path, removal(live(path)[0]))
    for start in range(20, 60, 10):
        lakebed.write(path, numbers(start, start + 10))
    check_same(path)
    snapshots = document(path)["snapshots"]
    assert len(snapshots) == 3
    for snapshot in snapshots:
        version = int(snapshot["summary"]["delta-version"])
        found = by_pyiceberg(path, snapshot_id=snapshot["snapshot-id"])
        assert found.num_rows == lakebed.open(path, version=version).to_arrow().num_rows
    # Three lists; one manifest for each of the files that are left.
    assert len(list((path / "metadata").glob("*.avro"))) == 3 + 4


def test_a_table_may_ask_for_snapshots_to_expire_sooner(path: Path) -> None:
    make(path).set_properties({f"{CONFIG}.history.expire.max-snapshot-age-ms": "0"})
    lakebed.write(path, numbers(10, 20))
    lakebed.write(path, numbers(20, 30))
    assert len(document(path)["snapshots"]) == 1
    check_same(path)
