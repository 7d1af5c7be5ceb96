"""The histories of `history.py` with clients on Spark: threads of one session that take turns.

Their turns end where Lakebed asks its store, also where it does so because Spark asks Lakebed.
"""

from __future__ import annotations

import importlib
import pkgutil
import random
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import spark_commands
from disk_objects import DiskObjects
from history import START_MS, History
from history_choices import Kind
from model import Command, Facts
from pyspark.sql import SparkSession
from simulated_store import CLONE, Course, Objects, Odds, SimulatedStore
from spark_commands import RUNS, WEIGHTS, Place
from substitutes import Patch
from turns import Killed, Turns

import lakebed
from lakebed.sessions.native.python_side import PythonSide
from lakebed.settings.setting_table import (
    AUTO_COMPACT_MIN_FILES,
    OPTIMIZE_BATCH_SIZE,
    OPTIMIZE_LOCAL_BYTES,
    OPTIMIZE_MAX_FILE_SIZE,
)
from lakebed.storage import Store
from lakebed.storage.locations import parse_location

# A module that is imported in the middle of a history would go by the clock of the machine.
for _module in pkgutil.walk_packages(lakebed.__path__, "lakebed."):
    if not _module.name.startswith(("lakebed.cli", "lakebed.__main__")):
        importlib.import_module(_module.name)

SETTINGS = {
    OPTIMIZE_MAX_FILE_SIZE.name: "3kb",
    OPTIMIZE_BATCH_SIZE.name: "2kb",
    AUTO_COMPACT_MIN_FILES.name: "3",
    # What Spark compiles would take most of the time.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@dataclass
class SparkHistory(History):
    spark: SparkSession = field(kw_only=True)
    folder: Path = field(kw_only=True)
    """An empty one, for the table."""
    commands = RUNS
    weights = WEIGHTS
    options = spark_commands.OPTIONS
    counts = (2, 2, 3)
    lengths = (1, 1, 2)
    phases = (1, 1, 2)

    def __post_init__(self) -> None:
        self._table = parse_location(self.folder).url
        super().__post_init__()
        self._settings = {OPTIMIZE_LOCAL_BYTES.name: self._random.choice(("0", "1mb"))}

    def run(self) -> SparkHistory:
        with settings(self.spark, {**SETTINGS, **self._settings}):
            super().run()
        return self

    @property
    def command(self) -> str:
        return f"{super().command} --spark"

    def _turns(self, stickiness: float) -> Turns:
        chance = random.Random(self._random.random())
        return Turns(chance, max(START_MS, time.time() * 1000), stickiness, longest=40)

    def _course(self, odds: Odds) -> Course:
        # More of the calls of a command on Spark look before they change something.
        self._random.random()
        return Course(self.turns, odds, cheap_probes=True)

    def _objects(self, url: str) -> Objects:
        return Objects(self.course, url) if url == CLONE else DiskObjects(self.course, self.folder)

    def _kind(self, chance: random.Random) -> Kind:
        kind = Kind.by(chance, self._weights)
        return Kind(kind.serializable, kind.vectors, kind.feed, iceberg=False, converted=False)

    def _substitutes(self) -> tuple[Mapping[str, tuple[Any, Any]], list[Patch]]:
        held = self._answer
        return {}, [(PythonSide, "answer", lambda side, *given: held(side, *given))]

    def _answer(self, side: PythonSide, what: str, *given: Any) -> Any:
        """Spark looks tables up while it holds a lock of the session."""
        client = self.turns.acting
        if client is None or what not in ("describe", "exists"):
            return _answer(side, what, *given)
        client.holds += 1
        try:
            return _answer(side, what, *given)
        finally:
            client.holds -= 1

    def _place(self) -> Place:
        return Place(self.spark, str(self.folder), self.turns.stall)

    def _run(self, command: Command, facts: Facts) -> None:
        client = self.turns.current
        assert client is not None
        try:
            super()._run(command, facts)
        except Exception as error:
            if client.is_dead:
                # On its way through Spark a death may become an error of Spark's.
                raise Killed from error
            raise
        if client.is_dead:
            raise Killed

    def _night(self) -> None:
        assert isinstance(self.objects, DiskObjects)
        self.objects.files.look()
        super()._night()

    def _opened(self, url: str) -> Store:
        found = parse_location(url).url
        assert found == self._table, f"a store for {found}"
        return SimulatedStore(self.objects)


_answer = PythonSide.answer


@contextmanager
def settings(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name, None) for name in values}
    for name, value in values.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)
