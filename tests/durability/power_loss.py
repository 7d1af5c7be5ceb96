"""A disk that loses power: what was asked of it by system calls, and how it may be left.

    with Recorder(folder) as disk:
        ...                              # files are written below the folder
    for what, moment in disk.moments:    # after each call
        for state in crashes(moment, random.Random(1)): ...

By POSIX nothing but `fsync` makes anything last: of a file that was not synced since it was written
any beginning may be left, or as many zeros; of a folder that was not synced, each of its last
changes for itself may be there or not. That is more than any file system loses.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock


class File:
    def __init__(self, data: bytes = b"", synced: bytes = b"") -> None:
        self.data = data
        self.synced = synced
        """What is surely on the disk, wherever the file has a name."""


class Folder:
    def __init__(self) -> None:
        self.entries: dict[str, File | Folder] = {}
        self.synced: dict[str, File | Folder] = {}


Inode = File | Folder
Tree = dict[str, "bytes | Tree"]
"""What a folder holds after the crash."""


class Recorder:
    """Follows what `os` is asked for below a folder, which is empty and on the disk."""

    def __init__(self, root: Path) -> None:
        self._root = str(root)
        self._top = Folder()
        self.moments: list[tuple[str, Folder]] = []
        self._descriptors: dict[int, Inode] = {}
        self._lock = threading.RLock()
        self._patches = ExitStack()

    def __enter__(self) -> Recorder:
        for name in ("open", "write", "fsync", "close", "link", "replace", "unlink", "mkdir"):
            followed = self._followed(getattr(os, name), getattr(self, f"_{name}"))
            self._patches.enter_context(mock.patch.object(os, name, followed))
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.close()

    def foreign(self, path: Path) -> None:
        """A file of another process: it has not synced it, nor the folders that it made."""
        folder = self._top
        for name in path.parent.relative_to(self._root).parts:
            inner = folder.entries.setdefault(name, Folder())
            assert isinstance(inner, Folder)
            folder = inner
        folder.entries[path.name] = File(path.read_bytes())

    def note(self, what: str) -> None:
        self.moments.append((what, copy_of(self._top)))

    def _followed(self, call: Callable[..., Any], follow: Callable[..., str | None]) -> Any:
        def both(*given: Any, **named: Any) -> Any:
            with self._lock:
                # A descriptor is another file's as soon as it is closed.
                result = call(*given, **named)
                what = follow(result, *given)
                if what is not None:
                    self.note(what)
                return result

        return both

    # --- the calls, after they succeeded --------------------------------------------------------

    def _open(self, result: int, path: Any, flags: int, *_: Any) -> str | None:
        name = os.fspath(path)
        if not isinstance(name, str) or not self._is_ours(name):
            return None
        temporary = getattr(os, "O_TMPFILE", 0)
        if temporary and flags & temporary == temporary:
            self._descriptors[result] = File()
            return None
        if flags & os.O_CREAT:
            entries, last = self._parent(name)
            entries[last] = File()
            self._descriptors[result] = entries[last]
            return f"create {name}"
        self._descriptors[result] = self._find(name)
        return None

    def _write(self, result: int, descriptor: int, data: Any) -> str | None:
        file = self._descriptors.get(descriptor)
        if not isinstance(file, File):
            return None
        file.data += bytes(memoryview(data).cast("B")[:result])
        return "write"

    def _fsync(self, _: None, descriptor: int) -> str | None:
        found = self._descriptors.get(descriptor)
        if isinstance(found, File):
            found.synced = found.data
        elif isinstance(found, Folder):
            found.synced = dict(found.entries)
        return None if found is None else "fsync"

    def _close(self, _: None, descriptor: int) -> None:
        self._descriptors.pop(descriptor, None)

    def _link(self, _: None, source: str, target: str) -> str | None:
        if not self._is_ours(target):
            return None
        own = source.startswith("/proc/self/fd/")
        found = self._descriptors[int(source[14:])] if own else self._find(source)
        entries, name = self._parent(target)
        entries[name] = found
        return f"link {target}"

    def _replace(self, _: None, source: str, target: str) -> str | None:
        if not self._is_ours(target):
            return None
        old, name = self._parent(source)
        found = old.pop(name)
        entries, name = self._parent(target)
        entries[name] = found
        return f"replace {target}"

    def _unlink(self, _: None, path: str) -> str | None:
        if not self._is_ours(str(path)):
            return None
        entries, name = self._parent(str(path))
        entries.pop(name, None)
        return f"unlink {path}"

    def _mkdir(self, _: None, path: str, *__: Any) -> str | None:
        if not self._is_ours(str(path)):
            return None
        entries, name = self._parent(str(path))
        entries[name] = Folder()
        return f"mkdir {path}"

    def _is_ours(self, path: str) -> bool:
        return path == self._root or path.startswith(f"{self._root}/")

    def _parent(self, path: str) -> tuple[dict[str, Inode], str]:
        above, _, name = path.rpartition("/")
        folder = self._find(above)
        assert isinstance(folder, Folder)
        return folder.entries, name

    def _find(self, path: str) -> Inode:
        found: Inode = self._top
        for name in filter(None, path[len(self._root) :].split("/")):
            assert isinstance(found, Folder)
            found = found.entries[name]
        return found


def copy_of(folder: Folder) -> Folder:
    copies: dict[int, Inode] = {}

    def copied(inode: Inode) -> Inode:
        if id(inode) in copies:
            return copies[id(inode)]
        if isinstance(inode, File):
            copies[id(inode)] = File(inode.data, inode.synced)
        else:
            made = Folder()
            copies[id(inode)] = made
            made.entries = {name: copied(each) for name, each in inode.entries.items()}
            made.synced = {name: copied(each) for name, each in inode.synced.items()}
        return copies[id(inode)]

    found = copied(folder)
    assert isinstance(found, Folder)
    return found


def crashes(moment: Folder, chance: random.Random, count: int = 2) -> Iterator[Tree]:
    """The least that may be left, names without what was in the files, and some by chance."""
    yield _left(moment, lambda _: False, lambda file: file.synced)
    yield _left(moment, lambda _: True, lambda file: file.synced)
    for _ in range(count):
        yield _left(moment, lambda _: chance.random() < 0.5, lambda file: _some(file, chance))


def _left(
    folder: Folder, is_there: Callable[[str], bool], content: Callable[[File], bytes]
) -> Tree:
    found: Tree = {}
    for name in folder.entries.keys() | folder.synced.keys():
        now, then = folder.entries.get(name), folder.synced.get(name)
        chosen = now if now is then or is_there(name) else then
        if isinstance(chosen, File):
            found[name] = content(chosen)
        elif chosen is not None:
            found[name] = _left(chosen, is_there, content)
    return found


def _some(file: File, chance: random.Random) -> bytes:
    if file.synced == file.data:
        return file.data
    size = chance.randint(0, len(file.data))
    kept = file.data[:size]
    return chance.choice(
        (file.data, kept, bytes(len(file.data)), kept + bytes(len(file.data) - size))
    )


def put_back(tree: Tree, folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name, content in tree.items():
        if isinstance(content, bytes):
            (folder / name).write_bytes(content)
        else:
            put_back(content, folder / name)
    return folder
