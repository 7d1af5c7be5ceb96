"""Lakebed's errors as PySpark's exceptions: of the class that delta-spark raises, with its name.

`lakebed.errors` does without PySpark. Once a program uses Lakebed with Spark, an error is created
as a subclass of its own class that is one of PySpark's too: `except AnalysisException` catches it,
and `getCondition()` tells what delta-spark would. See docs/decisions/0047.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.errors import (
    AnalysisException,
    ArithmeticException,
    IllegalArgumentException,
    ParseException,
    PySparkException,
    UnsupportedOperationException,
)

import lakebed.errors as errors
from lakebed.errors import LakebedError
from lakebed.spark.errors import conflict_names
from lakebed.spark.errors.conditions import Family, condition_of, conflict_class, family_of


def raise_as_pyspark() -> None:
    """All errors from now on, in all threads of the process. Calling it twice does no harm."""
    errors.choose_kinds(_kind_for)


def _kind_for(kind: type[LakebedError], condition: str | None) -> type[LakebedError]:
    found = _made.get((kind, condition))
    if found is None:
        # A class that was made here raises another error.
        found = kind if issubclass(kind, _OfPySpark) else _make(kind, condition)
        _made[kind, condition] = found
    return found


def _make(kind: type[LakebedError], condition: str | None) -> type[LakebedError]:
    bases = [base for base in _BASES[family_of(kind, condition)] if not issubclass(kind, base)]
    if issubclass(kind, errors.ConflictError):
        named = getattr(conflict_names, conflict_class(kind))
        bases = [named, conflict_names.DeltaConcurrentModificationException]
    body = {"__module__": kind.__module__, "__doc__": kind.__doc__, "__str__": _shown}
    made: type[LakebedError] = type(kind.__name__, (kind, _OfPySpark, *bases), body)
    return made


def _own_kind(kind: type[LakebedError]) -> type[LakebedError]:
    """The class in `lakebed.errors`, also for one that was made here."""
    return next(
        base
        for base in kind.__mro__
        if issubclass(base, LakebedError) and not issubclass(base, _OfPySpark)
    )


def _shown(error: LakebedError) -> str:
    """With delta-spark's name of the case, which programs search in what is shown."""
    name = condition_of(error).name
    shown = LakebedError.__str__(error)
    return f"{shown}\n  condition: {name}" if name.startswith("DELTA_") else shown


class _OfPySpark:
    """What PySpark's exceptions can be asked."""

    def __init__(self, *given: Any) -> None:
        # PySpark's own would look the condition up among Spark's.
        assert isinstance(self, Exception)
        Exception.__init__(self, *given)

    def getCondition(self) -> str:
        return condition_of(self._error).name

    def getErrorClass(self) -> str:
        return self.getCondition()

    def getSqlState(self) -> str | None:
        return condition_of(self._error).sql_state

    def getMessageParameters(self) -> dict[str, str]:
        return dict(self._error.parameters or {})

    def getMessage(self) -> str:
        return str(self)

    def getQueryContext(self) -> list[Any]:
        return []

    def getBreakingChangeInfo(self) -> None:
        return None

    @property
    def _error(self) -> LakebedError:
        assert isinstance(self, LakebedError)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """A process that reads it may have no PySpark."""
        error = self._error
        return _again, (_own_kind(type(error)), error.condition, error.args, dict(vars(error)))


def _again(
    kind: type[LakebedError], condition: str | None, args: tuple[Any, ...], state: dict[str, Any]
) -> LakebedError:
    error = kind.__new__(kind, *args, condition=condition)
    vars(error).update(state)
    return error


_made: dict[tuple[type[LakebedError], str | None], type[LakebedError]] = {}
_BASES: Mapping[Family, tuple[type[Exception], ...]] = {
    Family.ANALYSIS: (AnalysisException,),
    Family.PARSE: (ParseException,),
    Family.ARGUMENT: (IllegalArgumentException,),
    Family.ANALYSIS_OR_ARGUMENT: (AnalysisException, IllegalArgumentException),
    Family.UNSUPPORTED: (UnsupportedOperationException,),
    Family.ARITHMETIC: (ArithmeticException,),
    Family.OTHER: (PySparkException,),
}
