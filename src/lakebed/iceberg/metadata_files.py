"""The files of Iceberg metadata: which ones VACUUM keeps, and which ones expire."""

from __future__ import annotations

import logging
from typing import Any

from lakebed.errors import LakebedError
from lakebed.iceberg.document import current_snapshot, delta_version
from lakebed.iceberg.iceberg_table import IcebergTable
from lakebed.iceberg.layout import FOLDER, OWN_PREFIX, Document, find_current, path_below
from lakebed.iceberg.manifests import Record, is_live, read_list, read_manifest
from lakebed.log.listing.file_locations import hadoop_root
from lakebed.log.snapshot import Snapshot
from lakebed.storage.store import Store


def referenced_paths(snapshot: Snapshot) -> set[str]:
    """The paths of what the newest metadata needs: manifests, and data files of its snapshot.

    Data files matter only where it is behind Delta: otherwise they are those of the newest version.
    """
    if "iceberg" not in snapshot.properties.universal_formats:
        return set()
    store, root = snapshot.store, hadoop_root(snapshot.store.url)
    current = find_current(store)
    document = None if current is None else current.document
    if document is None or delta_version(document) is None or document.get("location") != root:
        return set()
    lists = _manifest_lists(store, document, root)
    locations = {m["manifest_path"] for manifests in lists.values() for m in manifests}
    locations.update(lists)
    newest = current_snapshot(document)
    if newest is not None and delta_version(document) != snapshot.version:
        live = [m for m in lists[newest["manifest-list"]] if is_live(m)]
        locations.update(_data_files(store, live, root))
    return {path_below(each, root) for each in locations if each.startswith(f"{root}/")}


def _manifest_lists(store: Store, document: Document, root: str) -> dict[str, list[Record]]:
    paths = [snapshot["manifest-list"] for snapshot in document["snapshots"]]
    return {path: read_list(store, path, root) for path in paths}


def _data_files(store: Store, manifests: list[Record], root: str) -> set[str]:
    bodies = store.get_many([path_below(m["manifest_path"], root) for m in manifests])
    return {
        entry["data_file"]["file_path"]
        for body, manifest in zip(bodies, manifests, strict=True)
        for entry in read_manifest(body, manifest)
    }


_LOG = logging.getLogger("lakebed")


def clean_up(store: Store, table: IcebergTable, before: Document | None, after: Document) -> None:
    """Delete what `before` names and `after` does not. Failures leave rubbish, and no more.

    What was current a moment ago may have readers: VACUUM finds it when its time has come.
    """
    if before is None:
        return
    try:
        for path in _unneeded(store, table, before, after):
            store.delete(path)
    except LakebedError as error:
        _LOG.warning("%s: old Iceberg metadata could not be deleted: %s", table.location, error)


def _unneeded(store: Store, table: IcebergTable, before: Document, after: Document) -> list[str]:
    kept = {each["snapshot-id"] for each in after["snapshots"]}
    expired = [each for each in before["snapshots"] if each["snapshot-id"] not in kept]
    paths = _paths(table, _old_files(before, after))
    if expired and before["current-snapshot-id"] in kept:
        paths += [p for p in _of_snapshots(store, table, expired, after) if _is_own(p)]
    return paths


def _old_files(before: Document, after: Document) -> list[str]:
    still = {each["metadata-file"] for each in after["metadata-log"]}
    return [
        each["metadata-file"]
        for each in before.get("metadata-log", [])
        if each["metadata-file"] not in still
    ]


def _of_snapshots(
    store: Store, table: IcebergTable, expired: list[dict[str, Any]], after: Document
) -> list[str]:
    """Lists and manifests of expired snapshots.

    A manifest that one snapshot drops never comes back, so those of the oldest snapshot that stays
    are all that the later ones share with the expired.
    """
    oldest = after["snapshots"][0]
    root = table.location
    needed = {m["manifest_path"] for m in read_list(store, oldest["manifest-list"], root)}
    locations: dict[str, None] = {}
    for snapshot in expired:
        manifests = read_list(store, snapshot["manifest-list"], root)
        locations.update(dict.fromkeys(m["manifest_path"] for m in manifests))
    unneeded = [location for location in locations if location not in needed]
    # The lists last: killed in between, they still say what is left.
    return _paths(table, [*unneeded, *(each["manifest-list"] for each in expired)])


def _paths(table: IcebergTable, locations: list[str]) -> list[str]:
    return [path_below(location, table.location) for location in locations]


def _is_own(path: str) -> bool:
    return path.startswith((OWN_PREFIX, f"{FOLDER}/v"))
