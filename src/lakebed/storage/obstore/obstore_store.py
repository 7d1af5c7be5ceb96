"""S3, GCS, Azure and memory as stores, through obstore."""

from __future__ import annotations

import io
import re
from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa

from lakebed.errors import (
    ObjectExistsError,
    ObjectNotFoundError,
    StorageError,
    StoreNotSafeError,
)
from lakebed.storage.locations import Location
from lakebed.storage.neighbour_folders import Neighbours
from lakebed.storage.obstore.obstore_client import Clients, Connection, MemoryConnection
from lakebed.storage.obstore.obstore_errors import translated
from lakebed.storage.obstore.put_probe import CONTENT, refuses_second_put
from lakebed.storage.store import (
    Data,
    ObjectMeta,
    Store,
    checked_path,
    checked_range,
    split_start,
)

CONCURRENCY = 32


class ObstoreStore(Store):
    """A prefix of a bucket."""

    def __init__(
        self,
        location: Location,
        neighbours: Neighbours,
        connection: Connection | MemoryConnection,
        *,
        trusted: bool = True,
    ) -> None:
        self.trusted = trusted
        self.location = location
        self.cheap_probes = location.scheme == "memory"
        self._prefix = f"{location.path}/" if location.path else ""
        self._neighbours = neighbours
        self._connection = connection

    @property
    def url(self) -> str:
        return self.location.url

    @property
    def place(self) -> Hashable:
        return (self.location, *self._connection.place)

    def connect(self) -> None:
        """Makes the clients, which sends no request: what is wrong with the options is an error."""
        self._connection.clients()

    def list_from(self, start: str) -> list[ObjectMeta]:
        folder, first = split_start(start)
        clients = self._connection.clients()
        with translated(clients.library, "list", self._url(folder)):
            level = list_level(clients, self.location, self._prefix + folder, first)
            return sorted(meta for meta in self._metas(level, folder) if meta.path >= start)

    def list_all(self, prefix: str = "") -> Iterator[ObjectMeta]:
        folder = split_start(prefix.rstrip("/") + "/")[0] if prefix else ""
        clients = self._connection.clients()
        with translated(clients.library, "list", self._url(folder)):
            for page in list_pages(clients, self._prefix + folder):
                yield from self._metas(page, folder)

    def get(self, path: str) -> bytes:
        clients, key = self._connection.clients(), self._key(path)
        with translated(clients.library, "read", self._url(path)):
            return bytes(clients.library.functions.get(clients.retrying, key).bytes())

    def get_many(self, paths: Sequence[str]) -> list[bytes]:
        if self.cheap_probes or len(paths) < 2:
            return [self.get(path) for path in paths]
        # Threads per call, not a pool for good: a pool would not survive a fork.
        with ThreadPoolExecutor(min(CONCURRENCY, len(paths))) as pool:
            return list(pool.map(self.get, paths))

    def get_range(self, path: str, start: int, length: int) -> bytes:
        checked_range(path, start, length)
        if length == 0:
            self.head(path)
            return b""
        try:
            return self._ranges(path, [(start, length)])[0]
        except StorageError as error:
            if _about_range(error) and start >= self.head(path).size:
                return b""
            raise

    def put_if_absent(self, path: str, data: Data) -> None:
        if self._connection.single_writer and self._connection.is_safe is False:
            self._create_alone(path, data)
        else:
            self._create(path, data)

    def require_put_if_absent(self, path: str) -> None:
        connection = self._connection
        if connection.is_safe or (connection.single_writer and connection.is_safe is False):
            return
        safe = connection.is_safe = refuses_second_put(lambda: self._ask_to_create(path))
        if not safe and not connection.single_writer:
            raise StoreNotSafeError(
                f"{self.location.root.url} does not refuse to create an object that exists: two "
                "writers would overwrite each other's commits",
                hint="Use a server that implements conditional puts (If-None-Match), or set the "
                "storage option single_writer=true if no other process ever writes these tables.",
            )

    def _ask_to_create(self, path: str) -> None:
        try:
            self._create(path, CONTENT)
        except ObjectExistsError as error:
            if self.location.scheme == "s3" and _is_conflict(error):
                # S3 refuses with 412. Anything may be the reason for a conflict.
                raise StorageError(f"{self._url(path)}: the store reported a conflict") from error
            raise

    def _create(self, path: str, data: Data) -> None:
        clients, key = self._connection.clients(), self._key(path)
        try:
            with translated(clients.library, "create", self._url(path)):
                clients.library.functions.put(clients.once, key, _bytes(data), mode="create")
        except ObjectExistsError as error:
            self._check_conflict(path, error)
            raise

    def _create_alone(self, path: str, data: Data) -> None:
        """Without a condition that the server does not understand: no one else is at work."""
        if self.exists(path):
            raise ObjectExistsError(f"{self._url(path)} exists already")
        clients, key = self._connection.clients(), self._key(path)
        with translated(clients.library, "create", self._url(path)):
            clients.library.functions.put(clients.once, key, _bytes(data))

    def put(self, path: str, data: Data) -> None:
        clients, key = self._connection.clients(), self._key(path)
        with translated(clients.library, "write", self._url(path)):
            clients.library.functions.put(clients.retrying, key, _bytes(data))

    def delete(self, path: str) -> None:
        clients, key = self._connection.clients(), self._key(path)
        try:
            with translated(clients.library, "delete", self._url(path)):
                clients.library.functions.delete(clients.retrying, key)
        except ObjectNotFoundError:
            pass  # GCS and Azure say so, S3 does not

    def head(self, path: str) -> ObjectMeta:
        clients, key = self._connection.clients(), self._key(path)
        with translated(clients.library, "look at", self._url(path)):
            found = clients.library.functions.head(clients.retrying, key)
        return ObjectMeta(path, found["size"], _milliseconds(found["last_modified"]))

    def sizes(self, paths: Sequence[str]) -> list[int | None]:
        if self.cheap_probes or len(paths) < 2:
            return super().sizes(paths)
        keys = list(map(self._key, paths))
        clients = self._connection.clients()
        with translated(clients.library, "list", self.url):
            known = listed_sizes(clients, self.location, self._prefix, keys)
        # A listing may be out of date, or not in order: it is believed only in what it has.
        rest = [path for path, key in zip(paths, keys, strict=True) if key not in known]
        if rest:
            with ThreadPoolExecutor(min(CONCURRENCY, len(rest))) as pool:
                known.update(zip(map(self._key, rest), pool.map(self._size, rest), strict=True))
        return [known[key] for key in keys]

    def open_input(self, path: str) -> pa.NativeFile:
        if self.cheap_probes:
            return pa.BufferReader(self.get(path))
        size, tail = self._tail(path)
        return pa.PythonFile(RangedFile(size, tail, lambda ranges: self._ranges(path, ranges)))

    def resolve(self, uri: str) -> tuple[Store, str]:
        return self._neighbours.resolve(self, self.location, uri)

    def _key(self, path: str) -> str:
        return self._prefix + checked_path(path)

    def _url(self, path: str) -> str:
        return self.location.join(path).url

    def _check_conflict(self, path: str, error: ObjectExistsError) -> None:
        """obstore takes any 409 for an existing object.

        Azure means that, but S3 answers 409 when it could not decide between two writers.
        """
        if _is_conflict(error) and not self.exists(path):
            raise StorageError(
                f"cannot create {self._url(path)}: the store reported a conflict, but no object",
                hint="Another writer was at work at the same moment: try again.",
            ) from error

    def _tail(self, path: str) -> tuple[int, bytes]:
        """The object's size and last bytes, in one request where the provider can do that."""
        if self.location.scheme == "az":  # Azure has no ranges from the end
            size = self.head(path).size
            start = max(0, size - TAIL)
            return size, self.get_range(path, start, size - start)
        clients, key = self._connection.clients(), self._key(path)
        options = {"range": {"suffix": TAIL}}
        try:
            with translated(clients.library, "read", self._url(path)):
                found = clients.library.functions.get(clients.retrying, key, options=options)
                return found.meta["size"], bytes(found.bytes())
        except StorageError as error:
            if _about_range(error) and self.head(path).size == 0:
                return 0, b""  # an empty object has no last bytes
            raise

    def _ranges(self, path: str, ranges: Ranges) -> list[bytes]:
        clients, key = self._connection.clients(), self._key(path)
        functions, client = clients.library.functions, clients.retrying
        starts, lengths = [start for start, _ in ranges], [length for _, length in ranges]
        with translated(clients.library, "read", self._url(path)):
            if len(ranges) == 1:
                found = [functions.get_range(client, key, start=starts[0], length=lengths[0])]
            else:
                found = functions.get_ranges(
                    client, key, starts=starts, lengths=lengths, coalesce=0
                )
        return [bytes(part) for part in found]

    def _metas(self, objects: Iterable[Any], folder: str) -> Iterator[ObjectMeta]:
        # Consoles make objects to show empty folders; obstore reports them under the folder's name.
        inside, root = self._prefix + folder, len(self._prefix)
        for found in objects:
            if found["path"].startswith(inside):
                time = _milliseconds(found["last_modified"])
                yield ObjectMeta(found["path"][root:], found["size"], time)


