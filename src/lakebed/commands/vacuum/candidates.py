"""Which objects VACUUM may look at, by delta-spark's rules for names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote

import pyarrow as pa

from lakebed.errors import ObjectNotFoundError
from lakebed.iceberg.layout import OWN_PREFIX
from lakebed.log.listing.log_names import LOG_FOLDER
from lakebed.log.snapshot import Snapshot
from lakebed.log.versions.readable import THREADS
from lakebed.spec.columns.column_mapping import physical_name
from lakebed.spec.paths import escape_name
from lakebed.storage.locations import SCHEMES, parse_location
from lakebed.storage.store import ObjectMeta, Store

_DELETABLE = ("_delta_index", "_change_data", "__lakebed_partition_")
"""The last begins the names of folders of partitions that earlier versions of Lakebed made."""


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


def may_go(snapshot: Snapshot, objects: Iterable[str]) -> Callable[[str], bool]:
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
