"""Runs cases in rounds: peers take turns, rounds stop when the time for them is used up."""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from suite.measures import LAKEBED, Results
from suite.peer_process import PeerProcess
from suite.sizes import Sizes

_GRACE = 45
"""Seconds that a job may take when the time of the run is over."""

Setup = Callable[[PeerProcess], contextlib.AbstractContextManager[dict[str, Any]]]
Check = Callable[[PeerProcess, dict[str, Any]], list[Any]]


@dataclass(frozen=True)
class Case:
    """One measure at one size."""

    measure: str
    jobs: Mapping[str, str]
    """What each peer is asked for; peers that are not here cannot do it."""
    setup: Setup
    """Gives the arguments; what it does first and last is not measured."""
    axis: str | None = None
    x: float | None = None
    per: int = 1
    """How many things the job does: times are those of one."""
    check: Check | None = None
    """Facts about what the job left behind, which must be the same for all peers."""
    once: Collection[str] = ()
    """Peers that do it in the first round alone, without a warm-up: more would take too long."""
    settled: bool = True
    """Whether peers tidy up their memory before; it takes a part of a second."""


@dataclass
class Context:
    sizes: Sizes
    peers: dict[str, PeerProcess]
    results: Results
    folder: Path
    deadline: float
    """When the whole run must end, on the clock of `time.monotonic`."""
    budget: float = 60
    """Seconds for the workload that runs now; see `begin`."""
    limit: float = math.inf
    """When it must end, so that something is left for those that follow."""
    facts: dict[tuple[str, str, float | None], dict[str, list[Any]]] = field(default_factory=dict)

    def left(self) -> float:
        return self.deadline - time.monotonic()

    def begin(self, part: float) -> None:
        """A workload begins, which may take this part of the time that is left."""
        self.budget = part * max(self.left(), 0)
        self.limit = time.monotonic() + 1.3 * self.budget

    def share(self, part: float) -> float:
        """Seconds: a part of the time of the workload."""
        return part * self.budget

    def is_over(self) -> bool:
        return time.monotonic() > min(self.deadline, self.limit)


def run_cases(
    context: Context,
    workload: str,
    cases: Sequence[Case],
    *,
    rounds: int,
    warm_up: int = 1,
    seconds: float,
) -> None:
    """Each case by each peer in each round, within about so many seconds.

    Warm-up gets a third of them at most, and all peers warm up at once, since nothing is measured.
    When the seconds are used up no further round begins; the first one goes on for half as long
    again, and what has not come by then is told as such.
    """
    start = time.monotonic()
    for _ in range(warm_up):
        used = time.monotonic() - start
        _say(f"{workload}: warm-up, {used:.0f} s")
        for case in cases:
            if time.monotonic() - start <= seconds / 3:
                _warm_up(context, workload, case)
    for round_ in range(rounds):
        limit = seconds * (1.5 if round_ == 0 else 1)
        used = time.monotonic() - start
        if round_ > 0 and used > limit:
            _say(f"{workload}: {round_} of {rounds} rounds in {used:.0f} s")
            return
        _say(f"{workload}: round {round_ + 1}, {used:.0f} s")
        for case in cases:
            for name in _order(list(case.jobs), round_):
                is_late = time.monotonic() - start > limit and round_ == 0
                if name in context.peers and not (round_ and name in case.once):
                    _run_once(context, workload, case, name, round_, is_late=is_late)


def _warm_up(context: Context, workload: str, case: Case) -> None:
    names = [name for name in case.jobs if name in context.peers and name not in case.once]
    if not names:
        return
    for name in names:
        # One after the other: series are made when they are first asked for.
        context.results.of(workload, case.measure, name, axis=case.axis, x=case.x)
    with ThreadPoolExecutor(len(names)) as pool:
        run = functools.partial(_run_once, context, workload, case, round_=-1, is_late=False)
        list(pool.map(run, names))


def _order(names: list[str], round_: int) -> list[str]:
    """Another one begins each round."""
    first = round_ % len(names)
    return [*names[first:], *names[:first]]


def _run_once(
    context: Context, workload: str, case: Case, name: str, round_: int, *, is_late: bool
) -> None:
    series = context.results.of(workload, case.measure, name, axis=case.axis, x=case.x)
    if series.error is not None:
        return
    if series.samples and series.samples[-1] * case.per > context.left():
        return  # it has figures, and no time for another one
    if is_late or context.is_over():
        if round_ >= 0 and not series.samples:
            series.error = "the time for it was over"
        return
    peer = context.peers[name]
    began = time.monotonic()
    try:
        with case.setup(peer) as arguments:
            # A peer that is ended loses all that it has warmed up, so the last jobs may overrun.
            timeout = min(context.sizes.job_seconds, max(context.left(), _GRACE))
            answer = peer.ask(case.jobs[name], timeout, settle=case.settled, **arguments)
            if "error" not in answer and round_ == 0:
                facts = case.check(peer, arguments) if case.check else answer["facts"]
                note_facts(context, series.key, name, facts)
    except Exception as error:  # noqa: BLE001  a setup that fails is told, and the run goes on
        answer = {"error": f"setup: {type(error).__name__}: {error}"[:300]}
    context.results.note_spent(workload, case.measure, name, time.monotonic() - began)
    if "error" in answer:
        # What was measured before still counts.
        series.error = answer["error"]
        _say(f"{workload}, {case.measure}, {name}: FAILED: {series.error}")
    elif round_ >= 0:
        series.samples.append(answer["seconds"] / case.per)


def note_facts(
    context: Context, key: tuple[str, str, float | None], name: str, facts: list[Any] | None
) -> None:
    """All peers must find the same; the first one that told is what others are compared with."""
    if facts is None:
        return
    told = context.facts.setdefault(key, {})
    told[name] = facts
    other = LAKEBED if LAKEBED in told else next(iter(told))
    for peer, found in told.items():
        if peer in (name, other) and not _same(found, told[other]):
            context.results.problems.append(
                f"{key[0]}, {key[1]}: {peer} found {found}, {other} {told[other]}"
            )


def _same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    if len(one) != len(other):
        return False
    return all(
        abs(a - b) <= 1e-5 * max(abs(a), abs(b))
        if isinstance(a, float) and isinstance(b, float)
        else a == b
        for a, b in zip(one, other, strict=True)
    )


def _say(text: str) -> None:
    print(text, flush=True)
