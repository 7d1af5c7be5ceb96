"""What clients do: each command by Lakebed's own code, and its effect by a model of a few lines.

A row is (p, id, tag); the tag is the name of the command that wrote it. DELETE, UPDATE and MERGE
are their commit side: rows are looked for, marked and written here, as Spark would.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from simulated_store import URL

import lakebed
from lakebed.arrow.write.rows import prepare_rows
from lakebed.arrow.write.write import write_files
from lakebed.data_files.file_layout import FileLayout
from lakebed.errors import TableNotFoundError
from lakebed.expressions import parse_predicate
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.deleted_rows import deleted_rows
from lakebed.log.maintenance.cleanup import clean_up
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Add, Remove
from lakebed.spec.paths import decode_path
from lakebed.tables.table import Table
from lakebed.transaction import Operation, Transaction
from testkit.tables.compactions import compact

Row = tuple[int, int, str]
PARTITIONS = 2
IDS = 9
MOVED = 4


@dataclass(frozen=True)
class State:
    """The table at a version, as far as commands can change it."""

    rows: Counter[Row] = field(default_factory=Counter)
    configuration: dict[str, str] = field(default_factory=dict)
    """Those properties that commands set."""
    columns: tuple[str, ...] = ("p", "id", "tag")


@dataclass
class Facts:
    """What a command is given to work with, and what it leaves for the verdict."""

    number: int
    clock_ms: Callable[[], float]
    properties: dict[str, str]
    vectors: bool = True
    is_there: Callable[[], bool] = lambda: True
    """Whether anybody has created the table: who appends to none would create another one."""
    oldest_wanted: Callable[[], int] = lambda: 0
    """The first version that is inside the retention, by the store's clock."""
    chosen: int = -1
    """The version that it restores or pins."""
    read: list[tuple[int, Counter[Row]]] = field(default_factory=list)
    """Versions and the rows that were read of them."""


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

    def run(self, facts: Facts) -> None:
        RUNS[self.name](self, facts)

    def effect(self, state: State, facts: Facts, states: dict[int, State]) -> State:
        """The table after it, if it is `state` before; `states` are those of all versions."""
        change = EFFECTS.get(self.name)
        return state if change is None else change(self, state, facts, states)

    @property
    def is_blind(self) -> bool:
        return self.name in ("append", "append once", "append to open")

    def hits(self, row: Row) -> bool:
        return row[0] == self.p and self.low <= row[1] <= self.high

    @property
    def predicate(self) -> str:
        return f"p = {self.p} AND id >= {self.low} AND id <= {self.high}"

    def rows(self, facts: Facts) -> list[Row]:
        """Those that it writes, inside of its predicate."""
        tag = f"c{facts.number}"
        return [(self.p, each, tag) for each in range(self.low, self.high + 1)]


def arrow(rows: list[Row]) -> pa.Table:
    p, ids, tags = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        {
            "p": pa.array(p, pa.int32()),
            "id": pa.array(ids, pa.int64()),
            "tag": pa.array(tags, pa.string()),
        }
    )


# --- writes ---------------------------------------------------------------------------------------


def create(command: Command, facts: Facts) -> None:
    lakebed.write(
        URL,
        arrow(command.rows(facts)),
        mode=command.option or "error",
        partition_by=["p"],
        properties=facts.properties,
    )


def created(command: Command, _: State, facts: Facts, __: dict[int, State]) -> State:
    return State(Counter(command.rows(facts)))


def append(command: Command, facts: Facts) -> None:
    _write(command, facts, mode="append")


def _write(command: Command, facts: Facts, **options: Any) -> None:
    if not facts.is_there():
        raise TableNotFoundError("nobody has created the table yet")
    lakebed.write(URL, arrow(command.rows(facts)), **options)


def append_to_open(command: Command, facts: Facts) -> None:
    """By one who opened the table and reads it first, so that others come in between."""
    table = lakebed.open(URL)
    _remember(table, facts)
    table.write(arrow(command.rows(facts)), mode="append")


def append_once(command: Command, facts: Facts) -> None:
    """By an application that repeats its batch after a crash: the option says which."""
    _write(command, facts, mode="append", txn=(f"app{command.option}", 1))


def appended(command: Command, state: State, facts: Facts, _: dict[int, State]) -> State:
    return replace(state, rows=state.rows + Counter(command.rows(facts)))


def overwrite(command: Command, facts: Facts) -> None:
    _write(command, facts, mode="overwrite")


def overwritten(command: Command, state: State, facts: Facts, _: dict[int, State]) -> State:
    return replace(state, rows=Counter(command.rows(facts)))


def replace_where(command: Command, facts: Facts) -> None:
    where = f"p = {command.p}" if command.option else command.predicate
    _write(command, facts, mode="overwrite", replace_where=where)


def replaced_where(command: Command, state: State, facts: Facts, _: dict[int, State]) -> State:
    def goes(row: Row) -> bool:
        return row[0] == command.p if command.option else command.hits(row)

    return replace(state, rows=without(state.rows, goes) + Counter(command.rows(facts)))


