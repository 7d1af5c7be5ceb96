"""Which files are rewritten together. Only sizes and the log matter here: nothing is read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from lakebed.spec.actions import Add
from lakebed.transaction.row_tracking import physical_records

GIGABYTE = 1 << 30


@dataclass(frozen=True)
class Sizes:
    """Files below `min_file` bytes are put together up to `max_file` bytes, as are those with a
    greater share of deleted rows than `max_deleted`."""

    min_file: int = GIGABYTE
    max_file: int = GIGABYTE
    max_deleted: float = 0.05


@dataclass(frozen=True)
class Bin:
    """Files of one partition whose rows go into new files."""

    adds: tuple[Add, ...]

    @cached_property
    def size(self) -> int:
        return sum(live_bytes(add) for add in self.adds)

    @property
    def partition(self) -> tuple[tuple[str, str | None], ...]:
        return partition_of(self.adds[0])


def partition_of(add: Add) -> tuple[tuple[str, str | None], ...]:
    return tuple(sorted(add.partition_values.items()))


def deleted_share(add: Add) -> float:
    """Of the rows of a file; 1 if there are deleted ones and nobody knows of how many."""
    if add.deletion_vector is None:
        return 0.0
    total = physical_records(add)
    return add.deletion_vector.cardinality / total if total else 1.0


def live_bytes(add: Add) -> int:
    """About what is left of a file without its deleted rows."""
    if add.deletion_vector is None:
        return add.size
    known = physical_records(add)
    return add.size if not known else max(1, int(add.size * (1 - deleted_share(add))))


def worth_compacting(adds: Iterable[Add], sizes: Sizes) -> list[Add]:
    return [
        add for add in adds if add.size < sizes.min_file or deleted_share(add) > sizes.max_deleted
    ]


def with_deleted_rows(adds: Iterable[Add]) -> list[Add]:
    return [add for add in adds if deleted_share(add) > 0]


def crowded(adds: Iterable[Add], least: int) -> list[Add]:
    """Those of partitions that have so many."""
    return [add for one in by_partition(adds) if len(one.adds) >= least for add in one.adds]


def packed(adds: Iterable[Add], max_bytes: int) -> list[Bin]:
    """Files by partition, smallest first, in bins of up to so many bytes."""
    partitions: dict[tuple[tuple[str, str | None], ...], list[Add]] = {}
    for add in adds:
        partitions.setdefault(partition_of(add), []).append(add)
    return [one for group in partitions.values() for one in _packed(group, max_bytes)]


def _packed(adds: Sequence[Add], max_bytes: int) -> list[Bin]:
    bins: list[list[Add]] = [[]]
    filled = 0
    for add in sorted(adds, key=live_bytes):
        size = live_bytes(add)
        if bins[-1] and filled + size > max_bytes:
            bins.append([])
            filled = 0
        bins[-1].append(add)
        filled += size
    return [Bin(tuple(each)) for each in bins if each]


def changes_something(one: Bin, sizes: Sizes) -> bool:
    """One file alone is rewritten only to get rid of its deleted rows."""
    return len(one.adds) > 1 or deleted_share(one.adds[0]) > sizes.max_deleted


def by_partition(adds: Iterable[Add]) -> list[Bin]:
    return packed(adds, max_bytes=1 << 62)


def batches(bins: Sequence[Bin], max_bytes: int) -> list[list[Bin]]:
    """Bins that are committed together, in their order."""
    found: list[list[Bin]] = []
    filled = 0
    for one in bins:
        if not found or filled + one.size > max_bytes:
            found.append([])
            filled = 0
        found[-1].append(one)
        filled += one.size
    return found
