"""What is asked of Lakebed, and what became of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from suite.measures import LAKEBED, Results, Series, ratio
from suite.workloads import many_files, micro_merge, refresh, small_commits, streaming, tpch_load

COMMITS_AND_OPENS = 1 / 5
MERGES = 1 / 1.5
AS_PARQUET = 1.05
SMALL_BATCH = 0.7
STARTS_AND_LAGS = 1 / 5
_FAST = {
    small_commits.APPEND,
    small_commits.WRITERS,
    many_files.LIST,
    many_files.PLAN,
}


@dataclass(frozen=True)
class Verdict:
    ours: Series
    peer: str
    ratio: float
    most: float
    """The ratio that is asked for."""
    overlap: bool
    """Whether some samples of the slower are below some of the faster."""

    @property
    def met(self) -> bool:
        return self.ratio <= self.most

    @property
    def word(self) -> str:
        if self.met:
            return "met"
        return f"missed by {100 * (self.ratio / self.most - 1):.0f}%" + (
            ", within the spread" if self.overlap else ""
        )


def most_allowed(series: Series) -> dict[str, float]:
    """The greatest ratio to each peer that something is asked about."""
    asked = {"delta-spark": 1.0}
    if series.measure in _FAST:
        asked["delta-spark"] = COMMITS_AND_OPENS
    if series.workload in (refresh.NAME, micro_merge.NAME):
        asked["delta-spark"] = MERGES
    if series.measure == streaming.SMALL:
        asked["delta-spark"] = SMALL_BATCH
    if series.measure in (streaming.FIRST, streaming.CATCH_UP, streaming.MAINTAINED):
        asked["delta-spark"] = STARTS_AND_LAGS
    if series.measure in (tpch_load.TOTAL, tpch_load.SCAN, streaming.LARGE):
        asked["parquet"] = AS_PARQUET
    return asked


def verdicts(results: Results) -> list[Verdict]:
    found = []
    for ours in results.series:
        if ours.peer != LAKEBED or not ours.samples:
            continue
        for peer, most in most_allowed(ours).items():
            value = ratio(results, ours, peer)
            if value is not None:
                theirs = results.find(ours.workload, ours.measure, peer, ours.x)
                assert theirs is not None
                overlap = ours.spread[0] <= theirs.spread[1] * most
                found.append(Verdict(ours, peer, value, most, overlap))
    return found


def ahead(results: Results) -> list[tuple[Series, str, float]]:
    """Where a peer is faster than Lakebed, the farthest first."""
    found = []
    for ours in results.series:
        if ours.peer != LAKEBED or not ours.samples:
            continue
        for peer in {each.peer for each in results.series} - {LAKEBED}:
            value = ratio(results, ours, peer)
            if value is not None and value > 1:
                found.append((ours, peer, value))
    return sorted(found, key=lambda each: -each[2])


def why(series: Series, peer: str, unknown: str = "not looked into yet") -> str:
    """What is known about it, from `why.json` beside this file."""
    notes = json.loads(Path(__file__).with_name("why.json").read_text(encoding="utf-8"))
    for note in notes:
        if (
            note["workload"] == series.workload
            and fnmatchcase(series.measure, note.get("measure", "*"))
            and note.get("peer", peer) == peer
        ):
            return str(note["why"])
    return unknown
