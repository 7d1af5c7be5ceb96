"""Rounds of the benchmark suite: turns, failures, time; with peers that are made up."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from suite.measures import Results
from suite.peer_process import PeerProcess
from suite.rounds import Case, Context, run_cases
from suite.sizes import TINY


class MadeUp:
    """Answers at once, and says so to a list that all share."""

    def __init__(self, name: str, asked: list[str], answer: dict[str, Any]) -> None:
        self.name = name
        self._asked = asked
        self._answer = answer

    def ask(self, job: str, timeout: float = 0, **_: Any) -> dict[str, Any]:  # noqa: ARG002
        self._asked.append(self.name)
        return dict(self._answer)


@contextlib.contextmanager
def nothing(_: Any) -> Iterator[dict[str, Any]]:
    yield {}


def context_of(tmp_path: Path, asked: list[str], **answers: dict[str, Any]) -> Context:
    peers: dict[str, Any] = {n: MadeUp(n, asked, answer) for n, answer in answers.items()}
    return Context(TINY, peers, Results(), tmp_path, time.monotonic() + 60)


def fine(seconds: float = 1.0, facts: list[Any] | None = None) -> dict[str, Any]:
    return {"seconds": seconds, "facts": facts}


CASE = Case("m", {"lakebed": "j", "duckdb": "j", "polars": "j"}, nothing, per=2)


def test_peers_take_turns_and_the_warm_up_does_not_count(tmp_path: Path) -> None:
    asked: list[str] = []
    context = context_of(tmp_path, asked, lakebed=fine(), duckdb=fine(), polars=fine())
    run_cases(context, "w", [CASE], rounds=2, warm_up=1, seconds=60)
    rounds = [asked[start : start + 3] for start in (0, 3, 6)]
    assert all(sorted(each) == ["duckdb", "lakebed", "polars"] for each in rounds)
    assert rounds[1][0] != rounds[2][0]
    assert context.results.of("w", "m", "lakebed").samples == [0.5, 0.5]


def test_peers_warm_up_at_once_and_in_their_threads_nothing_is_lost(tmp_path: Path) -> None:
    together = threading.Barrier(2, timeout=10)

    @contextlib.contextmanager
    def meeting(_: Any) -> Iterator[dict[str, Any]]:
        together.wait()
        yield {}

    case = Case("m", {"lakebed": "j", "duckdb": "j"}, meeting)
    context = context_of(tmp_path, [], lakebed=fine(), duckdb={"error": "no such table"})
    run_cases(context, "w", [case], rounds=0, warm_up=1, seconds=60)
    assert context.results.of("w", "m", "lakebed").error is None
    assert context.results.of("w", "m", "duckdb").error == "no such table"


def test_a_peer_that_takes_long_does_a_case_once(tmp_path: Path) -> None:
    asked: list[str] = []
    context = context_of(tmp_path, asked, lakebed=fine(), duckdb=fine())
    case = Case("m", {"lakebed": "j", "duckdb": "j"}, nothing, once={"duckdb"})
    run_cases(context, "w", [case], rounds=2, warm_up=1, seconds=60)
    assert (asked.count("lakebed"), asked.count("duckdb")) == (3, 1)


def test_a_job_that_has_figures_is_not_begun_when_it_would_not_end_in_time(tmp_path: Path) -> None:
    asked: list[str] = []
    context = context_of(tmp_path, asked, lakebed=fine(seconds=1_000))
    run_cases(context, "w", [CASE], rounds=3, warm_up=0, seconds=60)
    series = context.results.of("w", "m", "lakebed")
    assert (asked, series.error) == (["lakebed"], None)


def test_a_workload_ends_so_that_those_after_it_get_their_part(tmp_path: Path) -> None:
    context = context_of(tmp_path, [], lakebed=fine())
    context.begin(0.25)
    assert context.share(1) == pytest.approx(15, abs=1)
    assert not context.is_over()
    context.limit = time.monotonic() - 1
    run_cases(context, "w", [CASE], rounds=1, warm_up=0, seconds=60)
    assert context.results.of("w", "m", "lakebed").error == "the time for it was over"
    context.begin(1)
    assert context.share(1) == pytest.approx(60, abs=1)
    assert not context.is_over()


def test_a_peer_that_is_not_there_is_left_out(tmp_path: Path) -> None:
    context = context_of(tmp_path, [], lakebed=fine())
    run_cases(context, "w", [CASE], rounds=1, seconds=60)
    assert [series.peer for series in context.results.series] == ["lakebed"]


def test_a_job_that_fails_is_told_once_and_the_others_go_on(tmp_path: Path) -> None:
    asked: list[str] = []
    context = context_of(tmp_path, asked, lakebed=fine(), duckdb={"error": "no such table"})
    run_cases(context, "w", [CASE], rounds=3, warm_up=0, seconds=60)
    failed = context.results.of("w", "m", "duckdb")
    assert (failed.samples, failed.error) == ([], "no such table")
    assert asked.count("duckdb") == 1
    assert len(context.results.of("w", "m", "lakebed").samples) == 3


def test_a_setup_that_fails_is_told(tmp_path: Path) -> None:
    @contextlib.contextmanager
    def broken(_: Any) -> Iterator[dict[str, Any]]:
        raise OSError("disk full")
        yield {}

    context = context_of(tmp_path, [], lakebed=fine())
    run_cases(context, "w", [Case("m", {"lakebed": "j"}, broken)], rounds=1, seconds=60)
    assert "disk full" in str(context.results.of("w", "m", "lakebed").error)


@pytest.mark.parametrize("other", [[4, 2.0], [3]])
def test_answers_that_differ_are_a_problem(tmp_path: Path, other: list[Any]) -> None:
    context = context_of(tmp_path, [], lakebed=fine(facts=[3, 2.0]), duckdb=fine(facts=other))
    run_cases(context, "w", [CASE], rounds=2, warm_up=0, seconds=60)
    (problem,) = context.results.problems
    assert "duckdb" in problem


def test_answers_that_differ_by_rounding_are_none(tmp_path: Path) -> None:
    context = context_of(
        tmp_path, [], lakebed=fine(facts=[3, 2.0]), duckdb=fine(facts=[3, 2.000001])
    )
    run_cases(context, "w", [CASE], rounds=1, warm_up=0, seconds=60)
    assert context.results.problems == []


def test_no_round_begins_when_the_time_for_it_is_over(tmp_path: Path) -> None:
    context = context_of(tmp_path, [], lakebed=fine())
    run_cases(context, "w", [CASE], rounds=50, warm_up=0, seconds=1e-9)
    series = context.results.of("w", "m", "lakebed")
    assert (series.samples, series.error) == ([], "the time for it was over")


def test_a_run_whose_time_is_over_asks_nobody(tmp_path: Path) -> None:
    asked: list[str] = []
    context = context_of(tmp_path, asked, lakebed=fine())
    context.deadline = time.monotonic() - 1
    run_cases(context, "w", [CASE], rounds=2, seconds=60)
    assert asked == []
    assert context.results.of("w", "m", "lakebed").error == "the time for it was over"


# --- a process -----------------------------------------------------------------------------------


@pytest.fixture
def peer(tmp_path: Path) -> Iterator[PeerProcess]:
    peer = PeerProcess("polars", Path(sys.executable), {"cores": "1"}, tmp_path)
    assert peer.start() is None
    yield peer
    peer.close()


def test_a_peer_survives_a_job_that_fails_and_is_started_again_when_it_died(
    peer: PeerProcess, tmp_path: Path
) -> None:
    first = peer.about["pids"]["python"]
    assert "error" in peer.ask("scan", path=str(tmp_path / "nowhere"))
    assert peer.about["pids"]["python"] == first
    assert "the process ended" in peer.ask("no_such_job")["error"]
    assert "error" in peer.ask("scan", path=str(tmp_path / "nowhere"))
    assert peer.about["pids"]["python"] != first


def test_a_peer_that_does_not_start_says_why(tmp_path: Path) -> None:
    peer = PeerProcess("no-such-peer", Path(sys.executable), {}, tmp_path)
    assert "KeyError" in str(peer.start())
