"""The local disk as a store, by plain system calls."""

# Strings and descriptors, because a Path per object costs more than the system call.
# ruff: noqa: PTH106, PTH108, PTH112, PTH116, PTH208

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import FileIO
from typing import Any

import pyarrow as pa

from lakebed.errors import (
    ExternalPathError,
    LakebedError,
    NotWrittenError,
    ObjectExistsError,
    ObjectNotFoundError,
    StorageError,
)
from lakebed.storage import atomic_files
from lakebed.storage.durability import Durability, is_of_log
from lakebed.storage.locations import Location
from lakebed.storage.neighbour_folders import Neighbours
from lakebed.storage.store import (
    Data,
    ObjectMeta,
    Store,
    checked_path,
    checked_range,
    split_start,
)


class LocalStore(Store):
    """A folder of this machine; `durability` says what survives the loss of power."""

    cheap_probes = True

    def __init__(
        self,
        location: Location,
        neighbours: Neighbours,
        *,
        durability: Durability = Durability.NONE,
        trusted: bool = True,
    ) -> None:
        self.location = location
        self.root = "/" + location.path
        self._durability: Durability | Callable[[], Durability] = durability
        self._prefix = self.root.rstrip("/") + "/"
        self._neighbours = neighbours
        self.trusted = trusted
        self._real = None if trusted else os.path.realpath(self.root).rstrip("/") + "/"

    @property
    def durability(self) -> Durability:
        if callable(self._durability):
            self._durability = self._durability()
        return self._durability

    def choose_durability(self, choose: Callable[[], Durability]) -> None:
        """Ask for it when something is written: readers need not know."""
        self._durability = choose

    def __getstate__(self) -> dict[str, Any]:
        """Workers get the answer: who is asked may be a session, which stays in the driver."""
        return {**vars(self), "_durability": self.durability}

    @property
    def url(self) -> str:
        return self.location.url

    def list_from(self, start: str) -> list[ObjectMeta]:
        folder, first = split_start(start)
        # Names first: most of a long log is before `start` and needs no stat.
        names = [name for name in self._names(folder) if name >= first and not _hidden(name)]
        names.sort()
        metas = (self._meta(folder + name) for name in names)
        return [meta for meta in metas if meta is not None]

    def list_all(self, prefix: str = "") -> Iterator[ObjectMeta]:
        folders = [split_start(prefix.rstrip("/") + "/")[0] if prefix else ""]
        while folders:
            folder = folders.pop()
            for entry in self._entries(folder):
                # Links to folders are not followed: they may lead in a circle.
                if entry.is_dir(follow_symlinks=False):
                    folders.append(f"{folder}{entry.name}/")
                elif not _hidden(entry.name) and (meta := self._meta(folder + entry.name)):
                    yield meta

    def get(self, path: str) -> bytes:
        with self._errors("read", path), _open(self._file(path)) as file:
            return file.readall()

    def get_many(self, paths: Sequence[str]) -> list[bytes]:
        found = []
        path = ""
        # One translation of errors for all: OPTIMIZE asks for thousands of small files.
        try:
            for path in paths:
                with _open(self._file(path)) as file:
                    found.append(file.readall())
        except (OSError, UnicodeError):
            self.get(path)
            raise
        return found

    def get_range(self, path: str, start: int, length: int) -> bytes:
        checked_range(path, start, length)
        with self._errors("read", path), open(self._file(path), "rb", opener=_descriptor) as file:
            # Python makes room for all that is asked for, whatever is there.
            there = os.fstat(file.fileno()).st_size - start
            file.seek(start)
            return file.read(max(0, min(length, there)))

    def put_if_absent(self, path: str, data: Data) -> None:
        with self._errors("create", path):
            atomic_files.create(self._file(path), data, fsync=self.syncs(path))

    def put(self, path: str, data: Data) -> None:
        with self._errors("write", path):
            atomic_files.replace(self._file(path), data, fsync=self.syncs(path))

    def syncs(self, path: str) -> bool:
        """Whether an object is on disk when it has been written; others are when committed."""
        return self.durability is not Durability.NONE and is_of_log(path)

    def sync(self, references: Iterable[str], *, is_new: bool = False) -> None:
        if self.durability is Durability.ALL:
            found = [self.resolve(each) for each in references]
            for home in {id(store): store for store, _ in found}.values():
                if isinstance(home, LocalStore):
                    home._sync([path for store, path in found if store is home])
        if is_new and self.durability is not Durability.NONE:
            with self._errors("sync", ""):
                atomic_files.sync_folders(self.root)

    def confirm(self, path: str) -> None:
        if self.syncs(path):
            self._sync([path])

    def _sync(self, paths: list[str]) -> None:
        with self._errors("sync", paths[0]):
            atomic_files.sync_files(list(map(self._file, paths)), top=self.root)

    def delete(self, path: str) -> None:
        with self._errors("delete", path), contextlib.suppress(*_ABSENT):
            os.unlink(self._file(path))

    def has_root(self) -> bool:
        return os.path.isdir(self.root)

    def prune(self, matches: Callable[[str], bool]) -> None:
        for entry in self._entries(""):
            if entry.is_dir(follow_symlinks=False) and matches(entry.name):
                _prune(entry.path)

    def prune_root(self) -> None:
        with contextlib.suppress(OSError):
            os.rmdir(self.root)

    def head(self, path: str) -> ObjectMeta:
        meta = self._meta(checked_path(path))
        if meta is None:
            raise _not_found(self.location.join(path).url)
        return meta

    def exists(self, path: str) -> bool:
        # Asked for dozens of names whenever a log is opened: one stat and little around it.
        try:
            return stat.S_ISREG(os.stat(self._file(path)).st_mode)
        except _ABSENT:
            return False
        except OSError:
            return self._meta(path) is not None

    def open_input(self, path: str) -> pa.NativeFile:
        # Not a memory map: it gains a tenth, and a file cut short under it kills the process.
        file = self._file(path)
        with self._errors("read", path):
            # pyarrow has one error for a folder and for a broken disk, and waits for a pipe.
            self.head(path)
            return pa.OSFile(file, "rb")

    def check_link(self, path: str) -> None:
        if self._real is not None:
            self._file(path)

    def local_file(self, path: str) -> str | None:
        return self._file(path)

    def resolve(self, uri: str) -> tuple[Store, str]:
        return self._neighbours.resolve(self, self.location, uri)

    def _file(self, path: str) -> str:
        file = self._prefix + checked_path(path)
        if self._real is not None and not os.path.realpath(file).startswith(self._real):
            raise ExternalPathError(
                f"a link leads {file} out of the table's folder",
                hint="the table was opened as untrusted; open it without that if you trust it",
            )
        return file

    def _names(self, folder: str) -> list[str]:
        with self._errors("list", folder):
            try:
                return os.listdir(self._prefix + folder)
            except _ABSENT:
                return []

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        with self._errors("list", folder):
            try:
                with os.scandir(self._prefix + folder) as entries:
                    return list(entries)
            except _ABSENT:
                return []

    def _meta(self, path: str) -> ObjectMeta | None:
        """None where there is no regular file; it may also have gone since it was listed."""
        with self._errors("look at", path):
            try:
                status = os.stat(self._prefix + path if self._real is None else self._file(path))
            except _ABSENT:
                return None
        if not stat.S_ISREG(status.st_mode):
            return None
        return ObjectMeta(path, status.st_size, status.st_mtime_ns // 1_000_000)

    def _errors(self, action: str, path: str) -> _Translation:
        return _Translation(action, self.location, path)


class _Translation:
    """Turns the operating system's errors into Lakebed's. A class, because it is on hot paths."""

    __slots__ = ("action", "location", "path")

    def __init__(self, action: str, location: Location, path: str) -> None:
        self.action = action
        self.location = location
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        # A name with a lone surrogate or an embedded NUL is refused before the call is made.
        if isinstance(error, OSError | UnicodeError):
            raise self._translated(error) from error

    def _translated(self, error: OSError | UnicodeError) -> LakebedError:
        url = self.location.join(self.path).url
        if isinstance(error, FileExistsError) and self.action == "create":
            return ObjectExistsError(f"{url} exists already")
        if isinstance(error, (*_ABSENT, IsADirectoryError)) and self.action == "read":
            return _not_found(url)
        is_refused = isinstance(error, OSError) and error.errno in _REFUSALS
        kind = NotWrittenError if is_refused and self.action in _WRITES else StorageError
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        return kind(f"cannot {self.action} {url}: {reason}", hint=_hint(error))


# A file in the place of a folder means, to an object store, that there are no objects below.
_ABSENT = (FileNotFoundError, NotADirectoryError)


def _not_found(url: str) -> ObjectNotFoundError:
    return ObjectNotFoundError(f"there is no object {url}")


def _open(file: str) -> FileIO:
    return open(file, "rb", buffering=0, opener=_descriptor)


def _descriptor(file: str, flags: int) -> int:
    """Of a regular file: a pipe may never answer, and a device never end."""
    descriptor = os.open(file, flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileNotFoundError(errno.ENOENT, "not a regular file", file)
    return descriptor


def _prune(folder: str) -> None:
    with contextlib.suppress(OSError):
        with os.scandir(folder) as entries:
            inside = [each.path for each in entries if each.is_dir(follow_symlinks=False)]
        for each in inside:
            _prune(each)
        # rmdir fails if another process has just written a file there.
        os.rmdir(folder)


def _hidden(name: str) -> bool:
    return name.startswith(atomic_files.TEMPORARY_PREFIX)


def _hint(error: Exception) -> str | None:
    if isinstance(error, PermissionError):
        return "Check the owner and the permissions of the file and of its folders."
    if isinstance(error, OSError):
        return _HINTS.get(error.errno or 0)
    return None


_WRITES = ("create", "write")
# The operating system says these before anything has its name; see `atomic_files`.
_REFUSALS = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.ENAMETOOLONG,
}
_HINTS = {
    errno.ENOSPC: "The disk is full.",
    errno.EDQUOT: "The quota of this user is used up.",
    errno.EROFS: "The file system is mounted read-only.",
    errno.ENAMETOOLONG: "Names may have 255 bytes on most file systems.",
    errno.EMFILE: "Too many files are open in this process: raise its limit (ulimit -n).",
}
