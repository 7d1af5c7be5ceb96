"""What is clustered already, and what OPTIMIZE has to cluster (PROTOCOL: Clustered Table).

Files that were clustered together are a cube and carry its id in a tag, as delta-spark has it. New
files are in none. Each run makes one cube of what is in none; cubes that are no larger than that
are taken along, as long as they are together no larger either. So a run rewrites at most twice what
was added, whatever the size of the table, and the number of cubes grows with the logarithm of it:
a cube is rewritten only into one of twice its size.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import orjson

from lakebed.spec.actions import Add

PROVIDER = "liquid"
CUBE_ID, CUBE_COLUMNS, CUBE_CURVE = "ZCUBE_ID", "ZCUBE_ZORDER_BY", "ZCUBE_ZORDER_CURVE"


@dataclass(frozen=True)
class Cube:
    """Files that were clustered together by the columns that count now."""

    id: str
    adds: list[Add] = field(default_factory=list)

    @property
    def size(self) -> int:
        return sum(add.size for add in self.adds)


def to_cluster(adds: Iterable[Add], columns: Sequence[str], *, full: bool = False) -> list[Add]:
    """The files to make one cube of. `full` takes also those of other columns or providers."""
    loose: list[Add] = []
    cubes: dict[str, Cube] = {}
    for add in adds:
        known = cube_of(add, columns)
        if known is not None:
            cubes.setdefault(known, Cube(known)).adds.append(add)
        elif full or not _is_foreign(add):
            loose.append(add)
    if full:
        every = [add for cube in cubes.values() for add in cube.adds]
        return [*loose, *every] if loose or len(cubes) > 1 else []
    size = sum(add.size for add in loose)
    taken = 0
    for cube in sorted(cubes.values(), key=lambda each: each.size):
        if taken + cube.size > size:
            break
        taken += cube.size
        loose += cube.adds
    return loose


def cube_of(add: Add, columns: Sequence[str]) -> str | None:
    """The cube of a file, if it is clustered by these columns."""
    tags = add.tags or {}
    if add.clustering_provider != PROVIDER or tags.get(CUBE_COLUMNS) != _columns(columns):
        return None
    return tags.get(CUBE_ID)


def _is_foreign(add: Add) -> bool:
    """Clustered, but by other columns or by somebody else: left alone unless asked for."""
    return add.clustering_provider is not None


def in_cube(adds: Iterable[Add], columns: Sequence[str]) -> list[Add]:
    """New files with the tags of a new cube."""
    tags = {CUBE_ID: str(uuid.uuid4()), CUBE_COLUMNS: _columns(columns), CUBE_CURVE: "hilbert"}
    return [
        replace(add, clustering_provider=PROVIDER, tags={**(add.tags or {}), **tags})
        for add in adds
    ]


def _columns(columns: Sequence[str]) -> str:
    return orjson.dumps(list(columns)).decode()
