"""Copies of objects between stores: whole, or not there at all."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lakebed.errors import ObjectNotFoundError, StorageError
from lakebed.storage import open_store
from lakebed.storage.copying import copy_object
from testkit.tables.numbered_tables import opened

DATA = os.urandom(3_000_000)


@pytest.mark.parametrize("size", [0, 1, len(DATA)])
@pytest.mark.parametrize("kernel", [True, False])
def test_a_file_is_copied_into_folders_that_are_made(
    tmp_path: Path, size: int, kernel: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not kernel:
        monkeypatch.setattr("os.copy_file_range", _not_here)
    (tmp_path / "file").write_bytes(DATA[:size])
    copy_object(opened(tmp_path), "file", opened(tmp_path / "other"), "a/b c/copy")
    assert (tmp_path / "other/a/b c/copy").read_bytes() == DATA[:size]


def test_what_is_there_is_replaced(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store.put("old", b"old")
    store.put("new", b"new")
    copy_object(store, "new", store, "old")
    assert store.get("old") == b"new"


@pytest.mark.parametrize("source", ["local", "memory"])
@pytest.mark.parametrize("target", ["local", "memory"])
def test_every_kind_of_store_copies_and_misses(
    tmp_path: Path, source: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakebed.storage.copying.CHUNK", 1_000_000)
    stores = {
        "local": open_store(str(tmp_path / f"{source}-{target}")),
        "memory": open_store(f"memory://copies-{source}-{target}/x"),
    }
    stores[source].put("from", DATA)
    copy_object(stores[source], "from", stores[target], "to")
    assert stores[target].get("to") == DATA
    with pytest.raises(ObjectNotFoundError):
        copy_object(stores[source], "absent", stores[target], "nowhere")
    assert not stores[target].exists("nowhere")


def test_a_full_disk_leaves_nothing_and_names_the_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    store = opened(tmp_path)
    store.put("from", DATA)
    monkeypatch.setattr("os.copy_file_range", full)
    with pytest.raises(StorageError, match=r"write .*/to") as caught:
        copy_object(store, "from", store, "to")
    assert "full" in (caught.value.hint or "")
    assert [each.name for each in tmp_path.iterdir()] == ["from"]


def test_a_copy_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "from").write_bytes(DATA)
    code = f"""
import os
from lakebed.storage import open_store
from lakebed.storage import copying
os.copy_file_range = lambda a, b, n: (os.write(b, b"half"), os._exit(9))
store = open_store({str(tmp_path)!r})
copying.copy_object(store, "from", store, "to")
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    assert [each.name for each in tmp_path.iterdir()] == ["from"]


def _not_here(*_: object) -> int:
    raise OSError(errno.EXDEV, "Invalid cross-device link")