_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MILLISECOND = timedelta(milliseconds=1)


def _milliseconds(time: datetime) -> int:
    return (time - _EPOCH) // _MILLISECOND


def _is_conflict(error: ObjectExistsError) -> bool:
    """Whether the answer was 409. The number alone may be part of a port or of a duration."""
    return re.search(r"\bstatus(?: code)?: 409\b", str(error.__cause__)) is not None


def _about_range(error: StorageError) -> bool:
    """Each provider has words of its own for a range that is not there; a miss costs a request."""
    return not isinstance(error, ObjectNotFoundError) and "range" in error.message.lower()


def _bytes(data: Data) -> Data:
    # obstore takes a view of signed bytes, such as pyarrow's buffers give, for a list of numbers.
    return data if isinstance(data, bytes) else memoryview(data).cast("B")


# --- listing --------------------------------------------------------------------------------------

# One level of a bucket from a given name, with as few requests as the provider allows. No provider
# does just that. S3 and GCS list from a name, but all levels below it; what lies in subfolders is
# jumped over. Azure cannot start at a name, and S3's directory buckets have no order: there the
# whole level is listed.

PAGE = 1000
"""Objects per step of a listing: what S3 and GCS give per request."""


def list_level(clients: Clients, location: Location, folder: str, first: str) -> Iterator[Any]:
    """obstore's records of the objects in `folder`; those before `first` may be left out."""
    if not _starts_anywhere(location):
        listing = clients.library.functions.list_with_delimiter(clients.retrying, folder)
        return iter(listing["objects"])
    return _from_name(clients, folder, first)


