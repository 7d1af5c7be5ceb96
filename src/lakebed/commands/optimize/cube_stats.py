"""What an OPTIMIZE along a curve found and wrote, as delta-spark's result counts it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lakebed.commands.optimize.file_selection import cube_of
from lakebed.spec.actions import Add


@dataclass(frozen=True)
class Files:
    num: int = 0
    size: int = 0

    @classmethod
    def of(cls, adds: Sequence[Add]) -> Files:
        return cls(len(adds), sum(add.size for add in adds))


@dataclass(frozen=True)
class CubeStats:
    """`inside` are the files that an earlier run along the same curve wrote, `others` the rest of
    those that were looked at; `merged` are those that were rewritten.
    """

    inside: Files = Files()
    others: Files = Files()
    num_cubes: int = 0
    merged: Files = Files()
    num_written: int = 0

    @classmethod
    def looked_at(cls, adds: Sequence[Add], columns: Sequence[str]) -> CubeStats:
        cubes = [cube_of(add, columns) for add in adds]
        pairs = list(zip(adds, cubes, strict=True))
        return cls(
            Files.of([add for add, cube in pairs if cube is not None]),
            Files.of([add for add, cube in pairs if cube is None]),
            len({cube for cube in cubes if cube is not None}),
        )

    def done(self, removed: Sequence[Add], num_bins: int) -> CubeStats:
        return replace(self, merged=Files.of(removed), num_written=num_bins)
