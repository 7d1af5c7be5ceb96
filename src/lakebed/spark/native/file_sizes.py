"""Whether data files are as large as the log says.

Spark takes their sizes from the log alone: it reads the part of a file that is within that size,
and leaves out the rest without an error.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import DataFileError
from lakebed.spec.limits import DATA_FILE_BYTES, SMALLEST_FILE_BYTES
from lakebed.storage.store import Store

_LOCAL = "file://"


def check_sizes(store: Store, uris: Sequence[str], sizes: pa.ChunkedArray) -> None:
    """Refuses sizes that no file has and, on a disk of this machine, those that are too small.

    Object stores would need a request for each file.
    """
    extremes = pc.min_max(sizes)
    smallest, largest = extremes["min"].as_py(), extremes["max"].as_py()
    if largest is not None and not SMALLEST_FILE_BYTES <= smallest <= largest <= DATA_FILE_BYTES:
        wrong = smallest if smallest < SMALLEST_FILE_BYTES else largest
        raise _wrong(uris[pc.index(sizes, wrong).as_py()], f"{wrong} bytes, which no data file has")
    if store.cheap_probes and uris and uris[0].startswith(_LOCAL):
        _check_on_disk(uris, sizes.to_pylist())


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
        # With a size that is too large Spark looks for the end of the file itself.
        if found.st_size > size:
            raise _wrong(uri, f"{size} bytes, but there are {found.st_size}")


_HINT = "the file or the log is damaged: restore it, or read another version"


def _wrong(uri: str, what: str) -> DataFileError:
    return DataFileError(f"cannot be read: the log says that it has {what}", file=uri, hint=_HINT)
