"""Random expressions, rows and MERGEs, and what they mean in plain Python.

Expressions have a text in SQL and a value by SQL's logic of three values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from operator import add as plus
from operator import eq, ge, gt, itemgetter, le, lt, ne, not_
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

Row = dict[str, Any]
Env = Mapping[str, Row]
"""Rows by the name that expressions call them by; "" if by none."""
Plain = tuple[Any, ...]

FIELDS = pa.struct([("a", pa.int32()), ("b", pa.string())])
SCHEMA = pa.schema([("k", pa.int64()), ("p", pa.string()), ("n", pa.int32()), ("d", FIELDS)])


# --- expressions: as SQL, and what they are in Python --------------------------------------------


@dataclass(frozen=True, repr=False)
class Expr:
    text: str
    value: Callable[[Env], Any]

    def __repr__(self) -> str:
        return self.text


def column(side: str, name: str) -> Expr:
    def value(env: Env) -> Any:
        found: Any = env[side]
        for part in name.split("."):
            found = None if found is None else found[part]
        return found

    return Expr(f"{side}.{name}" if side else name, value)


def literal(value: Any) -> Expr:
    text = "NULL" if value is None else f"'{value}'" if isinstance(value, str) else f"({value})"
    return Expr(text, lambda _: value)


def made(text: str, function: Callable[..., Any], *parts: Expr) -> Expr:
    return Expr(text.format(*parts), lambda env: function(*(part.value(env) for part in parts)))


def strict(text: str, function: Callable[..., Any], *parts: Expr) -> Expr:
    """Null if a part is null, as most functions of SQL."""
    return made(text, lambda *found: None if None in found else function(*found), *parts)


def first_of(one: Expr, other: Expr) -> Expr:
    return made("coalesce({}, {})", lambda a, b: b if a is None else a, one, other)


def same(one: Expr, other: Expr) -> Expr:
    return made("{} <=> {}", eq, one, other)


def both(one: Expr, other: Expr) -> Expr:
    return made("({} AND {})", lambda *v: False if False in v else None if None in v else True,
                one, other)  # fmt: skip


def either(one: Expr, other: Expr) -> Expr:
    return made("({} OR {})", lambda *v: True if True in v else None if None in v else False,
                one, other)  # fmt: skip


def within(one: Expr, values: Sequence[Any]) -> Expr:
    text = f"{{}} IN ({', '.join(map(str, map(literal, values)))})"
    return strict(text, lambda x: True if x in values else None if None in values else False, one)


def is_null(one: Expr) -> Expr:
    return made("{} IS NULL", lambda x: x is None, one)


def is_true(condition: Expr | None, env: Env) -> bool:
    return condition is None or condition.value(env) is True


# --- random expressions and rows -----------------------------------------------------------------

COMPARE = dict(zip(("=", "<>", "<", "<=", ">", ">="), (eq, ne, lt, le, gt, ge), strict=True))
INTS = st.integers(-3, 3)
# The protocol has no empty string as a partition value.
TEXTS = st.sampled_from(["x", "y", "z"])
CONSTANTS = [
    Expr("true", lambda _: True),
    Expr("false", lambda _: False),
    Expr("CAST(NULL AS BOOLEAN)", lambda _: None),
]
STRUCTS = st.fixed_dictionaries({"a": st.none() | INTS, "b": st.none() | TEXTS})
ROW = st.fixed_dictionaries(
    {
        "k": st.none() | st.integers(0, 9),
        "p": st.none() | TEXTS,
        "n": st.none() | INTS,
        "d": st.none() | STRUCTS,
    }
)


def columns(sides: Sequence[str], *names: str) -> st.SearchStrategy[Expr]:
    return st.builds(column, st.sampled_from(sides), st.sampled_from(names))


def numbers(sides: Sequence[str]) -> st.SearchStrategy[Expr]:
    known = columns(sides, "k", "n", "d.a")
    return st.one_of(
        known,
        INTS.map(literal),
        st.builds(lambda a, b: strict("({} + {})", plus, a, b), known, known),
        known.map(lambda a: strict("(3 - {})", lambda x: 3 - x, a)),
        st.builds(first_of, known, INTS.map(literal)),
    )


def texts(sides: Sequence[str]) -> st.SearchStrategy[Expr]:
    known = columns(sides, "p", "d.b")
    return st.one_of(
        known,
        TEXTS.map(literal),
        known.map(lambda a: strict("upper({})", str.upper, a)),
        st.builds(lambda a, b: strict("concat({}, {})", plus, a, b), known, known),
        st.builds(first_of, known, TEXTS.map(literal)),
    )


def structs(sides: Sequence[str]) -> st.SearchStrategy[Expr]:
    def struct(a: Expr, b: Expr) -> Expr:
        return made("named_struct('a', {}, 'b', {})", lambda a, b: {"a": a, "b": b}, a, b)

    return columns(sides, "d") | st.builds(struct, numbers(sides), texts(sides))


def compared(one: Expr, sign: str, other: Expr) -> Expr:
    return strict(f"{{}} {sign} {{}}", COMPARE[sign], one, other)


@cache
def conditions(*sides: str) -> st.SearchStrategy[Expr]:
    signs = st.sampled_from(list(COMPARE))
    tests = st.one_of(
        st.builds(compared, numbers(sides), signs, numbers(sides)),
        st.builds(compared, texts(sides), signs, texts(sides)),
        st.builds(same, numbers(sides), numbers(sides) | st.just(literal(None))),
        columns(sides, "k", "p", "n", "d", "d.a").map(is_null),
        st.builds(within, columns(sides, "k", "n"), st.lists(st.none() | INTS, min_size=1)),
        st.builds(within, columns(sides, "p"), st.lists(st.none() | TEXTS, min_size=1)),
        texts(sides).map(lambda a: strict("{} LIKE 'x%'", lambda x: x.startswith("x"), a)),
        columns(sides, "k", "n").map(lambda a: strict("{} % 2 = 0", lambda x: x % 2 == 0, a)),
        st.sampled_from(CONSTANTS),
    )
    return st.recursive(
        tests,
        lambda inner: st.one_of(
            st.builds(both, inner, inner),
            st.builds(either, inner, inner),
            inner.map(lambda a: strict("NOT ({})", not_, a)),
        ),
        max_leaves=3,
    )


@cache
def values(*sides: str, nested: bool = True) -> st.SearchStrategy[dict[str, Expr]]:
    """New values of some columns; of the struct or of fields in it, not of both."""
    null = st.just(literal(None))
    whole = {
        "k": numbers(sides) | null,
        "p": texts(sides) | null,
        "n": numbers(sides) | null,
        "d": structs(sides) | null,
    }
    parts = {**whole, "d.a": numbers(sides) | null, "d.b": texts(sides) | null}
    del parts["d"]
    new = st.fixed_dictionaries({}, optional=whole)
    if nested:
        new = new | st.fixed_dictionaries({}, optional=parts)
    return new.map(lambda found: found or {"n": literal(7)})


def assigned(row: Row, new: Mapping[str, Expr], env: Env) -> Row:
    """A field that is set in a struct that is null makes it one that is not, as in delta-spark."""
    result = dict(row)
    for name, value in new.items():
        first, *rest = name.split(".")
        if rest:
            old = result[first] or {"a": None, "b": None}
            result[first] = {**old, rest[0]: value.value(env)}
        else:
            result[first] = value.value(env)
    return result


# --- what a command does --------------------------------------------------------------------------


def plain(row: Row) -> Plain:
    d = row["d"]
    return (row["k"], row["p"], row["n"], None if d is None else (d["a"], d["b"]))


@dataclass
class Step:
    """What a command does. `changes` are the rows that go (None) or get other values."""

    operation: str
    changes: dict[int, Row | None] = field(default_factory=dict)
    inserted: list[Row] = field(default_factory=list)
    metrics: dict[str, int] = field(default_factory=dict)

    def feed(self, before: Mapping[int, Row]) -> Counter[Plain]:
        found = Counter(("insert", *plain(row)) for row in self.inserted)
        for number, after in self.changes.items():
            kinds = ("delete",) if after is None else ("update_preimage", "update_postimage")
            images = (before[number], after)
            found.update((kind, *plain(row)) for kind, row in zip(kinds, images) if row)  # noqa: B905
        return found


# --- MERGE in Python -----------------------------------------------------------------------------


KINDS = ("Matched", "NotMatchedBySource")


@dataclass(frozen=True)
class When:
    """`new` None stands for all columns of the source."""

    action: str
    condition: Expr | None
    new: Mapping[str, Expr] | None = None


@dataclass(frozen=True)
class Merge:
    on: Expr
    matched: Sequence[When]
    not_matched: Sequence[When]
    by_source: Sequence[When]

    @property
    def clauses(self) -> dict[str, Sequence[When]]:
        """By the beginning of the builder's methods; a MERGE has at least one."""
        is_empty = not (self.matched or self.not_matched or self.by_source)
        return {
            "whenMatched": self.matched,
            "whenNotMatched": [When("insert", None)] if is_empty else self.not_matched,
            "whenNotMatchedBySource": self.by_source,
        }

    def run(self, rows: Mapping[int, Row], source: Sequence[Row]) -> Step | None:
        """None if several rows of the source would change a row."""
        step, used, counts = Step("MERGE"), set(), Counter[str]()
        for number, row in rows.items():
            envs = [{"t": row, "u": other} for other in source]
            hits = [place for place, env in enumerate(envs) if is_true(self.on, env)]
            used.update(hits)
            clauses = self.matched if hits else self.by_source
            looks: list[Env] = [envs[place] for place in hits] if hits else [{"t": row}]
            found = [(when, env) for env in looks if (when := _first(clauses, env))]
            if len(found) > 1 and not self._only_deletes():
                return None
            for when, env in found[:1]:
                after = _after(when, row, env)
                step.changes[number] = after
                kind = "Matched" if hits else "NotMatchedBySource"
                counts[f"{kind}{'Deleted' if after is None else 'Updated'}"] += 1
        for place, row in enumerate(source):
            when = None if place in used else _first(self.clauses["whenNotMatched"], {"u": row})
            if when is not None:
                step.inserted.append(_after(when, dict.fromkeys(SCHEMA.names), {"u": row}) or {})
        updated, deleted = (
            sum(counts[kind + what] for kind in KINDS) for what in ("Updated", "Deleted")
        )
        counts.update(Inserted=len(step.inserted), Updated=updated, Deleted=deleted)
        named = {f"numTargetRows{name}": counts[name] for name in COUNTS}
        step.metrics.update(named, numSourceRows=len(source))
        return step

    def _only_deletes(self) -> bool:
        """A row may be deleted twice where it does not matter by which row of the source."""
        return [(when.action, when.condition) for when in self.matched] == [("delete", None)]


