"""The local disk: atomic under SIGKILL, sparing with system calls, right on odd file systems."""

from __future__ import annotations

import errno
import os
import pickle
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from lakebed.errors import ObjectExistsError, ObjectNotFoundError, StorageError
from lakebed.storage import Store, atomic_files, open_store
from lakebed.storage.durability import Durability
from lakebed.storage.local import LocalStore


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path)


@pytest.fixture(params=["unnamed", "named", "without proc", "without links"])
def route(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every way in which a file can get its name, as different file systems need it."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, "no hard links here")

    if request.param in ("named", "without links"):
        monkeypatch.setattr(atomic_files, "_O_TMPFILE", 0)
    if request.param == "without links":
        monkeypatch.setattr(os, "link", refuse)
    if request.param == "without proc":
        monkeypatch.setattr(atomic_files, "_link_descriptor", refuse)
    return str(request.param)


# --- atomic files ------------------------------------------------------------------------------


@pytest.mark.usefixtures("route")
@pytest.mark.parametrize("options", [{"durability": each} for each in ("none", "log", "all")])
def test_every_route_creates_replaces_and_refuses(tmp_path: Path, options: dict[str, str]) -> None:
    store = open_store(tmp_path, options)
    store.put_if_absent("new/folder/x", b"1")
    with pytest.raises(ObjectExistsError):
        store.put_if_absent("new/folder/x", b"2")
    assert store.get("new/folder/x") == b"1"
    store.put("new/folder/x", b"3")
    store.put("other/y", b"4")

    assert store.get("new/folder/x") == b"3"
    assert store.get("other/y") == b"4"
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(path.name for path in files) == ["x", "y"]


@pytest.mark.usefixtures("route")
def test_a_full_disk_leaves_no_file_behind(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put("f/x", b"old")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    for put in (store.put, store.put_if_absent):
        with pytest.raises(StorageError, match="No space left on device") as caught:
            put("f/y", b"new")
        assert caught.value.hint == "The disk is full."
    monkeypatch.undo()
    assert [path.name for path in (tmp_path / "f").iterdir()] == ["x"]


@pytest.mark.usefixtures("route")
def test_short_writes_are_continued(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:7]))

    store.put_if_absent("x", b"0123456789" * 5)
    assert store.get("x") == b"0123456789" * 5


