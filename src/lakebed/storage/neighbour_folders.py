"""Stores beside a table's own, for the absolute file references of its log.

A shallow clone has thousands of references into one other table: each place is opened once.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from lakebed.storage.file_references import References
from lakebed.storage.locations import Location
from lakebed.storage.store import Store


class Neighbours:
    def __init__(self, opener: Callable[[Location], Store], references: References) -> None:
        self._opener = opener
        self._references = references
        self._opened: dict[Location, Store] = {}

    def resolve(self, home: Store, location: Location, uri: str) -> tuple[Store, str]:
        """The store and path that `uri` means in a log of `home`, which is at `location`."""
        if _PLAIN.fullmatch(uri):
            return home, uri
        target = location.reference(uri)
        inside = location.relative(target)
        if inside is not None:
            return home, inside
        self._references.check(location, target, uri)
        return self._open(target.root), target.path

    def _open(self, root: Location) -> Store:
        store = self._opened.get(root)
        if store is None:
            store = self._opened.setdefault(root, self._opener(root))
        return store


# Most references of a log are relative names without anything to decode; there may be a million.
_PLAIN = re.compile(r"[\w\-][\w\-.=]*(?:/[\w\-][\w\-.=]*)*", re.ASCII)
