"""Metadata that nobody needs any more: old metadata files, and manifests of expired snapshots."""

from __future__ import annotations

import logging
from typing import Any

from lakebed.errors import LakebedError
from lakebed.iceberg.iceberg_table import IcebergTable
from lakebed.iceberg.layout import FOLDER, OWN_PREFIX, Document, place_below
from lakebed.iceberg.manifests import read_list
from lakebed.storage.store import Store

_LOG = logging.getLogger("lakebed")


def clean_up(store: Store, table: IcebergTable, before: Document | None, after: Document) -> None:
    """Delete what `before` names and `after` does not. Failures leave rubbish, and no more.

    What was current a moment ago may have readers: VACUUM finds it when its time has come.
    """
    if before is None:
        return
    try:
        for place in _unneeded(store, table, before, after):
            store.delete(place)
    except LakebedError as error:
        _LOG.warning("%s: old Iceberg metadata could not be deleted: %s", table.location, error)


def _unneeded(store: Store, table: IcebergTable, before: Document, after: Document) -> list[str]:
    kept = {each["snapshot-id"] for each in after["snapshots"]}
    expired = [each for each in before["snapshots"] if each["snapshot-id"] not in kept]
    places = _places(table, _old_files(before, after))
    if expired and before["current-snapshot-id"] in kept:
        places += [p for p in _of_snapshots(store, table, expired, after) if _is_own(p)]
    return places


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
    return _places(table, [*unneeded, *(each["manifest-list"] for each in expired)])


def _places(table: IcebergTable, locations: list[str]) -> list[str]:
    return [place_below(location, table.location) for location in locations]


def _is_own(place: str) -> bool:
    return place.startswith((OWN_PREFIX, f"{FOLDER}/v"))
