"""A store that fails on demand, and remembers what was asked of it.

    store = FaultStore(open_store(path), Fault("put_if_absent", 1, "after"))
    store = FaultStore(open_store(path), Fault(None, 7, "timeout"))    # the 7th call of any kind

`before`   raises and does nothing: the request never left.
`after`    does what was asked, then raises: the answer was lost.
`timeout`  raises like `after`, but nothing happened: the request was lost.
`late`     raises, and the store acts just before the call after next: the request was under way
           when the client gave up, and its effect arrives after one look at the store.

To try a fault at every single call, run once without faults and take `len(store.calls)`, or call
`killed_at_every_call`.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from lakebed.errors import LakebedError, StorageError
from lakebed.storage import ObjectMeta, Store

T = TypeVar("T")
Mode = Literal["before", "after", "timeout", "late"]
_AROUND: tuple[Mode, ...] = ("before", "after")


class Fault(NamedTuple):
    """The `number`-th call (from 1) of `method`, or of any method if it is None, goes wrong."""

    method: str | None
    number: int
    mode: Mode
    error: BaseException | None = None
    """Raised instead of a StorageError: an exception of your own plays a killed process."""


class Call(NamedTuple):
    method: str
    path: str


class FaultStore(Store):
    def __init__(self, inner: Store, *faults: Fault) -> None:
        self.inner = inner
        self.cheap_probes = inner.cheap_probes
        self.faults = list(faults)
        self.calls: list[Call] = []
        self.counts: Counter[str] = Counter()
        self.raised: list[Fault] = []
        self._late: list[tuple[int, Callable[[], Any]]] = []
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return self.inner.url

    def list_from(self, start: str) -> list[ObjectMeta]:
        return self._call("list_from", start, lambda: self.inner.list_from(start))

    def list_all(self, prefix: str = "") -> Iterator[ObjectMeta]:
        return iter(self._call("list_all", prefix, lambda: list(self.inner.list_all(prefix))))

    def get(self, path: str) -> bytes:
        return self._call("get", path, lambda: self.inner.get(path))

    def get_many(self, paths: Sequence[str]) -> list[bytes]:
        """One call, recorded with all paths joined by spaces."""
        return self._call("get_many", " ".join(paths), lambda: self.inner.get_many(paths))

    def get_range(self, path: str, start: int, length: int) -> bytes:
        return self._call("get_range", path, lambda: self.inner.get_range(path, start, length))

    def sync(self, references: Iterable[str], *, is_new: bool = False) -> None:
        self.inner.sync(references, is_new=is_new)

    def confirm(self, path: str) -> None:
        self.inner.confirm(path)

    def has_root(self) -> bool:
        return self.inner.has_root()

    def prune(self, matches: Callable[[str], bool]) -> None:
        self._call("prune", "", lambda: self.inner.prune(matches))

    def prune_root(self) -> None:
        self._call("prune_root", "", self.inner.prune_root)

    def put_if_absent(self, path: str, data: bytes | bytearray | memoryview) -> None:
        copy = bytes(data)
        self._call("put_if_absent", path, lambda: self.inner.put_if_absent(path, copy))

    def require_put_if_absent(self, path: str) -> None:
        """A question about the kind of store: neither counted nor failed."""
        self.inner.require_put_if_absent(path)

    def put(self, path: str, data: bytes | bytearray | memoryview) -> None:
        copy = bytes(data)
        self._call("put", path, lambda: self.inner.put(path, copy))

    def delete(self, path: str) -> None:
        self._call("delete", path, lambda: self.inner.delete(path))

    def head(self, path: str) -> ObjectMeta:
        return self._call("head", path, lambda: self.inner.head(path))

    def exists(self, path: str) -> bool:
        return self._call("exists", path, lambda: self.inner.exists(path))

    def open_input(self, path: str) -> Any:
        return self._call("open_input", path, lambda: self.inner.open_input(path))

    def resolve(self, uri: str) -> tuple[Store, str]:
        """Touches no storage, so it is neither counted nor failed."""
        store, path = self.inner.resolve(uri)
        return (self if store is self.inner else store), path

    def settle(self) -> None:
        """Let every late effect arrive now."""
        with self._lock:
            due, self._late = self._late, []
        for _, act in due:
            _arrive(act)

    def _call(self, method: str, path: str, act: Callable[[], T]) -> T:
        fault = self._record(method, path)
        if fault is None:
            return act()
        if fault.mode == "after":
            act()
        elif fault.mode == "late":
            with self._lock:
                self._late.append((len(self.calls) + 2, act))
        raise fault.error or StorageError(f"injected: {method} {path} failed ({fault.mode})")

    def _record(self, method: str, path: str) -> Fault | None:
        with self._lock:
            self.calls.append(Call(method, path))
            self.counts[method] += 1
            total, of_method = len(self.calls), self.counts[method]
            due = [act for when, act in self._late if when <= total]
            self._late = [(when, act) for when, act in self._late if when > total]
            fault = next((f for f in self.faults if _hits(f, method, total, of_method)), None)
            if fault is not None:
                self.raised.append(fault)
        for act in due:
            _arrive(act)
        return fault


class Killed(BaseException):
    """The process is gone: nothing catches this."""


def killed_at_every_call(
    run: Callable[[Store], Any], store_of: Callable[[], Store], check: Callable[[], None]
) -> int:
    """Runs once to count the calls, then is killed before and after each; `check` looks each time.

    `store_of` makes the starting point anew. Gives the number of calls.
    """
    whole = FaultStore(store_of())
    run(whole)
    for number in range(1, len(whole.calls) + 1):
        for mode in _AROUND:
            store = FaultStore(store_of(), Fault(None, number, mode, Killed()))
            with contextlib.suppress(Killed):
                run(store)
            assert store.raised
            check()
    return len(whole.calls)


def _hits(fault: Fault, method: str, total: int, of_method: int) -> bool:
    if fault.method is None:
        return fault.number == total
    return fault.method == method and fault.number == of_method


def _arrive(act: Callable[[], Any]) -> None:
    # Nobody waits for the answer: a late put_if_absent may well find the name taken.
    with contextlib.suppress(LakebedError):
        act()
