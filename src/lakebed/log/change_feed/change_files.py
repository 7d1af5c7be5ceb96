"""The files that hold the changes of versions, as files of tables that are in no log.

PROTOCOL: Change Data Files, Add CDC File. A version with `cdc` actions is read from their files
alone. Otherwise rows of added files are inserts and rows of removed files deletes; of a file that
only got another deletion vector, the rows that the two vectors disagree about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.errors import DataFileError, LogCorruptedError, ObjectNotFoundError
from lakebed.formats.deletion_vectors import GetRange, RowIndexSet, encode_bitmap, read_vector
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.listing.file_keys import canonical_path
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Action, Add, AddCdc, CommitInfo, DeletionVector, Remove
from lakebed.spec.limits import FILE_ROWS
from lakebed.spec.schema import LONG, STRING, TIMESTAMP, StructField
from lakebed.spec.stats import NUM_RECORDS, TIGHT_BOUNDS
from lakebed.spec.timestamps import format_timestamp
from lakebed.spec.vector_descriptors import inline_vector
from lakebed.storage.store import Store

CHANGE_TYPE = StructField("_change_type", STRING)
COMMIT_VERSION = StructField("_commit_version", LONG)
COMMIT_TIMESTAMP = StructField("_commit_timestamp", TIMESTAMP)
INSERT = "insert"
DELETE = "delete"


@dataclass(frozen=True)
class Commit:
    """What one version did, and when, in milliseconds."""

    version: int
    time: int
    actions: Sequence[Action]

    @cached_property
    def cdc(self) -> list[AddCdc]:
        return [action for action in self.actions if isinstance(action, AddCdc)]

    @cached_property
    def adds(self) -> dict[str, Add]:
        adds = (each for each in self.actions if isinstance(each, Add))
        return {canonical_path(each.path): each for each in adds if each.data_change}

    @cached_property
    def removes(self) -> dict[str, Remove]:
        removes = (each for each in self.actions if isinstance(each, Remove))
        return {canonical_path(each.path): each for each in removes if each.data_change}

    @property
    def is_idle_merge(self) -> bool:
        """A MERGE that changed no row may have rewritten files all the same, as if it had."""
        info = next((each for each in self.actions if isinstance(each, CommitInfo)), None)
        if info is None or info.operation != "MERGE":
            return False
        metrics = info.values.get("operationMetrics")
        return isinstance(metrics, Mapping) and all(
            str(metrics.get(name)) == "0" for name in _CHANGED_BY_MERGE
        )

    def stamps(self, change_type: str | None = None) -> dict[str, str]:
        """The partition values that the files of this version have in a made snapshot."""
        kind = {} if change_type is None else {CHANGE_TYPE.name: change_type}
        return {
            **kind,
            COMMIT_VERSION.name: str(self.version),
            COMMIT_TIMESTAMP.name: format_timestamp(1000 * self.time),
        }


@dataclass
class Layers:
    """Files, none of them twice in a layer with the same vector.

    A file may be added, marked and removed in a range.
    """

    files: list[list[Add]] = field(default_factory=list)
    _depths: Counter[tuple[str, str | None]] = field(default_factory=Counter)

    def put(self, add: Add) -> None:
        key = (canonical_path(add.path), add.key[1])
        depth = self._depths[key]
        self._depths[key] += 1
        if depth == len(self.files):
            self.files.append([])
        self.files[depth].append(add)


def written_changes(commits: Iterable[Commit]) -> list[list[Add]]:
    """The change data files, in layers. They have the column `_change_type`."""
    layers = Layers()
    for commit in commits:
        for cdc in commit.cdc:
            values = {**cdc.partition_values, **commit.stamps()}
            layers.put(Add(cdc.path, values, cdc.size, commit.time, data_change=False))
    return layers.files


def derived_changes(
    store: Store,
    commits: Sequence[Commit],
    before: Callable[[], Snapshot | None],
    *,
    is_partitioned: bool,
) -> list[list[Add]]:
    """The data files with changed rows, of the versions without change data files, in layers.

    `before` gives the version before the range, if there is one that can be read. It is asked only
    if the log says too little of a file that the range removes.
    """
    derived = [each for each in commits if not each.cdc and not each.is_idle_merge]
    removed = _RemovedFiles(commits, before, is_partitioned)
    layers = Layers()
    for commit in derived:
        for key, add in commit.adds.items():
            if key not in commit.removes:
                layers.put(_stamped(add, commit, INSERT))
        for key, remove in commit.removes.items():
            if key not in commit.adds:
                layers.put(_stamped(removed.as_add(remove), commit, DELETE))
    for add in _differences(store, derived):
        layers.put(add)
    return layers.files


_CHANGED_BY_MERGE = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")
_THREADS = 16


def _stamped(add: Add, commit: Commit, change_type: str) -> Add:
    values = {**add.partition_values, **commit.stamps(change_type)}
    return replace(add, partition_values=values)


# --- removed files -----------------------------------------------------------------------------


class _RemovedFiles:
    """Removed files as files that can be read."""

    def __init__(
        self,
        commits: Sequence[Commit],
        before: Callable[[], Snapshot | None],
        is_partitioned: bool,
    ) -> None:
        self._commits = commits
        self._before = before
        self._is_partitioned = is_partitioned

    def as_add(self, remove: Remove) -> Add:
        values, size = remove.partition_values, remove.size
        if size is None or (values is None and self._is_partitioned):
            known = self._known(remove)
            values, size = known.partition_values, known.size
        return Add(
            path=remove.path,
            partition_values=values or {},
            size=size,
            modification_time=remove.deletion_timestamp or 0,
            data_change=True,
            stats=remove.stats,
            deletion_vector=remove.deletion_vector,
        )

    def _known(self, remove: Remove) -> Add:
        """Where the file was added. Only old writers leave out of a remove what the add said."""
        key = canonical_path(remove.path)
        found = self._added.get(key) or self._added_before.get(key)
        if found is None:
            raise LogCorruptedError(
                f"the log does not say the size and the partition of the removed file "
                f"{remove.path}, and the commit that added it is gone",
                hint="start the changes at a later version",
            )
        return found

    @cached_property
    def _added(self) -> dict[str, Add]:
        actions = (action for commit in self._commits for action in commit.actions)
        return {canonical_path(each.path): each for each in actions if isinstance(each, Add)}

    @cached_property
    def _added_before(self) -> dict[str, Add]:
        snapshot = self._before()
        if snapshot is None:
            return {}
        files = snapshot.files(["path", "partitionValues", "size", "modificationTime"])
        removed = {each.path for commit in self._commits for each in commit.removes.values()}
        mask = pc.is_in(files.column("path"), pa.array(sorted(removed), pa.string()))
        return {canonical_path(each.path): each for each in adds_from_table(files.filter(mask))}


# --- deletion vectors --------------------------------------------------------------------------


@dataclass(frozen=True)
class _Marked:
    """A file that got another deletion vector."""

    commit: Commit
    remove: Remove
    add: Add


def _differences(store: Store, commits: Iterable[Commit]) -> Iterator[Add]:
    marked = [
        _Marked(commit, remove, commit.adds[key])
        for commit in commits
        for key, remove in commit.removes.items()
        if key in commit.adds and remove.key != commit.adds[key].key
    ]
    vectors = _Vectors(store)
    if store.cheap_probes or len(marked) < 2:
        found = map(vectors.changed_rows, marked)
        for adds in found:
            yield from adds
        return
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="lakebed-changes") as pool:
        for adds in pool.map(vectors.changed_rows, marked):
            yield from adds


@dataclass(frozen=True)
class _Vectors:
    store: Store

    def changed_rows(self, marked: _Marked) -> list[Add]:
        """The file with only the deleted rows, and with only those that came back."""
        old = self._read(marked.remove.deletion_vector, marked.add.path)
        new = self._read(marked.add.deletion_vector, marked.add.path)
        rows = ((DELETE, new.difference(old)), (INSERT, old.difference(new)))
        return [
            self._only(marked, change_type, changed) for change_type, changed in rows if changed
        ]

    def _only(self, marked: _Marked, change_type: str, rows: RowIndexSet) -> Add:
        count = self._num_rows(marked)
        others = RowIndexSet.from_indexes(range(count)).difference(rows)
        vector = inline_vector(encode_bitmap(others), others.cardinality) if others else None
        # Bounds of the log are those of the rows that were there before or after, not of these.
        stats = orjson.dumps({NUM_RECORDS: count, TIGHT_BOUNDS: False}).decode()
        only = replace(marked.add, stats=stats, deletion_vector=vector)
        return _stamped(only, marked.commit, change_type)

    def _read(self, vector: DeletionVector | None, file: str) -> RowIndexSet:
        if vector is None:
            return RowIndexSet()
        try:
            return read_vector(vector, self._open, file=file)
        except ObjectNotFoundError as error:
            raise _gone(file, "the deletion vector of this file is gone") from error

    def _open(self, reference: str) -> GetRange:
        home, path = self.store.resolve(reference)
        return lambda start, length: home.get_range(path, start, length)

    def _num_rows(self, marked: _Marked) -> int:
        """All rows of the file, whatever its vectors say."""
        for stats in (marked.add.stats, marked.remove.stats):
            count = _num_records(stats)
            if count is not None and count <= FILE_ROWS:
                return count
        home, path = self.store.resolve(marked.add.path)
        try:
            with home.open_input(path) as file, pq.ParquetFile(file) as parquet:
                return int(parquet.metadata.num_rows)
        except ObjectNotFoundError as error:
            raise _gone(marked.add.path, "the file is gone") from error
        except (pa.ArrowException, OSError) as error:
            raise DataFileError(f"cannot be read: {error}", file=marked.add.path) from error


def _num_records(stats: str | None) -> int | None:
    try:
        parsed = orjson.loads(stats or "null")
    except orjson.JSONDecodeError:
        return None  # statistics may be absent, and damaged ones are no better
    found = parsed.get(NUM_RECORDS) if isinstance(parsed, dict) else None
    return found if isinstance(found, int) and found >= 0 else None


def _gone(file: str, what: str) -> DataFileError:
    return DataFileError(
        f"{what}, so the change feed of a version in the range cannot be read",
        file=file,
        hint="VACUUM may have removed it; start at a later version or restore the file",
    )
