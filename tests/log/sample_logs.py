"""Tables whose logs have every kind of file, with all that there is to see of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, write_deltalake
from deltalake import Transaction as AppTransaction
from mutations import Seen, log_files, look, store_of, versions_of

import lakebed
from lakebed.formats.deletion_vectors import RowIndexSet, encode_bitmap, write_vectors
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.maintenance.checkpoint_writer import write_checkpoint
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import DeletionVector, DomainMetadata, Remove, Txn
from lakebed.spec.vector_descriptors import file_name, inline_vector, new_file, stored_vector
from lakebed.storage import Store, open_store
from lakebed.transaction import Operation, Transaction
from testkit.tables.compactions import compact

V2 = {"delta.checkpointPolicy": "v2"}
VECTORS = {"delta.enableDeletionVectors": "true"}
DOMAINS = {"delta.feature.domainMetadata": "supported"}


@dataclass(frozen=True)
class Sample:
    """A table on disk, the files of its log, and what there is to see of it."""

    path: Path
    files: tuple[Path, ...] = field(repr=False)
    expected: dict[str, Seen] = field(repr=False)


def sample(folder: Path, shape: Callable[[Path], None], *, checksums: bool) -> Sample:
    """Without checksum files everything is read from the commits and checkpoints themselves."""
    path = folder / f"{shape.__name__}-{checksums}"
    shape(path)
    if not checksums:
        for file in path.glob("_delta_log/*.crc"):
            file.unlink()
    expected = look(store_of(path, probes=True), versions_of(path))
    assert all(isinstance(seen, dict) for seen in expected.values()), expected
    return Sample(path, tuple(log_files(path)), expected)


def commits_only(path: Path) -> None:
    _grow(path, 5)


def classic_checkpoint_and_tail(path: Path) -> None:
    _grow(path, 3)
    write_checkpoint(TableLog(open_store(str(path))).snapshot())
    _grow(path, 2)


def two_classic_checkpoints(path: Path) -> None:
    classic_checkpoint_and_tail(path)
    write_checkpoint(TableLog(open_store(str(path))).snapshot())


def v2_parquet(path: Path) -> None:
    _v2(path, "v2-parquet", 0)


def v2_parquet_with_sidecars(path: Path) -> None:
    _v2(path, "v2-parquet", 2)


def v2_json(path: Path) -> None:
    _v2(path, "v2-json", 0)


def v2_json_with_sidecars(path: Path) -> None:
    _v2(path, "v2-json", 2)


def compacted(path: Path) -> None:
    _grow(path, 6)
    store = open_store(str(path))
    compact(store, 1, 3)
    compact(store, 2, 4)


def deletion_vectors(path: Path) -> None:
    """One inline vector and two in a file; the newest version is a checkpoint without a tail."""
    _grow(path, 3, rows=3, **VECTORS)
    store = open_store(str(path))
    inline = RowIndexSet.from_indexes([1])
    _delete_rows(store, [inline_vector(encode_bitmap(inline), 1)])
    prefix, uuid = new_file()
    content, places = write_vectors([RowIndexSet.from_indexes([0, 2]), inline])
    store.put_if_absent(file_name(prefix, uuid), content)
    stored = [stored_vector(prefix, uuid, p.offset, p.size_in_bytes, p.cardinality) for p in places]
    _delete_rows(store, stored)
    write_checkpoint(TableLog(store).snapshot())


SHAPES: list[Callable[[Path], None]] = [
    commits_only,
    classic_checkpoint_and_tail,
    two_classic_checkpoints,
    v2_parquet,
    v2_parquet_with_sidecars,
    v2_json,
    v2_json_with_sidecars,
    compacted,
    deletion_vectors,
]


def of_deltalake(path: Path) -> None:
    """A table of another writer, with a checkpoint in the middle: no digests anywhere."""
    for number in range(5):
        data = pa.table({"id": [number * 10 + n for n in range(3)], "p": ["a", "b", None]})
        properties = CommitProperties(app_transactions=[AppTransaction("app", number)])
        write_deltalake(
            str(path), data, mode="append", partition_by=["p"], commit_properties=properties
        )
        if number == 2:
            DeltaTable(str(path)).create_checkpoint()


def _v2(path: Path, kind: Any, sidecars: int) -> None:
    _grow(path, 3, **V2)
    write_checkpoint(TableLog(open_store(str(path))).snapshot(), kind, sidecars)
    _grow(path, 2, **V2)


def _grow(path: Path, commits: int, rows: int = 1, **properties: str) -> None:
    """Appends, and now and then an overwrite, a transaction identifier and a domain. Each commit
    has so many rows for each partition.
    """
    for _ in range(commits):
        log = TableLog(open_store(str(path)))
        version = log.snapshot().version + 1 if log.exists() else 0
        ids = [version * 10 + n for n in range(4)] * rows
        data = pa.table({"id": ids, "p": ["a", "b", "ü", None] * rows})
        options: dict[str, Any] = {"properties": {**DOMAINS, **properties}} if not version else {}
        lakebed.write(
            path,
            data,
            mode="overwrite" if version == 2 else "append",
            partition_by=["p"] if not version else None,
            **options,
        )
    _note(TableLog(open_store(str(path))))


def _note(log: TableLog) -> None:
    snapshot = log.snapshot()
    transaction = Transaction(snapshot, operation=Operation("NOTE"))
    transaction.stage(
        Txn("app", snapshot.version, 7), DomainMetadata("mine", f"{{{snapshot.version}}}")
    )
    transaction.commit().unwrap()


def _delete_rows(store: Store, vectors: list[DeletionVector]) -> None:
    snapshot = TableLog(store).snapshot()
    adds = [add for add in adds_from_table(snapshot.files()) if add.deletion_vector is None]
    transaction = Transaction(snapshot, operation=Operation("DELETE"))
    for add, vector in zip(adds, vectors, strict=False):
        transaction.stage(Remove.of(add, timestamp=1), replace(add, deletion_vector=vector))
    transaction.commit().unwrap()
