"""Whatever commits under Serializable has the effect that it would have had alone and in turn."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.expressions import parse_predicate
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Action, Add, Remove
from lakebed.storage import open_store
from lakebed.transaction import Committed, Conflict, IsolationLevel, Operation, Transaction
from testkit.tables.small_tables import create, file, metadata, new_memory_url, removal

PARTITIONS = 3
State = dict[str, int]
"""The partition of each live file, by path."""


def append(state: State, number: int, p: int) -> list[Action]:
    del state
    return [file(f"append-{number}", p=p)]


def delete(state: State, number: int, p: int) -> list[Action]:
    del number
    return [removal(file(path, p=p)) for path in inside(state, p)]


def summarize(state: State, number: int, p: int) -> list[Action]:
    """Into the next partition goes a file whose name tells what was seen in this one."""
    seen = "+".join(inside(state, p))
    return [file(f"summary-{number}-of-{seen}", p=(p + 1) % PARTITIONS)]


def replace_all(state: State, number: int, p: int) -> list[Action]:
    return [
        *(removal(file(path, p=q)) for path, q in sorted(state.items())),
        *append({}, number, p),
    ]


Effect = Callable[[State, int, int], list[Action]]
EFFECTS: list[Effect] = [append, delete, summarize, replace_all]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(EFFECTS), st.integers(0, PARTITIONS - 1), st.integers(0, 3)),
        min_size=2,
        max_size=10,
    )
)
def test_commits_have_the_effect_of_running_one_after_the_other(steps) -> None:
    """A step is an operation and how many steps later it commits."""
    store = open_store(new_memory_url())
    snapshots = [create(store, metadata(partition_by=("p",)), file("first", p=0))]
    model: State = {"first": 0}
    pending: list[tuple[int, int, Effect, int, Transaction]] = []
    for number, (effect, p, wait) in enumerate(steps):
        pending.append((number + wait, number, effect, p, begin(snapshots[-1], effect, number, p)))
        for due in [entry for entry in pending if entry[0] <= number]:
            pending.remove(due)
            finish(due, model, snapshots)
    for due in pending:
        finish(due, model, snapshots)
    assert live(TableLog(store).snapshot()) == model


def begin(snapshot: Snapshot, effect: Effect, number: int, p: int) -> Transaction:
    state = live(snapshot)
    transaction = Transaction(
        snapshot, operation=Operation(effect.__name__), isolation=IsolationLevel.SERIALIZABLE
    )
    if effect in (delete, summarize):
        predicate = parse_predicate(f"p = {p}", snapshot.schema)
        transaction.read_files(predicate, inside(state, p))
    elif effect is replace_all:
        transaction.read_whole_table()
    transaction.stage(*effect(state, number, p))
    return transaction


def finish(
    entry: tuple[int, int, Effect, int, Transaction], model: State, snapshots: list[Snapshot]
) -> None:
    _, number, effect, p, transaction = entry
    outcome = transaction.commit()
    assert isinstance(outcome, Committed | Conflict)
    if isinstance(outcome, Conflict):
        assert snapshots[-1] is not transaction.snapshot, "there was nobody to conflict with"
        return
    for action in effect(dict(model), number, p):
        if isinstance(action, Add):
            model[action.path] = int(action.partition_values["p"] or 0)
        elif isinstance(action, Remove):
            del model[action.path]
    assert live(outcome.snapshot) == model
    snapshots.append(outcome.snapshot)


def live(snapshot: Snapshot) -> State:
    rows = snapshot.files(["path", "partitionValues"]).to_pylist()
    return {row["path"]: int(dict(row["partitionValues"])["p"]) for row in rows}


def inside(state: State, p: int) -> list[str]:
    return sorted(path for path, q in state.items() if q == p)