@pytest.mark.usefixtures("route")
def test_new_files_have_the_permissions_that_the_umask_leaves(tmp_path: Path, store: Store) -> None:
    old = os.umask(0o027)
    try:
        store.put_if_absent("created", b"")
        store.put("put", b"")
    finally:
        os.umask(old)

    for name in ("created", "put"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o640


def test_a_link_that_was_made_although_it_says_it_exists_is_ours(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def answer_lost(source: str, target: str) -> None:
        link(source, target)
        raise FileExistsError(errno.EEXIST, "File exists", target)

    monkeypatch.setattr(atomic_files, "_O_TMPFILE", 0)
    monkeypatch.setattr(os, "link", answer_lost)
    store.put_if_absent("x", b"ours")
    monkeypatch.undo()

    assert store.get("x") == b"ours"


KILLED_WRITER = """
    import itertools, os, sys
    from lakebed.storage import atomic_files, open_store

    atomic_files._O_TMPFILE = int(sys.argv[2])
    store = open_store(sys.argv[1])
    data = bytes(range(256)) * 400
    print("ready", flush=True)
    for number in itertools.count():
        store.put_if_absent(f"log/{os.getpid()}-{number:08}", data)
        store.put("log/hint", data)
"""


@pytest.mark.parametrize("unnamed", [True, False])
def test_a_writer_killed_at_any_moment_leaves_only_whole_files(
    tmp_path: Path, store: Store, unnamed: bool
) -> None:
    flag = getattr(os, "O_TMPFILE", 0) if unnamed else 0
    script = textwrap.dedent(KILLED_WRITER)
    for round_ in range(6):
        command = [sys.executable, "-c", script, str(tmp_path), str(flag)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.011 * (round_ + 1))
            process.send_signal(signal.SIGKILL)

    metas = store.list_from("log/")
    assert len(metas) > 6
    assert {meta.size for meta in metas} == {256 * 400}
    assert all(data == bytes(range(256)) * 400 for data in store.get_many([m.path for m in metas]))


# --- sparing system calls ----------------------------------------------------------------------


def test_listing_the_end_of_a_long_log_stats_only_the_end(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "_delta_log"
    log.mkdir()
    for version in range(20_000):
        (log / f"{version:020}.json").touch()
    calls: list[str] = []
    real = os.stat

    def counted(path: str, **keywords: object) -> os.stat_result:
        calls.append(path)
        return real(path, **keywords)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", counted)
    listed = store.list_from(f"_delta_log/{19_990:020}.json")
    monkeypatch.undo()

    assert [meta.path for meta in listed] == [
        f"_delta_log/{version:020}.json" for version in range(19_990, 20_000)
    ]
    assert len(calls) == 10


def test_files_that_vanish_between_listing_and_stat_are_left_out(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put("f/a", b"")
    store.put("f/b", b"")
    monkeypatch.setattr(os, "listdir", lambda _: ["a", "b", "gone"])

    assert [meta.path for meta in store.list_from("f/")] == ["f/a", "f/b"]


# --- odd files ---------------------------------------------------------------------------------


def test_temporary_files_of_other_writers_are_hidden(tmp_path: Path, store: Store) -> None:
    store.put("f/x", b"")
    (tmp_path / "f" / ".lakebed-0123.tmp").write_bytes(b"half")

    assert [meta.path for meta in store.list_from("f/")] == ["f/x"]
    assert [meta.path for meta in store.list_all()] == ["f/x"]


def test_links_to_files_are_followed_and_links_to_folders_are_not(
    tmp_path: Path, store: Store
) -> None:
    store.put("f/x", b"12")
    (tmp_path / "f" / "link").symlink_to(tmp_path / "f" / "x")
    (tmp_path / "f" / "circle").symlink_to(tmp_path / "f")
    (tmp_path / "f" / "dangling").symlink_to(tmp_path / "nowhere")

    assert store.get("f/link") == b"12"
    assert sorted(meta.path for meta in store.list_all()) == ["f/link", "f/x"]
    assert not store.exists("f/dangling")
    with pytest.raises(ObjectExistsError):
        store.put_if_absent("f/dangling", b"")


def test_a_file_where_a_folder_is_needed_is_not_taken_for_an_existing_object(
    tmp_path: Path, store: Store
) -> None:
    store.put("file", b"")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere" / "deep")
    for path in ("file/below", "file/below/it", "dangling/below"):
        with pytest.raises(StorageError) as caught:
            store.put_if_absent(path, b"")
        assert not isinstance(caught.value, ObjectExistsError | ObjectNotFoundError)
    (tmp_path / "folder").mkdir()
    with pytest.raises(StorageError, match="folder"):
        store.put("folder", b"")
    with pytest.raises(StorageError):
        store.delete("folder")


def test_names_that_are_not_utf8_are_listed_and_read(tmp_path: Path, store: Store) -> None:
    try:
        (tmp_path / os.fsdecode(b"\xff\xfe")).write_bytes(b"1")
    except OSError:
        pytest.skip("this file system takes only UTF-8 names")

    (meta,) = store.list_from("")
    assert store.get(meta.path) == b"1"
    assert store.resolve("%FF%FE") == (store, meta.path)


def test_names_too_long_for_the_disk_say_so(store: Store) -> None:
    with pytest.raises(StorageError, match="too long") as caught:
        store.put_if_absent("x" * 300, b"")
    assert "255" in (caught.value.hint or "")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_forbidden_folders_give_a_storage_error_with_a_hint(tmp_path: Path, store: Store) -> None:
    store.put("f/x", b"")
    (tmp_path / "f").chmod(0)
    try:
        with pytest.raises(StorageError, match="Permission denied") as caught:
            store.get("f/x")
    finally:
        (tmp_path / "f").chmod(0o755)
    assert "permissions" in (caught.value.hint or "")


def test_other_errors_of_the_system_are_translated(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "stat", broken)
    monkeypatch.setattr(os, "listdir", broken)
    monkeypatch.setattr(os, "scandir", broken)
    monkeypatch.setattr(os, "unlink", broken)
    for call in (
        lambda: store.head("x"),
        lambda: store.exists("x"),
        lambda: store.list_from("x/"),
        lambda: list(store.list_all()),
        lambda: store.delete("x"),
    ):
        with pytest.raises(StorageError, match="Input/output error"):
            call()


# --- folders that hold nothing -------------------------------------------------------------------


def test_pruning_removes_folders_that_hold_nothing_and_no_others(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for folder in ("p=1/q=1", "p=1/q=2", "p=2/q=1", "p=3", "other", "linked"):
        (tmp_path / folder).mkdir(parents=True)
    store.put("p=1/q=2/x", b"")
    (tmp_path / "p=4").symlink_to(tmp_path / "linked")
    store.prune(lambda name: name.startswith("p="))
    left = {str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*")}
    assert left == {"p=1", "p=1/q=2", "p=1/q=2/x", "p=4", "other", "linked"}


def test_pruning_leaves_what_cannot_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: str) -> None:
        raise PermissionError(errno.EACCES, "not yours")

    store = open_store(tmp_path)
    (tmp_path / "p=1").mkdir()
    monkeypatch.setattr(os, "rmdir", refuse)
    store.prune(lambda _: True)
    store.prune_root()
    assert (tmp_path / "p=1").exists()


def test_the_root_goes_only_if_nothing_is_in_it(tmp_path: Path) -> None:
    store = open_store(tmp_path / "table")
    assert not store.has_root()
    store.prune(lambda _: True)
    store.put("x", b"")
    assert store.has_root()
    store.prune_root()
    assert store.exists("x")
    store.delete("x")
    store.prune_root()
    assert not store.has_root()


def test_a_pickled_store_has_the_durability_that_its_session_chose(tmp_path: Path) -> None:
    """Python workers get stores; the session that knows the setting cannot go with them."""
    store = open_store(tmp_path)
    assert isinstance(store, LocalStore)
    store.choose_durability(lambda: Durability.ALL)
    assert pickle.loads(pickle.dumps(store)).durability is Durability.ALL
