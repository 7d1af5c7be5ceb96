"""Which handler of a script takes an error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from pyspark.errors import PySparkException

from lakebed.errors import LakebedError
from lakebed.sql.script.scopes import Scope
from lakebed.sql.script.tree import Handler

_STATE = "KD000"
"""The SQLSTATE of Lakebed's errors, as in classic sessions: SqlRules.java."""
_INNER = re.compile(r"\[([A-Z][A-Z0-9_.]*)\] [^\n]*SQLSTATE: ([0-9A-Z]{5})\b")


def find_handler(
    scopes: Iterable[Scope], error: LakebedError | PySparkException
) -> tuple[Scope, Handler] | None:
    """That of the innermost scope which has some for the error; the scopes begin with it."""
    condition, state = _kind(error)
    for scope in scopes if state else ():
        found = _handler(scope, condition.upper(), state.upper())
        if found is not None:
            return scope, found
    return None


def is_no_error(error: LakebedError | PySparkException) -> bool:
    """Whether it only tells that there is no more data; without a handler the script goes on."""
    return _kind(error)[1].startswith("02")


def _kind(error: LakebedError | PySparkException) -> tuple[str, str]:
    """The condition and the SQLSTATE; empty if there are none."""
    if isinstance(error, LakebedError):
        return error.code, _STATE
    condition, state = error.getCondition(), error.getSqlState()
    if condition and state:
        return condition, state
    # Errors of subqueries come inside of others, which have none of their own.
    found = _INNER.search(str(error))
    return ("", "") if found is None else (found[1], found[2])


def _handler(scope: Scope, condition: str, state: str) -> Handler | None:
    """The most special one."""
    is_nothing = state.startswith("02")
    is_internal = state.startswith("XX")
    ways: list[Callable[[Handler], bool]] = [
        lambda each: condition in each.conditions,
        lambda each: condition.partition(".")[0] in each.conditions,
        lambda each: state in each.states,
        lambda each: each.not_found and is_nothing,
        lambda each: each.errors and not is_nothing and not is_internal,
    ]
    for takes in ways:
        for each in scope.handlers:
            if takes(each):
                return each
    return None
