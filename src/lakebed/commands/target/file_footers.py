"""What the footers of data files say that the log does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq

from lakebed.errors import DataFileError, StorageError
from lakebed.spec.actions import Add
from lakebed.storage.store import Store

_THREADS = 16


def files_whose_footer(
    store: Store, adds: Sequence[Add], holds: Callable[[pq.FileMetaData], bool]
) -> list[Add]:
    """Those of the files for whose footer something holds."""
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="lakebed-footers") as pool:
        found = list(pool.map(lambda add: holds(_footer(store, add.path)), adds))
    return [add for add, held in zip(adds, found, strict=True) if held]


def _footer(store: Store, path: str) -> pq.FileMetaData:
    place, name = store.resolve(path)
    try:
        with place.open_input(name) as file:
            return pq.read_metadata(file)
    except StorageError as error:
        raise DataFileError(
            f"cannot be opened: {error.message}",
            file=path,
            hint="health() and history(readable=True) say what else is missing",
        ) from error
    except (pa.ArrowException, OSError) as error:
        raise DataFileError(f"is not a Parquet file: {error}", file=path) from error