def list_pages(clients: Clients, folder: str, offset: str | None = None) -> Iterator[Any]:
    """Records of all objects at any depth, after the key `offset`, a page at a time."""
    pages = clients.library.functions.list(clients.retrying, folder, offset=offset, chunk_size=PAGE)
    return iter(pages)


def listed_sizes(
    clients: Clients, location: Location, folder: str, keys: Sequence[str]
) -> dict[str, int | None]:
    """The sizes of objects below `folder`, of those that listings tell in fewer requests.

    Each request starts at an object that is still unknown, so it tells at least that one if it is
    there. When a page tells but a few, the rest is left to the caller.
    """
    found: dict[str, int | None] = {}
    left = sorted(set(keys)) if _starts_anywhere(location) else []
    start = 0
    while len(left) - start >= WORTH_A_PAGE:
        page: list[Any] = next(list_pages(clients, folder, _before(left[start])), [])
        sizes = {each["path"]: each["size"] for each in page}
        is_last = len(page) < PAGE
        end = len(left) if is_last else bisect_right(left, page[-1]["path"], start)
        told = {key: sizes[key] for key in left[start:end] if key in sizes}
        found.update(told)
        if is_last or len(told) < WORTH_A_PAGE:
            break
        start = end
    return found


WORTH_A_PAGE = 16
"""A page of a listing costs about twelve times as much as a question for one object on S3."""


def _starts_anywhere(location: Location) -> bool:
    """Whether listings are in the order of names, and begin at any of them."""
    return location.scheme != "az" and not location.authority.endswith("--x-s3")


def _before(key: str) -> str | None:
    """A name shortly before `key`, since an offset is exclusive. Dots alone are no name."""
    folder, slash, name = key.rpartition("/")
    shorter = name[:-1]
    return folder + slash + shorter if shorter.strip(".") else folder or None


_LAST_CHARACTER = "\U0010ffff"


def _from_name(clients: Clients, folder: str, first: str) -> Iterator[Any]:
    # An offset is exclusive: one letter less still includes `first`. Dots alone are no name.
    shorter = first[:-1]
    offset = folder + shorter if shorter.strip(".") else None
    while True:
        for page in list_pages(clients, folder, offset):
            yield from (found for found in page if "/" not in found["path"][len(folder) :])
            subfolder, slash, _ = page[-1]["path"][len(folder) :].partition("/")
            after = f"{folder}{subfolder}/{_LAST_CHARACTER}"
            if slash and len(page) == PAGE and after > (offset or ""):
                offset = after
                break
        else:
            return


# --- reading by ranges ----------------------------------------------------------------------------

TAIL = 64 * 1024
"""Bytes fetched with the object's size: most footers fit."""
BLOCK = 64 * 1024
PART = 8 * 1024 * 1024

Ranges = Sequence[tuple[int, int]]


class RangedFile(io.RawIOBase):
    """A remote object as a seekable file. `fetch` gives the bytes of several (start, length)
    ranges; `tail` ends the object.

    What reads it is pyarrow's Parquet reader, which knows its ranges exactly: the footer, then
    whole column chunks. So the end of the object comes with the first request, short reads are
    rounded up, and long ones are split into parts that travel at the same time.
    """

    def __init__(self, size: int, tail: bytes, fetch: Callable[[Ranges], list[bytes]]) -> None:
        self._size = size
        self._fetch = fetch
        self._position = 0
        self._kept = [(size - len(tail), tail), (0, b"")]

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        rest = max(0, self._size - self._position)
        length = rest if size is None or size < 0 else min(size, rest)
        data = self._range(self._position, length) if length else b""
        self._position += len(data)
        return data

    def readall(self) -> bytes:
        return self.read()

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _range(self, start: int, length: int) -> bytes:
        for offset, data in self._kept:
            if offset <= start and start + length <= offset + len(data):
                return data[start - offset : start - offset + length]
        if length >= BLOCK:
            return b"".join(self._fetch(_parts(start, length)))
        block = self._fetch([(start, min(BLOCK, self._size - start))])[0]
        self._kept[1] = (start, block)
        return block[:length]


def _parts(start: int, length: int) -> Ranges:
    end = start + length
    return [(at, min(PART, end - at)) for at in range(start, end, PART)]
