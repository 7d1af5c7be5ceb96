"""Where the files of a log are, as seen from its table (PROTOCOL: Add File and Remove File).

A file of the table's own folder is a path in its store, however the log spells it: relative,
absolute, or as a URL. Files of other tables, which shallow clones have, keep a URL.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from lakebed.errors import LogCorruptedError, StorageUrlError
from lakebed.spec.actions import DeletionVector
from lakebed.spec.paths import canonical_path, decode_path, is_absolute
from lakebed.spec.vector_descriptors import log_path
from lakebed.storage.locations import SCHEMES, parse_location
from lakebed.storage.store import Store


class FileLocations:
    """The locations of what a log refers to. Pure: opens no other store."""

    def __init__(self, store: Store) -> None:
        self._root = parse_location(store.url)
        self._vectors: dict[str, str | None] = {}

    def of(self, path: str, vector: Mapping[str, Any] | None) -> tuple[str, ...]:
        """The data file of an add or a remove, and the file of its deletion vector if it has one.

        Both arguments are as the log has them.
        """
        data = self.locate(path)
        held = None if vector is None else self._vector(vector)
        return (data,) if held is None else (data, held)

    def locate(self, reference: str) -> str:
        if _is_plain(reference):
            return reference
        scheme = reference.partition(":")[0].lower()
        if ":/" in reference and "/" not in scheme and len(scheme) > 1 and scheme not in SCHEMES:
            return f"{_UNKNOWN}{reference}"
        target = self._root.reference(reference)
        inside = self._root.relative(target)
        return target.url if inside is None else inside

    def _vector(self, raw: Mapping[str, Any]) -> str | None:
        # One file holds the vectors of many data files.
        key = f"{raw.get('storageType')}{raw.get('pathOrInlineDv')}"
        if key not in self._vectors:
            reference = log_path(DeletionVector.parse(dict(raw)))
            self._vectors[key] = None if reference is None else self.locate(reference)
        return self._vectors[key]


def hadoop_location(path: str, root: str) -> str:
    """Where a file is, as Hadoop writes paths: absolute, and not escaped. `root` is a URL."""
    if is_absolute(path):
        return decode_path(canonical_path(path, root))
    return f"{hadoop_root(root)}/{decode_path(path)}"


def hadoop_root(root: str) -> str:
    return unquote(root).rstrip("/")


def is_outside(location: str) -> bool:
    """Not below the table; paths in a store never have two slashes in a row."""
    return "://" in location


def exists(store: Store, location: str) -> bool:
    """Whether there is an object. `store` is that of the table."""
    if not is_outside(location):
        return store.exists(location)
    if location.startswith(_UNKNOWN):
        raise StorageUrlError(
            f"{location[len(_UNKNOWN) :]} is in a store that Lakebed does not know",
            hint="ask an engine that can reach that store",
        )
    home, path = store.resolve(location)
    return home.exists(path)


def checked_reference(raw: Mapping[str, Any], file: str) -> tuple[str, Mapping[str, Any] | None]:
    """Path and vector of a file action as JSON has it."""
    path, vector = raw.get("path"), raw.get("deletionVector")
    if not isinstance(path, str) or not (vector is None or isinstance(vector, Mapping)):
        raise LogCorruptedError("an action on a file has no path, or no valid vector", file=file)
    return path, vector


_UNKNOWN = "other://"


def _is_plain(reference: str) -> bool:
    """Most references are relative and have nothing to decode."""
    if "%" in reference or ":" in reference or "//" in reference or "/." in reference:
        return False
    return bool(reference) and reference[0] not in "/." and reference[-1] != "/"
