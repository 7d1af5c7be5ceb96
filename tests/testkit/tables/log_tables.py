"""Tables of any shape in a line or two, written action by action."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakebed.formats import checkpoint_encoder
from lakebed.formats import commit_file as commit
from lakebed.formats.checkpoint_encoder import V1_KINDS
from lakebed.log.listing.log_names import commit_path, part_checkpoint_path
from lakebed.log.maintenance.checkpoint_content import content_of
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Action, Add, CommitInfo, Metadata, Protocol
from lakebed.spec.schema import (
    DATE,
    LONG,
    STRING,
    TIMESTAMP,
    StructField,
    StructType,
    schema_to_json,
)
from lakebed.storage import Store, open_store
from testkit.faults import FaultStore

LEGACY = Protocol(1, 2)
V2 = Protocol(
    3,
    7,
    ("v2Checkpoint", "deletionVectors"),
    ("v2Checkpoint", "deletionVectors", "domainMetadata", "appendOnly", "invariants"),
)
SCHEMA = StructType(
    (
        StructField("id", LONG),
        StructField("name", STRING),
        StructField("at", TIMESTAMP),
        StructField("day", DATE),
    )
)
NOW = 1_790_000_000_000
DAY = 86_400_000


def memory_store() -> Store:
    return open_store(f"memory://{uuid.uuid4().hex}/table")


def listed_store() -> FaultStore:
    """In memory, but the log is found by listing it, as on an object store."""
    store = FaultStore(memory_store())
    store.cheap_probes = False
    return store


def metadata(
    schema: StructType = SCHEMA,
    partition_by: Sequence[str] = (),
    **configuration: str,
) -> Metadata:
    """Properties are given without their prefix: `checkpointInterval="5"`."""
    spelled = {f"delta.{name.replace('__', '.')}": value for name, value in configuration.items()}
    return Metadata("f0e1d2c3", schema_to_json(schema), tuple(partition_by), spelled)


def create(store: Store, *actions: Action, protocol: Protocol = LEGACY, **table: Any) -> Snapshot:
    """Version 0."""
    return append(store, 0, protocol, metadata(**table), *actions)


def append(store: Store, version: int, *actions: Action) -> Snapshot:
    """Commit the actions as they are; gives the snapshot of the new version, freshly read."""
    write_commit(store, version, *actions)
    return TableLog(store).snapshot()


def write_commit(store: Store, version: int, *actions: Action, info: bool = True) -> None:
    provenance = [CommitInfo({"operation": "TEST", "txnId": f"t{version}"})] if info else []
    path = commit_path(version)
    store.put_if_absent(path, commit.encode([*provenance, *actions], path))


def grow(store: Store, until: int, **table: Any) -> Snapshot:
    """Versions 0 to `until`, one new file each; file number N is called `N.parquet`."""
    create(store, file(0), **table)
    for version in range(1, until + 1):
        write_commit(store, version, file(version))
    return TableLog(store).snapshot()


def file(name: int | str, *, stats: Mapping[str, Any] | None = None, **fields: Any) -> Add:
    given: dict[str, Any] = {"size": 100, "modification_time": NOW, "data_change": True, **fields}
    return Add(
        path=f"{name}.parquet" if isinstance(name, int) else name,
        partition_values=given.pop("partition_values", {}),
        stats=None if stats is None else json.dumps(stats),
        **given,
    )


def names(snapshot: Snapshot) -> list[str]:
    return sorted(snapshot.files(["path"]).column("path").to_pylist())


def paths(store: Store) -> list[str]:
    """All objects of the log, without the folder."""
    return sorted(found.path.removeprefix("_delta_log/") for found in store.list_all("_delta_log"))


def forget_commits(store: Store, versions: Iterable[int]) -> None:
    """So that only a checkpoint can tell what these commits said."""
    for version in versions:
        store.delete(commit_path(version))


def write_multi_part(snapshot: Snapshot, parts: int, now_ms: int = NOW) -> None:
    """A checkpoint in parts, which Lakebed reads and never writes."""
    content = content_of(snapshot, now_ms)
    for number in range(parts):
        adds, removes = (
            table.take(pa.array(range(number, table.num_rows, parts), pa.int64()))
            for table in (content.adds, content.removes)
        )
        actions = content.actions if number == 0 else ()
        path = part_checkpoint_path(snapshot.version, number + 1, parts)
        data = checkpoint_encoder.encode(path, V1_KINDS, actions, adds, removes)
        snapshot.store.put_if_absent(path, data)


def parquet_rows(data: bytes) -> list[dict[str, Any]]:
    """The rows of a checkpoint file by pyarrow alone."""
    return pq.read_table(pa.BufferReader(data)).to_pylist()
