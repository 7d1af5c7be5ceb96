"""For any history and any checkpoints on the way, checkpoint plus tail equals the full replay."""

from __future__ import annotations

import tempfile
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from strategies import Model, histories, key_of

from lakebed.formats import commit_file as commit
from lakebed.formats.file_actions import adds_from_table, removes_from_table
from lakebed.formats.statistics.stats_from_json import parse_stats
from lakebed.log.listing.log_names import commit_path
from lakebed.log.maintenance.checkpoint_content import parsed_stats_schema
from lakebed.log.maintenance.checkpoint_writer import Kind, write_checkpoint
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Action, Add, Remove
from lakebed.storage import Store, open_store
from testkit.tables.compactions import compact
from testkit.tables.log_tables import NOW, listed_store, memory_store

KINDS: list[tuple[Kind | None, bool | int | None]] = [
    (None, None),
    ("classic", None),
    ("v2-parquet", False),
    ("v2-parquet", True),
    ("v2-parquet", 3),
    ("v2-json", False),
    ("v2-json", 2),
]
THOROUGH = settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@THOROUGH
@given(st.data())
def test_checkpoint_plus_tail_equals_the_full_replay(data: st.DataObject) -> None:
    run(listed_store(), data)


@THOROUGH
@given(st.data())
def test_checkpoint_plus_tail_equals_the_full_replay_where_the_log_is_probed(
    data: st.DataObject,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run(open_store(folder), data)


@THOROUGH
@given(histories(), st.data())
def test_the_next_snapshot_without_reading_equals_the_one_that_is_read(
    history: list[list[Action]], data: st.DataObject
) -> None:
    store, model = memory_store(), Model()
    write(store, 0, history[0])
    model.commit(history[0])
    snapshot = TableLog(store).snapshot()
    for version, actions in enumerate(history[1:], 1):
        if data.draw(st.booleans()):
            snapshot.files()
        write(store, version, actions)
        model.commit(actions)
        snapshot = snapshot.after(version, actions)
        check(snapshot, model)


@THOROUGH
@given(histories(), st.data())
def test_a_compaction_in_place_of_its_commits_changes_nothing(
    history: list[list[Action]], data: st.DataObject
) -> None:
    store, model = memory_store(), Model()
    for version, actions in enumerate(history):
        write(store, version, actions)
        model.commit(actions)
    last = len(history) - 1
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, last))
        end = data.draw(st.integers(start, last))
        written = compact(store, start, end) if start < end else None
        event(f"compacted: {written is not None}")
    check(TableLog(store).snapshot(), model)


def run(store: Store, data: st.DataObject) -> None:
    """Commits with a checkpoint of any kind after any of them; every state is compared."""
    history = data.draw(histories())
    model = Model()
    for version, actions in enumerate(history):
        write(store, version, actions)
        model.commit(actions)
        snapshot = TableLog(store).snapshot()
        check(snapshot, model)
        if data.draw(st.integers(0, 2)) == 0:
            kind, sidecars = data.draw(st.sampled_from(KINDS))
            ref = write_checkpoint(snapshot, kind, sidecars, now_ms=NOW)
            model.checkpoint(NOW)
            reread = TableLog(store).snapshot()
            assert reread.segment.checkpoint is not None
            assert reread.segment.checkpoint.version == ref.version == version
            assert reread.segment.commits == ()
            check(reread, model)
            event(f"{kind} {sidecars}")


def write(store: Store, version: int, actions: list[Action]) -> None:
    path = commit_path(version)
    store.put_if_absent(path, commit.encode(actions, path))


def check(snapshot: Snapshot, model: Model) -> None:
    assert snapshot.protocol == model.protocol
    assert snapshot.metadata == model.metadata
    assert dict(snapshot.transactions) == model.transactions
    assert dict(snapshot.domains) == model.domains
    found = adds_from_table(snapshot.files())
    assert len(found) == len(model.live)
    assert {key_of(add): plain(add) for add in found} == {
        key: plain(add) for key, add in model.live.items()
    }
    assert stats_of(snapshot) == expected_stats(snapshot, model)
    gone = removes_from_table(snapshot.tombstones())
    assert len(gone) == len(model.tombstones)
    assert {key_of(remove): plain(remove) for remove in gone} == {
        key: plain(remove) for key, remove in model.tombstones.items()
    }


def plain(action: Add | Remove) -> dict[str, Any]:
    """Without what a checkpoint may leave out: flags, statistics, tags of tombstones."""
    raw = action.to_json()
    left_out = {"dataChange", "stats"} | ({"tags"} if isinstance(action, Remove) else set())
    return {name: value for name, value in raw.items() if name not in left_out}


def stats_of(snapshot: Snapshot) -> dict[Any, Any]:
    """By file, from wherever they are; where they are JSON and columns too, both must agree."""
    adds = adds_from_table(snapshot.files())
    from_json = parsed(snapshot, [add.stats for add in adds])
    columns = [None] * len(adds)
    if snapshot.has_parsed_stats:
        columns = [known(row) for row in snapshot.files(["stats_parsed"]).column(0).to_pylist()]
    for one, other in zip(from_json, columns, strict=True):
        assert one is None or other is None or one == other
    both = zip(adds, from_json, columns, strict=True)
    return {key_of(add): one if other is None else other for add, one, other in both}


def expected_stats(snapshot: Snapshot, model: Model) -> dict[Any, Any]:
    adds = list(model.live.values())
    stats = parsed(snapshot, [add.stats for add in adds])
    return {key_of(add): row for add, row in zip(adds, stats, strict=True)}


def parsed(snapshot: Snapshot, texts: list[str | None]) -> list[Any]:
    array = parse_stats(pa.array(texts, pa.string()), parsed_stats_schema(snapshot))
    return [known(row) for row in array.to_pylist()]


def known(stats: Any) -> Any:
    """Without nulls: no bound, and no struct of bounds, say the same."""
    if not isinstance(stats, dict):
        return stats
    entries = {name: known(value) for name, value in stats.items()}
    return {name: value for name, value in entries.items() if value is not None} or None
