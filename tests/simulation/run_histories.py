"""Histories by hand: one seed, or as many as fit in a time. See `history.py`."""

from __future__ import annotations

import argparse
import logging
import secrets
import time
from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
from history import History, HistoryError


def main() -> int:
    parser = argparse.ArgumentParser(description="Histories from seeds.")
    parser.add_argument("seed", type=int, nargs="?")
    parser.add_argument("--from", dest="first", type=int)
    parser.add_argument("--count", type=int)
    parser.add_argument("--for", dest="seconds", type=float)
    parser.add_argument("--only", default="", help="commands, such as 'delete,update'")
    given = parser.parse_args()
    only = tuple(filter(None, given.only.split(",")))
    pa.set_cpu_count(1)  # threads only cost here: files have a row or two
    if given.seed is not None:
        print(History(given.seed, only=only).run())
        return 0
    first = secrets.randbits(32) if given.first is None else given.first
    print(f"from seed {first}")
    logging.getLogger("lakebed").setLevel(logging.CRITICAL)
    started, failed, outcomes, number = time.monotonic(), 0, Counter[str](), 0
    fates: Counter[str] = Counter()
    for number in _numbers(given.count, given.seconds):
        history = History(first + number, only=only)
        try:
            history.run()
        except HistoryError as error:
            failed += 1
            print(f"seed {first + number}: {str(error).splitlines()[0]}")
        outcomes += history.outcomes
        fates.update(history.course.fates)
    seconds, busy = time.monotonic() - started, time.process_time()
    for key, count in sorted(outcomes.items()):
        print(f"{count:8} {key}")
    print(dict(fates))
    print(f"{number + 1} histories in {seconds:.1f} s ({busy:.1f} s of one core), {failed} failed")
    return 1 if failed else 0


def _numbers(count: int | None, seconds: float | None) -> Iterator[int]:
    started, number = time.monotonic(), 0
    while (count is None or number < count) and (
        seconds is None or time.monotonic() - started < seconds
    ):
        yield number
        number += 1
