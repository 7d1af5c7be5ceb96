"""The comparison itself: that it sees differences, and that both engines are who they claim."""

from __future__ import annotations

from pathlib import Path

import pytest
from cases.differences import DIFFERENCES
from comparing import Tally, differing_answers, differing_logs, gap, on_purpose
from engines import ROOT, Answer, Engine, Peers, program, sql
from log_state import log_state

pytestmark = pytest.mark.short


def test_both_engines_read_and_change_what_the_other_wrote(
    lakebed_engine: Engine, delta_engine: Engine, tmp_path: Path
) -> None:
    table = f"delta.`{tmp_path}/t`"
    lakebed_engine.must(f"CREATE TABLE {table} (id INT) USING delta")
    delta_engine.must(f"INSERT INTO {table} VALUES (1), (2)")
    lakebed_engine.must(f"DELETE FROM {table} WHERE id = 1")
    assert lakebed_engine.rows(tmp_path / "t") == delta_engine.rows(tmp_path / "t") == [[2]]
    state = log_state(tmp_path / "t")
    assert (state.version, state.operation) == (2, "DELETE")
    engines = [commit["engineInfo"] for commit in _commits(tmp_path / "t")]
    assert ["Delta-Lake" in engine for engine in engines] == [False, True, False]


def test_unequal_answers_are_seen(peers: Peers) -> None:
    ours, theirs = peers.both(
        [sql("SELECT 1 AS a"), sql("SELECT 1 AS a"), sql("SELECT no_such")],
        [sql("SELECT 2 AS a"), sql("SELECT 1L AS a"), sql("SELECT 1")],
    )
    pairs = [differing_answers(*pair) for pair in zip(ours, theirs, strict=True)]
    assert [set(pair) for pair in pairs] == [{"result"}, {"columns"}, {"error"}]


def test_unequal_logs_are_seen(peers: Peers, tmp_path: Path) -> None:
    paths = [tmp_path / engine.name for engine in peers.engines]
    steps = [
        [program("append", path=str(path), query=f"SELECT id FROM range({count})")]
        for path, count in zip(paths, (3, 4), strict=True)
    ]
    answers = peers.both(*steps)
    assert [answer[0].error for answer in answers] == [None, None]
    assert "metrics" in differing_logs(*map(log_state, paths))


@pytest.mark.parametrize("known", [None, on_purpose("rows", "x"), gap("rows", "x")], ids=str)
def test_an_unlisted_difference_and_a_listed_one_that_is_gone_fail(known: object) -> None:
    differing = {"rows": (1, 2)} if known is None else {}
    with pytest.raises(AssertionError):
        Tally().settle("name", differing, known)  # type: ignore[arg-type]


def test_the_documentation_lists_every_reason_for_a_difference() -> None:
    page = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
    listed = " ".join(page.split())
    reasons = {difference.reason for difference in DIFFERENCES.values()}
    assert [reason for reason in sorted(reasons) if reason not in listed] == []


def test_an_error_says_its_class_and_condition() -> None:
    error = {"class": "AnalysisException", "condition": "X", "message": "first\nsecond"}
    assert Answer({"error": error}).error == "AnalysisException (X): first"


def _commits(table: Path) -> list[dict[str, str]]:
    import json

    commits = []
    for file in sorted((table / "_delta_log").glob("*.json")):
        actions = map(json.loads, file.read_text().splitlines())
        commits += [action["commitInfo"] for action in actions if "commitInfo" in action]
    return commits
