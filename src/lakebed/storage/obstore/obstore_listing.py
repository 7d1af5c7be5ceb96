"""Listing one level of a bucket from a given name, with as few requests as the provider allows.

No provider does just that. S3 and GCS list from a name, but all levels below it; what lies in
subfolders is jumped over. Azure cannot start at a name, and S3's directory buckets have no order:
there the whole level is listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lakebed.storage.locations import Location
from lakebed.storage.obstore.obstore_client import Clients

PAGE = 1000
"""Objects per step of a listing: what S3 and GCS give per request."""


def list_level(clients: Clients, location: Location, folder: str, first: str) -> Iterator[Any]:
    """obstore's records of the objects in `folder`; those before `first` may be left out."""
    if location.scheme == "az" or location.authority.endswith("--x-s3"):
        listing = clients.library.functions.list_with_delimiter(clients.retrying, folder)
        return iter(listing["objects"])
    return _from_name(clients, folder, first)


def list_pages(clients: Clients, folder: str, offset: str | None = None) -> Iterator[Any]:
    """Records of all objects at any depth, after the key `offset`, a page at a time."""
    pages = clients.library.functions.list(clients.retrying, folder, offset=offset, chunk_size=PAGE)
    return iter(pages)


_LAST_CHARACTER = "\U0010ffff"


def _from_name(clients: Clients, folder: str, first: str) -> Iterator[Any]:
    # An offset is exclusive: one letter less still includes `first`. Dots alone are no name.
    shorter = first[:-1]
    offset = folder + shorter if shorter.strip(".") else None
    while True:
        for page in list_pages(clients, folder, offset):
            yield from (found for found in page if "/" not in found["path"][len(folder) :])
            subfolder, slash, _ = page[-1]["path"][len(folder) :].partition("/")
            after = f"{folder}{subfolder}/{_LAST_CHARACTER}"
            if slash and len(page) == PAGE and after > (offset or ""):
                offset = after
                break
        else:
            return
