"""The port to a table's storage (PROTOCOL: Delta Storage Protocol, "atomic visibility" of commits).

A store is a flat set of immutable-looking objects below one root. What the log needs of it is
little: a listing in name order from a given name, and a put that fails if the name is taken.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from lakebed.errors import InvalidArgumentError, ObjectNotFoundError

Data = bytes | bytearray | memoryview


class ObjectMeta(NamedTuple):
    """One object. `path` is relative to the store's root; the time is milliseconds since 1970."""

    path: str
    size: int
    modified_ms: int


class Store(ABC):
    """Objects below one root.

    Paths are relative to the root, '/'-separated and not URL-escaped. Directories do not exist:
    only objects do. Every failure is a `LakebedError`: `ObjectNotFoundError` where an object was
    needed, `InvalidArgumentError` for an impossible path or range, `StorageError` for the rest.
    """

    cheap_probes: bool = False
    """True where `exists` and `head` cost microseconds, so that guessing beats listing."""
    trusted: bool = True
    """False where nothing may lead out of the root, and no class may be loaded for a table."""

    @property
    @abstractmethod
    def url(self) -> str:
        """The root as a canonical URL, percent-encoded; `open_store(url)` opens it again."""

    @property
    def place(self) -> Hashable:
        """What tells this store from others, also from one of the same URL on another server."""
        return self.url

    @abstractmethod
    def list_from(self, start: str) -> list[ObjectMeta]:
        """The objects directly in `start`'s folder with a path >= `start`, sorted by path.

        `"folder/"` lists all of the folder; a folder without objects gives an empty list.
        The listing is no snapshot: of objects created meanwhile, a later one may be seen and an
        earlier one not.
        """

    @abstractmethod
    def list_all(self, prefix: str = "") -> Iterator[ObjectMeta]:
        """Every object below the folder `prefix` at any depth, in no particular order."""

    @abstractmethod
    def get(self, path: str) -> bytes:
        """All bytes of an object."""

    def get_many(self, paths: Sequence[str]) -> list[bytes]:
        """The bytes of several objects, in the order asked; concurrent where that helps."""
        return [self.get(path) for path in paths]

    @abstractmethod
    def get_range(self, path: str, start: int, length: int) -> bytes:
        """At most `length` bytes from offset `start`; fewer where the object ends before."""

    @abstractmethod
    def put_if_absent(self, path: str, data: Data) -> None:
        """Create the object, whole or not at all, if the name is free.

        `ObjectExistsError` says that the name was taken and that nothing of ours was written, and
        `NotWrittenError` that there was no room or no permission for it. Any other `StorageError`
        is ambiguous: the object may be there now, or may yet appear.
        """

    def require_put_if_absent(self, path: str) -> None:  # noqa: B027
        """`StoreNotSafeError` if the store would let two writers create one object.

        Asked before a commit. The first call of a process for a bucket asks the store, with an
        object at `path` that is created if need be and stays; local disks and memory need no test.
        Any other `StorageError` means that the store gave no definite answer.
        """

    @abstractmethod
    def put(self, path: str, data: Data) -> None:
        """Create or replace the object; readers see the old bytes or the new, never a mixture."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Remove the object; that there is none is no error."""

    def sync(self, references: Iterable[str], *, is_new: bool = False) -> None:  # noqa: B027
        """Before a commit names these files: make them survive the loss of power, if asked for.

        References are as the log writes them. `is_new` is for the first commit of a table, whose
        folder may be new. A store that answers only when an object is safe does nothing.
        """

    def confirm(self, path: str) -> None:  # noqa: B027
        """Make an object as safe as a write does that succeeds; its own ended with an error."""

    def has_root(self) -> bool:
        """Whether the folder of the store is there; where folders do not exist, it always is."""
        return True

    def prune(self, matches: Callable[[str], bool]) -> None:  # noqa: B027
        """Remove the folders, on a disk, that hold nothing or only such folders.

        `matches` says which folders of the root to look into, by their names. A folder that cannot
        be removed stays: it is not an object, and harmless.
        """

    def prune_root(self) -> None:  # noqa: B027
        """The same for the folder of the store, unless something is in it."""

    def check_link(self, path: str) -> None:  # noqa: B027
        """Refuses a file that another reader is to open, if a link leads it where it may not be.

        Every other method does so itself.
        """

    @abstractmethod
    def head(self, path: str) -> ObjectMeta:
        """Size and time of an object."""

    def sizes(self, paths: Sequence[str]) -> list[int | None]:
        """The sizes of several objects, in the order asked; None for one that is missing.

        Concurrent where that helps, and with no more requests than objects, if all are there.
        """
        return [self._size(path) for path in paths]

    def _size(self, path: str) -> int | None:
        try:
            return self.head(path).size
        except ObjectNotFoundError:
            return None

    def exists(self, path: str) -> bool:
        try:
            self.head(path)
        except ObjectNotFoundError:
            return False
        return True

    @abstractmethod
    def open_input(self, path: str) -> Any:
        """The object as a random-access file that pyarrow reads (a `pyarrow.NativeFile`)."""

    def local_file(self, path: str) -> str | None:  # noqa: ARG002
        """Where another process of this machine finds the object by plain system calls, if so."""
        return None

    @abstractmethod
    def resolve(self, uri: str) -> tuple[Store, str]:
        """The store and path of a file reference as the log writes it, percent-encoded.

        Relative references and those below this root give this store itself; others are opened
        with this store's options.
        """

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"


def checked_path(path: str) -> str:
    """`path` itself, if every store can hold an object of that name."""
    if _BAD_PATH.search(path):
        raise InvalidArgumentError(
            f"{path!r} is not a path of an object",
            hint="Paths are relative to the root; no part of them is empty, '.' or '..'.",
        )
    return path


def checked_range(path: str, start: int, length: int) -> None:
    if start < 0 or length < 0:
        raise InvalidArgumentError(f"{path}: there is no range of {length} bytes from {start}")


def split_start(start: str) -> tuple[str, str]:
    """A listing's start as (folder, first name); the folder is "" or ends with '/'."""
    folder, slash, name = start.rpartition("/")
    if folder or slash:
        checked_path(folder)
    return folder + slash, name


# Of the lone surrogates, those that stand for bytes of a file name are allowed.
_BAD_PATH = re.compile(r"(?:\A|/)\.{0,2}(?:/|\Z)|[\0\ud800-\udc7f\udd00-\udfff]")
