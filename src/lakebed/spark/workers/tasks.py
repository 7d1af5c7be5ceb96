"""Dealing the files of a scan to tasks of about the same size."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heapreplace

DEFAULT_PARALLELISM = 8
"""Where nobody can say how many cores there are."""
TASK_BYTES = 128 * 1024 * 1024
OPEN_BYTES = 4 * 1024 * 1024
"""What opening a file costs, in bytes that could be read meanwhile; as Spark reckons."""


def balanced(sizes: Sequence[int], parallelism: int) -> list[list[int]]:
    """The places of the files of each task: enough tasks for all cores, none much too large."""
    costs = [size + OPEN_BYTES for size in sizes]
    wanted = max(-(-sum(costs) // TASK_BYTES), parallelism)
    tasks: list[list[int]] = [[] for _ in range(min(wanted, len(costs)))]
    loads = [(0, number) for number in range(len(tasks))]
    heapify(loads)
    for place in sorted(range(len(costs)), key=lambda place: -costs[place]):
        load, number = loads[0]
        tasks[number].append(place)
        heapreplace(loads, (load + costs[place], number))
    return tasks
