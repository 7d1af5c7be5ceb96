"""A stream goes on where the other engine has stopped, on the same checkpoint and the same sink.

One engine runs a stream from table to table. Checkpoint and sink are rewound to what a kill would
have left at each batch; copies of that are resumed by both. Both must plan the same offsets, as
text, and store every row once.
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
from engines import Engine, Peers, program
from history_writer import HistoryWriter
from neutral_reader import neutral_rows
from short_form import these_in_short
from stream_logs import (
    batch_count,
    outcome,
    rewind,
    schema_log,
    source_offsets,
    transactions,
)

import lakebed
from testkit.tables.numbered_tables import numbers

MOMENTS = ("between", "planned", "stored")
EVERY_MOMENT = os.environ.get("LAKEBED_LONG") == "1"
"""Otherwise one moment for each batch, in turns."""

History = Callable[[HistoryWriter], None]


@dataclass(frozen=True)
class Shape:
    """A table, what it gets while the stream is stopped, and how it is read."""

    name: str
    before: History
    after: History
    options: dict[str, str] = field(default_factory=dict)
    columns: str = "id, v"
    feed: bool = False
    partitioned: bool = False


def _appends(*counts: int) -> History:
    def grow(writer: HistoryWriter) -> None:
        for count in counts:
            writer.append(count)

    return grow


def _changes(writer: HistoryWriter) -> None:
    writer.append(3)
    writer.rewrite("update")
    writer.rewrite("delete")
    writer.mark_rows()
    writer.append(2)


def _small(writer: HistoryWriter) -> None:
    writer.append(3)


SHAPES = [
    Shape("short", _small, _appends(3), {"maxFilesPerTrigger": "2"}),
    Shape(
        "inside of the snapshot and of versions",
        _appends(3, 4),
        _appends(5, 1, 2),
        {"maxFilesPerTrigger": "2"},
        partitioned=True,
    ),
    Shape("ends of versions", _appends(1), _appends(1, 1, 1), {"maxFilesPerTrigger": "1"}),
    Shape(
        "from the first version",
        _appends(3, 2),
        _appends(3),
        {"maxFilesPerTrigger": "2", "startingVersion": "0"},
    ),
    Shape("by bytes", _appends(4), _appends(3, 2), {"maxBytesPerTrigger": "1500"}),
    Shape(
        "change feed",
        _changes,
        _changes,
        {"maxFilesPerTrigger": "2", "readChangeFeed": "true", "startingVersion": "1"},
        columns="id, v, _change_type, _commit_version",
        feed=True,
    ),
    Shape(
        "change feed after a snapshot",
        _appends(3),
        _changes,
        {"maxFilesPerTrigger": "2", "readChangeFeed": "true"},
        columns="id, v, _change_type, _commit_version",
        feed=True,
    ),
    Shape(
        "skipped changes",
        _appends(3),
        _changes,
        {"maxFilesPerTrigger": "2", "skipChangeCommits": "true"},
    ),
]


@dataclass(frozen=True)
class Run:
    """The files of one stream."""

    folder: Path

    @property
    def checkpoint(self) -> Path:
        return self.folder / "checkpoint"

    @property
    def sink(self) -> Path:
        return self.folder / "sink"

    def copied(self, name: str) -> Run:
        folder = self.folder.parent / name
        shutil.copytree(self.folder, folder)
        return Run(folder)

    def step(self, source: Path, options: dict[str, str], **more: Any) -> dict[str, Any]:
        return program(
            "stream_programs.copy",
            must=True,
            path=str(source),
            target=str(self.sink),
            checkpoint=str(self.checkpoint),
            options=options,
            **more,
        )


@pytest.mark.parametrize("starter", ["lakebed", "delta_spark"])
@pytest.mark.parametrize("shape", these_in_short(SHAPES, "short"), ids=lambda shape: shape.name)
def test_either_engine_resumes_what_the_other_has_begun(
    shape: Shape, starter: str, peers: Peers, tally: Tally, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    writer = HistoryWriter(
        source, random.Random(shape.name), partitioned=shape.partitioned, feed=shape.feed
    )
    first: Engine = getattr(peers, starter)
    run = Run(tmp_path / "run")
    for grow in (shape.before, shape.after):
        grow(writer)
        _must(first, run.step(source, shape.options))
    expected = neutral_rows(run.sink, shape.columns)
    for batches in range(1, batch_count(run.checkpoint)):
        for moment in MOMENTS if EVERY_MOMENT else [MOMENTS[batches % 3]]:
            if moment != "between" or batches < batch_count(run.checkpoint):
                about = f"{writer.steps}\n{batches} batches, then {moment}"
                _resume(peers, shape, run, batches, moment, expected, about)
                tally.agreed.append(f"{shape.name}, begun by {starter}: {batches} {moment}")
    shutil.rmtree(tmp_path)


def _resume(
    peers: Peers,
    shape: Shape,
    run: Run,
    batches: int,
    moment: str,
    expected: list[list[Any]],
    about: str,
) -> None:
    """By both, from copies."""
    source = run.folder.parent / "source"
    copies = [run.copied(f"{batches}-{moment}-{engine.name}") for engine in peers.engines]
    for copy in copies:
        rewind(copy.checkpoint, copy.sink, batches, moment)
    answers = peers.both(*([copy.step(source, shape.options)] for copy in copies))
    for [answer], engine in zip(answers, peers.engines, strict=True):
        error = outcome(answer)["error"]
        assert error is None, f"{about}\n{engine.name}: {error}"
    ours, theirs = (source_offsets(copy.checkpoint) for copy in copies)
    assert ours == theirs, about
    for copy, engine in zip(copies, peers.engines, strict=True):
        assert neutral_rows(copy.sink, shape.columns) == expected, f"{about}\n{engine.name}"
        stored = list(transactions(copy.sink).values())
        assert stored == sorted(set(stored)), f"{about}\n{engine.name}: {stored}"
        shutil.rmtree(copy.folder)


def _must(engine: Engine, step: dict[str, Any]) -> None:
    [answer] = engine.run([step])
    error = outcome(answer)["error"]
    assert error is None, f"{engine.name}: {error}"


# --- changes of the schema -----------------------------------------------------------------------

_TURNS = 8


@pytest.mark.parametrize("starter", [0, 1], ids=["lakebed first", "delta-spark first"])
def test_schema_changes_stop_and_go_on_in_turns(
    starter: int, peers: Peers, tally: Tally, tmp_path: Path
) -> None:
    """One stream is run by the engines in turns, its twin by delta-spark alone: each run ends at
    the same barrier."""
    source = tmp_path / "source"
    _evolving(source)
    turns, twin = Run(tmp_path / "turns"), Run(tmp_path / "twin")
    for turn in range(_TURNS):
        engine = peers.engines[(turn + starter) % 2]
        outcomes = [
            _tracked(each, run, source)
            for each, run in ((engine, turns), (peers.delta_spark, twin))
        ]
        about = f"turn {turn} by {engine.name}: {outcomes}"
        assert source_offsets(turns.checkpoint) == source_offsets(twin.checkpoint), about
        logs = [schema_log(run.checkpoint, "schemas") for run in (turns, twin)]
        assert logs[0] == logs[1], about
        assert (outcomes[0] is None) == (outcomes[1] is None), about
        if turn == 2:
            _evolve_more(source)
    assert outcomes == [None, None]
    assert neutral_rows(turns.sink) == neutral_rows(twin.sink)
    assert len(neutral_rows(turns.sink)) == 14
    tally.agreed.append(f"schema barriers, begun by {peers.engines[starter].name}")


def _tracked(engine: Engine, run: Run, source: Path) -> str | None:
    options = {
        "schemaTrackingLocation": str(run.checkpoint / "schemas"),
        "allowSourceColumnRename": "always",
        "allowSourceColumnDrop": "always",
        "maxFilesPerTrigger": "1",
    }
    [answer] = engine.run([run.step(source, options, sink_options={"mergeSchema": "true"})])
    error: str | None = answer.error or outcome(answer)["error"]
    return error


def _evolving(source: Path) -> None:
    properties = {"delta.columnMapping.mode": "name"}
    table = lakebed.write(source, numbers(0, 4), properties=properties, max_rows_per_file=2)
    table.write(numbers(4, 6))


def _evolve_more(source: Path) -> None:
    lakebed.open(source).rename_column("day", "weekday")
    added = numbers(6, 10).rename_columns(["id", "weekday"])
    lakebed.write(source, added, max_rows_per_file=2)
    lakebed.open(source).drop_columns("weekday")
    lakebed.write(source, numbers(10, 14).drop_columns(["day"]), max_rows_per_file=2)
