"""Writing checkpoints: classic, and V2 in Parquet or JSON, with or without sidecars.

PROTOCOL: Checkpoints, Checkpoint Specs, Checkpoint Naming Scheme, Sidecar Files.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from lakebed.errors import InvalidArgumentError, ObjectExistsError
from lakebed.formats import checkpoint_encoder
from lakebed.formats import commit_file as commit
from lakebed.formats.checkpoint_encoder import PARSED_STATS, SIDECAR_KINDS, V1_KINDS, V2_KINDS
from lakebed.formats.file_actions import ADD_SCHEMA, adds_from_table, removes_from_table
from lakebed.formats.last_checkpoint import LastCheckpoint
from lakebed.formats.statistics.stats_to_json import write_stats
from lakebed.log.listing.checkpoint_hint import publish_hint
from lakebed.log.listing.log_names import (
    LogFile,
    classic_checkpoint_path,
    commit_path,
    parse_name,
    sidecar_path,
    unique_checkpoint_path,
)
from lakebed.log.listing.segment import CheckpointRef
from lakebed.log.maintenance.checkpoint_content import CheckpointContent, content_of
from lakebed.log.post_commit import current_ms
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Action, CheckpointMetadata, Sidecar, wrap
from lakebed.spec.feature_table import FEATURES
from lakebed.spec.features import check_writable, is_supported

Kind = Literal["classic", "v2-parquet", "v2-json"]

FILES_PER_SIDECAR = 50_000
# delta-spark's limits for what the hint repeats of a V2 checkpoint.
_MOST_IN_HINT = 30
_CODEC_KEY = "delta.parquet.compression.codec"


@dataclass(frozen=True)
class StoredCheckpoint:
    """A checkpoint that is in the store, and the hint that makes it known."""

    ref: CheckpointRef
    hint: LastCheckpoint


def write_checkpoint(
    snapshot: Snapshot,
    kind: Kind | None = None,
    sidecars: bool | int | None = None,
    *,
    now_ms: int | None = None,
) -> CheckpointRef:
    """Write a checkpoint of the snapshot's version and point the hint to it.

    `kind` is by default what `delta.checkpointPolicy` says. V2 checkpoints put the files of large
    tables into sidecars; `sidecars` says otherwise, or how many. Two writers of the same classic
    checkpoint write the same content: the first one's stays, so that no reader sees half of each.
    """
    now = current_ms() if now_ms is None else now_ms
    stored = store_checkpoint(snapshot, content_of(snapshot, now), kind, sidecars, now_ms=now)
    publish_hint(snapshot.store, stored.hint)
    return stored.ref


def store_checkpoint(
    snapshot: Snapshot,
    content: CheckpointContent,
    kind: Kind | None = None,
    sidecars: bool | int | None = None,
    *,
    now_ms: int,
) -> StoredCheckpoint:
    """Write the files of a checkpoint; the hint is left to the caller."""
    chosen = kind or default_kind(snapshot)
    _check(snapshot, chosen, sidecars)
    writer = _Writer(snapshot, content, now_ms)
    if chosen == "classic":
        return writer.classic()
    count = _sidecar_count(sidecars, content.adds.num_rows + content.removes.num_rows)
    return writer.v2("json" if chosen == "v2-json" else "parquet", count)


def default_kind(snapshot: Snapshot) -> Kind:
    wanted = snapshot.properties.checkpoint_policy == "v2"
    return "v2-parquet" if wanted and _has_v2(snapshot) else "classic"


def _has_v2(snapshot: Snapshot) -> bool:
    return is_supported(snapshot.protocol, "v2Checkpoint")


def _check(snapshot: Snapshot, kind: Kind, sidecars: bool | int | None) -> None:
    # Features that ask something of data alone do not matter for a checkpoint.
    check_writable(snapshot.protocol, snapshot.metadata, handles=FEATURES)
    if kind == "classic" and sidecars:
        raise InvalidArgumentError(
            "a classic checkpoint has no sidecars", hint="ask for the kind v2-parquet or v2-json"
        )
    if kind != "classic" and not _has_v2(snapshot):
        raise InvalidArgumentError(
            "the table does not have V2 checkpoints",
            hint="set delta.checkpointPolicy to v2, which adds the table feature v2Checkpoint",
        )
    if not snapshot.store.exists(commit_path(snapshot.version)):
        raise InvalidArgumentError(
            f"version {snapshot.version} has no commit in the log, so it gets no checkpoint",
            hint="make a checkpoint of a version whose commit is there",
        )


def _sidecar_count(sidecars: bool | int | None, num_files: int) -> int:
    enough = max(1, -(-num_files // FILES_PER_SIDECAR))
    if sidecars is None:
        return enough if num_files > FILES_PER_SIDECAR else 0
    if isinstance(sidecars, bool):
        return enough if sidecars else 0
    return max(0, sidecars)


class _Writer:
    def __init__(self, snapshot: Snapshot, content: CheckpointContent, now_ms: int) -> None:
        self._store = snapshot.store
        self._content = content
        self._now = now_ms
        chosen = _CODEC_KEY in snapshot.metadata.configuration
        self._codec = snapshot.properties.parquet_compression_codec if chosen else "snappy"

    def classic(self) -> StoredCheckpoint:
        content = self._content
        path = classic_checkpoint_path(content.version)
        data = self._parquet(path, V1_KINDS, content.actions, content.adds, content.removes)
        with suppress(ObjectExistsError):
            self._store.put_if_absent(path, data)
        return self._stored(path, len(data), content.num_actions, len(data))

    def v2(self, suffix: Literal["json", "parquet"], sidecars: int) -> StoredCheckpoint:
        content = self._content
        written = [self._sidecar(number, sidecars) for number in range(sidecars)]
        actions = [self._metadata(written), *content.actions, *written]
        files = [content.adds, content.removes]
        if written:
            files = [table.slice(0, 0) for table in files]
        encode = self._json if suffix == "json" else self._parquet
        path = unique_checkpoint_path(content.version, suffix)
        data = encode(path, V2_KINDS, actions, *files)
        self._store.put_if_absent(path, data)
        bulk = sum(sidecar.size_in_bytes for sidecar in written)
        rows = content.num_actions + 1 + len(written)
        return self._stored(path, len(data), rows, len(data) + bulk, actions)

    def _sidecar(self, number: int, count: int) -> Sidecar:
        content = self._content
        parts = [_part(table, number, count) for table in (content.adds, content.removes)]
        part = f"{number + 1:010d}.{count:010d}.{uuid.uuid4()}"
        name = f"{content.version:020d}.checkpoint.{part}.parquet"
        data = self._parquet(name, SIDECAR_KINDS, (), *parts)
        self._store.put_if_absent(sidecar_path(name), data)
        return Sidecar(name, len(data), self._now)

    def _metadata(self, sidecars: Sequence[Sidecar]) -> CheckpointMetadata:
        content = self._content
        tags = {"numOfAddFiles": str(content.adds.num_rows)}
        if sidecars:
            tags["sidecarNumActions"] = str(content.num_actions - len(content.actions))
            tags["sidecarSizeInBytes"] = str(sum(sidecar.size_in_bytes for sidecar in sidecars))
        return CheckpointMetadata(content.version, tags)

    def _parquet(
        self,
        path: str,
        kinds: Sequence[str],
        actions: Sequence[Action],
        adds: pa.Table,
        removes: pa.Table,
    ) -> bytes:
        return checkpoint_encoder.encode(path, kinds, actions, adds, removes, codec=self._codec)

    def _json(
        self,
        path: str,
        _kinds: Sequence[str],
        actions: Sequence[Action],
        adds: pa.Table,
        removes: pa.Table,
    ) -> bytes:
        rows = adds_from_table(_with_json_stats(adds))
        return commit.encode([*actions, *rows, *removes_from_table(removes)], path)

    def _stored(
        self,
        path: str,
        size: int,
        rows: int,
        bulk: int,
        actions: Sequence[Action] | None = None,
    ) -> StoredCheckpoint:
        file = parse_name(path, size, self._now)
        version = self._content.version
        hint = LastCheckpoint(
            version=version,
            size=rows,
            size_in_bytes=bulk,
            num_of_add_files=self._content.adds.num_rows,
            v2_checkpoint=None if actions is None else _v2_hint(path, size, self._now, actions),
        )
        files: tuple[LogFile, ...] = () if file is None else (file,)
        return StoredCheckpoint(CheckpointRef(version, files), hint)


def _with_json_stats(adds: pa.Table) -> pa.Table:
    """JSON lines have no other place for statistics: rather there, unasked, than nowhere."""
    if "stats" not in adds.column_names and PARSED_STATS in adds.column_names:
        adds = adds.append_column("stats", write_stats(adds.column(PARSED_STATS)))
    return adds.select([name for name in adds.column_names if name in ADD_SCHEMA.names])


def _part(table: pa.Table, number: int, count: int) -> pa.Table:
    first, last = (table.num_rows * index // count for index in (number, number + 1))
    return table.slice(first, last - first)


def _v2_hint(path: str, size: int, now_ms: int, actions: Sequence[Action]) -> dict[str, Any]:
    """What delta-spark repeats of a V2 checkpoint, so that its readers need not open the file."""
    sidecars = [action.to_json() for action in actions if isinstance(action, Sidecar)]
    others = [wrap(action) for action in actions if not isinstance(action, Sidecar)]
    hint: dict[str, Any] = {
        "path": path.rsplit("/", 1)[-1],
        "sizeInBytes": size,
        "modificationTime": now_ms,
    }
    if len(others) <= _MOST_IN_HINT:
        hint["nonFileActions"] = others
    if len(sidecars) <= _MOST_IN_HINT:
        hint["sidecarFiles"] = sidecars
    return hint
