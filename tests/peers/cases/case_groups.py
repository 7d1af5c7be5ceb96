"""How cases are written: a subject, what comes before, and one statement or call per case.

In texts `{t}` is the name of the case's table and `{path}` its folder, `{s}` and `{u}` are names of
further tables, and `{dir}` is a folder of the case. Each engine has its own of all of these.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engines import Step, program, sql

Work = str | Step
"""A statement or a call of a program."""


@dataclass(frozen=True)
class Case:
    """`setup` has to succeed in both engines; `statement` is what is compared, then the rows and
    the log of the table."""

    name: str
    setup: tuple[Work, ...]
    statement: Work
    columns: tuple[str, ...] | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    ordered: bool = False

    @property
    def table(self) -> str:
        return re.sub("[^a-z0-9]+", "_", self.name.lower()).strip("_")


def group(
    subject: str,
    setup: Sequence[Work],
    statements: Mapping[str, Work | Sequence[Work]],
    **more: Any,
) -> list[Case]:
    """Cases with the same start. Of several works in one case the last is the one compared."""
    cases = []
    for name, works in statements.items():
        listed = [works] if isinstance(works, (str, dict)) else list(works)
        before = (*setup, *listed[:-1])
        cases.append(Case(f"{subject}: {name}", before, listed[-1], **more))
    return cases


def call(name: str, **given: Any) -> Step:
    """A program of `programs.py`; texts in what is given may have the same placeholders."""
    return program(name, **given)


def as_step(work: Work, case: Case, warehouse: Path, folder: Path) -> Step:
    """With the names and folders of one engine in place of the placeholders."""
    places = {
        "{t}": case.table,
        "{s}": f"{case.table}_s",
        "{u}": f"{case.table}_u",
        "{path}": str(warehouse / case.table),
        "{dir}": str(folder / "cases" / case.table),
    }
    step = sql(work) if isinstance(work, str) else work
    filled: Step = _filled(step, places)
    return filled


def _filled(value: Any, places: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for place, text in places.items():
            value = value.replace(place, text)
        return value
    if isinstance(value, dict):
        return {name: _filled(inner, places) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_filled(inner, places) for inner in value]
    return value
