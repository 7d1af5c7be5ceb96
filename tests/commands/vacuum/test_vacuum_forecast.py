"""VACUUM's forecast equals what then happens, version by version, on random histories."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from lakebed.commands.vacuum.vacuum_report import VacuumResult
from lakebed.errors import InvalidArgumentError
from lakebed.log.versions.readable import readable_versions
from testkit.tables.aged_tables import DAY, HOUR, RETENTION, AgedTable, FedTable

NUMBER = st.integers(0, 9)
CHANGE = st.one_of(
    st.tuples(st.just("append"), st.integers(1, 2)),
    st.tuples(st.just("overwrite")),
    st.tuples(st.just("overwrite")),
    st.tuples(st.just("remove"), NUMBER),
    st.tuples(st.just("mark"), NUMBER),
    st.tuples(st.just("change"), NUMBER),
    st.tuples(st.just("restage")),
    st.tuples(st.just("revert"), NUMBER),
    st.tuples(st.just("checkpoint")),
    st.tuples(st.just("clean")),
    st.tuples(st.just("orphan")),
    st.tuples(st.just("pin"), NUMBER),
    st.tuples(st.just("unpin")),
)
VACUUM = st.tuples(
    st.just("vacuum"), st.sampled_from([None, 0, 24, 200]), st.sampled_from(["full", "lite"])
)
# Most of what happens replaces files, and time goes by: else there is nothing for VACUUM to do.
STEP = st.one_of(CHANGE, CHANGE, CHANGE, CHANGE, CHANGE, CHANGE, VACUUM)
STEPS = st.lists(st.tuples(STEP, st.sampled_from([0, 1, 20, 40])), min_size=5, max_size=14)


@settings(max_examples=30)
@given(kind=st.sampled_from([AgedTable, FedTable]), steps=STEPS, last=VACUUM)
@example(
    # LITE does not look which files are there: version 1 was lost to the run before.
    kind=AgedTable,
    steps=[
        *[(("append", 1), hours) for hours in (0, 0, 41)],
        *[(("checkpoint",), hours) for hours in (1, 20)],
        (("pin", 0), 40),
        (("overwrite",), 0),
        *[(("checkpoint",), hours) for hours in (21, 0)],
        (("vacuum", None, "full"), 20),
        (("append", 1), 1),
    ],
    last=("vacuum", 200, "lite"),
)
def test_forecast_equals_outcome_and_the_retention_is_kept(
    kind: type[AgedTable],
    steps: list[tuple[tuple[object, ...], float]],
    last: tuple[object, ...],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table = kind(Path(folder) / "table")
        table.append(2)
        table.overwrite()
        for (name, *arguments), hours in steps:
            apply(table, str(name), arguments)
            table.tick(hours)
        apply(table, str(last[0]), list(last[1:]))


def apply(table: AgedTable, name: str, arguments: list[object]) -> None:
    if name == "vacuum":
        check_vacuum(table, *arguments)  # type: ignore[arg-type]
    elif name in ("revert", "pin"):
        readable = [v for v, there in readable_versions(table.store).items() if there]
        version = readable[int(str(arguments[0])) % len(readable)]
        table.revert(version) if name == "revert" else table.pin("p", version)
    elif name == "unpin":
        if "lakebed.pin.p" in table.snapshot().metadata.configuration:
            table.unpin("p")
    elif name != "change" or isinstance(table, FedTable):
        getattr(table, name)(*arguments)


def check_vacuum(table: AgedTable, hours: float | None, mode: str) -> None:
    options = {"retention_hours": hours, "mode": mode, "enforce_retention": False}
    before, disk = table.read_all(), table.data_files()
    pinned, newest = set(table.pins_now()), table.newest
    try:
        forecast = table.vacuum(dry_run=True, **options)
    except InvalidArgumentError:
        assert mode == "lite"
        assert before[0] is None
        return
    assert table.data_files() == disk
    # The log is kept for five days: no longer retention keeps a version that it has dropped.
    cut_off = max(forecast.cut_off_ms, table.now - 5 * DAY)
    promised = table.inside_retention(cut_off) | pinned | {newest}
    done = table.vacuum(**options)
    after, left = table.read_all(), table.data_files()
    lost = {v for v, rows in before.items() if rows is not None and after[v] is None}
    event(f"{mode}: {'loses versions' if lost else 'loses none'}")
    assert versions(forecast) == versions(done) == lost
    assert {v: rows for v, rows in before.items() if v not in lost} == {
        v: after[v] for v in before if v not in lost
    }
    assert not lost & promised
    if isinstance(table, FedTable):
        # An earlier run with a shorter retention may have taken some.
        assert table.change_files(since=cut_off) & disk.keys() <= left.keys()
    gone = {path: size for path, size in disk.items() if path not in left}
    assert forecast.paths == done.paths == sorted(gone)
    assert forecast.size_in_bytes == done.size_in_bytes == sum(gone.values())
    check_history(table, done, after)
    assert forecast.cut_off_ms == table.now - (RETENTION if hours is None else hours * HOUR)


def check_history(
    table: AgedTable, done: VacuumResult, after: dict[int, frozenset[int] | None]
) -> None:
    """What the history says, and what the record of VACUUM leaves in it."""
    rebuilt = readable_versions(table.store)
    assert {v for v, there in rebuilt.items() if there} == {
        v for v, rows in after.items() if rows is not None
    }
    recorded = table.log.history().select(["version", "readable"]).to_pylist()
    shown = {row["version"] for row in recorded if row["readable"] is False}
    assert shown >= {v for v in done.unreadable_versions if v in {r["version"] for r in recorded}}
    assert all(after[version] is None for version in shown)


def versions(result: VacuumResult) -> set[int]:
    return set(result.lost_versions.column("version").to_pylist())
