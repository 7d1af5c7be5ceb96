"""Both engines, each in its process, and what they are asked to do.

peers.lakebed.sql("SELECT ...")              an Answer, also if the statement failed
peers.delta_spark.rows(path)                 the sorted rows of a table; fails on an error
peers.both([sql(...), program(...)])         the same steps in both, at the same time
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peer_process import PeerError, PeerProcess, delta_spark_package

ROOT = Path(__file__).resolve().parents[2]
LAKEBED, DELTA_SPARK = "lakebed", "delta-spark"

Step = dict[str, Any]

# What a request costs is mostly planning: plans of a few rows are not worth compiling.
_SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "2g",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.databricks.delta.snapshotPartitions": "1",
}
_NO_JAR = ("unresolved dependency", "download failed", "UNRESOLVED DEPENDENCIES")


class NoJarError(Exception):
    """The JAR of delta-spark cannot be had."""


def sql(text: str, columns: Sequence[str] | None = None, must: bool = False) -> Step:
    """A statement; of its result only `columns`, where others differ in each run."""
    return {"sql": text, "columns": columns, "must": must}


def program(name: str, must: bool = False, **given: Any) -> Step:
    """A function of `programs.py`, or `module.function`, with these arguments."""
    return {"program": name, "given": given, "must": must}


def conf(settings: Mapping[str, str | None]) -> Step:
    """Settings of the session; None removes one."""
    return {"conf": dict(settings), "must": True}


@dataclass(frozen=True)
class Answer:
    """What a step gave: columns, types and rows of a DataFrame, a plain value, or an error."""

    content: Mapping[str, Any]

    @property
    def error(self) -> str | None:
        """The class, the condition and the first line of the message."""
        found = self.content.get("error")
        if found is None:
            return None
        lines = found["message"].strip().splitlines() or [""]
        return f"{found['class']} ({found['condition']}): {lines[0]}"

    @property
    def condition(self) -> str:
        """The name of the error's condition, or its class where it has none."""
        found = self.content["error"]
        return str(found["condition"] or found["class"])

    @property
    def rows(self) -> list[list[Any]]:
        """Sorted by their text: what is not ordered may come in any order."""
        assert self.error is None, self.error
        return sorted(self.content["rows"], key=repr)

    @property
    def value(self) -> Any:
        assert self.error is None, self.error
        return self.content.get("value")

    def __str__(self) -> str:
        if self.error is not None:
            return f"error {self.error}"
        if "rows" not in self.content:
            return f"value {self.value!r}"
        names = zip(self.content["columns"], self.content["types"], strict=True)
        head = ", ".join(f"{name} {type_}" for name, type_ in names)
        return "\n".join([f"({head})", *(str(tuple(row)) for row in self.content["rows"])])


class Engine(PeerProcess):
    """Lakebed or delta-spark. `folder` is for its own tables; `warehouse` has those with a name."""

    def __init__(self, name: str, folder: Path) -> None:
        self.folder = folder / name
        self.warehouse = self.folder / "warehouse"
        self.warehouse.mkdir(parents=True)
        settings = {**_SETTINGS, "spark.sql.warehouse.dir": str(self.warehouse)}
        if name == DELTA_SPARK:
            settings["spark.jars.packages"] = delta_spark_package()
        program_ = str(Path(__file__).with_name("engine_process.py"))
        command = [sys.executable, program_, name, json.dumps(settings)]
        super().__init__(name, command, self.folder / "errors", {"TZ": "UTC"})

    def run(self, steps: Sequence[Step]) -> list[Answer]:
        self.send(steps=list(steps))
        return self.answers()

    def answers(self) -> list[Answer]:
        """To the steps that were sent last."""
        return [Answer(content) for content in self.receive()["answers"]]

    def sql(self, text: str, columns: Sequence[str] | None = None) -> Answer:
        return self.run([sql(text, columns)])[0]

    def must(self, *texts: str) -> Answer:
        """Runs statements that have to succeed; the answer of the last."""
        answers = self.run([sql(text, must=True) for text in texts])
        assert answers[-1].error is None, f"{self.name}: {texts[len(answers) - 1]}\n{answers[-1]}"
        return answers[-1]

    def program(self, name: str, **given: Any) -> Answer:
        return self.run([program(name, **given)])[0]

    def rows(self, path: Path | str, columns: str = "*") -> list[list[Any]]:
        """Of the table at `path`, sorted."""
        return self.must(f"SELECT {columns} FROM delta.`{path}`").rows


@dataclass(frozen=True)
class Peers:
    lakebed: Engine
    delta_spark: Engine

    @property
    def engines(self) -> tuple[Engine, Engine]:
        return self.lakebed, self.delta_spark

    def both(self, ours: Sequence[Step], theirs: Sequence[Step]) -> tuple[list[Answer], ...]:
        """The answers of Lakebed and of delta-spark, which work at the same time."""
        for engine, steps in zip(self.engines, (ours, theirs), strict=True):
            engine.send(steps=list(steps))
        return tuple(engine.answers() for engine in self.engines)

    def close(self) -> None:
        for engine in self.engines:
            engine.close()


def start(folder: Path) -> Peers:
    """Raises NoJarError where delta-spark cannot be had."""
    try:
        theirs = Engine(DELTA_SPARK, folder)
    except PeerError as error:
        if any(said in str(error) for said in _NO_JAR):
            raise NoJarError(f"the JAR {delta_spark_package()} cannot be had") from error
        raise
    try:
        return Peers(Engine(LAKEBED, folder), theirs)
    except PeerError:
        theirs.close()
        raise
