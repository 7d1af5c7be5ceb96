"""Whether files that a commit is about to name are there."""

from __future__ import annotations

from collections.abc import Sequence

from lakebed.log.listing.file_locations import FileLocations, is_outside
from lakebed.log.versions.readable import existing, list_paths
from lakebed.spec.actions import Add
from lakebed.storage.store import Store

# To ask for so many objects one by one takes longer than to list the table.
_MANY = 1_000


def missing(store: Store, adds: Sequence[Add]) -> list[str]:
    """The data files and the files of their vectors that are gone. `store` is that of the table."""
    places = FileLocations(store)
    wanted = [place for add in adds for place in places.of(add.path, _vector(add))]
    if len(wanted) > _MANY and not store.cheap_probes:
        outside = [place for place in wanted if is_outside(place)]
        there = list_paths(store) | existing(store, outside)
    else:
        there = existing(store, wanted)
    return [place for place in dict.fromkeys(wanted) if place not in there]


def _vector(add: Add) -> dict[str, object] | None:
    return None if add.deletion_vector is None else add.deletion_vector.to_json()
