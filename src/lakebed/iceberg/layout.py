"""Where Iceberg's metadata is: the names of Hadoop tables, which readers find without a catalog.

`metadata/v<N>.metadata.json` with N counting up; `metadata/version-hint.text` has the newest N.
Readers that go by the hint alone see it a moment later than the file that it names; others look
whether there is a next one. See docs/decisions/0027-iceberg-metadata.md.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from typing import Any

import orjson

from lakebed.errors import LogCorruptedError, ObjectExistsError, ObjectNotFoundError, StorageError
from lakebed.storage.store import Store

FOLDER = "metadata"
HINT = f"{FOLDER}/version-hint.text"
OWN_PREFIX = f"{FOLDER}/lakebed-"
"""How the manifests that Lakebed wrote begin; whatever else is in the folder is not ours."""

Document = dict[str, Any]


@dataclass(frozen=True)
class Current:
    """The newest metadata file. `document` is None if it cannot be read."""

    number: int
    document: Document | None


def metadata_path(number: int) -> str:
    return f"{FOLDER}/v{number}.metadata.json"


def new_manifest_path() -> str:
    return f"{OWN_PREFIX}{uuid.uuid4()}-m0.avro"


def new_list_path(snapshot_id: int) -> str:
    return f"{OWN_PREFIX}snap-{snapshot_id}-{uuid.uuid4()}.avro"


def find_current(store: Store) -> Current | None:
    """The newest metadata file, from the hint on; from a listing where there is no good hint."""
    number = _hinted(store)
    if number is None:
        number = _newest_listed(store)
    if number is None:
        return None
    while store.exists(metadata_path(number + 1)):
        number += 1
    return Current(number, read_document(store, number))


def read_document(store: Store, number: int) -> Document | None:
    try:
        document = orjson.loads(store.get(metadata_path(number)))
    except (orjson.JSONDecodeError, ObjectNotFoundError):
        return None
    return document if isinstance(document, dict) else None


def create_metadata(store: Store, number: int, data: bytes) -> bool:
    """Whether ours is now the metadata file of that number. Of all that try at most one is."""
    path = metadata_path(number)
    try:
        store.put_if_absent(path, data)
        return True
    except ObjectExistsError:
        # The client may have repeated a put whose answer was lost.
        return store.get(path) == data
    except StorageError:
        if not store.exists(path):
            raise
        return store.get(path) == data


def point_at(store: Store, number: int) -> None:
    """Move the hint to a metadata file, or to the newest one if others have gone on.

    Whoever writes a hint looks afterwards for the next file, so a late writer cannot leave the
    hint behind.
    """
    store.put(HINT, str(number).encode("ascii"))
    if store.exists(metadata_path(number + 1)):
        current = find_current(store)
        if current is not None and current.number > number:
            point_at(store, current.number)


def hint_is(store: Store, number: int) -> bool:
    return _hint(store) == number


def path_below(location: str, root: str) -> str:
    """The path in the table's store of a file that Iceberg's metadata names."""
    prefix = f"{root.rstrip('/')}/"
    if not location.startswith(prefix):
        raise LogCorruptedError(f"Iceberg's metadata names {location}, which is not in the table")
    return location[len(prefix) :]


_NAME = re.compile(rf"{FOLDER}/v([0-9]{{1,18}})\.metadata\.json")


def _hint(store: Store) -> int | None:
    try:
        text = store.get(HINT)
    except ObjectNotFoundError:
        return None
    return int(text) if re.fullmatch(rb"[0-9]{1,18}", text.strip()) else None


def _hinted(store: Store) -> int | None:
    number = _hint(store)
    return number if number is not None and store.exists(metadata_path(number)) else None


def _newest_listed(store: Store) -> int | None:
    names = (_NAME.fullmatch(found.path) for found in store.list_from(f"{FOLDER}/"))
    return max((int(name[1]) for name in names if name), default=None)
