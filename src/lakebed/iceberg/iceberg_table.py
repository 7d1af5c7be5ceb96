"""What Iceberg's metadata says about a version of a Delta table, besides its files."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from lakebed.errors import UnsupportedFeatureError
from lakebed.iceberg.iceberg_schema import iceberg_fields, name_mapping, partition_fields
from lakebed.log.listing.file_locations import hadoop_root
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import CommitInfo
from lakebed.spec.columns.column_mapping import Mode, mapping_mode, max_column_id
from lakebed.spec.properties import UNIVERSAL_FORMAT_PREFIX
from lakebed.spec.schema import DataType, StructType

DELTA_VERSION = "delta-version"
DELTA_TIMESTAMP = "delta-timestamp"
MAX_SNAPSHOT_AGE = "history.expire.max-snapshot-age-ms"
MAX_PREVIOUS = "write.metadata.previous-versions-max"


@dataclass(frozen=True)
class IcebergTable:
    """`location` is the root as Iceberg spells paths: a URI whose characters are not escaped."""

    url: str
    location: str
    uuid: str
    version: int
    timestamp_ms: int
    schema: StructType
    mode: Mode
    partition_columns: tuple[str, ...]
    fields: list[dict[str, Any]]
    spec: list[dict[str, Any]]
    last_column_id: int
    properties: Mapping[str, str]
    retention_ms: int

    @property
    def partition_types(self) -> list[DataType]:
        return [self.schema.field(name).data_type for name in self.partition_columns]

    def path(self, relative: str) -> str:
        """The location of an object of the table's own store."""
        return f"{self.location}/{relative}"


def describe(snapshot: Snapshot, now_ms: int) -> IcebergTable:
    """Raises where Iceberg has no words for the table: no ids, deletion vectors, other types."""
    metadata, schema = snapshot.metadata, snapshot.schema
    mode = mapping_mode(metadata.configuration)
    check_publishable(snapshot, mode)
    time = _committed_at(snapshot.commit_info, now_ms)
    retention = _retention(snapshot)
    return IcebergTable(
        url=snapshot.store.url,
        location=hadoop_root(snapshot.store.url),
        uuid=_uuid(metadata.id),
        version=snapshot.version,
        timestamp_ms=time,
        schema=schema,
        mode=mode,
        partition_columns=snapshot.partition_columns,
        fields=iceberg_fields(schema),
        spec=partition_fields(schema, snapshot.partition_columns),
        last_column_id=max_column_id(schema, metadata.configuration),
        properties=_properties(snapshot, time, retention),
        retention_ms=retention,
    )


def check_publishable(snapshot: Snapshot, mode: Mode) -> None:
    if mode == "none":
        raise UnsupportedFeatureError(
            f"{snapshot.store.url} has no column mapping, and Iceberg needs its ids",
            features=["columnMapping", "icebergCompatV2"],
            hint="REORG TABLE ... APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION = 2))",
        )
    count = snapshot.totals.num_deletion_vectors
    if count:
        raise UnsupportedFeatureError(
            f"{count} files of {snapshot.store.url} have deletion vectors, which Iceberg's readers "
            "would not see: deleted rows would be back",
            features=["deletionVectors"],
            hint="purge the vectors (REORG TABLE ... APPLY (PURGE)) and turn them off",
        )


def _uuid(table_id: str) -> str:
    """That of the Delta table, which stays as long as the table does."""
    try:
        return str(uuid.UUID(table_id))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, table_id))


def _committed_at(info: CommitInfo | None, now_ms: int) -> int:
    if info is None:
        return now_ms
    timestamp = info.in_commit_timestamp or info.values.get("timestamp")
    return timestamp if isinstance(timestamp, int) and not isinstance(timestamp, bool) else now_ms


def _retention(snapshot: Snapshot) -> int:
    """As long as Delta keeps removed files and the log; a table may ask for less."""
    properties = snapshot.properties
    longest = min(properties.deleted_file_retention_ms, properties.log_retention_ms)
    asked = _asked(snapshot).get(MAX_SNAPSHOT_AGE, "")
    return min(longest, int(asked)) if asked.isascii() and asked.isdigit() else longest


def _asked(snapshot: Snapshot) -> dict[str, str]:
    """Properties for Iceberg that the table was given: delta.universalFormat.config.iceberg.*"""
    prefix = f"{UNIVERSAL_FORMAT_PREFIX}iceberg."
    return {
        key[len(prefix) :]: value
        for key, value in snapshot.metadata.configuration.items()
        if key.lower().startswith(prefix) and key[len(prefix) :] not in _RESERVED
    }


# What Iceberg keeps elsewhere, or what would make it write where Delta does not look.
_RESERVED = frozenset(["format-version", "uuid", "write.data.path", "write.metadata.path"])


def _properties(snapshot: Snapshot, timestamp_ms: int, retention_ms: int) -> dict[str, str]:
    mapping = orjson.dumps(name_mapping(snapshot.schema)).decode("utf-8")
    return {
        **_asked(snapshot),
        DELTA_VERSION: str(snapshot.version),
        DELTA_TIMESTAMP: str(timestamp_ms),
        "schema.name-mapping.default": mapping,
        MAX_SNAPSHOT_AGE: str(retention_ms),
        # Data files belong to Delta's log: Iceberg's own clean-up must never delete them.
        "gc.enabled": "false",
    }
