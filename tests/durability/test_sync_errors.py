"""A disk that cannot sync: nothing is acknowledged that may not last."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pyarrow as pa
import pytest

import lakebed
from lakebed.errors import InvalidArgumentError, StorageError
from lakebed.log.table_log import TableLog
from lakebed.storage import atomic_files, open_store
from lakebed.storage.durability import Durability
from lakebed.storage.local import LocalStore
from lakebed.transaction import Committed, Transaction, Unknown
from testkit.tables.small_tables import IMPATIENT, WRITE, create, file


def appending(path: Path) -> Transaction:
    store = open_store(path, {"durability": "log"})
    create(store)
    transaction = Transaction(TableLog(store).snapshot(), operation=WRITE, retries=IMPATIENT)
    transaction.stage(file("a.parquet"))
    return transaction


def failing(monkeypatch: pytest.MonkeyPatch, times: int) -> list[str]:
    """The first syncs of existing files and folders fail."""
    failed: list[str] = []
    sync = atomic_files._sync

    def broken(path: str) -> None:
        if len(failed) < times:
            failed.append(path)
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(path)

    monkeypatch.setattr(atomic_files, "_sync", broken)
    return failed


def test_a_commit_whose_folder_was_not_synced_is_synced_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transaction = appending(tmp_path)
    failed = failing(monkeypatch, 1)
    outcome = transaction.commit()
    assert isinstance(outcome, Committed)
    assert failed == [f"{tmp_path}/_delta_log"]


def test_a_commit_whose_folder_cannot_be_synced_is_not_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transaction = appending(tmp_path)
    failing(monkeypatch, 1000)
    outcome = transaction.commit()
    assert isinstance(outcome, Unknown)
    assert outcome.version == 1


def test_nothing_is_committed_if_its_files_cannot_be_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pa.table({"id": [1]})
    lakebed.write(tmp_path, rows, storage_options={"durability": "all"})
    failing(monkeypatch, 1)
    with pytest.raises(StorageError, match=r"cannot sync .*parquet"):
        lakebed.write(tmp_path, rows, mode="append", storage_options={"durability": "all"})
    monkeypatch.undo()
    assert lakebed.open(tmp_path).version == 0


def test_a_file_that_is_gone_is_not_committed_with_all(tmp_path: Path) -> None:
    store = open_store(tmp_path, {"durability": "all"})
    with pytest.raises(StorageError, match=r"gone\.parquet"):
        create(store, file("gone.parquet"))
    assert not TableLog(store).exists()


def test_the_environment_chooses_and_an_option_goes_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def chosen(**options: str) -> Durability:
        store = open_store(tmp_path, options)
        assert isinstance(store, LocalStore)
        return store.durability

    monkeypatch.setenv("LAKEBED_DURABILITY", "ALL")
    assert chosen() is Durability.ALL
    assert chosen(durability="none") is Durability.NONE
    monkeypatch.setenv("LAKEBED_DURABILITY", "some")
    with pytest.raises(InvalidArgumentError, match="LAKEBED_DURABILITY"):
        chosen()
    monkeypatch.delenv("LAKEBED_DURABILITY")
    assert chosen() is Durability.LOG
