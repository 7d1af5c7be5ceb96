"""Which versions can still be read: the log can rebuild them, and all of their files are there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from lakebed.log.listing.file_locations import Places, exists, is_outside
from lakebed.log.listing.log_names import LOG_FOLDER
from lakebed.log.snapshot import Snapshot
from lakebed.log.versions.file_lifetimes import FileLives, read_lives
from lakebed.storage.store import Store

THREADS = 32
# So few files are asked for one by one; more of them are cheaper to list.
_FEW = 256


def unreadable_versions(history: FileLives, is_gone: Callable[[str], bool]) -> set[int]:
    """Of the versions that the log can rebuild, those that miss a file."""
    begin: Counter[int] = Counter()
    end: Counter[int] = Counter()
    for life in history.lives:
        if life.last >= life.first and any(map(is_gone, life.places)):
            begin[life.first] += 1
            end[life.last + 1] += 1
    return set(_covered(history.versions, begin, end))


def readable_versions(store: Store) -> dict[int, bool]:
    """Every version that the log can rebuild, and whether all of its files are there now."""
    places = Places(store)
    history = read_lives(store, places)
    outside = {place for life in history.lives for place in life.places if is_outside(place)}
    there = list_paths(store) | existing(store, outside)
    gone = unreadable_versions(history, lambda place: place not in there)
    return {version: version not in gone for version in history.versions}


def with_readable(store: Store, history: pa.Table) -> pa.Table:
    """The history with its column `readable` as the store says it, not as the commits do."""
    known = readable_versions(store)
    column = [known.get(version, False) for version in history.column("version").to_pylist()]
    place = history.schema.get_field_index("readable")
    return history.set_column(place, history.schema.field(place), pa.array(column, pa.bool_()))


def missing_places(snapshot: Snapshot) -> list[str]:
    """The files and vectors of a version that are not there."""
    places = Places(snapshot.store)
    rows = snapshot.files(["path", "deletionVector"]).to_pylist()
    wanted = {each for row in rows for each in places.of(row["path"], row["deletionVector"])}
    inside = {place for place in wanted if not is_outside(place)}
    if len(inside) > _FEW:
        there = list_paths(snapshot.store) | existing(snapshot.store, wanted - inside)
    else:
        there = existing(snapshot.store, wanted)
    return sorted(wanted - there)


def list_paths(store: Store) -> set[str]:
    """All objects of the table but those of its log."""
    inside_log = f"{LOG_FOLDER}/"
    return {each.path for each in store.list_all() if not each.path.startswith(inside_log)}


def existing(store: Store, places: Collection[str]) -> set[str]:
    """Those of the places that have an object; asked one by one, several at a time."""
    if not places:
        return set()
    ordered = list(places)
    with ThreadPoolExecutor(min(THREADS, len(ordered))) as pool:
        answers = pool.map(lambda place: exists(store, place), ordered)
        return {place for place, there in zip(ordered, answers, strict=True) if there}


def _covered(versions: Iterable[int], begin: Counter[int], end: Counter[int]) -> Iterable[int]:
    edges = sorted({*begin, *end})
    depth, at = 0, 0
    for version in versions:
        while at < len(edges) and edges[at] <= version:
            depth += begin[edges[at]] - end[edges[at]]
            at += 1
        if depth:
            yield version
