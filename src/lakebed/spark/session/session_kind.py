"""Spark's functions for the kind of session at hand: classic, or Spark Connect.

Columns of the two kinds do not mix. `pyspark.sql.functions` goes by the environment of the process,
in which sessions of both kinds may live; this goes by the session or the DataFrame.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any


def is_connect(value: object) -> bool:
    """Whether a session, DataFrame, reader or writer is one of Spark Connect."""
    return any(base.__module__.startswith(_CONNECT) for base in type(value).__mro__)


def functions_of(value: object) -> Any:
    """The functions that make columns for a session or a DataFrame, used like a module."""
    if is_connect(value):
        return import_module(f"{_CONNECT}functions")
    return _classic()


_CONNECT = "pyspark.sql.connect."


@lru_cache(maxsize=1)
def _classic() -> Any:
    return _Unwrapped(import_module("pyspark.sql.functions"))


class _Unwrapped:
    """The classic functions without the switch in front of them that asks the environment."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._module, name)
        return getattr(found, "__wrapped__", found)
