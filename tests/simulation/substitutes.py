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
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from turns import Turns

from lakebed.storage import Store, open_store


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
) -> Iterator[None]:
    """`drawn` gets every UUID, and so the ids of transactions; `opened` gives stores by URL."""

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
    }
    before_get = functools.cached_property.__get__
    if sys.version_info < (3, 12):
        functools.cached_property.__get__ = _get_without_lock  # type: ignore[method-assign]
    patched = [(module, name, getattr(module, name)) for module, name in _uses(len(sys.modules))]
    try:
        for module, name, _ in patched:
            setattr(module, name, values[name])
        yield
    finally:
        for module, name, before in patched:
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


@functools.cache
def _uses(_loaded: int) -> list[tuple[types.ModuleType, str]]:
    """The modules of Lakebed that have one of the names from outside."""
    real: dict[str, Any] = {
        "time": time,
        "uuid": uuid,
        "uuid4": uuid.uuid4,
        "secrets": secrets,
        "random": random,
        "ThreadPoolExecutor": concurrent.futures.ThreadPoolExecutor,
        "open_store": open_store,
    }
    return [
        (module, name)
        for key, module in list(sys.modules.items())
        if key.partition(".")[0] == "lakebed"
        for name, value in real.items()
        if vars(module).get(name) is value
    ]
