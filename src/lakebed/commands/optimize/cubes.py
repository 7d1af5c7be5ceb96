"""What is clustered already, and what OPTIMIZE has to cluster (PROTOCOL: Clustered Table).

Files that were clustered together are a cube and carry its id in a tag, as delta-spark has it. New
files are in none. Each run makes one cube of what is in none, so it rewrites what was added,
whatever the size of the table.

A query looks into every cube, so small ones must not pile up. Cubes whose sizes are within a factor
of four are a tier; if there are four of a tier, they are taken along and become one of the next:
each byte is rewritten once for each tier that it climbs. What a run takes along is never more than
what was added or a few files, whichever is more; larger cubes stay as they are until a full run.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import log

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


def to_cluster(
    adds: Iterable[Add], columns: Sequence[str], max_file: int, *, full: bool = False
) -> list[Add]:
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
    if not loose:
        return []
    most = max(sum(add.size for add in loose), _FEW_FILES * max_file)
    return [*loose, *_taken_along(cubes.values(), most)]


def _taken_along(cubes: Iterable[Cube], most: int) -> list[Add]:
    """Cubes of full tiers, from the smallest on, up to so many bytes."""
    tiers: dict[int, list[Cube]] = {}
    for cube in cubes:
        tiers.setdefault(int(log(max(1, cube.size), _TIER)), []).append(cube)
    found: list[Add] = []
    for _, tier in sorted(tiers.items()):
        size = sum(cube.size for cube in tier)
        if len(tier) >= _TIER and size <= most:
            found += [add for cube in tier for add in cube.adds]
            most -= size
    return found


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


_TIER = 4
_FEW_FILES = 4
