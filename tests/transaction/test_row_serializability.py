"""Whatever commits has the effect on the rows that it would have had alone and in turn.

Files are imaginary: what rows they hold is known here, and which of them are gone is read from the
table. Changes begin at any version and commit some steps later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.errors import RowConflictError
from lakebed.expressions import parse_predicate
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Add
from lakebed.storage import Store, open_store
from lakebed.transaction import (
    Committed,
    Conflict,
    IsolationLevel,
    Operation,
    Transaction,
    is_retryable,
)
from testkit.tables.marked_tables import PROTOCOL, gone, live, rows
from testkit.tables.small_tables import create, file, metadata, new_memory_url, removal

MOVED = 13
VALUES = 40


@dataclass
class World:
    store: Store
    contents: dict[str, list[int]] = field(default_factory=dict)
    snapshots: list[Snapshot] = field(default_factory=list)

    def new_file(self, values: list[int], *, data_change: bool = True) -> Add:
        path = f"file-{len(self.contents)}"
        self.contents[path] = values
        bounds = (min(values), max(values))
        return file(path, ids=bounds, rows=len(values), data_change=data_change)

    def rows(self) -> dict[str, dict[int, int]]:
        """The value of each row that is left, by file and index."""
        return {
            path: {n: v for n, v in enumerate(self.contents[path]) if n not in dead}
            for path, dead in gone(self.store).items()
        }

    def values(self) -> Counter[int]:
        return Counter(value for found in self.rows().values() for value in found.values())


Begin = Callable[[World, Transaction, int, int], None]
Model = Callable[[Counter[int], int, int], Counter[int]]


def inside(value: int, low: int, high: int) -> bool:
    return low <= value <= high


def looks_for(transaction: Transaction, low: int, high: int) -> None:
    assert transaction.snapshot is not None
    sql = f"id >= {low} AND id <= {high}"
    transaction.read_predicate(parse_predicate(sql, transaction.snapshot.schema))


def mark(world: World, transaction: Transaction, low: int, high: int) -> list[int]:
    """The values of the rows that are marked."""
    looks_for(transaction, low, high)
    found: list[int] = []
    for path, values in world.rows().items():
        hits = {n: value for n, value in values.items() if inside(value, low, high)}
        if hits:
            assert transaction.snapshot is not None
            transaction.mark_rows(live(transaction.snapshot, path), rows(*hits))
            found += hits.values()
    return found


def delete(world: World, transaction: Transaction, low: int, high: int) -> None:
    mark(world, transaction, low, high)


def deleted(values: Counter[int], low: int, high: int) -> Counter[int]:
    return Counter({v: n for v, n in values.items() if not inside(v, low, high)})


def update(world: World, transaction: Transaction, low: int, high: int) -> None:
    found = mark(world, transaction, low, high)
    if found:
        transaction.stage(world.new_file([(v + MOVED) % VALUES for v in found]))


def updated(values: Counter[int], low: int, high: int) -> Counter[int]:
    moved = Counter(deleted(values, low, high))
    for value, count in values.items():
        if inside(value, low, high):
            moved[(value + MOVED) % VALUES] += count
    return moved


def insert_if_absent(world: World, transaction: Transaction, low: int, _: int) -> None:
    """As a MERGE with nothing but an insert."""
    looks_for(transaction, low, low)
    present = False
    for path, values in world.rows().items():
        hits = [n for n, value in values.items() if value == low]
        if hits:
            present = True
            assert transaction.snapshot is not None
            transaction.mark_rows(live(transaction.snapshot, path), rows(), seen=rows(*hits))
    transaction.stage(world.new_file([99 if present else low]))


def inserted_if_absent(values: Counter[int], low: int, _: int) -> Counter[int]:
    return values + Counter([99 if values[low] else low])


def compact(world: World, transaction: Transaction, _: int, __: int) -> None:
    assert transaction.snapshot is not None
    found = world.rows()
    transaction.read_paths(found)
    for path in found:
        transaction.stage(removal(live(transaction.snapshot, path), data_change=False))
    values = [value for each in found.values() for value in each.values()]
    if values:
        transaction.stage(world.new_file(values, data_change=False))


def unchanged(values: Counter[int], _: int, __: int) -> Counter[int]:
    return values


def rewrite(world: World, transaction: Transaction, low: int, high: int) -> None:
    """A delete that writes the rows it keeps into new files."""
    looks_for(transaction, low, high)
    for path, values in world.rows().items():
        kept = [value for value in values.values() if not inside(value, low, high)]
        if len(kept) < len(values):
            assert transaction.snapshot is not None
            transaction.read_paths([path])
            transaction.stage(removal(live(transaction.snapshot, path)))
            if kept:
                transaction.stage(world.new_file(kept))


def append(world: World, transaction: Transaction, low: int, _: int) -> None:
    transaction.stage(world.new_file([low]))


def appended(values: Counter[int], low: int, _: int) -> Counter[int]:
    return values + Counter([low])


CHANGES: list[tuple[Begin, Model]] = [
    (delete, deleted),
    (update, updated),
    (insert_if_absent, inserted_if_absent),
    (compact, unchanged),
    (rewrite, deleted),
    (append, appended),
]
STEP = st.tuples(
    st.sampled_from(CHANGES),
    st.integers(0, VALUES - 1),
    st.sampled_from([0, 1, 5]),
    st.integers(0, 3),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(STEP, min_size=2, max_size=10))
def test_rows_are_as_if_the_changes_had_run_one_after_the_other(steps) -> None:
    world = World(open_store(new_memory_url()))
    first = [world.new_file(list(range(low, low + 10))) for low in (0, 10, 20)]
    world.snapshots.append(create(world.store, PROTOCOL, metadata(), *first))
    model = world.values()
    pending: list[tuple[int, Model, int, int, Transaction]] = []
    for number, ((begin, effect), low, width, wait) in enumerate(steps):
        transaction = Transaction(
            world.snapshots[-1],
            operation=Operation(begin.__name__),
            isolation=IsolationLevel.SERIALIZABLE,
        )
        begin(world, transaction, low, low + width)
        pending.append((number + wait, effect, low, low + width, transaction))
        for due in [entry for entry in pending if entry[0] <= number]:
            pending.remove(due)
            model = finish(world, model, due)
    for due in pending:
        model = finish(world, model, due)


def finish(
    world: World, model: Counter[int], entry: tuple[int, Model, int, int, Transaction]
) -> Counter[int]:
    _, effect, low, high, transaction = entry
    outcome = transaction.commit()
    assert isinstance(outcome, Committed | Conflict)
    if isinstance(outcome, Conflict):
        assert world.snapshots[-1] is not transaction.snapshot, "there was nobody to conflict with"
        assert is_retryable(outcome.error) or isinstance(outcome.error, RowConflictError)
    else:
        world.snapshots.append(outcome.snapshot)
        model = effect(model, low, high)
    assert world.values() == model, transaction.proposal().operation.name
    return model
