"""FSCK REPAIR: entries of files that are gone go too, and nothing else."""

from __future__ import annotations

from pathlib import Path

import deltalake
import pyarrow as pa
import pytest

import lakebed
from lakebed.commands.repair_table import repair_table
from lakebed.errors import AppendOnlyError
from lakebed.log.table_log import TableLog
from lakebed.storage import open_store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files, with the ids 0 to 2, 3 to 5 and 6 to 8."""
    for start in (0, 3, 6):
        lakebed.write(tmp_path / "t", pa.table({"id": range(start, start + 3)}))
    return tmp_path / "t"


def log_of(folder: Path) -> TableLog:
    return TableLog(open_store(folder))


def lose(folder: Path, version: int) -> str:
    """Deletes the file that a version added; its path."""
    (path,) = (
        row["path"]
        for row in lakebed.open(folder, version)._snapshot.files(["path"]).to_pylist()
        if version == 0 or row["path"] not in paths(folder, version - 1)
    )
    (folder / path).unlink()
    return str(path)


def paths(folder: Path, version: int) -> list[str]:
    return list(lakebed.open(folder, version)._snapshot.files(["path"])["path"].to_pylist())


def ids(folder: Path) -> list[int]:
    """By an independent reader."""
    return sorted(deltalake.DeltaTable(str(folder)).to_pyarrow_table()["id"].to_pylist())


def test_a_whole_table_gets_no_commit(folder: Path) -> None:
    assert repair_table(log_of(folder)).num_rows == 0
    assert lakebed.open(folder).version == 2


def test_entries_of_lost_files_go_and_the_other_rows_stay(folder: Path) -> None:
    lost = lose(folder, 1)
    found = repair_table(log_of(folder))
    assert found.to_pylist() == [
        {
            "dataFilePath": lost,
            "dataFileMissing": True,
            "deletionVectorPath": None,
            "deletionVectorFileMissing": False,
        }
    ]
    assert ids(folder) == [0, 1, 2, 6, 7, 8]
    newest = lakebed.open(folder).history().to_pylist()[0]
    assert newest["operation"] == "FSCK"
    assert dict(newest["operationMetrics"])["numRemovedFiles"] == "1"
    assert repair_table(log_of(folder)).num_rows == 0


def test_a_dry_run_finds_them_and_changes_nothing(folder: Path) -> None:
    lost = lose(folder, 0)
    assert repair_table(log_of(folder), dry_run=True)["dataFilePath"].to_pylist() == [lost]
    assert lakebed.open(folder).version == 2


def test_an_append_only_table_keeps_its_entries(folder: Path) -> None:
    lakebed.open(folder).set_properties({"delta.appendOnly": "true"})
    lose(folder, 2)
    with pytest.raises(AppendOnlyError):
        repair_table(log_of(folder))
    assert lakebed.open(folder).version == 3


def test_all_files_may_be_gone(folder: Path) -> None:
    for version in range(3):
        lose(folder, version)
    assert repair_table(log_of(folder)).num_rows == 3
    assert ids(folder) == []
