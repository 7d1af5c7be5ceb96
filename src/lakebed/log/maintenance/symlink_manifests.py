"""Lists of a table's files for engines that read Hive's symlink format: Presto, Trino, Athena.

As in delta-spark: one text file `manifest` for each partition, below `_symlink_format_manifest`,
with the absolute path of a data file in each line. Such engines know neither deletion vectors nor
physical column names, so tables that use them get no manifests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import UnsupportedFeatureError
from lakebed.formats.file_actions import map_values
from lakebed.log.listing.file_locations import hadoop_location
from lakebed.log.listing.listing import latest_segment, newer_commits
from lakebed.log.post_commit import PostCommit
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Add, Remove
from lakebed.spec.columns.column_mapping import mapping_mode
from lakebed.spec.paths import partition_directory

FOLDER = "_symlink_format_manifest"
_WORKERS = 16
_ATTEMPTS = 10
_Values = tuple[str | None, ...]


def write_manifests(snapshot: Snapshot) -> None:
    """Manifests of all partitions; those of partitions that are gone are deleted."""
    _until_newest(snapshot, None)


class SymlinkManifestHook:
    """The manifests of the partitions that a commit touched."""

    name = "manifest"

    def is_due(self, commit: PostCommit) -> bool:
        wanted = commit.snapshot.properties.symlink_format_manifest
        return wanted and any(isinstance(action, Add | Remove) for action in commit.actions)

    def run(self, commit: PostCommit) -> None:
        snapshot = commit.snapshot
        touched = _touched(snapshot, [a for a in commit.actions if isinstance(a, Add | Remove)])
        if touched is not None and next(iter(snapshot.store.list_all(FOLDER)), None) is None:
            touched = None
        _until_newest(snapshot, touched)


def _until_newest(snapshot: Snapshot, touched: set[_Values] | None) -> None:
    """Again as long as somebody has committed meanwhile, who may have been here before us.

    So the last to write a manifest has seen the newest version.
    """
    for _ in range(_ATTEMPTS):
        check_no_vectors(snapshot)
        if touched is None or not snapshot.partition_columns:
            stale = {meta.path for meta in snapshot.store.list_all(FOLDER)}
            written = _write(snapshot, _by_partition(snapshot, None))
        else:
            stale = {_manifest(snapshot, values) for values in touched}
            written = _write(snapshot, _by_partition(snapshot, touched))
        _delete(snapshot, stale - written)
        if not newer_commits(snapshot.store, snapshot.version):
            return
        columns = snapshot.partition_columns
        snapshot = Snapshot(snapshot.store, latest_segment(snapshot.store))
        if snapshot.partition_columns != columns:
            touched = None


def check_no_vectors(snapshot: Snapshot) -> None:
    mode = mapping_mode(snapshot.metadata.configuration)
    if mode != "none":
        raise UnsupportedFeatureError(
            f"{snapshot.store.url} maps column names ({mode}), which readers of manifests do not "
            "know",
            features=["columnMapping"],
            hint="give these readers a copy of the table without column mapping",
        )
    count = snapshot.totals.num_deletion_vectors
    if count:
        raise UnsupportedFeatureError(
            f"{count} files of {snapshot.store.url} have deletion vectors, which readers of "
            "manifests do not know: they would see rows that are deleted",
            features=["deletionVectors"],
            hint="purge the vectors (REORG TABLE ... APPLY (PURGE)) and turn them off",
        )


def _touched(snapshot: Snapshot, files: Iterable[Add | Remove]) -> set[_Values] | None:
    """The partitions of the files; None if all are written again."""
    columns = snapshot.partition_columns
    found: set[_Values] = set()
    for file in files:
        if not columns or file.partition_values is None:
            return None
        values: Mapping[str, str | None] = file.partition_values
        found.add(tuple(values.get(column) for column in columns))
    return found


def _by_partition(snapshot: Snapshot, chosen: set[_Values] | None) -> dict[_Values, list[str]]:
    """The paths of the files of the chosen partitions, or of all."""
    files = snapshot.files(["path", "partitionValues"])
    maps = files.column("partitionValues").combine_chunks()
    columns = [_values(maps, name) for name in snapshot.partition_columns]
    paths = files.column("path")
    if chosen is not None and columns:
        mask = pc.is_in(_keys(columns), value_set=pa.array(_key_of(chosen), pa.string()))
        paths, columns = paths.filter(mask), [column.filter(mask) for column in columns]
    groups: dict[_Values, list[str]] = {} if snapshot.partition_columns else {(): []}
    lists = [column.to_pylist() for column in columns]
    for number, path in enumerate(paths.to_pylist()):
        groups.setdefault(tuple(values[number] for values in lists), []).append(path)
    return groups


def _values(maps: pa.Array | pa.ChunkedArray, name: str) -> pa.Array:
    if isinstance(maps, pa.ChunkedArray):
        maps = pa.concat_arrays(maps.chunks) if maps.num_chunks else pa.array([], maps.type)
    return map_values(maps, name)


# Texts that no partition value has: a null, and what stands between two values.
_NULL, _BETWEEN = "\x00", "\x01"


def _keys(columns: Sequence[pa.Array]) -> pa.Array:
    filled = [pc.fill_null(column, _NULL) for column in columns]
    return filled[0] if len(filled) == 1 else pc.binary_join_element_wise(*filled, _BETWEEN)


def _key_of(partitions: Iterable[_Values]) -> list[str]:
    return [_BETWEEN.join(_NULL if v is None else v for v in values) for values in partitions]


def _write(snapshot: Snapshot, groups: Mapping[_Values, list[str]]) -> set[str]:
    root = snapshot.store.url

    def one(item: tuple[_Values, list[str]]) -> str:
        values, paths = item
        name = _manifest(snapshot, values)
        lines = sorted(hadoop_location(path, root) for path in paths)
        snapshot.store.put(name, "".join(f"{line}\n" for line in lines).encode("utf-8"))
        return name

    if len(groups) < 2:
        return {one(item) for item in groups.items()}
    with ThreadPoolExecutor(_WORKERS, thread_name_prefix="lakebed-manifest") as pool:
        return set(pool.map(one, groups.items()))


def _delete(snapshot: Snapshot, names: Iterable[str]) -> None:
    for name in sorted(names):
        snapshot.store.delete(name)


def _manifest(snapshot: Snapshot, values: _Values) -> str:
    named = dict(zip(snapshot.partition_columns, values, strict=True))
    folder = partition_directory(named)
    return f"{FOLDER}/{folder}/manifest" if folder else f"{FOLDER}/manifest"
