"""What clients ask for, and what a table is after it: each command's effect in a few lines.

A row is (p, id, tag); the tag is the name of the command that wrote it. How a command is run is for
`client_commands` (Lakebed's core) and `spark_commands` (Spark).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

Row = tuple[int, int, str]
PARTITIONS = 2
IDS = 9
MOVED = 4
PIN = "lakebed.pin."
SENTINEL = 1000
"""From here on are ids that a MERGE always inserts, so that it commits."""


@dataclass(frozen=True)
class State:
    """The table at a version, as far as commands can change it."""

    rows: Counter[Row] = field(default_factory=Counter)
    configuration: dict[str, str] = field(default_factory=dict)
    """Those properties that commands set."""
    columns: tuple[str, ...] = ("p", "id", "tag")


@dataclass
class Changes:
    """What a read of the change feed gave: rows that came and rows that went, by version."""

    versions: range
    came: dict[int, Counter[Row]] = field(default_factory=dict)
    went: dict[int, Counter[Row]] = field(default_factory=dict)


@dataclass
class Facts:
    """What a command is given to work with, and what it leaves for the verdict."""

    number: int
    clock_ms: Callable[[], float]
    properties: dict[str, str]
    folder: Counter[Row] = field(default_factory=Counter)
    """The rows that were in the folder before there was a table."""
    is_there: Callable[[], bool] = lambda: True
    """Whether anybody has created the table: who appends to none would create another one."""
    oldest_wanted: Callable[[], int] = lambda: 0
    """The first version that is inside the retention, by the store's clock."""
    newest: Callable[[], int] = lambda: -1
    """The newest version, by the store's objects."""
    place: Any = None
    """Where the table is, for those that run commands."""
    chosen: int = -1
    """The version that it restores, pins or clones."""
    read: list[tuple[int, Counter[Row]]] = field(default_factory=list)
    """Versions and the rows that were read of them."""
    seen: list[tuple[int, Counter[Row] | int]] = field(default_factory=list)
    """Rows, or how many, that a query found, and the version that was the newest when it began."""
    changes: list[Changes] = field(default_factory=list)
    streamed: list[tuple[range, Counter[Row]]] = field(default_factory=list)
    """Rows that were appended by these versions."""
    of_clone: list[tuple[int, Counter[Row]]] = field(default_factory=list)


@dataclass(frozen=True)
class Command:
    name: str
    p: int = 0
    low: int = 0
    high: int = 0
    option: str = ""

    def __str__(self) -> str:
        return (
            f"{self.name}(p={self.p}, {self.low}..{self.high}{self.option and ', '}{self.option})"
        )

    def effect(self, state: State, facts: Facts, states: dict[int, State]) -> State:
        """The table after it, if it is `state` before; `states` are those of all versions."""
        change = EFFECTS.get(self.name)
        return state if change is None else change(self, state, facts, states)

    @property
    def is_blind(self) -> bool:
        return self.name in BLIND

    def hits(self, row: Row) -> bool:
        return row[0] == self.p and (self.is_whole or self.low <= row[1] <= self.high)

    @property
    def is_whole(self) -> bool:
        """Whether it is about all rows of its partition."""
        return "partition" in self.option

    @property
    def predicate(self) -> str:
        if self.is_whole:
            return f"p = {self.p}"
        return f"p = {self.p} AND id >= {self.low} AND id <= {self.high}"

    def rows(self, facts: Facts) -> list[Row]:
        """Those that it writes, inside of its predicate."""
        tag = f"c{facts.number}"
        return [(self.p, each, tag) for each in range(self.low, self.high + 1)]

    def source(self, facts: Facts) -> list[Row]:
        """The rows that a MERGE brings: no two of them for one row of the table."""
        own = [] if "delete" in self.option else [(self.p, SENTINEL + facts.number, _tag(facts))]
        return [*self.rows(facts), *own]

    @property
    def condition(self) -> str:
        """What CHECK says when it adds a constraint."""
        return f"p != {self.p} OR id <= {self.high} OR id >= {SENTINEL}"


BLIND = ("append", "append once", "append to open", "insert")


def arrow(rows: list[Row]) -> pa.Table:
    p, ids, tags = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        {
            "p": pa.array(p, pa.int32()),
            "id": pa.array(ids, pa.int64()),
            "tag": pa.array(tags, pa.string()),
        }
    )


def counted(table: pa.Table) -> Counter[Row]:
    columns: list[list[Any]] = [table[name].to_pylist() for name in ("p", "id", "tag")]
    return Counter(zip(*columns, strict=True))


