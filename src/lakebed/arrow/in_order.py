"""Work on many files at once whose results come in order, without all of them in memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
CORES = os.cpu_count() or 2


@dataclass(frozen=True)
class Job(Generic[T]):
    """`run` gives results that take about `num_bytes` of memory together."""

    run: Callable[[], Iterable[T]]
    num_bytes: int


def in_order(jobs: Iterable[Job[T]], most_bytes: int) -> Iterator[T]:
    """All results of the first job, then those of the second, and so on.

    Jobs run ahead as long as their results take at most `most_bytes`. A job that takes more by
    itself runs alone, as fast as its results are taken.
    """
    waiting: deque[tuple[Future[list[T]], int]] = deque()
    held = 0
    with ThreadPoolExecutor(CORES, thread_name_prefix="lakebed-rows") as pool:
        for job in jobs:
            while waiting and (held + job.num_bytes > most_bytes or len(waiting) > 2 * CORES):
                future, size = waiting.popleft()
                yield from future.result()
                held -= size
            if job.num_bytes > most_bytes:
                yield from job.run()
                continue
            waiting.append((pool.submit(_listed, job), job.num_bytes))
            held += job.num_bytes
        while waiting:
            yield from waiting.popleft()[0].result()


def _listed(job: Job[T]) -> list[T]:
    return list(job.run())
