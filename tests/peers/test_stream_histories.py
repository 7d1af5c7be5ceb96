"""Streams of random histories with random options: both engines cut them into the same batches.

A history is written by neither engine. Both stream from the one table, stop when nothing is left,
and go on when it has grown. Offsets are compared as the text that is in the checkpoint, and batches
by their rows. LAKEBED_STREAM_SEEDS is how many histories there are.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from comparing import Tally
from engines import Peers, program
from history_writer import HOUR, START, HistoryWriter
from stream_logs import outcome, source_offsets

SEEDS = int(os.environ.get("LAKEBED_STREAM_SEEDS", "12"))
SHORT = 2
"""So many are in the short form."""
FIRST = int(os.environ.get("LAKEBED_STREAM_FIRST", "0"))

_APPENDS: dict[str, Callable[[HistoryWriter], None]] = {
    "append 1": lambda writer: writer.append(1),
    "append some": lambda writer: writer.append(writer.draw.randint(2, 4)),
    "append wide": lambda writer: writer.append(1, rows=40),
    "nothing": lambda writer: writer.append_empty(),
    "property": lambda writer: writer.set_property(),
    "append and property": lambda writer: writer.append_and_set_property(2),
    "optimize": lambda writer: writer.optimize(),
    "optimize and append": lambda writer: writer.optimize_and_append(),
}
_CHANGES: dict[str, Callable[[HistoryWriter], None]] = {
    "delete files": lambda writer: writer.delete_files(),
    "delete": lambda writer: writer.rewrite("delete"),
    "update": lambda writer: writer.rewrite("update"),
    "vectors": lambda writer: writer.mark_rows(),
    "overwrite": lambda writer: writer.overwrite(),
}
_FORGIVING = ("skipChangeCommits", "ignoreChanges")


@dataclass
class Scenario:
    """What one seed stands for."""

    draw: random.Random
    writer: HistoryWriter
    options: dict[str, str]
    change_rate: float
    once: bool
    log: list[str] = field(default_factory=list)

    def grow(self) -> None:
        for _ in range(self.draw.randint(2, 5)):
            steps = _CHANGES if self.draw.random() < self.change_rate else _APPENDS
            steps[self.draw.choice(sorted(steps))](self.writer)
            if self.draw.random() < 0.15:
                self.writer.checkpoint()

    @property
    def columns(self) -> list[str]:
        names = ["id", "v", *(["p"] if self.writer.partitioned else [])]
        if self.options.get("readChangeFeed") == "true":
            names += ["_change_type", "_commit_version"]
        return names

    def about(self) -> str:
        return "\n".join([f"{self.options}", *self.log])


def _seeds() -> list[Any]:
    seeds = range(FIRST, FIRST + SEEDS)
    return [pytest.param(seed, marks=pytest.mark.short) if seed < SHORT else seed for seed in seeds]


@pytest.mark.parametrize("seed", _seeds())
def test_both_engines_cut_a_history_into_the_same_batches(
    seed: int, peers: Peers, tally: Tally, tmp_path: Path
) -> None:
    scenario = _drawn(seed, tmp_path / "table")
    for phase in range(scenario.draw.randint(1, 3)):
        scenario.grow()
        scenario.log += [*scenario.writer.steps, f"--- streams, part {phase}"]
        scenario.writer.steps.clear()
        failed = _both_stream(scenario, peers, tmp_path, tally, f"stream {seed} {phase}")
        if failed:
            # Restarted with what would have let it pass, as the errors advise.
            if any(name in scenario.options for name in _FORGIVING):
                break
            scenario.options[scenario.draw.choice(_FORGIVING)] = "true"
            scenario.log.append(f"--- now {scenario.options}")
    tally.agreed.append(f"stream {seed}")
    shutil.rmtree(tmp_path)


_PATHS = ("a!", "a%21", "a%20b", "a%2520", "a0", "a=", "a%3D", "a_", "a~", "B", "%C3%A4", "ä", "z")


def test_files_of_the_snapshot_come_in_the_same_order(
    peers: Peers, tally: Tally, tmp_path: Path
) -> None:
    """Writers escape paths in different ways; the order is that of the text in the log."""
    draw = random.Random("paths")
    writer = HistoryWriter(tmp_path / "table", draw)
    # Two paths of one file would be one file.
    paths = [f"{path}-{number}.parquet" for number, path in enumerate(_PATHS)]
    writer.append_paths([*paths, *_FOLDERS])
    scenario = Scenario(draw, writer, {"maxFilesPerTrigger": "1"}, 0, once=False)
    assert not _both_stream(scenario, peers, tmp_path, tally, "paths")
    tally.agreed.append("paths of the snapshot")


_FOLDERS = ("p!/a", "p%20/a", "p01/a", "p%3D1/a", "p=2/a")


def _both_stream(scenario: Scenario, peers: Peers, folder: Path, tally: Tally, name: str) -> bool:
    """Whether both failed; all else is the same."""
    checkpoints = {engine.name: folder / f"checkpoint-{engine.name}" for engine in peers.engines}
    steps = [[_step(scenario, checkpoints[engine.name])] for engine in peers.engines]
    answers = peers.both(*steps)
    ours, theirs = (
        _facts(outcome(answer), checkpoints[engine.name])
        for [answer], engine in zip(answers, peers.engines, strict=True)
    )
    fails = ours["error"] is not None
    about = f"{scenario.about()}\nLakebed: {ours}\ndelta-spark: {theirs}"
    assert fails == (theirs["error"] is not None), about
    assert ours["offsets"] == theirs["offsets"], about
    assert ours["batches"] == theirs["batches"], about
    if fails:
        tally.failed[name] = (_condition(ours), _condition(theirs))
    return fails


def _step(scenario: Scenario, checkpoint: Path) -> dict[str, Any]:
    return program(
        "stream_programs.batches",
        must=True,
        path=str(scenario.writer.path),
        checkpoint=str(checkpoint),
        options=scenario.options,
        columns=scenario.columns,
        once=scenario.once,
    )


def _facts(found: dict[str, Any], checkpoint: Path) -> dict[str, Any]:
    return {**found, "offsets": source_offsets(checkpoint)}


def _condition(found: dict[str, Any]) -> str:
    return str(found["error"]).partition(" | ")[0]


# --- what is drawn -------------------------------------------------------------------------------


def _drawn(seed: int, table: Path) -> Scenario:
    draw = random.Random(f"stream {seed}")
    feed = draw.random() < 0.4
    writer = HistoryWriter(table, draw, partitioned=draw.random() < 0.3, feed=feed)
    scenario = Scenario(draw, writer, {}, draw.choice([0, 0.2, 0.6]), draw.random() < 0.1)
    scenario.grow()
    scenario.options = _limits(draw) | _start(draw, writer.version)
    if feed and draw.random() < 0.7:
        scenario.options["readChangeFeed"] = "true"
    elif draw.random() < 0.45:
        names = [*_FORGIVING, "ignoreDeletes", "ignoreFileDeletion"]
        scenario.options[draw.choice(names)] = "true"
    if draw.random() < 0.15:
        scenario.options["excludeRegex"] = draw.choice([r"B-", r"[0-7]\.parquet$"])
    return scenario


def _limits(draw: random.Random) -> dict[str, str]:
    limits = {}
    if draw.random() < 0.6:
        limits["maxFilesPerTrigger"] = str(draw.randint(1, 4))
    if draw.random() < 0.4:
        # A file of two rows has some 700 bytes.
        limits["maxBytesPerTrigger"] = draw.choice(["1b", "1000", "2k", "3000"])
    return limits


def _start(draw: random.Random, version: int) -> dict[str, str]:
    kind = draw.random()
    if kind < 0.5:
        return {}
    if kind < 0.75:
        return {"startingVersion": str(draw.randint(0, version))}
    if kind < 0.85:
        return {"startingVersion": "latest"}
    time = START + draw.randint(0, version) * HOUR - draw.choice([0, HOUR // 2])
    return {"startingTimestamp": _text_of(time)}


def _text_of(time: int) -> str:
    from datetime import datetime, timezone

    return f"{datetime.fromtimestamp(time / 1000, timezone.utc):%Y-%m-%d %H:%M:%S}"
