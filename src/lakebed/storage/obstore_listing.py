"""Listing one level of a bucket from a given name, with as few requests as the provider allows.

No provider does just that. S3 and GCS list from a name, but all levels below it; what lies in
subfolders is jumped over. Azure cannot start at a name, and S3's directory buckets have no order:
there the whole level is listed.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Any

from lakebed.storage.locations import Location
from lakebed.storage.obstore_client import Clients

PAGE = 1000
"""Objects per step of a listing: what S3 and GCS give per request."""


def list_level(clients: Clients, location: Location, folder: str, first: str) -> Iterator[Any]:
    """obstore's records of the objects in `folder`; those before `first` may be left out."""
    if not _starts_anywhere(location):
        listing = clients.library.functions.list_with_delimiter(clients.retrying, folder)
        return iter(listing["objects"])
    return _from_name(clients, folder, first)


def list_pages(clients: Clients, folder: str, offset: str | None = None) -> Iterator[Any]:
    """Records of all objects at any depth, after the key `offset`, a page at a time."""
    pages = clients.library.functions.list(clients.retrying, folder, offset=offset, chunk_size=PAGE)
    return iter(pages)


def listed_sizes(
    clients: Clients, location: Location, folder: str, keys: Sequence[str]
) -> dict[str, int | None]:
    """The sizes of objects below `folder`, of those that listings tell in fewer requests.

    Each request starts at an object that is still unknown, so it tells at least that one if it is
    there. When a page tells but a few, the rest is left to the caller.
    """
    found: dict[str, int | None] = {}
    left = sorted(set(keys)) if _starts_anywhere(location) else []
    start = 0
    while len(left) - start >= WORTH_A_PAGE:
        page: list[Any] = next(list_pages(clients, folder, _before(left[start])), [])
        sizes = {each["path"]: each["size"] for each in page}
        is_last = len(page) < PAGE
        end = len(left) if is_last else bisect_right(left, page[-1]["path"], start)
        told = {key: sizes[key] for key in left[start:end] if key in sizes}
        found.update(told)
        if is_last or len(told) < WORTH_A_PAGE:
            break
        start = end
    return found


WORTH_A_PAGE = 16
"""A page of a listing costs about twelve times as much as a question for one object on S3."""


def _starts_anywhere(location: Location) -> bool:
    """Whether listings are in the order of names, and begin at any of them."""
    return location.scheme != "az" and not location.authority.endswith("--x-s3")


def _before(key: str) -> str | None:
    """A name shortly before `key`, since an offset is exclusive. Dots alone are no name."""
    folder, slash, name = key.rpartition("/")
    shorter = name[:-1]
    return folder + slash + shorter if shorter.strip(".") else folder or None


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
