"""Each statement and DataFrame call once in Lakebed and once in delta-spark, on tables alike.

Compared are error or no error, the result, the rows afterwards, and what the log says: schema,
partitioning, protocol, properties, operation, metrics, and how many versions there are. A statement
that fails in both may change nothing in either. Which error it is, is not compared.

The rows afterwards are what Lakebed reads of both tables: delta-spark takes longer for that than
for most statements. That both engines read the same of a table is for the other suites here.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from cases import (
    cases_calls,
    cases_definitions,
    cases_files,
    cases_frames,
    cases_layouts,
    cases_rows,
    cases_tables,
    cases_types,
    cases_versions,
    cases_views,
)
from cases.case_groups import Case, Work, as_step
from cases.differences import DIFFERENCES
from comparing import Differing, Tally, differing_answers, differing_logs
from engines import Answer, Engine, Peers, Step, conf, sql
from log_state import LogState, log_state
from short_form import in_short

CASES: list[Case] = [
    *cases_rows.CASES,
    *cases_types.CASES,
    *cases_tables.CASES,
    *cases_versions.CASES,
    *cases_files.CASES,
    *cases_frames.CASES,
    *cases_layouts.CASES,
    *cases_views.CASES,
    *cases_definitions.CASES,
    *cases_calls.CASES,
]
COMPARED = 600
"""How many statements and calls there are at least."""
EVERY = 6
"""Of the cases every so manieth is in the short form."""


@pytest.mark.parametrize("case", in_short(CASES, EVERY), ids=lambda case: case.name)
def test_statement(case: Case, peers: Peers, tally: Tally) -> None:
    ours, theirs = outcomes(peers, case)
    differing = _differing(case, ours, theirs)
    tally.note_errors(case.name, ours[0], theirs[0])
    about = "\n".join(str(work) for work in (*case.setup, case.statement))
    tally.settle(case.name, differing, DIFFERENCES.get(case.name), about)


def test_there_are_enough_cases_and_each_has_a_name_of_its_own() -> None:
    tables = Counter(case.table for case in CASES)
    assert [table for table, count in tables.items() if count > 1] == []
    assert len(CASES) >= COMPARED


def test_every_listed_difference_is_one_of_a_case() -> None:
    assert set(DIFFERENCES) - {case.name for case in CASES} == set()


Outcome = tuple[Answer, Answer, LogState]
"""The answer to the statement, the rows afterwards, and the log."""


def outcomes(peers: Peers, case: Case) -> list[Outcome]:
    """Of Lakebed and of delta-spark."""
    answers = _run(peers, case)
    tables = [engine.warehouse / case.table for engine in peers.engines]
    rows = peers.lakebed.run([sql(f"SELECT * FROM delta.`{table}`") for table in tables])
    statements = map(_statement, peers.engines, [case] * 2, answers)
    folders = [engine.folder for engine in peers.engines]
    return list(zip(statements, rows, map(log_state, tables, folders), strict=True))


def _run(peers: Peers, case: Case) -> tuple[list[Answer], ...]:
    if case.conf:
        _set(peers, dict(case.conf))
    try:
        return peers.both(*(_steps(engine, case) for engine in peers.engines))
    finally:
        if case.conf:
            _set(peers, dict.fromkeys(case.conf))


def _set(peers: Peers, settings: dict[str, Any]) -> None:
    peers.both(*[[conf(settings)]] * 2)


def _steps(engine: Engine, case: Case) -> list[Step]:
    def step(work: Work, **more: Any) -> Step:
        return {**as_step(work, case, engine.warehouse, engine.folder), **more}

    before = [step(work, must=True) for work in case.setup]
    return [*before, step(case.statement, columns=case.columns)]


def _statement(engine: Engine, case: Case, answers: list[Answer]) -> Answer:
    """The last answer; all before it must be without an error."""
    failed = next((answer for answer in answers[: len(case.setup)] if answer.error), None)
    assert failed is None, f"{engine.name}: the setup of {case.name!r} failed: {failed}"
    return Answer(_replaced(answers[-1].content, str(engine.folder)))


def _replaced(value: Any, folder: str) -> Any:
    """Results may have paths, which are each engine's own."""
    if isinstance(value, str):
        return value.replace(folder, "(folder)")
    if isinstance(value, dict):
        return {name: _replaced(inner, folder) for name, inner in value.items()}
    if isinstance(value, list):
        return [_replaced(inner, folder) for inner in value]
    return value


def _differing(case: Case, ours: Outcome, theirs: Outcome) -> Differing:
    found = differing_answers(ours[0], theirs[0], ordered=case.ordered)
    rows = differing_answers(ours[1], theirs[1])
    if rows:
        found["rows"] = (str(ours[1]), str(theirs[1]))
    if "error" in found:
        # One has changed the table and the other has not: that their logs differ says no more.
        return found
    return {**found, **differing_logs(ours[2], theirs[2])}
