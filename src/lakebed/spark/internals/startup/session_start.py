"""How PySpark starts sessions, and what is done before and after.

PySpark has no hook for it: its builder, its context and its session are wrapped. Sessions of Spark
Connect come from the same builder; their class is wrapped once there is one, because importing it
takes packages that a classic application may not have.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import Any

from pyspark.sql import SparkSession
from pyspark.util import is_remote_only

_SUBMIT = "PYSPARK_SUBMIT_ARGS"


@dataclass(frozen=True)
class Hooks:
    """`settings` and `submit_arguments` change what Spark starts with; `ready` gets the session.

    `defaults` are settings for a start that does not make them; a running session keeps its own.
    `is_ready` says whether a session has been given to `ready`; `started` gets each new context.
    """

    defaults: Mapping[str, str]
    settings: Callable[[Mapping[str, str]], dict[str, str]]
    submit_arguments: Callable[[str], str]
    ready: Callable[[Any], None]
    is_ready: Callable[[Any], bool]
    started: Callable[[Any], None]


def hook_sessions(hooks: Hooks) -> Callable[[], None]:
    """The hooks hold for all sessions from now on; what it returns takes them away again."""
    hooked = _Hooked(hooks)
    hooked.wrap(SparkSession.Builder, "getOrCreate", hooked.building)
    hooked.wrap(SparkSession.Builder, "create", hooked.building)
    hooked.wrap(SparkSession, "__init__", hooked.constructing)
    if not is_remote_only():
        from pyspark import SparkContext

        hooked.wrap(SparkContext, "__init__", hooked.starting_context)
    return hooked.remove


class _Hooked:
    """The wrapped methods, with the originals to put back."""

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._originals: list[tuple[type, str, Any]] = []
        self._local = threading.local()
        self._has_connect = False

    def wrap(self, owner: type, name: str, make: Callable[[Any], Any]) -> None:
        original = owner.__dict__[name]
        self._originals.append((owner, name, original))
        setattr(owner, name, wraps(original)(make(original)))

    def remove(self) -> None:
        for owner, name, original in reversed(self._originals):
            setattr(owner, name, original)
        self._originals.clear()

    def building(self, original: Any) -> Any:
        def build(builder: Any) -> Any:
            defaults = {} if _is_running() else self._hooks.defaults
            builder._options = {**defaults, **self._hooks.settings(builder._options)}
            with self._busy():
                session = original(builder)
                self._hooks.ready(session)
            self._wrap_connect(session)
            return session

        return build

    def constructing(self, original: Any) -> Any:
        """Sessions that no builder makes: `newSession()`, `SparkSession(context)`."""

        def construct(session: Any, *args: Any, **kwargs: Any) -> None:
            original(session, *args, **kwargs)
            if not self._is_busy() and not self._hooks.is_ready(session):
                with self._busy():
                    self._hooks.ready(session)

        return construct

    def starting_context(self, original: Any) -> Any:
        from pyspark import SparkContext

        parameters = signature(original)

        def start(context: Any, *args: Any, **kwargs: Any) -> None:
            given = parameters.bind(context, *args, **kwargs)
            given.arguments["conf"] = self._changed(given.arguments.get("conf"))
            if _SUBMIT in os.environ and SparkContext._gateway is None:
                os.environ[_SUBMIT] = self._hooks.submit_arguments(os.environ[_SUBMIT])
            original(*given.args, **given.kwargs)
            with self._busy():
                self._hooks.started(context)
            # Spark would start any `python3` there is, which need not have what the program has.
            if "PYSPARK_PYTHON" not in os.environ and context.master.startswith("local"):
                context.pythonExec = sys.executable

        return start

    def creating_connect(self, original: Any) -> Any:
        def create(session: Any, *args: Any, **kwargs: Any) -> Any:
            new = original(session, *args, **kwargs)
            self._hooks.ready(new)
            return new

        return create

    def _changed(self, conf: Any) -> Any:
        from pyspark import SparkConf

        before = {} if conf is None else dict(conf.getAll())
        after = {**self._hooks.defaults, **self._hooks.settings(before)}
        if after == before:
            return conf
        return SparkConf(loadDefaults=conf is None).setAll(list(after.items()))

    @contextmanager
    def _busy(self) -> Iterator[None]:
        """Whatever asks Spark for the active session meanwhile constructs a session again."""
        before = self._is_busy()
        self._local.busy = True
        try:
            yield
        finally:
            self._local.busy = before

    def _is_busy(self) -> bool:
        return getattr(self._local, "busy", False)

    def _wrap_connect(self, session: Any) -> None:
        if self._has_connect or isinstance(session, SparkSession):
            return
        self._has_connect = True
        kind = type(session)
        for name in ("newSession", "cloneSession"):  # not in all versions
            if name in kind.__dict__:
                self.wrap(kind, name, self.creating_connect)


def _is_running() -> bool:
    classic = SparkSession._instantiatedSession
    if classic is not None and classic._sc._jsc is not None:
        return True
    connect = sys.modules.get("pyspark.sql.connect.session")
    return connect is not None and connect.SparkSession._get_default_session() is not None
