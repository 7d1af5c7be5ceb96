"""After a loss of power at any moment: what was acknowledged is there, and nothing half-written.

`log` promises the log, `all` the rows too. With `none` the same test must find losses.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from power_loss import File, Folder, Recorder, Tree, crashes, put_back

import lakebed
from lakebed.errors import LakebedError
from lakebed.storage import atomic_files
from lakebed.storage.durability import DEFAULT, Durability

Work = Callable[[Path, Recorder, str], None]
TABLE = "new/folder/table"


def rows(first: int, count: int = 3) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + count), pa.int64())})


def acknowledged(disk: Recorder, version: int) -> None:
    disk.note(f"acknowledged {version}")


def appending(path: Path, disk: Recorder, durability: str) -> None:
    """With checkpoints, and an overwrite of which the old files stay."""
    options = {"durability": durability}
    properties = {"delta.checkpointInterval": "2"}
    lakebed.write(path, rows(0), storage_options=options, properties=properties)
    acknowledged(disk, 0)
    for version in (1, 2, 3):
        mode = "overwrite" if version == 3 else "append"
        lakebed.write(path, rows(10 * version), mode=mode, storage_options=options)
        acknowledged(disk, version)


def partitioned(path: Path, disk: Recorder, durability: str) -> None:
    """Several files and folders in one commit, by several threads."""
    for version in range(2):
        ids = range(6 * version, 6 * version + 6)
        table = pa.table({"id": pa.array(ids, pa.int64()), "p": [n % 3 for n in ids]})
        options = {"durability": durability}
        lakebed.write(path, table, mode="append", partition_by=["p"], storage_options=options)
        acknowledged(disk, version)


def of_another_process(path: Path, disk: Recorder, durability: str) -> None:
    """Spark's executors write files and sync nothing; here files are there that become a table."""
    path.mkdir(parents=True)
    for number in range(3):
        pq.write_table(rows(3 * number), path / f"{number}.parquet")
        disk.foreign(path / f"{number}.parquet")
    lakebed.convert(path, storage_options={"durability": durability})
    acknowledged(disk, 0)


WORKS = [appending, partitioned, of_another_process]


def record(work: Work, folder: Path, durability: str) -> Recorder:
    root = folder / "disk"
    root.mkdir()
    with Recorder(root) as disk:
        work(root / TABLE, disk, durability)
    return disk


def losses(work: Work, folder: Path, durability: str) -> list[str]:
    """What is wrong after a crash at each moment, in each of the ways that the disk may be left."""
    disk = record(work, folder, durability)
    path = folder / "disk" / TABLE
    log = {file.name: file.read_bytes() for file in (path / "_delta_log").iterdir()}
    expected = {
        version: lakebed.open(path, version=version).to_arrow().sort_by("id").to_pylist()
        for version in range(sum(name.endswith(".json") for name in log))
    }
    chance, found, last = random.Random(7), [], -1
    for number, (what, moment) in enumerate(disk.moments):
        if what.startswith("acknowledged"):
            last = int(what.split()[1])
        for way, tree in enumerate(crashes(moment, chance)):
            state = put_back(tree, folder / "states" / f"{number}-{way}")
            wrong = _wrong(state / TABLE, last, log, expected, durability)
            if wrong:
                found.append(f"after {what}, version {last} acknowledged: {wrong}")
            shutil.rmtree(state)
    assert len(disk.moments) > 5
    return found


def _wrong(
    path: Path, last: int, log: dict[str, bytes], expected: dict[int, list], durability: str
) -> str | None:
    folder = path / "_delta_log"
    commits = sorted(folder.glob("*.json")) if folder.exists() else []
    torn = [file.name for file in commits if file.read_bytes() != log[file.name]]
    if torn:
        return f"{torn} is torn"
    versions = [int(file.stem) for file in commits]
    if versions != list(range(len(versions))):
        return f"versions {versions}"
    if len(versions) <= last:
        return f"version {last} is lost"
    if not versions:
        return None
    try:
        table = lakebed.open(path)
        if durability == "log":
            table.files()
            return None
        # What a commit names is on the disk before the commit is.
        read = table.to_arrow().sort_by("id").to_pylist()
    except LakebedError as error:
        return f"{type(error).__name__}: {error.message}"
    return None if read == expected[table.version] else f"rows of version {table.version}"


@pytest.mark.parametrize("durability", ["log", "all"])
@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.__name__)
def test_no_loss_of_power_loses_what_was_acknowledged(
    work: Work, durability: str, tmp_path: Path
) -> None:
    assert losses(work, tmp_path, durability) == []


@pytest.mark.parametrize("work", WORKS, ids=lambda work: work.__name__)
def test_without_durability_the_same_test_finds_losses(work: Work, tmp_path: Path) -> None:
    found = losses(work, tmp_path, "none")
    assert any("is torn" in each for each in found)
    assert any("is lost" in each for each in found)


def test_with_the_log_alone_rows_may_be_lost(tmp_path: Path) -> None:
    """So that nobody takes `log` for more than it is."""
    disk = record(appending, tmp_path, "log")
    least = next(crashes(disk.moments[-1][1], random.Random(1)))
    path = put_back(least, tmp_path / "state") / TABLE
    table = lakebed.open(path)
    assert table.version == 3
    with pytest.raises(LakebedError):
        table.to_arrow()


@pytest.mark.parametrize("broken", ["file", "folder", "folders above", "data"])
def test_each_fsync_is_needed(broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Left out one by one, each makes the test above fail."""
    sync, write = atomic_files._sync, atomic_files._write

    def only_files(path: str) -> None:
        if Path(path).is_file():
            sync(path)

    if broken == "file":
        monkeypatch.setattr(atomic_files, "_write", lambda *given: write(*given[:2], False))
    elif broken == "folder":
        monkeypatch.setattr(atomic_files, "_sync", only_files)
    elif broken == "folders above":
        monkeypatch.setattr(atomic_files, "sync_folders", lambda _: None)
    else:
        monkeypatch.setattr(atomic_files, "sync_files", lambda _, **__: None)
    assert losses(appending, tmp_path, "all")


def test_a_synced_file_is_whole_in_every_state() -> None:
    """The disk itself: what is synced stays, what is not may go."""
    top = Folder()
    kept, lost = File(b"kept", b"kept"), File(b"lost")
    top.entries = {"kept": kept, "lost": lost}
    top.synced = {"kept": kept}
    states: list[Tree] = list(crashes(top, random.Random(3), 50))
    assert {state["kept"] for state in states} == {b"kept"}
    assert {None, b"", b"lost", b"lo"} <= {state.get("lost") for state in states}


def test_the_default_is_the_log() -> None:
    assert DEFAULT is Durability.LOG
