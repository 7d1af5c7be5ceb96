"""What VACUUM must leave for readers of Iceberg."""

from __future__ import annotations

from lakebed.iceberg.document import current_snapshot, delta_version
from lakebed.iceberg.layout import Document, find_current, place_below
from lakebed.iceberg.manifests import Record, is_live, read_list, read_manifest
from lakebed.log.listing.file_locations import hadoop_root
from lakebed.log.snapshot import Snapshot
from lakebed.storage.store import Store


def referenced_places(snapshot: Snapshot) -> set[str]:
    """The places that the newest metadata needs: manifests, and data files of its snapshot.

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
    return {place_below(each, root) for each in locations if each.startswith(f"{root}/")}


def _manifest_lists(store: Store, document: Document, root: str) -> dict[str, list[Record]]:
    places = [snapshot["manifest-list"] for snapshot in document["snapshots"]]
    return {place: read_list(store, place, root) for place in places}


def _data_files(store: Store, manifests: list[Record], root: str) -> set[str]:
    bodies = store.get_many([place_below(m["manifest_path"], root) for m in manifests])
    return {
        entry["data_file"]["file_path"]
        for body, manifest in zip(bodies, manifests, strict=True)
        for entry in read_manifest(body, manifest)
    }
