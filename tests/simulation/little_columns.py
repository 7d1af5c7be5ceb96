"""Columns of `little_spark`: what Lakebed's commands ask of Spark's, over rows that are tuples."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from types import CodeType
from typing import Any

from pyspark.errors import AnalysisException

from lakebed.errors import JobFailedError
from lakebed.spark.errors.rule_errors import broken_rule
from lakebed.spec.schema import BOOLEAN, INTEGER, LONG, STRING, DataType, parse_schema

Values = tuple[Any, ...]
Bound = tuple[DataType, Callable[[Values], Any]]


@dataclass(frozen=True)
class Name:
    """A column of a frame; `of` is the alias of the frame that it came from."""

    name: str
    data_type: DataType
    of: str | None = None


class UnresolvedError(AnalysisException):
    def getCondition(self) -> str:
        return "UNRESOLVED_COLUMN"


class Column:
    """An expression: `bind` gives its type and its value for rows with certain columns."""

    def __init__(self, bind: Callable[[Sequence[Name]], Bound], name: str = "value") -> None:
        self.bind = bind
        self.name = name

    def alias(self, name: str, metadata: Any = None) -> Column:  # noqa: ARG002 - Spark's name
        return Column(self.bind, name)

    def cast(self, to: Any) -> Column:
        data_type = _type_of(to)

        def bind(names: Sequence[Name]) -> Bound:
            _, value = self.bind(names)
            convert = _CASTS.get(data_type, lambda found: found)
            return data_type, lambda row: None if (v := value(row)) is None else convert(v)

        return Column(bind, self.name)

    def isNull(self) -> Column:
        return _made(BOOLEAN, lambda value: value is None, self)

    def isNotNull(self) -> Column:
        return _made(BOOLEAN, lambda value: value is not None, self)

    def isin(self, values: Sequence[Any]) -> Column:
        return _made(BOOLEAN, lambda value: None if value is None else value in values, self)

    def __eq__(self, other: object) -> Column:  # type: ignore[override]
        return _made(BOOLEAN, _strict(lambda a, b: a == b), self, other)

    def __add__(self, other: object) -> Column:
        return _made(LONG, _strict(lambda a, b: a + b), self, other)

    def __and__(self, other: object) -> Column:
        return _made(BOOLEAN, _both, self, other)

    def __or__(self, other: object) -> Column:
        """The other side is asked only if need be: it may be an error."""
        right = lit(other)

        def bind(names: Sequence[Name]) -> Bound:
            (_, one), (_, two) = self.bind(names), right.bind(names)
            return BOOLEAN, lambda row: one(row) is True or two(row)

        return Column(bind)

    def __invert__(self) -> Column:
        return _made(BOOLEAN, lambda value: None if value is None else not value, self)

    __hash__ = object.__hash__


class Branches(Column):
    def __init__(self, pairs: Sequence[tuple[Column, Column]], last: Column) -> None:
        super().__init__(self._bind)
        self._pairs = pairs
        self._last = last

    def when(self, condition: Column, value: Any) -> Branches:
        return Branches([*self._pairs, (condition, lit(value))], self._last)

    def otherwise(self, value: Any) -> Branches:
        return Branches(self._pairs, lit(value))

    def _bind(self, names: Sequence[Name]) -> Bound:
        pairs = [(one.bind(names)[1], two.bind(names)) for one, two in self._pairs]
        last = self._last.bind(names)[1]

        def value(row: Values) -> Any:
            for test, (_, found) in pairs:
                if test(row):
                    return found(row)
            return last(row)

        return pairs[0][1][0], value


# --- functions, under Spark's names ---------------------------------------------------------------


def col(name: str) -> Column:
    wanted = name.replace("`", "")

    def bind(names: Sequence[Name]) -> Bound:
        place = _place(wanted, names)
        return names[place].data_type, lambda row: row[place]

    return Column(bind, wanted.rpartition(".")[2])


def lit(value: Any) -> Column:
    if isinstance(value, Column):
        return value
    kind = {bool: BOOLEAN, int: INTEGER}.get(type(value), STRING)
    return Column(lambda _: (kind, lambda _: value))


def when(condition: Column, value: Any) -> Branches:
    return Branches([(condition, lit(value))], lit(None))


def coalesce(*columns: Column) -> Column:
    def bind(names: Sequence[Name]) -> Bound:
        bound = [each.bind(names) for each in columns]

        def value(row: Values) -> Any:
            return next((v for _, find in bound if (v := find(row)) is not None), None)

        return bound[0][0], value

    return Column(bind)


def expr(sql: str) -> Column:
    """Names, numbers, comparisons, arithmetic, AND, OR and NOT: nothing else is asked for."""
    if re.fullmatch(r"[\w.`]+", sql) and not sql.isdigit():
        return col(sql)
    code, names_in = _translated(sql)
    kind = BOOLEAN if re.search(r"[=<>]", sql) else LONG

    def bind(names: Sequence[Name]) -> Bound:
        places = {key: _place(name, names) for key, name in names_in}

        def value(row: Values) -> Any:
            given = {key: row[place] for key, place in places.items()}
            return None if None in given.values() else eval(code, {}, given)

        return kind, value

    return Column(bind)


def concat(*parts: Column) -> Column:
    return _made(STRING, lambda *values: "".join(map(str, values)), *parts)


def struct(*parts: Column) -> Column:
    return _made(
        STRING, lambda *values: dict(zip([p.name for p in parts], values, strict=True)), *parts
    )


def to_json(value: Column) -> Column:
    return value


def raise_error(message: Column) -> Column:
    """What a task would report, as Lakebed's own words for it."""

    def fail(text: str) -> Any:
        raise broken_rule(text) or JobFailedError(text)

    return _made(BOOLEAN, fail, message)


