"""What kind a session is: classic or of Spark Connect, enabled for Delta tables, or served.

A session is enabled by a setting of its own. It is served if it is one of Spark Connect whose
server is `lakebed server`.

Columns of the two kinds do not mix. `pyspark.sql.functions` depends on the environment of the
process, which may have sessions of both kinds; `functions_of` depends on the session.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession

from lakebed.settings.setting_table import ENABLED, SERVER


def is_connect(value: object) -> bool:
    """Whether a session, DataFrame, reader or writer is one of Spark Connect."""
    return any(base.__module__.startswith(_CONNECT) for base in type(value).__mro__)


def functions_of(value: object) -> Any:
    """The functions that make columns for a session or a DataFrame, used like a module."""
    if is_connect(value):
        return import_module(f"{_CONNECT}functions")
    return _classic()


def is_enabled(spark: SparkSession) -> bool:
    """Whether the session reads and writes Delta tables."""
    return ENABLED.of(spark)


def is_served(session: Any) -> bool:
    """Whether the server of a session reads and writes Delta tables. Asked once for a session."""
    if not is_connect(session):
        return False
    found = _known.get(session)
    if found is None:
        found = SERVER.of(session) is not None
        _known[session] = found
    return found


_CONNECT = "pyspark.sql.connect."


@lru_cache(maxsize=1)
def _classic() -> Any:
    return _Unwrapped(import_module("pyspark.sql.functions"))


class _Unwrapped:
    """The classic functions without their wrappers, which check the environment."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        return getattr(found, "__wrapped__", found)


_known: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
