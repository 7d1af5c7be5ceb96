"""Bringing each group of rows to a task of its own, by Spark's ordinary shuffle.

`repartition(n, column)` sends a row to the task that a hash of the column names. For each task a
number with that hash is found here; rows that carry it arrive there.
"""

from __future__ import annotations

from functools import lru_cache

_MASK = 0xFFFFFFFF


@lru_cache(maxsize=16)
def addresses(num_tasks: int) -> tuple[int, ...]:
    """For each of the tasks a number that is hashed to it."""
    found: dict[int, int] = {}
    number = 0
    while len(found) < num_tasks:
        found.setdefault(_hash(number) % num_tasks, number)
        number += 1
    return tuple(found[task] for task in range(num_tasks))


def _hash(number: int) -> int:
    """Murmur3 of a 32-bit number, with Spark's seed; signed, as its remainder is taken so."""
    k = number * 0xCC9E2D51 & _MASK
    k = _rotated(k, 15) * 0x1B873593 & _MASK
    h = _rotated(42 ^ k, 13) * 5 + 0xE6546B64 & _MASK
    h ^= 4
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


def _rotated(value: int, by: int) -> int:
    return (value << by | value >> (32 - by)) & _MASK
