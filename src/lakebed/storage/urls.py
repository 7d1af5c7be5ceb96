"""`open_store`: from a path or URL and `storage_options` to a store."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

from lakebed.storage.local import LocalStore
from lakebed.storage.locations import Location, parse_location
from lakebed.storage.neighbour_folders import Neighbours
from lakebed.storage.obstore.obstore_client import Connection, MemoryConnection
from lakebed.storage.obstore.obstore_store import ObstoreStore
from lakebed.storage.options import Options, parse_options
from lakebed.storage.store import Store


def open_store(
    url_or_path: str | os.PathLike[str], storage_options: Mapping[str, Any] | None = None
) -> Store:
    """Open the store at a local path or a file, memory, s3, gs, az or abfss URL.

    Nothing is read or created. `StorageUrlError` if the URL or an option makes no sense.
    """
    store = _open(parse_options(storage_options), parse_location(url_or_path))
    if isinstance(store, ObstoreStore):
        # Wrong options are found now; those of stores that a log refers to, when they are read.
        store.connect()
    return store


def _open(options: Options, location: Location) -> Store:
    neighbours = Neighbours(partial(_open, options), options.references)
    if location.scheme == "file":
        return LocalStore(
            location,
            neighbours,
            durability=options.durability,
            trusted=not options.untrusted,
        )
    if location.scheme == "memory":
        memory = MemoryConnection(location.authority)
        return ObstoreStore(location, neighbours, memory, trusted=not options.untrusted)
    connection = Connection(location, options)
    return ObstoreStore(location, neighbours, connection, trusted=not options.untrusted)
