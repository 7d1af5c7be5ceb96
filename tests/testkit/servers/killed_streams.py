"""Streams that are killed at random moments while their source grows, and what they must end with.

trial = Trial(tables, folder, storage_options)
trial.kill_often(100)
trial.finish_and_check()
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

import lakebed
from testkit.servers.stream_application import APPEND, KEYS, SINKS, STREAMS, Application, Plan

_ROWS = 30
_ROWS_PER_FILE = 10
_PAUSE = 0.4
_EARLY = 0.2
"""So many of the kills come while streams start."""
_START = 5.0
_STEPS = 24
_LITTLE = 0.5
_LONGEST_LIFE = 200.0
_COMMITS = 60
"""Of the source while an application lives, at most: what is left over must be done in the end."""
_END = 900.0
_VECTORS = {"delta.enableDeletionVectors": "true"}


@dataclass
class Trial:
    tables: str
    folder: Path
    storage_options: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    kills: int = 0
    amid: Counter[str] = field(default_factory=Counter)
    """By stream, how many kills left a batch that was begun and not done."""
    rows: int = 0
    """How many the source has."""

    def __post_init__(self) -> None:
        self._draw = random.Random(self.seed)
        self._errors = self.folder / "errors"
        rows = _numbered(0, 0)
        self._write("merged", rows.select(["key", "id"]), properties=_VECTORS)
        self._write("appended", rows)
        self._write("copies", rows.append_column("stream", pa.array([], pa.string())))
        self._append()

    def kill_often(self, count: int) -> None:
        for _ in range(count):
            application = Application(self._plan(), self._errors)
            try:
                application.wait_for("session")
                with self._growing():
                    self._wait_for_a_moment(application)
                    application.kill()
            finally:
                application.close()
            self.kills += 1
            self._count_unfinished()

    def _wait_for_a_moment(self, application: Application) -> None:
        """While streams start, or when so many batches have begun and ended, and a little later:
        however fast the machine is, it is met in the midst of something."""
        if self._draw.random() < _EARLY:
            time.sleep(self._draw.uniform(0, _START))
            return
        application.wait_for("running")
        steps, deadline = self._draw.randrange(_STEPS), time.monotonic() + _LONGEST_LIFE
        before = self._steps()
        while self._steps() < before + steps and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(self._draw.uniform(0, _LITTLE))

    def _steps(self) -> int:
        return sum(
            len(self._files(name, kind)) for name in STREAMS for kind in ("offsets", "commits")
        )

    def finish_and_check(self) -> None:
        """What is stored in the end is the input, to a reader that is not Lakebed."""
        application = Application(self._plan(to_the_end=True), self._errors)
        try:
            application.finish(_END)
        finally:
            application.close()
        everything = list(range(self.rows))
        for name in SINKS:
            found = self._query("copies", f"SELECT id FROM t WHERE stream = '{name}'")
            assert sorted(found) == everything, f"{name}: {_difference(found, everything)}"
        found = self._query("appended", "SELECT id FROM t")
        assert sorted(found) == everything, f"{APPEND}: {_difference(found, everything)}"
        merged = self._query("merged", "SELECT id FROM t")
        newest = {id_ % KEYS: id_ for id_ in everything}
        assert sorted(merged) == sorted(newest.values())
        assert sum(self.amid.values()) > 0, "no kill has met a batch"

    def batches(self) -> dict[str, int]:
        return {name: len(self._files(name, "commits")) for name in STREAMS}

    # --- the source -------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _growing(self) -> Iterator[None]:
        done = threading.Event()
        failures: list[BaseException] = []

        def grow() -> None:
            try:
                for _ in range(_COMMITS):
                    if done.wait(_PAUSE):
                        return
                    self._append()
            except BaseException as failure:  # noqa: BLE001  raised below
                failures.append(failure)

        thread = threading.Thread(target=grow)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
        if failures:
            raise failures[0]

    def _append(self) -> None:
        rows = _numbered(self.rows, self.rows + _ROWS)
        self._write("source", rows, max_rows_per_file=_ROWS_PER_FILE)
        self.rows += _ROWS

    def _write(self, table: str, rows: pa.Table, **options: Any) -> None:
        url = self._plan().table(table)
        lakebed.write(url, rows, storage_options=dict(self.storage_options), **options)

    # --- what is there ----------------------------------------------------------------------------

    def _plan(self, *, to_the_end: bool = False) -> Plan:
        checkpoints = str(self.folder / "checkpoints")
        return Plan(self.tables, checkpoints, to_the_end, self.storage_options, self.settings)

    def _count_unfinished(self) -> None:
        for name in STREAMS:
            if self._files(name, "offsets") - self._files(name, "commits"):
                self.amid[name] += 1

    def _files(self, stream: str, kind: str) -> set[str]:
        folder = self._plan().checkpoint(stream) / kind
        return {file.name for file in folder.glob("[0-9]*")}

    def _query(self, table: str, query: str) -> list[int]:
        url = self._plan().table(table)
        options = {**self.storage_options} or None
        registered = QueryBuilder().register("t", DeltaTable(url, storage_options=options))
        column = pa.table(registered.execute(query).read_all()).column(0)
        found: list[int] = column.to_pylist()
        return found


def _numbered(first: int, end: int) -> pa.Table:
    ids = pa.array(range(first, end), pa.int64())
    return pa.table({"id": ids, "key": pa.array([n % KEYS for n in range(first, end)], pa.int64())})


def _difference(found: list[int], expected: list[int]) -> str:
    counts = Counter(found)
    lost = [id_ for id_ in expected if id_ not in counts]
    doubled = [id_ for id_, count in counts.items() if count > 1]
    return f"lost {lost[:20]} ({len(lost)}), doubled {doubled[:20]} ({len(doubled)})"
