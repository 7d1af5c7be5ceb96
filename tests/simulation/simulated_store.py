"""A store in memory that fails on purpose, by chance from a seed, within what a store may do.

Objects are strongly consistent, as on S3: whoever asks sees all that was done before. Pages of a
listing come one after the other, with writes of others in between. Every call may be slow before it
acts and after it has acted, and may end in one of these ways:

`refused`   an error, and nothing was done
`lost`      done, but the answer is an error
`late`      an error, and it is done some time later, after other calls
`repeated`  the client's library sent a conditional put twice: "exists" is about its own object
`killed`    the client dies: before the call acts, after it, or while it is under way
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa
from turns import Turns

from lakebed.errors import ObjectExistsError, ObjectNotFoundError, StorageError
from lakebed.storage import ObjectMeta, Store
from lakebed.storage.file_references import References
from lakebed.storage.locations import parse_location
from lakebed.storage.neighbour_folders import Neighbours
from lakebed.storage.store import checked_path, split_start

T = TypeVar("T")
URL = "memory://simulated/table"
CLONE = "memory://simulated/clone"


class Blob(NamedTuple):
    data: bytes
    modified_ms: int


class Deleted(NamedTuple):
    path: str
    at_ms: float
    by: str
    """The command, or "" for what nobody waited for."""


@dataclass(frozen=True)
class Odds:
    """How often a call ends badly, from 0 to 1."""

    refused: float = 0.0
    lost: float = 0.0
    late: float = 0.0
    repeated: float = 0.0
    killed: float = 0.0
    slow: float = 0.0


@dataclass
class Course:
    """What happens to all tables of a history: the order of calls, and how each ends."""

    turns: Turns
    odds: Odds = field(default_factory=Odds)
    cheap_probes: bool = False
    events: list[str] = field(default_factory=list)
    fates: dict[str, int] = field(default_factory=dict)
    pending: list[tuple[int, str, Callable[[], Any]]] = field(default_factory=list)
    steps: int = 0
    longest_wait: int = 30
    """How many calls later what is late arrives at the latest."""

    def note(self, text: str) -> None:
        client = self.turns.current
        who = "" if client is None else client.name
        seconds = (self.turns.now_ms - self.turns.start_ms) / 1000
        self.events.append(f"{seconds:12.3f} {who:3} {text}")

    def settle(self, *, everything: bool = False) -> None:
        """What is under way and due arrives now."""
        due = [each for each in self.pending if everything or each[0] <= self.steps]
        self.pending = [each for each in self.pending if each not in due]
        for _, what, act in due:
            try:
                act()
            except StorageError as error:
                self.note(f"  arrives late: {what}: {error.code}")
            else:
                self.note(f"  arrives late: {what}")


class Objects:
    """What all clients share of one table, and what has ever happened to it."""

    def __init__(self, course: Course, url: str = URL) -> None:
        self.course = course
        self.turns = course.turns
        self.url = url
        self.location = parse_location(url)
        self.found: MutableMapping[str, Blob] = {}
        self.written: dict[str, list[Blob]] = {}
        """All that was ever put under a name, in order: also of objects that are gone."""
        self.deleted: list[Deleted] = []

    def ever(self, path: str) -> bytes:
        """The last that was written under a name, also after it was deleted."""
        return self.written[path][-1].data

    def put(self, path: str, data: bytes) -> None:
        blob = Blob(data, int(self.turns.now_ms))
        self.found[path] = blob
        self.written.setdefault(path, []).append(blob)

    def put_if_absent(self, path: str, data: bytes) -> None:
        if path in self.found:
            raise ObjectExistsError(f"{path} exists already")
        self.put(path, data)

    def delete(self, path: str, by: str) -> None:
        if self.found.pop(path, None) is not None:
            self.deleted.append(Deleted(path, self.turns.now_ms, by))

    def get(self, path: str) -> bytes:
        if path not in self.found:
            raise ObjectNotFoundError(f"there is no object {path}")
        return self.found[path].data


class SimulatedStore(Store):
    """The store as clients have it: faults are those of whoever has its turn."""

    def __init__(self, objects: Objects, root: Callable[[Any], Store] | None = None) -> None:
        """`root` gives the store at the root of the bucket, for references out of the table."""
        self._objects = objects
        self._course = objects.course
        self._turns = objects.turns
        self._neighbours = Neighbours(root or _no_other, References())
        self.cheap_probes = self._course.cheap_probes

    @property
    def url(self) -> str:
        return self._objects.url

    def list_from(self, start: str) -> list[ObjectMeta]:
        folder, _ = split_start(start)

        def fits(path: str) -> bool:
            return path >= start and path.startswith(folder) and "/" not in path[len(folder) :]

        return self._call("list", start, lambda: sorted(self._pages(fits)))

    def list_all(self, prefix: str = "") -> Iterator[ObjectMeta]:
        folder = split_start(prefix.rstrip("/") + "/")[0] if prefix else ""
        found = self._call(
            "list all", prefix, lambda: self._pages(lambda path: path.startswith(folder))
        )
        return iter(found)

    def get(self, path: str) -> bytes:
        return self._call("get", path, lambda: self._objects.get(path))

    def get_many(self, paths: Sequence[str]) -> list[bytes]:
        return [self.get(path) for path in paths]

    def get_range(self, path: str, start: int, length: int) -> bytes:
        return self._call("get", path, lambda: self._objects.get(path)[start : start + length])

    def put_if_absent(self, path: str, data: bytes | bytearray | memoryview) -> None:
        copy = bytes(data)
        self._call("create", path, lambda: self._objects.put_if_absent(path, copy), changes=True)

    def put(self, path: str, data: bytes | bytearray | memoryview) -> None:
        copy = bytes(data)
        self._call("put", path, lambda: self._objects.put(path, copy), changes=True)

    def delete(self, path: str) -> None:
        client = self._turns.current
        by = "" if client is None else client.doing
        self._call("delete", path, lambda: self._objects.delete(path, by), changes=True)

    def head(self, path: str) -> ObjectMeta:
        def look() -> ObjectMeta:
            data = self._objects.get(checked_path(path))
            return ObjectMeta(path, len(data), self._objects.found[path].modified_ms)

        return self._call("head", path, look)

    def exists(self, path: str) -> bool:
        return self._call("exists", path, lambda: path in self._objects.found)

    def open_input(self, path: str) -> Any:
        return self._call("open", path, lambda: pa.BufferReader(self._objects.get(path)))

    def resolve(self, uri: str) -> tuple[Store, str]:
        return self._neighbours.resolve(self, self._objects.location, uri)

    def _pages(self, fits: Callable[[str], bool]) -> list[ObjectMeta]:
        """Page after page, each as the store is when it is asked for.

        Object stores go by name. A disk gives names in an order of its own, and of what is created
        or deleted meanwhile it gives some and not others.
        """
        chance = self._turns.random
        pages = chance.choice((1, 1, 2, 3))
        found: dict[str, ObjectMeta] = {}
        last = ""
        for page in range(1, pages + 1):
            if page > 1:
                self._turns.pause()
            names = sorted(path for path in self._objects.found if fits(path))
            if self.cheap_probes:
                names = [path for path in names if sum(path.encode()) % pages == page - 1]
            else:
                names = [path for path in names if path > last]
                if page < pages:
                    names = names[: len(names) // 2]
                last = names[-1] if names else last
            for path in names:
                blob = self._objects.found[path]
                found[path] = ObjectMeta(path, len(blob.data), blob.modified_ms)
        return list(found.values())

    def _call(self, method: str, path: str, act: Callable[[], T], *, changes: bool = False) -> T:
        course, what = self._course, f"{method} {path}"
        client = self._turns.acting
        if client is None:
            return act()
        if client.is_dead:
            raise self._turns.death()
        self._turns.pause()
        course.steps += 1
        if course.pending:
            course.settle()
        fate = self._fate(method, changes=changes)
        if fate is None:
            return self._done(what, act, changes=changes)
        course.fates[fate] = course.fates.get(fate, 0) + 1
        course.note(f"  {what}: {fate}")
        if fate in ("lost", "killed after"):
            self._ignored(act)
        elif fate in ("late", "killed under way"):
            wait = self._turns.random.randint(1, course.longest_wait)
            course.pending.append((course.steps + wait, what, act))
        elif fate == "repeated":
            act()
            raise ObjectExistsError(f"{path} exists already")
        if fate.startswith("killed"):
            client.is_dead = True
            raise self._turns.death()
        self._turns.pause()
        raise StorageError(f"simulated: {what}: {fate}")

    def _done(self, what: str, act: Callable[[], T], *, changes: bool) -> T:
        try:
            found = act()
        except StorageError as error:
            self._course.note(f"  {what}: {error.code}")
            raise
        if found is not False:
            self._course.note(f"  {what}")
        if changes:
            self._turns.pause()  # the answer is under way, and others see the effect
        return found

    def _ignored(self, act: Callable[[], Any]) -> None:
        try:
            act()
        except StorageError as error:
            self._course.note(f"    and it would have been {error.code}")

    def _fate(self, method: str, *, changes: bool) -> str | None:
        odds, chance = self._course.odds, self._turns.random
        if odds.slow and chance.random() < odds.slow:
            self._turns.stall()
        # Most calls only look: what they miss is read again, and proves little.
        at = chance.random() * (1 if changes else 8)
        for name in ("refused", "lost", "late", "repeated", "killed"):
            at -= getattr(odds, name)
            if at < 0:
                return self._detail(name, method, changes=changes)
        return None

    def _detail(self, fate: str, method: str, *, changes: bool) -> str | None:
        if fate == "killed":
            moments = ("before", "after", "under way") if changes else ("before",)
            return f"killed {self._turns.random.choice(moments)}"
        if not changes:
            return "refused"
        if fate == "repeated" and method != "create":
            return "lost"
        return fate


class SimulatedBucket(Store):
    """All tables, for the files of a shallow clone: paths begin with the folder of a table."""

    url = "memory://simulated/"

    def __init__(self, table: Callable[[str], Store]) -> None:
        self._table = table

    def get(self, path: str) -> bytes:
        store, inside = self._inside(path)
        return store.get(inside)

    def get_range(self, path: str, start: int, length: int) -> bytes:
        store, inside = self._inside(path)
        return store.get_range(inside, start, length)

    def head(self, path: str) -> ObjectMeta:
        store, inside = self._inside(path)
        return store.head(inside)

    def open_input(self, path: str) -> Any:
        store, inside = self._inside(path)
        return store.open_input(inside)

    def delete(self, path: str) -> None:
        store, inside = self._inside(path)
        store.delete(inside)

    def put(self, path: str, data: Any) -> None:  # noqa: ARG002
        raise StorageError(f"nobody writes into another table: {path}")

    put_if_absent = put

    def list_from(self, start: str) -> list[ObjectMeta]:
        raise StorageError(f"nobody lists another table: {start}")

    def list_all(self, prefix: str = "") -> Iterator[ObjectMeta]:
        raise StorageError(f"nobody lists another table: {prefix}")

    def resolve(self, uri: str) -> tuple[Store, str]:
        raise StorageError(f"this has no log: {uri}")

    def _inside(self, path: str) -> tuple[Store, str]:
        folder, _, inside = path.partition("/")
        return self._table(f"{self.url}{folder}"), inside


def _no_other(location: Any) -> Store:
    raise StorageError(f"there is no other store in the simulation: {location}")