def replace_partition(command: Command, facts: Facts) -> None:
    _write(command, facts, mode="overwrite", partition_overwrite="dynamic")


def partition_replaced(command: Command, state: State, facts: Facts, _: dict[int, State]) -> State:
    kept = without(state.rows, lambda row: row[0] == command.p)
    return replace(state, rows=kept + Counter(command.rows(facts)))


def without(rows: Counter[Row], goes: Callable[[Row], bool]) -> Counter[Row]:
    return Counter({row: count for row, count in rows.items() if not goes(row)})


# --- changes of rows ------------------------------------------------------------------------------


@dataclass
class _Found:
    """A live file, and what is in it."""

    add: Add
    rows: dict[int, Row]


def _look(snapshot: Snapshot) -> list[_Found]:
    return [_Found(add, _rows_of(snapshot, add)) for add in adds_from_table(snapshot.files())]


def _rows_of(snapshot: Snapshot, add: Add) -> dict[int, Row]:
    data = snapshot.store.get(decode_path(add.path))
    table = pq.read_table(pa.BufferReader(data), columns=["id", "tag"])
    gone = deleted_rows(snapshot.store, add.deletion_vector, file=add.path)
    dead = set(gone.to_arrow().to_pylist())
    p = int(add.partition_values["p"] or 0)
    pairs = zip(table["id"].to_pylist(), table["tag"].to_pylist(), strict=True)
    return {n: (p, *pair) for n, pair in enumerate(pairs) if n not in dead}


def _change(
    command: Command, facts: Facts, write: Callable[[list[Row]], list[Row]], *, seen: bool = False
) -> None:
    """Mark the rows that the predicate hits, or write their files again without them, and write
    what becomes of them."""
    snapshot = lakebed.open(URL).snapshot
    transaction = Transaction(snapshot, operation=Operation(command.name.upper()))
    transaction.read_predicate(parse_predicate(command.predicate, snapshot.schema))
    gone: list[Row] = []
    kept: list[Row] = []
    there = _look(snapshot)
    rows = Counter(row for found in there for row in found.rows.values())
    facts.read.append((snapshot.version, rows))
    for found in there:
        hits = {n: row for n, row in found.rows.items() if command.hits(row)}
        if not hits:
            continue
        gone += hits.values()
        if seen:
            if facts.vectors:
                transaction.mark_rows(found.add, RowIndexSet(), seen=RowIndexSet.from_indexes(hits))
            else:
                transaction.read_paths([found.add.path])
        elif facts.vectors:
            transaction.mark_rows(found.add, RowIndexSet.from_indexes(hits))
        else:
            transaction.read_paths([found.add.path])
            transaction.stage(Remove.of(found.add, timestamp=int(facts.clock_ms())))
            kept += [row for n, row in found.rows.items() if n not in hits]
    _stage(transaction, snapshot, [*kept, *write(gone)])
    transaction.commit().unwrap()


def _stage(
    transaction: Transaction, snapshot: Snapshot, rows: list[Row], *, data_change: bool = True
) -> None:
    if rows:
        layout = FileLayout.of(snapshot.metadata, snapshot.protocol)
        fitting = prepare_rows(arrow(rows), layout.schema, layout.properties).table
        files = write_files(snapshot.store, layout, fitting, data_change=data_change)
        transaction.stage(*files)


def delete(command: Command, facts: Facts) -> None:
    _change(command, facts, lambda _: [])


def deleted(command: Command, state: State, _: Facts, __: dict[int, State]) -> State:
    return replace(state, rows=without(state.rows, command.hits))


def update(command: Command, facts: Facts) -> None:
    _change(command, facts, lambda gone: [moved(row) for row in gone])


def moved(row: Row) -> Row:
    return row[0], (row[1] + MOVED) % IDS, row[2]


def updated(command: Command, state: State, _: Facts, __: dict[int, State]) -> State:
    rows = without(state.rows, command.hits)
    for row, count in state.rows.items():
        if command.hits(row):
            rows[moved(row)] += count
    return replace(state, rows=rows)


def merge(command: Command, facts: Facts) -> None:
    """Insert what is not there; one row always, so that there is a commit."""
    _change(command, facts, lambda found: _missing(command, found, facts), seen=True)


def _missing(command: Command, found: list[Row], facts: Facts) -> list[Row]:
    there = {row[1] for row in found}
    new = [row for row in command.rows(facts) if row[1] not in there]
    return [*new, (command.p, 1000 + facts.number, f"c{facts.number}")]


def merged(command: Command, state: State, facts: Facts, _: dict[int, State]) -> State:
    found = [row for row in state.rows if command.hits(row)]
    return replace(state, rows=state.rows + Counter(_missing(command, found, facts)))


def put_together(command: Command, facts: Facts) -> None:
    """Compaction: the small files of a partition become one."""
    snapshot = lakebed.open(URL).snapshot
    transaction = Transaction(snapshot, operation=Operation("OPTIMIZE"))
    files = [f for f in _look(snapshot) if f.add.partition_values["p"] == str(command.p)]
    transaction.read_paths([found.add.path for found in files])
    for found in files:
        now = int(facts.clock_ms())
        transaction.stage(Remove.of(found.add, timestamp=now, data_change=False))
    rows = [row for found in files for row in found.rows.values()]
    _stage(transaction, snapshot, rows, data_change=False)
    transaction.commit().unwrap()


