"""Copying an object from one store to another, without holding it in memory.

Inside one bucket the provider copies it; on one machine the kernel does. Otherwise the bytes pass
through here a few at a time. The copy appears whole or not at all.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from lakebed.errors import ObjectNotFoundError, StorageError
from lakebed.storage.atomic_files import replace, write_all
from lakebed.storage.local import LocalStore
from lakebed.storage.obstore.obstore_errors import translated
from lakebed.storage.obstore.obstore_store import ObstoreStore
from lakebed.storage.store import Store, checked_path

CHUNK = 8 * 1024 * 1024
"""As large as a part of an upload; two or three of them are in memory for each copy."""


def copy_object(source: Store, path: str, target: Store, destination: str) -> None:
    """Copy the object at `path` of `source` to `destination` of `target`, or replace that one."""
    if _copied_by_provider(source, path, target, destination):
        return
    if isinstance(target, LocalStore):
        _to_file(source, path, target, destination)
    elif isinstance(target, ObstoreStore):
        _upload(source, path, target, destination)
    else:
        target.put(destination, source.get(path))


def _copied_by_provider(source: Store, path: str, target: Store, destination: str) -> bool:
    """False where the provider would not: other buckets, other accounts, objects above 5 GB."""
    if not isinstance(source, ObstoreStore) or not isinstance(target, ObstoreStore):
        return False
    if source.location.root != target.location.root:
        return False
    clients = target._connection.clients()
    key, copy = source._key(path), target._key(destination)
    try:
        with translated(clients.library, "copy", source._url(path)):
            clients.library.functions.copy(clients.retrying, key, copy)
    except ObjectNotFoundError:
        raise
    except StorageError:
        return False
    return True


def _to_file(source: Store, path: str, target: LocalStore, destination: str) -> None:
    def fill(descriptor: int) -> None:
        if not isinstance(source, LocalStore):
            for data in _chunks(source, path):
                write_all(descriptor, data)
            return
        with source._errors("read", path):
            origin = os.open(source._file(path), os.O_RDONLY | os.O_CLOEXEC)
        try:
            _send(origin, descriptor)
        finally:
            os.close(origin)

    with target._errors("write", destination):
        replace(target._file(destination), fill, fsync=target.syncs(destination))


def _send(origin: int, descriptor: int) -> None:
    """By the kernel, which on some file systems only counts the blocks twice."""
    if hasattr(os, "copy_file_range"):
        try:
            while os.copy_file_range(origin, descriptor, _MOST):
                pass
        except OSError as error:
            if error.errno not in _NO_RANGES:
                raise
    while data := os.read(origin, CHUNK):
        write_all(descriptor, data)


_MOST = 1 << 30
# Two file systems, or one that cannot; what is left is read and written.
_NO_RANGES = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM)


def _upload(source: Store, path: str, target: ObstoreStore, destination: str) -> None:
    checked_path(destination)
    size = source.head(path).size
    if size <= CHUNK or target.cheap_probes:
        target.put(destination, source.get(path))
        return
    clients, key = target._connection.clients(), target._key(destination)
    with translated(clients.library, "write", target._url(destination)):
        clients.library.functions.put(
            clients.retrying, key, _chunks(source, path), use_multipart=True, chunk_size=CHUNK
        )


def _chunks(source: Store, path: str) -> Iterator[bytes]:
    size = source.head(path).size
    for start in range(0, size, CHUNK):
        data = source.get_range(path, start, CHUNK)
        if len(data) != min(CHUNK, size - start):
            raise StorageError(f"{source.url}/{path} ended at {start + len(data)} of {size} bytes")
        yield data
