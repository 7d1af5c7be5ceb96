"""Lakebed's errors on their way out of a Python worker.

Spark hands on what a worker raises as the text of a traceback, classic and Connect alike. The error
goes along in that text as data, and the client makes the same error of it again.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson

import lakebed.errors
from lakebed.errors import LakebedError


class CarriedError(Exception):
    """What a worker raises instead of a Lakebed error."""


@contextmanager
def carried() -> Iterator[None]:
    """For what runs in a worker: Lakebed's errors reach the client as they are."""
    try:
        yield
    except LakebedError as error:
        # Without the traceback, which would only push the data out of messages that are cut.
        raise CarriedError(encoded(error)).with_traceback(None) from None


def encoded(error: LakebedError) -> str:
    """The error as text, for `find_carried`."""
    state = {"type": type(error).__name__, **vars(error)}
    data = base64.b64encode(orjson.dumps(state, default=str)).decode()
    return f"{error} (lakebed error as data: {data};)"


def find_carried(message: str) -> LakebedError | None:
    """The error in a message of Spark's, if a worker sent one."""
    found = _DATA.search(message)
    if found is not None:
        return _decoded(found[1])
    if _NOT_INSTALLED.search(message):
        return LakebedError(
            "Spark's Python workers cannot import lakebed",
            hint="install lakebed also where the workers run: on the Spark Connect server and "
            "on every node of the cluster",
        )
    return None


# Quotes of Spark's may be around the text, and line breaks in it.
_DATA = re.compile(r"lakebed error as data: ([A-Za-z0-9+/=]+);")
_NOT_INSTALLED = re.compile(r"No module named 'lakebed[.']")


def _decoded(data: str) -> LakebedError:
    state: dict[str, Any] = orjson.loads(base64.b64decode(data))
    kind = getattr(lakebed.errors, state.pop("type"), LakebedError)
    error: LakebedError = kind.__new__(kind, state["message"])
    for name, value in state.items():
        setattr(error, name, tuple(value) if isinstance(value, list) else value)
    return error
