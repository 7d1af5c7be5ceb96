"""Whether clones have the rows of the versions that they were made of, by their own logs."""

from __future__ import annotations

from collections import Counter

from model import Row
from replay import Made, Replay
from simulated_store import Objects
from verdict import Run, Verdict

OF_CLONES = ("clone", "append to clone", "read clone", "vacuum clone")


def check_clones(verdict: Verdict, clones: Objects) -> None:
    """Each commit of a clone makes it a copy of a version, or adds what somebody appended."""
    source = verdict.objects
    replay = Replay(clones, source)
    versions: dict[int, Made] = {}
    rows: Counter[Row] = Counter()
    made: Counter[int] = Counter()
    for each in replay.versions():
        run = verdict.owner(each.info["txnId"])
        assert run is not None, f"version {each.number} of the clone is of no command"
        rows = _expected(verdict, run, each, rows)
        assert each.state.rows == rows, (
            f"version {each.number} of the clone by {run}"
            f"\n  has too much {sorted((each.state.rows - rows).elements())}"
            f"\n  and lacks {sorted((rows - each.state.rows).elements())}"
        )
        versions[each.number] = each
        made[id(run)] += 1
    for run in verdict.runs:
        _check_run(run, made[id(run)], versions)
    for gone in source.deleted:
        assert gone.by not in OF_CLONES, f"{gone.by} deleted {gone.path} of the source"
    if versions:
        missing = replay.places(versions[max(versions)]) - set(clones.found)
        assert not missing, f"the newest version of the clone has lost {missing}"


def _expected(verdict: Verdict, run: Run, each: Made, before: Counter[Row]) -> Counter[Row]:
    if run.command.name == "append to clone":
        return before + Counter(run.command.rows(run.facts))
    if run.command.name == "vacuum clone":
        return before
    assert run.command.name == "clone", f"version {each.number} of the clone is by {run}"
    version = int(each.info["operationParameters"]["sourceVersion"])
    assert version == run.facts.chosen, f"{run} cloned version {version}"
    return verdict.versions[version].state.rows


def _check_run(run: Run, made: int, versions: dict[int, Made]) -> None:
    if run.command.name in ("clone", "append to clone"):
        least = int(run.is_acknowledged)
        may_be = run.is_acknowledged or run.outcome == "killed" or run.is_unknown
        assert least <= made <= int(may_be), f"{made} commits of the clone by {run}"
    for version, rows in run.facts.of_clone:
        expected = versions[version].state.rows
        assert rows == expected, f"{run} read {rows - expected} more, {expected - rows} less"