def spark_partition_id() -> Column:
    return lit(0)


def count(_: Column) -> Column:
    return Aggregate(len, None)


def min(column: Column) -> Column:
    return Aggregate(partial(_least, 1), column)


def max(column: Column) -> Column:
    return Aggregate(partial(_least, -1), column)


def broadcast(frame: Any) -> Any:
    return frame


def monotonically_increasing_id() -> Column:
    return Numbers()


class Numbers(Column):
    """The numbers of rows, which the frame fills in."""

    def __init__(self, name: str = "value") -> None:
        super().__init__(lambda _: (LONG, lambda _: None), name)

    def alias(self, name: str, metadata: Any = None) -> Numbers:  # noqa: ARG002
        return Numbers(name)


class Aggregate(Column):
    def __init__(self, work: Callable[[list[Any]], Any], of: Column | None, name: str = "") -> None:
        super().__init__((of or lit(0)).bind, name)
        self.work = work

    def alias(self, name: str, metadata: Any = None) -> Aggregate:  # noqa: ARG002
        return Aggregate(self.work, Column(self.bind), name)


# --- how ------------------------------------------------------------------------------------------


def _made(kind: DataType, work: Callable[..., Any], *parts: object) -> Column:
    columns = [lit(each) for each in parts]

    def bind(names: Sequence[Name]) -> Bound:
        bound = [each.bind(names)[1] for each in columns]
        return kind, lambda row: work(*[find(row) for find in bound])

    return Column(bind)


def _strict(work: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: None if a is None or b is None else work(a, b)


def _both(one: Any, other: Any) -> Any:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def _least(sign: int, values: list[Any]) -> Any:
    known = sorted(value for value in values if value is not None)
    return known[0 if sign > 0 else -1] if known else None


def _place(wanted: str, names: Sequence[Name]) -> int:
    of, _, name = wanted.rpartition(".")
    found = [
        place
        for place, each in enumerate(names)
        if each.name.lower() == name.lower() and (not of or (each.of or "").lower() == of.lower())
    ]
    if len(found) != 1:
        known = [f"{each.of}.{each.name}" for each in names]
        raise UnresolvedError(f"{len(found)} columns are {wanted!r} of {known}")
    return found[0]


@lru_cache(1000)
def _translated(sql: str) -> tuple[CodeType, tuple[tuple[str, str], ...]]:
    names: dict[str, str] = {}

    def replaced(match: re.Match[str]) -> str:
        word = match[0]
        if word.upper() in ("AND", "OR", "NOT"):
            return word.lower()
        return names.setdefault(word, f"v{len(names)}")

    text = re.sub(r"[A-Za-z_`][\w`]*(\.[\w`]+)?", replaced, sql)
    text = re.sub(r"(?<![<>!=])=", "==", text)
    return compile(text, sql, "eval"), tuple((key, name) for name, key in names.items())


def _type_of(given: Any) -> DataType:
    if isinstance(given, str):
        return {"long": LONG, "int": INTEGER, "boolean": BOOLEAN, "string": STRING}[given]
    text = '{"type":"struct","fields":[{"name":"v","type":%s,"nullable":true,"metadata":{}}]}'
    return parse_schema(text % given.json()).fields[0].data_type


_CASTS: dict[DataType, Callable[[Any], Any]] = {LONG: int, INTEGER: int, STRING: str, BOOLEAN: bool}

# `is_connect` goes by the module of a class: then Lakebed asks for no plan of a JVM.
for _class in (Column, Branches, Aggregate, Numbers):
    _class.__module__ = "pyspark.sql.connect.simulated"
