"""Whether data files are as large as the log says.

Spark takes their sizes from the log alone: it reads the part of a file that is within that size,
and leaves out the rest without an error.
"""

from __future__ import annotations

import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import DataFileError
from lakebed.spec.limits import CHECKED_FILES, DATA_FILE_BYTES, SMALLEST_FILE_BYTES
from lakebed.storage.store import Store

_LOCAL = "file://"


def check_sizes(
    store: Store, references: pa.ChunkedArray, uris: Sequence[str], sizes: pa.ChunkedArray
) -> None:
    """Refuses sizes that no file has, and those that are too small.

    The files are `references` in the log and `uris` for Hadoop. On a disk of this machine each is
    looked at. An object store is asked only for the files of an untrusted table: whoever may write
    the log of a table that is trusted can leave out rows anyway.
    """
    extremes = pc.min_max(sizes)
    smallest, largest = extremes["min"].as_py(), extremes["max"].as_py()
    if largest is not None and not SMALLEST_FILE_BYTES <= smallest <= largest <= DATA_FILE_BYTES:
        wrong = smallest if smallest < SMALLEST_FILE_BYTES else largest
        raise _wrong(uris[pc.index(sizes, wrong).as_py()], f"{wrong} bytes, which no data file has")
    if uris and uris[0].startswith(_LOCAL):
        if store.cheap_probes:
            _check_on_disk(uris, sizes.to_pylist())
    elif not store.trusted:
        # An untrusted table has no file in another store.
        paths = [store.resolve(reference)[1] for reference in references.to_pylist()]
        _check_in_store(store, paths, uris, sizes.to_pylist())


def _check_on_disk(uris: Iterable[str], sizes: Iterable[int]) -> None:
    start = len(_LOCAL)
    for uri, size in zip(uris, sizes, strict=True):
        try:
            found = os.stat(uri[start:])  # noqa: PTH116 - a Path costs more than the call
        except OSError:
            # Only the executors may see the disk; they know best what is missing.
            continue
        if not stat.S_ISREG(found.st_mode):
            raise DataFileError("cannot be read: it is not a regular file", file=uri, hint=_HINT)
        _check_one(uri, size, found.st_size)


def _check_in_store(
    store: Store, paths: Sequence[str], uris: Sequence[str], sizes: Sequence[int]
) -> None:
    new = _checked.new(store.place, paths, sizes)
    known = store.sizes([paths[i] for i in new])
    for i, found in zip(new, known, strict=True):
        # The reader says what is missing.
        if found is not None:
            _check_one(uris[i], sizes[i], found)
    there = [i for i, found in zip(new, known, strict=True) if found is not None]
    _checked.add(store.place, [paths[i] for i in there], [sizes[i] for i in there])


def _check_one(uri: str, size: int, found: int) -> None:
    # With a size that is too large Spark looks for the end of the file itself.
    if found > size:
        raise _wrong(uri, f"{size} bytes, but there are {found}")


class CheckedFiles:
    """Files whose sizes were right, by stores: a data file never changes, so one look is enough.

    It remembers hashes, of `most` files at most; the stores that were asked for last stay.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._stores: OrderedDict[Hashable, set[int]] = OrderedDict()
        self._lock = threading.Lock()

    def new(self, place: Hashable, paths: Sequence[str], sizes: Sequence[int]) -> list[int]:
        """The positions of the files that are not known."""
        with self._lock:
            known = self._stores.get(place)
            if known is None:
                return list(range(len(paths)))
            self._stores.move_to_end(place)
            files = zip(paths, sizes, strict=True)
            return [i for i, file in enumerate(files) if hash(file) not in known]

    def add(self, place: Hashable, paths: Sequence[str], sizes: Sequence[int]) -> None:
        with self._lock:
            known = self._stores.setdefault(place, set())
            self._stores.move_to_end(place)
            files = zip(paths, sizes, strict=True)
            known.update(map(hash, islice(files, self._most - len(known))))
            while sum(map(len, self._stores.values())) > self._most:
                self._stores.popitem(last=False)

    def __len__(self) -> int:
        with self._lock:
            return sum(map(len, self._stores.values()))


_checked = CheckedFiles(CHECKED_FILES)
_HINT = "the file or the log is damaged: restore it, or read another version"


def _wrong(uri: str, what: str) -> DataFileError:
    return DataFileError(f"cannot be read: the log says that it has {what}", file=uri, hint=_HINT)