def without(rows: Counter[Row], goes: Callable[[Row], bool]) -> Counter[Row]:
    return Counter({row: count for row, count in rows.items() if not goes(row)})


def _tag(facts: Facts) -> str:
    return f"c{facts.number}"


# --- effects --------------------------------------------------------------------------------------


def created(command: Command, _: State, facts: Facts, __: dict[int, State]) -> State:
    return State(Counter(command.rows(facts)))


def converted(_: Command, __: State, facts: Facts, ___: dict[int, State]) -> State:
    """The columns of folders come after those of files."""
    return State(facts.folder, columns=("id", "tag", "p"))


def appended(command: Command, state: State, facts: Facts, _: dict[int, State]) -> State:
    return replace(state, rows=state.rows + Counter(command.rows(facts)))


def copied(command: Command, state: State, facts: Facts, _: dict[int, State]) -> State:
    found = [row for row in state.rows.elements() if command.hits(row)]
    return replace(state, rows=state.rows + Counter((p, n, _tag(facts)) for p, n, _ in found))


def overwritten(command: Command, state: State, facts: Facts, _: dict[int, State]) -> State:
    return replace(state, rows=Counter(command.rows(facts)))


def replaced_where(command: Command, state: State, facts: Facts, _: dict[int, State]) -> State:
    kept = without(state.rows, command.hits)
    return replace(state, rows=kept + Counter(command.rows(facts)))


def partition_replaced(command: Command, state: State, facts: Facts, _: dict[int, State]) -> State:
    kept = without(state.rows, lambda row: row[0] == command.p)
    return replace(state, rows=kept + Counter(command.rows(facts)))


def deleted(command: Command, state: State, _: Facts, __: dict[int, State]) -> State:
    return replace(state, rows=without(state.rows, command.hits))


def updated(command: Command, state: State, _: Facts, __: dict[int, State]) -> State:
    rows = without(state.rows, command.hits)
    for row, count in state.rows.items():
        if command.hits(row):
            rows[moved(row)] += count
    return replace(state, rows=rows)


def moved(row: Row) -> Row:
    return row[0], (row[1] + MOVED) % IDS, row[2]


def merged(command: Command, state: State, facts: Facts, _: dict[int, State]) -> State:
    """Rows that match get the source's tag with "upsert", go with "delete", and stay otherwise;
    rows of the source that match none come in, but for "delete"."""
    source = {row[:2]: row for row in command.source(facts)}
    there = {row[:2] for row in state.rows}
    rows: Counter[Row] = Counter()
    for row, count in state.rows.items():
        match = source.get(row[:2])
        if match is None or "delete" not in command.option:
            rows[match if match and "upsert" in command.option else row] += count
    if "delete" not in command.option:
        rows.update(row for key, row in source.items() if key not in there)
    return replace(state, rows=rows)


def property_set(command: Command, state: State, facts: Facts, _: dict[int, State]) -> State:
    return _configured(state, f"sim.p{command.p}", str(facts.number))


def constrained(command: Command, state: State, facts: Facts, _: dict[int, State]) -> State:
    return _configured(state, f"delta.constraints.c{facts.number}", command.condition)


def column_added(_: Command, state: State, facts: Facts, __: dict[int, State]) -> State:
    return replace(state, columns=(*state.columns, f"x{facts.number}"))


def restored(_: Command, state: State, facts: Facts, states: dict[int, State]) -> State:
    wanted = states[facts.chosen]
    pins = {k: v for k, v in state.configuration.items() if k.startswith(PIN)}
    rest = {k: v for k, v in wanted.configuration.items() if not k.startswith(PIN)}
    return replace(wanted, configuration={**rest, **pins})


def pinned(_: Command, state: State, facts: Facts, __: dict[int, State]) -> State:
    """A pin that finds its version gone is taken back."""
    key = f"{PIN}p{facts.number}"
    if key in state.configuration:
        rest = {name: value for name, value in state.configuration.items() if name != key}
        return replace(state, configuration=rest)
    return _configured(state, key, str(facts.chosen))


def _configured(state: State, key: str, value: str) -> State:
    return replace(state, configuration={**state.configuration, key: value})


EFFECTS: dict[str, Callable[[Command, State, Facts, dict[int, State]], State]] = {
    "create": created,
    "convert": converted,
    "append": appended,
    "append to open": appended,
    "append once": appended,
    "insert": appended,
    "copy": copied,
    "overwrite": overwritten,
    "replace where": replaced_where,
    "replace partition": partition_replaced,
    "delete": deleted,
    "update": updated,
    "merge": merged,
    "set property": property_set,
    "add constraint": constrained,
    "add column": column_added,
    "restore": restored,
    "pin": pinned,
}
