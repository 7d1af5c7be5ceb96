"""Which files VACUUM may delete: from a listing, an inventory, or the log alone.

Which names it may delete follows delta-spark's rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import unquote

import pyarrow as pa

from lakebed.commands.vacuum.last_vacuum import last_vacuumed
from lakebed.commands.vacuum.vacuum_options import VacuumOptions
from lakebed.errors import InvalidArgumentError, ObjectNotFoundError
from lakebed.iceberg.layout import OWN_PREFIX
from lakebed.log.listing.file_locations import is_outside
from lakebed.log.listing.log_names import LOG_FOLDER
from lakebed.log.snapshot import Snapshot
from lakebed.log.versions.file_lifetimes import FileLifetimes
from lakebed.log.versions.readable import THREADS
from lakebed.spec.columns.column_mapping import physical_name
from lakebed.spec.paths import escape_name
from lakebed.storage.locations import SCHEMES, parse_location
from lakebed.storage.store import ObjectMeta, Store


@dataclass(frozen=True)
class Selection:
    """`deletable` are the files that would go; `is_gone` tells of a place that it is gone already.

    Files outside of the table are taken to be there.
    """

    deletable: dict[str, ObjectMeta]
    is_gone: Callable[[str], bool]
    num_folders: int


Selector = Callable[[FileLifetimes, "int | None", Container[str]], Selection]


def select(snapshot: Snapshot, options: VacuumOptions, cut_off: int) -> Selector:
    """Looks at the store now; what comes back judges, once the log is known."""
    store = snapshot.store
    if options.mode == "lite":
        last = last_vacuumed(store)
        return lambda history, floor, protected: _from_log(
            store, cut_off, last, history, floor, protected
        )
    if options.inventory is not None:
        found = from_inventory(store, options.inventory)
        return lambda _history, _floor, protected: _from_inventory(
            snapshot, cut_off, found, protected
        )
    everything = listed(store)
    return lambda _history, _floor, protected: _from_listing(
        snapshot, cut_off, everything, protected
    )


def _from_listing(
    snapshot: Snapshot, cut_off: int, objects: list[ObjectMeta], protected: Container[str]
) -> Selection:
    there = {found.path for found in objects}
    allowed = may_delete(snapshot, there)
    visible = [found for found in objects if allowed(found.path)]
    deletable = _deletable(visible, cut_off, protected)
    return Selection(
        deletable, lambda place: not is_outside(place) and place not in there, _folders(visible)
    )


def _from_inventory(
    snapshot: Snapshot, cut_off: int, objects: list[ObjectMeta], protected: Container[str]
) -> Selection:
    """An inventory is from earlier: whether a file is there, and how old it is, is asked again."""
    named = {found.path for found in objects}
    allowed = may_delete(snapshot, named)
    visible = [found for found in objects if allowed(found.path)]
    candidates = _deletable(visible, cut_off, protected)
    there = confirmed(snapshot.store, candidates)

    def is_gone(place: str) -> bool:
        if is_outside(place) or place in protected:
            return False
        return place not in named or (place in candidates and place not in there)

    return Selection(_deletable(there.values(), cut_off, protected), is_gone, _folders(visible))


def _from_log(
    store: Store,
    cut_off: int,
    last: int | None,
    history: FileLifetimes,
    floor: int | None,
    protected: Container[str],
) -> Selection:
    """Files that commits outside of the retention have removed, since the last VACUUM."""
    if floor is None:
        return Selection({}, lambda _: False, 1)
    _check_complete(history, last)
    after = -1 if last is None else last
    removed = [life for life in history.lifetimes if life.removed_by is not None]
    old = _inside(
        protected,
        *(life.locations for life in removed if (life.removed_by or 0) <= after),
        [change.location for change in history.changes if change.version <= after],
    )
    new = _inside(
        protected,
        *(life.locations for life in removed if after < (life.removed_by or 0) <= floor),
        [change.location for change in history.changes if after < change.version <= floor],
    )
    there = confirmed(store, new)

    def is_gone(place: str) -> bool:
        return (place in new and place not in there) or (place in old and place not in new)

    return Selection(_deletable(there.values(), cut_off, protected), is_gone, 1)


def _check_complete(history: FileLifetimes, last: int | None) -> None:
    commits = [file.version for file in history.files if file.kind == "commit"]
    earliest = min(commits, default=0)
    if earliest > 0 and (last is None or last < earliest):
        raise InvalidArgumentError(
            f"VACUUM LITE goes by the log, but its commits before version {earliest} have been "
            "cleaned up since the last VACUUM: files that they removed would stay",
            hint="run a full VACUUM once",
            condition="DELTA_CANNOT_VACUUM_LITE",
        )


def _inside(protected: Container[str], *groups: Collection[str]) -> set[str]:
    inside_log = f"{LOG_FOLDER}/"
    return {
        place
        for group in groups
        for place in group
        if not is_outside(place) and not place.startswith(inside_log) and place not in protected
    }


def _deletable(
    objects: Iterable[ObjectMeta], cut_off: int, protected: Container[str]
) -> dict[str, ObjectMeta]:
    return {
        found.path: found
        for found in objects
        if found.modified_ms < cut_off and found.path not in protected
    }


def _folders(objects: Iterable[ObjectMeta]) -> int:
    """The folders that hold objects, at any depth, and the root."""
    found = {""}
    for each in objects:
        folder = each.path.rpartition("/")[0]
        while folder not in found:
            found.add(folder)
            folder = folder.rpartition("/")[0]
    return len(found)


# --- names and times of objects -------------------------------------------------------------------

_DELETABLE = ("_delta_index", "_change_data", "__lakebed_partition_")
"""The last begins the names of folders of partitions that earlier versions of Lakebed wrote."""


def listed(store: Store) -> list[ObjectMeta]:
    """Every object of the table but its log."""
    inside_log = f"{LOG_FOLDER}/"
    return [found for found in store.list_all() if not found.path.startswith(inside_log)]


def from_inventory(store: Store, inventory: pa.Table) -> list[ObjectMeta]:
    """The files of an inventory that are in the table, by their plain paths below it.

    Paths are URIs whose characters are not escaped, as Hadoop gives them.
    """
    roots = _root_spellings(store)
    found: dict[str, ObjectMeta] = {}
    for row in inventory.to_pylist():
        path = row["path"]
        root = next((root for root in roots if path and path.startswith(root)), None)
        if root is None or row["isDir"]:
            continue
        meta = ObjectMeta(path[len(root) :], row["length"] or 0, row["modificationTime"] or 0)
        known = found.get(meta.path)
        if known is None or known.modified_ms < meta.modified_ms:
            found[meta.path] = meta
    inside_log = f"{LOG_FOLDER}/"
    return [meta for meta in found.values() if not meta.path.startswith(inside_log)]


def confirmed(store: Store, paths: Iterable[str]) -> dict[str, ObjectMeta]:
    """Size and time of those that are there, as the store says now."""
    ordered = sorted(set(paths))
    if not ordered:
        return {}
    with ThreadPoolExecutor(min(THREADS, len(ordered))) as pool:
        answers = pool.map(lambda path: _head(store, path), ordered)
        return {meta.path: meta for meta in answers if meta is not None}


def may_delete(snapshot: Snapshot, objects: Iterable[str]) -> Callable[[str], bool]:
    """Tells whether the name of an object allows VACUUM to delete it.

    Hidden are names that begin with a dot or an underscore, at any depth, but for change data,
    bloom filters and partitions of columns of such a name; also the metadata that UniForm writes,
    but for the manifests of Lakebed's own, which the plan protects as long as they are needed.
    A folder with a log of its own is another table, whose files are not ours to judge.
    """
    partitions = tuple(_partition_prefixes(snapshot))
    formats = snapshot.properties.universal_formats
    others = tuple(_tables_inside(objects))

    def is_hidden(name: str) -> bool:
        if name == "metadata" and "iceberg" in formats:
            return True
        return name.startswith((".", "_")) and not name.startswith((*_DELETABLE, *partitions))

    def allowed(path: str) -> bool:
        if path.startswith(OWN_PREFIX):
            return True
        return not any(map(is_hidden, path.split("/"))) and not path.startswith(others or "/")

    return allowed


def _partition_prefixes(snapshot: Snapshot) -> Iterator[str]:
    for name in snapshot.partition_columns:
        for each in {name, physical_name(snapshot.schema.field(name))}:
            yield f"{each}="
            yield f"{escape_name(each)}="


def _tables_inside(objects: Iterable[str]) -> set[str]:
    marker = f"/{LOG_FOLDER}/"
    return {path.partition(marker)[0] + "/" for path in objects if marker in path}


def _root_spellings(store: Store) -> list[str]:
    location = parse_location(store.url)
    path = f"/{location.path}/" if location.path else "/"
    if location.scheme == "file":
        return [path, f"file:{path}", f"file://{path}", f"file://{location.authority}{path}"]
    schemes = [name for name, kind in SCHEMES.items() if kind == location.scheme]
    plain = [f"{name}://{location.authority}{path}" for name in schemes]
    return [*plain, f"{store.url.rstrip('/')}/", f"{unquote(store.url).rstrip('/')}/"]


def _head(store: Store, path: str) -> ObjectMeta | None:
    try:
        return store.head(path)
    except ObjectNotFoundError:
        return None
