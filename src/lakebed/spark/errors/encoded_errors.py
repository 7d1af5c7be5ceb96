"""Lakebed's errors as text: how they get out of a Python worker, or to a client of a server.

Spark passes on what a worker raises as the text of a traceback, on classic sessions and on Spark
Connect. The error is encoded in that text, and the client decodes it to the same error.
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


class EncodedError(Exception):
    """What a worker raises instead of a Lakebed error."""


@contextmanager
def encoding_errors() -> Iterator[None]:
    """For code that runs in a worker: the client gets Lakebed's errors as they were raised."""
    try:
        yield
    except LakebedError as error:
        # Without the traceback, which could push the data out of messages that Spark truncates.
        raise EncodedError(encode_error(error)).with_traceback(None) from None


def encode_error(error: LakebedError) -> str:
    """The error as text, for `find_encoded`."""
    state = {"type": type(error).__name__, **vars(error)}
    data = base64.b64encode(orjson.dumps(state, default=str)).decode()
    return f"{error} (lakebed error as data: {data};)"


def find_encoded(message: str) -> LakebedError | None:
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
    error: LakebedError = kind.__new__(kind, state["message"], condition=state.get("condition"))
    for name, value in state.items():
        setattr(error, name, tuple(value) if isinstance(value, list) else value)
    return error
