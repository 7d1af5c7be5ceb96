"""Two answers side by side: which aspects differ, and what is done about it.

Metrics are compared by value where they count rows, and by name otherwise: times differ in each
run, bytes and files with the writer of Parquet files and with how Spark cuts its tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from engines import Answer
from log_state import LogState

Kind = Literal["on purpose", "gap"]
Differing = dict[str, tuple[object, object]]
"""The aspects that differ, with Lakebed's and delta-spark's side."""

ROW_METRICS = (
    "numOutputRows",
    "numUpdatedRows",
    "numDeletedRows",
    "numSourceRows",
    "numTargetRowsInserted",
    "numTargetRowsUpdated",
    "numTargetRowsDeleted",
    "numTargetRowsMatchedUpdated",
    "numTargetRowsMatchedDeleted",
    "numTargetRowsNotMatchedBySourceUpdated",
    "numTargetRowsNotMatchedBySourceDeleted",
)
"""They count rows that the statement changed or wrote, so both engines have to agree. How many rows
were only copied depends on the files that they were in: those are taken off `numOutputRows`."""
_COPIED_METRICS = ("numCopiedRows", "numTargetRowsCopied")


@dataclass(frozen=True)
class Difference:
    """A known one, in these aspects. A gap is one that Lakebed has to close."""

    kind: Kind
    aspects: frozenset[str]
    reason: str


def on_purpose(aspects: str, reason: str) -> Difference:
    return Difference("on purpose", frozenset(aspects.split()), reason)


def gap(aspects: str, reason: str) -> Difference:
    return Difference("gap", frozenset(aspects.split()), reason)


class Tally:
    """How many comparisons agreed, differ on purpose, and are gaps."""

    def __init__(self) -> None:
        self.compared = 0
        self.agreed: list[str] = []
        self.known: dict[Kind, dict[str, Difference]] = {"on purpose": {}, "gap": {}}
        self.failed: dict[str, tuple[str, str]] = {}
        """What failed in both, with Lakebed's and delta-spark's condition."""

    def note_errors(self, name: str, ours: Answer, theirs: Answer) -> None:
        """They are shown and not compared."""
        if ours.error is not None and theirs.error is not None:
            self.failed[name] = (ours.condition, theirs.condition)

    def settle(
        self, name: str, differing: Differing, known: Difference | None, about: str = ""
    ) -> None:
        """Passes if both agree or differ on purpose as listed, and is an expected failure for a
        listed gap. All else fails, also a listed difference that is no more."""
        self.compared += 1
        aspects = frozenset(differing)
        if known is None:
            assert not differing, side_by_side(name, differing, about)
            self.agreed.append(name)
            return
        assert aspects == known.aspects, (
            f"{name} is listed as differing in {sorted(known.aspects)}, "
            f"and differs in {sorted(aspects)}\n{side_by_side(name, differing, about)}"
        )
        self.known[known.kind][name] = known
        if known.kind == "gap":
            pytest.xfail(f"{', '.join(sorted(aspects))}: {known.reason}")


def differing_answers(ours: Answer, theirs: Answer, *, ordered: bool = False) -> Differing:
    """Of one step in both engines: error or no error, columns and types, and rows."""
    if (ours.error is None) != (theirs.error is None):
        return {"error": (str(ours), str(theirs))}
    if ours.error is not None:
        return {}
    if "rows" not in ours.content or "rows" not in theirs.content:
        return _where_unequal({"result": (ours.content, theirs.content)})
    sides = [ours.content, theirs.content]
    heads = [list(zip(side["columns"], side["types"], strict=True)) for side in sides]
    found = {"columns": (heads[0], heads[1])}
    tables = [_without_files(side) for side in sides]
    rows = [table if ordered else sorted(table, key=repr) for table in tables]
    return _where_unequal({**found, "result": (rows[0], rows[1])})


def differing_logs(ours: LogState, theirs: LogState) -> Differing:
    """What both logs say at their newest version."""
    return _where_unequal(
        {
            "version": (ours.version, theirs.version),
            "schema": (ours.schema, theirs.schema),
            "partitioning": (ours.partitioning, theirs.partitioning),
            "protocol": (ours.features, theirs.features),
            "properties": (ours.properties, theirs.properties),
            "operation": (ours.operation, theirs.operation),
            "parameters": (ours.parameters, theirs.parameters),
            "blind": (ours.commit.get("isBlindAppend"), theirs.commit.get("isBlindAppend")),
            "isolation": (ours.commit.get("isolationLevel"), theirs.commit.get("isolationLevel")),
            "clustering": (ours.clustering, theirs.clustering),
            "metrics": (_metrics(ours), _metrics(theirs)),
        }
    )


def side_by_side(name: str, differing: Differing, about: str = "") -> str:
    lines = [f"Lakebed and delta-spark differ: {name}"]
    lines += [f"  {line}" for line in about.splitlines()]
    for aspect, (ours, theirs) in differing.items():
        lines += [f"{aspect}:", f"  Lakebed      {_indented(ours)}"]
        lines += [f"  delta-spark  {_indented(theirs)}"]
    return "\n".join(lines)


def _metrics(state: LogState) -> dict[str, object]:
    copied = sum(int(state.metrics.get(name, 0)) for name in _COPIED_METRICS)
    found: dict[str, object] = {}
    for name, value in state.metrics.items():
        found[name] = int(value) if name in ROW_METRICS else "(any)"
    if "numOutputRows" in found:
        found["numOutputRows"] = int(state.metrics["numOutputRows"]) - copied
    return found


def _without_files(side: Mapping[str, Any]) -> list[list[Any]]:
    """How many bytes and files there are depends on the writer, as with metrics."""
    sizes = ["_size" in name or "_files" in name for name in side["columns"]]
    return [
        ["(any)" if is_size else value for is_size, value in zip(sizes, row, strict=True)]
        for row in side["rows"]
    ]


def _where_unequal(pairs: Mapping[str, tuple[object, object]]) -> Differing:
    return {aspect: pair for aspect, pair in pairs.items() if pair[0] != pair[1]}


def _indented(value: object) -> str:
    return str(value).replace("\n", "\n" + " " * 15)
