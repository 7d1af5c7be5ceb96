"""Which versions can still be read: the log can rebuild them, and all of their files are there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from lakebed.log.listing.file_locations import FileLocations, exists, is_outside
from lakebed.log.listing.log_names import LOG_FOLDER
from lakebed.log.snapshot import Snapshot
from lakebed.log.versions.file_lifetimes import FileLifetimes, read_file_lifetimes
from lakebed.storage.store import Store

THREADS = 32
# So few files are asked for one by one; more of them are cheaper to list.
_FEW = 256


def unreadable_versions(history: FileLifetimes, is_gone: Callable[[str], bool]) -> set[int]:
    """Of the versions that the log can rebuild, those that miss a file."""
    begin: Counter[int] = Counter()
    end: Counter[int] = Counter()
    for life in history.lifetimes:
        if life.last >= life.first and any(map(is_gone, life.locations)):
            begin[life.first] += 1
            end[life.last + 1] += 1
    return set(_covered(history.versions, begin, end))


def readable_versions(store: Store) -> dict[int, bool]:
    """Every version that the log can rebuild, and whether all of its files are there now."""
    locations = FileLocations(store)
    history = read_file_lifetimes(store, locations)
    outside = {
        location
        for life in history.lifetimes
        for location in life.locations
        if is_outside(location)
    }
    there = list_paths(store) | existing(store, outside)
    gone = unreadable_versions(history, lambda location: location not in there)
    return {version: version not in gone for version in history.versions}


def with_readable(store: Store, history: pa.Table) -> pa.Table:
    """The history with its column `readable` as the store says it, not as the commits do."""
    known = readable_versions(store)
    column = [known.get(version, False) for version in history.column("version").to_pylist()]
    index = history.schema.get_field_index("readable")
    return history.set_column(index, history.schema.field(index), pa.array(column, pa.bool_()))


def missing_files(snapshot: Snapshot) -> list[str]:
    """The files and vectors of a version that are not there."""
    locations = FileLocations(snapshot.store)
    rows = snapshot.files(["path", "deletionVector"]).to_pylist()
    wanted = {each for row in rows for each in locations.of(row["path"], row["deletionVector"])}
    inside = {location for location in wanted if not is_outside(location)}
    if len(inside) > _FEW:
        there = list_paths(snapshot.store) | existing(snapshot.store, wanted - inside)
    else:
        there = existing(snapshot.store, wanted)
    return sorted(wanted - there)


def list_paths(store: Store) -> set[str]:
    """All objects of the table but those of its log."""
    inside_log = f"{LOG_FOLDER}/"
    return {each.path for each in store.list_all() if not each.path.startswith(inside_log)}


def existing(store: Store, locations: Collection[str]) -> set[str]:
    """Those of the locations that have an object; asked one by one, several at a time."""
    if not locations:
        return set()
    ordered = list(locations)
    with ThreadPoolExecutor(min(THREADS, len(ordered))) as pool:
        answers = pool.map(lambda location: exists(store, location), ordered)
        return {location for location, there in zip(ordered, answers, strict=True) if there}


def _covered(versions: Iterable[int], begin: Counter[int], end: Counter[int]) -> Iterable[int]:
    edges = sorted({*begin, *end})
    depth, at = 0, 0
    for version in versions:
        while at < len(edges) and edges[at] <= version:
            depth += begin[edges[at]] - end[edges[at]]
            at += 1
        if depth:
            yield version