# --- the table ------------------------------------------------------------------------------------


def set_property(command: Command, facts: Facts) -> None:
    lakebed.open(URL).set_properties({f"sim.p{command.p}": str(facts.number)})


def property_set(command: Command, state: State, facts: Facts, _: dict[int, State]) -> State:
    return _configured(state, f"sim.p{command.p}", str(facts.number))


def add_constraint(command: Command, facts: Facts) -> None:
    lakebed.open(URL).add_constraint(f"c{facts.number}", _condition(command))


def constrained(command: Command, state: State, facts: Facts, _: dict[int, State]) -> State:
    return _configured(state, f"delta.constraints.c{facts.number}", _condition(command))


def _condition(command: Command) -> str:
    return f"p != {command.p} OR id <= {command.high} OR id >= 1000"


def add_column(_: Command, facts: Facts) -> None:
    lakebed.open(URL).add_columns({f"x{facts.number}": "int"})


def column_added(_: Command, state: State, facts: Facts, __: dict[int, State]) -> State:
    return replace(state, columns=(*state.columns, f"x{facts.number}"))


def restore(command: Command, facts: Facts) -> None:
    table = lakebed.open(URL)
    table.restore(_wanted(command, table, facts))


def restored(_: Command, state: State, facts: Facts, states: dict[int, State]) -> State:
    wanted = states[facts.chosen]
    pins = {k: v for k, v in state.configuration.items() if k.startswith(PIN)}
    rest = {k: v for k, v in wanted.configuration.items() if not k.startswith(PIN)}
    return replace(wanted, configuration={**rest, **pins})


PIN = "lakebed.pin."


def _wanted(command: Command, table: Table, facts: Facts) -> int:
    """A version some steps back, and inside of the retention."""
    oldest = min(facts.oldest_wanted(), table.version)
    facts.chosen = max(table.version - command.low - 1, oldest)
    return facts.chosen


def pin(_: Command, facts: Facts) -> None:
    table = lakebed.open(URL)
    facts.chosen = table.version
    table.pin(f"p{facts.number}")


def pinned(_: Command, state: State, facts: Facts, __: dict[int, State]) -> State:
    """A pin that finds its version gone is taken back."""
    key = f"{PIN}p{facts.number}"
    if key in state.configuration:
        rest = {name: value for name, value in state.configuration.items() if name != key}
        return replace(state, configuration=rest)
    return _configured(state, key, str(facts.chosen))


def _configured(state: State, key: str, value: str) -> State:
    return replace(state, configuration={**state.configuration, key: value})


# --- what changes no row --------------------------------------------------------------------------


def checkpoint(_: Command, __: Facts) -> None:
    lakebed.open(URL).checkpoint()


def compact_log(command: Command, _: Facts) -> None:
    snapshot = lakebed.open(URL).snapshot
    start = max(snapshot.version - command.low - 1, 0)
    if start < snapshot.version:
        compact(snapshot.store, start, snapshot.version)


def clean_up_log(_: Command, facts: Facts) -> None:
    snapshot = lakebed.open(URL).snapshot
    clean_up(snapshot.store, snapshot, int(facts.clock_ms()))


def vacuum(command: Command, _: Facts) -> None:
    lakebed.open(URL).vacuum(mode=command.option or "full")


def read(_: Command, facts: Facts) -> None:
    _remember(lakebed.open(URL), facts)


def read_old(command: Command, facts: Facts) -> None:
    version = _wanted(command, lakebed.open(URL), facts)
    _remember(lakebed.open(URL, version=version), facts)


def refresh(_: Command, facts: Facts) -> None:
    """A table that was opened a while ago goes on to the newest version."""
    table = lakebed.open(URL)
    _remember(table, facts)
    _remember(table.refresh(), facts)


def _remember(table: Table, facts: Facts) -> None:
    found = table.to_arrow(["p", "id", "tag"])
    columns: list[list[Any]] = [found[name].to_pylist() for name in ("p", "id", "tag")]
    facts.read.append((table.version, Counter(zip(*columns, strict=True))))


RUNS: dict[str, Callable[[Command, Facts], None]] = {
    "create": create,
    "append": append,
    "append to open": append_to_open,
    "append once": append_once,
    "overwrite": overwrite,
    "replace where": replace_where,
    "replace partition": replace_partition,
    "delete": delete,
    "update": update,
    "merge": merge,
    "put together": put_together,
    "set property": set_property,
    "add constraint": add_constraint,
    "add column": add_column,
    "restore": restore,
    "pin": pin,
    "checkpoint": checkpoint,
    "compact log": compact_log,
    "clean up log": clean_up_log,
    "vacuum": vacuum,
    "read": read,
    "read old": read_old,
    "refresh": refresh,
}
EFFECTS: dict[str, Callable[[Command, State, Facts, dict[int, State]], State]] = {
    "create": created,
    "append": appended,
    "append to open": appended,
    "append once": appended,
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
