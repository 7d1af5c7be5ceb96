"""The files of a clone: those of the source under absolute paths, or copies of them.

PROTOCOL: Add File and Remove File (`path` may be absolute), Deletion Vector Descriptor Schema.

A copy keeps the path that its original has below the source, and its time, so that a clone that is
repeated knows which files it has. Where another file of the target has that path, and for originals
outside of the source, the copy gets a name that is derived from the original: the next clone
derives the same.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from uuid import NAMESPACE_URL, uuid5

from lakebed.errors import DataFileError, ObjectNotFoundError
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Add, DeletionVector
from lakebed.spec.columns.column_mapping import mapping_mode
from lakebed.spec.paths import absolute_reference, data_file_path, encode_path, is_absolute
from lakebed.spec.vector_descriptors import (
    ABSOLUTE,
    RELATIVE,
    check,
    file_name,
    log_path,
    relative_path,
    stored_vector,
)
from lakebed.storage.copying import copy_object
from lakebed.storage.store import Store

_WORKERS = 8
_Place = tuple[Store, str]


@dataclass(frozen=True)
class ClonedFiles:
    """All files that the clone will have, and what has to be copied for that: place -> original."""

    adds: list[Add]
    copies: dict[str, _Place] = field(default_factory=dict)


def referenced(adds: list[Add], root: str) -> ClonedFiles:
    """The files where they are. `root` is the URL of the source."""
    return ClonedFiles([_absolute(add, root) for add in adds])


def copied(adds: list[Add], source: Snapshot, existing: Snapshot | None) -> ClonedFiles:
    """Every file at its place in the clone; nothing is copied yet."""
    places = _Places(source, existing)
    placed = [places.of(add) for add in adds]
    return ClonedFiles(placed, places.copies)


def copy_all(copies: dict[str, _Place], target: Store) -> None:
    """All at once, a few at a time; the first failure stops what has not begun."""

    def one(item: tuple[str, _Place]) -> None:
        place, (store, path) = item
        try:
            copy_object(store, path, target, place)
        except ObjectNotFoundError as error:
            raise DataFileError(
                "the file is gone from the source, so it cannot be cloned",
                file=f"{store.url}/{path}",
                hint="VACUUM may have deleted it; clone a newer version",
            ) from error

    if len(copies) < 2:
        for item in copies.items():
            one(item)
        return
    with ThreadPoolExecutor(_WORKERS, thread_name_prefix="lakebed-clone") as pool:
        futures = [pool.submit(one, item) for item in copies.items()]
        try:
            for future in futures:
                future.result()
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _absolute(add: Add, root: str) -> Add:
    vector, reference = add.deletion_vector, None
    if vector is not None:
        reference = log_path(check(vector))
    if vector is not None and reference is not None:
        vector = replace(vector, storage_type=ABSOLUTE, path_or_inline_dv=_outside(reference, root))
    return replace(add, path=_outside(add.path, root), deletion_vector=vector)


def _outside(reference: str, root: str) -> str:
    """The reference as another table than the one at `root` needs it."""
    whole = reference if is_absolute(reference) else f"{root}/{reference}"
    return absolute_reference(whole, root)


class _Places:
    """Where the copy of each file is or will be. Paths are those of the log, but for `copies`."""

    def __init__(self, source: Snapshot, existing: Snapshot | None) -> None:
        self.copies: dict[str, _Place] = {}
        self._store = source.store
        self._named = mapping_mode(source.metadata.configuration) == "none"
        live = [] if existing is None else adds_from_table(existing.files(_FIELDS))
        self._live = {add.path: (add.size, add.modification_time) for add in live}
        self._vectors = {relative_path(v) for v in map(_vector, live) if v is not None}
        dead = None if existing is None else existing.tombstones(["path"])
        self._dead = frozenset(() if dead is None else dead.column("path").to_pylist())

    def of(self, add: Add) -> Add:
        path = self._path(add)
        return replace(add, path=path, deletion_vector=self._vector_of(add.deletion_vector))

    def _path(self, add: Add) -> str:
        home, original = self._store.resolve(add.path)
        identity = (add.size, add.modification_time)
        name = f"part-{uuid5(NAMESPACE_URL, f'{home.url}/{original} {identity}')}.parquet"
        derived = data_file_path(name, add.partition_values if self._named else None)
        candidates = [(encode_path(derived), derived)]
        if home is self._store:
            own = encode_path(original) if is_absolute(add.path) else add.path
            candidates.insert(0, (own, original))
        for path, _ in candidates:
            if self._live.get(path) == identity:
                return path
        free = [each for each in candidates if not self._is_taken(each[0])]
        path, place = (free or candidates[-1:])[0]
        self.copies[place] = (home, original)
        return path

    def _is_taken(self, path: str) -> bool:
        """Also by a file that is gone: versions of the past may need it."""
        return path in self._live or path in self._dead

    def _vector_of(self, vector: DeletionVector | None) -> DeletionVector | None:
        reference = None if vector is None else log_path(vector)
        if vector is None or reference is None:
            return vector
        if vector.storage_type == ABSOLUTE:
            name = uuid5(NAMESPACE_URL, vector.path_or_inline_dv)
            place = file_name("", name)
            size, count = vector.size_in_bytes, vector.cardinality
            vector = stored_vector("", name, vector.offset or 0, size, count)
        else:
            place = relative_path(vector)
        if place not in self._vectors:
            self.copies[place] = self._store.resolve(reference)
        return vector


_FIELDS = ("path", "size", "modificationTime", "deletionVector")


def _vector(add: Add) -> DeletionVector | None:
    vector = add.deletion_vector
    return vector if vector is not None and vector.storage_type == RELATIVE else None