COUNTS = ["Inserted", *(kind + what for kind in ("", *KINDS) for what in ("Updated", "Deleted"))]


def _first(clauses: Iterable[When], env: Env) -> When | None:
    return next((when for when in clauses if is_true(when.condition, env)), None)


def _after(when: When, row: Row, env: Env) -> Row | None:
    if when.action == "delete":
        return None
    return dict(env["u"]) if when.new is None else assigned(row, when.new, env)


def whens(
    condition: st.SearchStrategy[Expr], *actions: st.SearchStrategy[tuple[str, Any]]
) -> st.SearchStrategy[list[When]]:
    """Up to two clauses of a kind; only the last may have no condition."""

    def made(asked: list[tuple[Expr, tuple[str, Any]]], unconditional: bool) -> list[When]:
        found = [When(action, test, new) for test, (action, new) in asked]
        if found and unconditional:
            found[-1] = When(found[-1].action, None, found[-1].new)
        return found

    pairs = st.tuples(condition, st.one_of(*actions))
    return st.builds(made, st.lists(pairs, max_size=2), st.booleans())


DELETE = st.just(("delete", None))
KEYS = st.sampled_from(["k", "k", "n", "p", "d.a"])
ON = st.one_of(
    KEYS.map(lambda name: compared(column("t", name), "=", column("u", name))),
    KEYS.map(lambda name: same(column("t", name), column("u", name))),
    st.builds(lambda test: both(compared(column("t", "k"), "=", column("u", "k")), test),
              conditions("t", "u")),
    conditions("t", "u"),
)  # fmt: skip
MERGES = st.builds(
    Merge,
    ON,
    whens(
        conditions("t", "u"),
        st.tuples(st.just("update"), st.none() | values("t", "u")),
        DELETE,
    ),
    whens(conditions("u"), st.tuples(st.just("insert"), st.none() | values("u", nested=False))),
    whens(conditions("t"), st.tuples(st.just("update"), values("t")), DELETE),
)
ALIASES = st.sampled_from(["", "t"])
SIDES = {"": ("",), "t": ("t", "")}
AFFECTED = ("updated", "deleted", "inserted")
SOURCES = st.one_of(
    st.lists(ROW, min_size=2, max_size=6, unique_by=itemgetter("k")),
    st.lists(ROW, max_size=5),
)
