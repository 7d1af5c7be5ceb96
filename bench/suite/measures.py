"""Samples and what is made of them: medians, spread, ratios, growth."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

LAKEBED = "lakebed"
_PATH = re.compile(r"file:/+[\w.@+=/-]+|(?<![\w.:/])/[\w.@+-]+(?:/[\w.@+=-]*)+")


@dataclass
class Series:
    """What one peer took for one measure at one size."""

    workload: str
    measure: str
    peer: str
    axis: str | None = None
    """What grows: files, rows, commits; none if nothing does."""
    x: float | None = None
    samples: list[float] = field(default_factory=list)
    error: str | None = None
    """Why there are no samples."""

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def spread(self) -> tuple[float, float]:
        return min(self.samples), max(self.samples)

    @property
    def key(self) -> tuple[str, str, float | None]:
        return self.workload, self.measure, self.x


@dataclass
class Results:
    about: dict[str, Any] = field(default_factory=dict)
    series: list[Series] = field(default_factory=list)
    memory: list[dict[str, Any]] = field(default_factory=list)
    """The most memory of each process of each peer in each workload, in bytes."""
    problems: list[str] = field(default_factory=list)
    """What did not go as it should: answers that differ, workloads that failed."""
    spent: dict[str, dict[str, float]] = field(default_factory=dict)
    """What each workload and each of its measures cost, warm-up and set-up too, in seconds."""

    def of(
        self,
        workload: str,
        measure: str,
        peer: str,
        *,
        axis: str | None = None,
        x: float | None = None,
    ) -> Series:
        """The series of this name, made if there is none."""
        for series in self.series:
            if series.key == (workload, measure, x) and series.peer == peer:
                return series
        made = Series(workload, measure, peer, axis, x)
        self.series.append(made)
        return made

    def find(self, workload: str, measure: str, peer: str, x: float | None) -> Series | None:
        """The series, if it has samples."""
        for series in self.series:
            if series.key == (workload, measure, x) and series.peer == peer and series.samples:
                return series
        return None

    def measures(self) -> dict[tuple[str, str], list[Series]]:
        found: dict[tuple[str, str], list[Series]] = {}
        for series in self.series:
            found.setdefault((series.workload, series.measure), []).append(series)
        return found

    def note_memory(self, workload: str, peer: str, peaks: Mapping[str, int]) -> None:
        """The most so far, where a workload runs in several parts."""
        for each in self.memory:
            if (each["workload"], each["peer"]) == (workload, peer):
                each.update({k: max(v, each.get(k, 0)) for k, v in peaks.items()})
                return
        self.memory.append({"workload": workload, "peer": peer, **peaks})

    def note_spent(self, workload: str, measure: str, peer: str, seconds: float) -> None:
        """The queries of TPC-H count as one."""
        name = "queries" if measure.startswith("query ") else measure
        of = self.spent.setdefault(f"{workload}, {name}", {})
        of[peer] = round(of.get(peer, 0.0) + seconds, 1)

    def to_json(self) -> dict[str, Any]:
        content = asdict(self)
        for series in content["series"]:
            series["samples"] = [float(f"{sample:.4g}") for sample in series["samples"]]
            series["error"] = series["error"] and without_paths(series["error"])
        content["problems"] = [without_paths(problem) for problem in self.problems]
        if "skipped" in self.about:
            reasons = self.about["skipped"].items()
            content["about"]["skipped"] = {peer: without_paths(why) for peer, why in reasons}
        return content

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Results:
        return cls(
            dict(content["about"]),
            [Series(**each) for each in content["series"]],
            list(content["memory"]),
            list(content["problems"]),
            dict(content.get("spent", {})),
        )


def without_paths(text: str) -> str:
    """Messages of errors name files of the machine that they come from, which tell nobody much."""
    return _PATH.sub("(a path)", text)


def ratio(results: Results, ours: Series, peer: str) -> float | None:
    """How much longer Lakebed takes than the peer: below 1 it is faster."""
    theirs = results.find(ours.workload, ours.measure, peer, ours.x)
    if theirs is None or not ours.samples or not theirs.median:
        return None
    return ours.median / theirs.median


def exponent(points: Iterable[tuple[float, float]]) -> float | None:
    """The slope of time against size, both as logarithms: 0 is constant, 1 is linear."""
    logs = [(math.log(x), math.log(y)) for x, y in points if x > 0 and y > 0]
    if len({x for x, _ in logs}) < 2:
        return None
    mean_x, mean_y = (statistics.fmean(values) for values in zip(*logs, strict=True))
    above = sum((x - mean_x) * (y - mean_y) for x, y in logs)
    return above / sum((x - mean_x) ** 2 for x, _ in logs)


def growth(series: Sequence[Series]) -> float | None:
    """The exponent over the sizes of one measure of one peer."""
    return exponent((each.x, each.median) for each in series if each.samples and each.x)


def total(results: Results, workload: str, parts: Sequence[str], name: str) -> None:
    """Adds a measure that sums others, round by round, for each peer and size that has them all."""
    found: dict[tuple[str, float | None], list[Series]] = {}
    for series in results.series:
        if series.workload == workload and series.measure in parts:
            found.setdefault((series.peer, series.x), []).append(series)
    for (peer, x), each in found.items():
        made = results.of(workload, name, peer, axis=each[0].axis, x=x)
        missing = [series for series in each if not series.samples]
        if missing or len(each) < len(parts):
            why = missing[0].error if missing else "not all were run"
            made.error = f"{len(parts) - len(each) + len(missing)} of {len(parts)} lack: {why}"
            continue
        rounds = min(len(series.samples) for series in each)
        made.samples = [sum(series.samples[r] for series in each) for r in range(rounds)]
