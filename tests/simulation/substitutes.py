"""Time, chance and threads of Lakebed's modules, from the simulation instead of the machine."""

from __future__ import annotations

import concurrent.futures
import functools
import random
import secrets
import sys
import time
import types
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from turns import Turns

from lakebed.storage import Store, open_store

Patch = tuple[Any, str, Any]
"""An object, the name of an attribute, and what it is to be."""


class InTurn:
    """A pool without threads: work is done when it is submitted, by whoever submits it."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def submit(
        self, work: Callable[..., Any], /, *given: Any, **named: Any
    ) -> concurrent.futures.Future[Any]:
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        try:
            future.set_result(work(*given, **named))
        except BaseException as error:  # noqa: BLE001 - as a pool does, for whoever asks
            future.set_exception(error)
        return future

    def map(self, work: Callable[..., Any], *given: Iterable[Any], **_: Any) -> Iterator[Any]:
        futures = [self.submit(work, *each) for each in zip(*given, strict=False)]
        return (future.result() for future in futures)

    def shutdown(self, *_: Any, **__: Any) -> None:
        pass

    def __enter__(self) -> InTurn:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@contextmanager
def simulated(
    turns: Turns,
    chance: random.Random,
    drawn: Callable[[str], None],
    opened: Callable[[str], Store],
    more: Mapping[str, tuple[Any, Any]] | None = None,
    also: Sequence[Patch] = (),
) -> Iterator[None]:
    """`drawn` gets every UUID, and so the ids of transactions; `opened` gives stores by URL.

    `more` are substitutes of other functions, by the name that Lakebed's modules import them under,
    and `also` are substitutes of single attributes.
    """

    def now() -> float:
        skew = 0.0 if turns.current is None else turns.current.skew_ms
        return (turns.now_ms + skew) / 1000

    def new_uuid() -> uuid.UUID:
        found = uuid.UUID(int=chance.getrandbits(128), version=4)
        drawn(str(found))
        return found

    clock = types.SimpleNamespace(
        time=now,
        time_ns=lambda: int(now() * 1000) * 1_000_000,
        monotonic=lambda: turns.now_ms / 1000,
        sleep=turns.sleep,
    )
    uuids = types.SimpleNamespace(
        uuid4=new_uuid, uuid5=uuid.uuid5, UUID=uuid.UUID, NAMESPACE_URL=uuid.NAMESPACE_URL
    )
    secret = types.SimpleNamespace(
        choice=chance.choice,
        randbits=chance.getrandbits,
        token_bytes=lambda count: chance.getrandbits(8 * count).to_bytes(count, "big"),
    )
    values = {
        "time": clock,
        "uuid": uuids,
        "uuid4": new_uuid,
        "secrets": secret,
        "random": chance,
        "ThreadPoolExecutor": InTurn,
        "open_store": lambda url, _options=None: opened(str(url)),
        **{name: substitute for name, (_, substitute) in (more or {}).items()},
    }
    real = {**_REAL, **{name: found for name, (found, _) in (more or {}).items()}}
    before_get = functools.cached_property.__get__
    if sys.version_info < (3, 12):
        functools.cached_property.__get__ = _get_without_lock  # type: ignore[method-assign]
    uses = [(module, name, values[name]) for module, name in _uses(real)]
    patches = [*uses, *also]
    patched = [(module, name, getattr(module, name)) for module, name, _ in patches]
    try:
        for module, name, value in patches:
            setattr(module, name, value)
        yield
    finally:
        for module, name, before in reversed(patched):
            setattr(module, name, before)
        functools.cached_property.__get__ = before_get  # type: ignore[method-assign]


def _get_without_lock(self: Any, instance: Any, owner: Any = None) -> Any:  # noqa: ARG001
    """As from Python 3.12 on. Before, all instances of a class share a lock, which clients that
    stand for processes of their own must not."""
    if instance is None:
        return self
    values = instance.__dict__
    if self.attrname not in values:
        values[self.attrname] = self.func(instance)
    return values[self.attrname]


_REAL: dict[str, Any] = {
    "time": time,
    "uuid": uuid,
    "uuid4": uuid.uuid4,
    "secrets": secrets,
    "random": random,
    "ThreadPoolExecutor": concurrent.futures.ThreadPoolExecutor,
    "open_store": open_store,
}
_known: dict[tuple[int, frozenset[str]], list[tuple[types.ModuleType, str]]] = {}


def _uses(real: Mapping[str, Any]) -> list[tuple[types.ModuleType, str]]:
    """The modules of Lakebed that have one of the names from outside."""
    key = len(sys.modules), frozenset(real)
    if key not in _known:
        _known[key] = [
            (module, name)
            for name_of, module in list(sys.modules.items())
            if name_of.partition(".")[0] == "lakebed" and name_of != "lakebed.storage"
            for name, value in real.items()
            # Where it is defined it stays: modules that are imported later take it from there.
            if vars(module).get(name) is value and getattr(value, "__module__", "") != name_of
        ]
    return _known[key]
