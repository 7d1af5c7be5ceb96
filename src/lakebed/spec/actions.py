"""The actions of a commit as values (PROTOCOL: Actions).

Each class maps one JSON object of the log. `parse` takes the decoded object and checks required
fields and types; `to_json` gives the object back. Fields that Lakebed does not know are kept in
`extra` and written out again, so that a round trip loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

from lakebed.errors import LogCorruptedError

Json = Mapping[str, Any]
EMPTY: Mapping[str, Any] = MappingProxyType({})

T = TypeVar("T")


@dataclass(frozen=True)
class Format:
    """PROTOCOL: Format Specification."""

    provider: str = "parquet"
    options: Mapping[str, str] = EMPTY

    @classmethod
    def parse(cls, raw: Json) -> Format:
        return cls(
            provider=_text(raw, "format", "provider", "parquet"),
            options=_string_map(raw, "format", "options") or EMPTY,
        )

    def to_json(self) -> dict[str, Any]:
        return {"provider": self.provider, "options": dict(self.options)}


@dataclass(frozen=True)
class Metadata:
    """PROTOCOL: Change Metadata. `schema_string` is parsed by `spec.schema`."""

    id: str
    schema_string: str
    partition_columns: tuple[str, ...] = ()
    configuration: Mapping[str, str] = EMPTY
    format: Format = field(default_factory=Format)
    name: str | None = None
    description: str | None = None
    created_time: int | None = None
    extra: Mapping[str, Any] = EMPTY

    @classmethod
    def parse(cls, raw: Json) -> Metadata:
        columns = _typed(raw, "metaData", "partitionColumns", list) or []
        if not all(isinstance(column, str) for column in columns):
            raise _broken("metaData", "partitionColumns", "a list of strings")
        return cls(
            id=_required(raw, "metaData", "id", str),
            schema_string=_required(raw, "metaData", "schemaString", str),
            partition_columns=tuple(columns),
            configuration=_string_map(raw, "metaData", "configuration") or EMPTY,
            format=Format.parse(_typed(raw, "metaData", "format", Mapping) or {}),
            name=_typed(raw, "metaData", "name", str),
            description=_typed(raw, "metaData", "description", str),
            created_time=_integer(raw, "metaData", "createdTime"),
            extra=_extra(raw, _METADATA_FIELDS),
        )

    def to_json(self) -> dict[str, Any]:
        return _compact(
            {
                "id": self.id,
                "name": self.name,
                "description": self.description,
                "format": self.format.to_json(),
                "schemaString": self.schema_string,
                "partitionColumns": list(self.partition_columns),
                "configuration": dict(self.configuration),
                "createdTime": self.created_time,
                **self.extra,
            }
        )


@dataclass(frozen=True)
class Protocol:
    """PROTOCOL: Protocol Evolution. The rules for the feature lists are in `spec.features`."""

    min_reader_version: int
    min_writer_version: int
    reader_features: tuple[str, ...] | None = None
    writer_features: tuple[str, ...] | None = None
    extra: Mapping[str, Any] = EMPTY

    @classmethod
    def parse(cls, raw: Json) -> Protocol:
        return cls(
            min_reader_version=_required_integer(raw, "protocol", "minReaderVersion"),
            min_writer_version=_required_integer(raw, "protocol", "minWriterVersion"),
            reader_features=_names(raw, "readerFeatures"),
            writer_features=_names(raw, "writerFeatures"),
            extra=_extra(raw, _PROTOCOL_FIELDS),
        )

    def to_json(self) -> dict[str, Any]:
        reader, writer = self.reader_features, self.writer_features
        return _compact(
            {
                "minReaderVersion": self.min_reader_version,
                "minWriterVersion": self.min_writer_version,
                "readerFeatures": None if reader is None else list(reader),
                "writerFeatures": None if writer is None else list(writer),
                **self.extra,
            }
        )


@dataclass(frozen=True)
class DeletionVector:
    """PROTOCOL: Deletion Vector Descriptor Schema. Paths and bytes: `spec.deletion_vectors`."""

    storage_type: str
    path_or_inline_dv: str
    size_in_bytes: int
    cardinality: int
    offset: int | None = None
    extra: Mapping[str, Any] = EMPTY

    @classmethod
    def parse(cls, raw: Json) -> DeletionVector:
        return cls(
            storage_type=_required(raw, "deletionVector", "storageType", str),
            path_or_inline_dv=_required(raw, "deletionVector", "pathOrInlineDv", str),
            size_in_bytes=_required_integer(raw, "deletionVector", "sizeInBytes"),
            cardinality=_required_integer(raw, "deletionVector", "cardinality"),
            offset=_integer(raw, "deletionVector", "offset"),
            extra=_extra(raw, _DV_FIELDS),
        )

    @property
    def unique_id(self) -> str:
        """PROTOCOL: Derived Fields. Half of the primary key of a logical file."""
        name = f"{self.storage_type}{self.path_or_inline_dv}"
        return name if self.offset is None else f"{name}@{self.offset}"

    def to_json(self) -> dict[str, Any]:
        return _compact(
            {
                "storageType": self.storage_type,
                "pathOrInlineDv": self.path_or_inline_dv,
                "offset": self.offset,
                "sizeInBytes": self.size_in_bytes,
                "cardinality": self.cardinality,
                **self.extra,
            }
        )


@dataclass(frozen=True)
class Add:
    """PROTOCOL: Add File. `path` is as the log has it, URL-encoded; `stats` is a JSON string."""

    path: str
    partition_values: Mapping[str, str | None]
    size: int
    modification_time: int
    data_change: bool
    stats: str | None = None
    tags: Mapping[str, str | None] | None = None
    deletion_vector: DeletionVector | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None
    clustering_provider: str | None = None
    extra: Mapping[str, Any] = EMPTY

    @classmethod
    def parse(cls, raw: Json) -> Add:
        return cls(
            path=_required(raw, "add", "path", str),
            partition_values=_string_map(raw, "add", "partitionValues") or EMPTY,
            size=_required_integer(raw, "add", "size"),
            modification_time=_required_integer(raw, "add", "modificationTime"),
            data_change=_required(raw, "add", "dataChange", bool),
            stats=_typed(raw, "add", "stats", str),
            tags=_string_map(raw, "add", "tags"),
            deletion_vector=_vector(raw, "add"),
            base_row_id=_integer(raw, "add", "baseRowId"),
            default_row_commit_version=_integer(raw, "add", "defaultRowCommitVersion"),
            clustering_provider=_typed(raw, "add", "clusteringProvider", str),
            extra=_extra(raw, _ADD_FIELDS),
        )

    @property
    def key(self) -> tuple[str, str | None]:
        vector = self.deletion_vector
        return self.path, None if vector is None else vector.unique_id

    def to_json(self) -> dict[str, Any]:
        vector = self.deletion_vector
        return _compact(
            {
                "path": self.path,
                "partitionValues": dict(self.partition_values),
                "size": self.size,
                "modificationTime": self.modification_time,
                "dataChange": self.data_change,
                "stats": self.stats,
                "tags": None if self.tags is None else dict(self.tags),
                "deletionVector": None if vector is None else vector.to_json(),
                "baseRowId": self.base_row_id,
                "defaultRowCommitVersion": self.default_row_commit_version,
                "clusteringProvider": self.clustering_provider,
                **self.extra,
            }
        )


@dataclass(frozen=True)
class Remove:
    """PROTOCOL: Remove File."""

    path: str
    data_change: bool
    deletion_timestamp: int | None = None
    extended_file_metadata: bool | None = None
    partition_values: Mapping[str, str | None] | None = None
    size: int | None = None
    stats: str | None = None
    tags: Mapping[str, str | None] | None = None
    deletion_vector: DeletionVector | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None
    extra: Mapping[str, Any] = EMPTY

    @classmethod
    def parse(cls, raw: Json) -> Remove:
        changed = _typed(raw, "remove", "dataChange", bool)
        return cls(
            path=_required(raw, "remove", "path", str),
            data_change=True if changed is None else changed,
            deletion_timestamp=_integer(raw, "remove", "deletionTimestamp"),
            extended_file_metadata=_typed(raw, "remove", "extendedFileMetadata", bool),
            partition_values=_string_map(raw, "remove", "partitionValues"),
            size=_integer(raw, "remove", "size"),
            stats=_typed(raw, "remove", "stats", str),
            tags=_string_map(raw, "remove", "tags"),
            deletion_vector=_vector(raw, "remove"),
            base_row_id=_integer(raw, "remove", "baseRowId"),
            default_row_commit_version=_integer(raw, "remove", "defaultRowCommitVersion"),
            extra=_extra(raw, _REMOVE_FIELDS),
        )

    @property
    def key(self) -> tuple[str, str | None]:
        vector = self.deletion_vector
        return self.path, None if vector is None else vector.unique_id

    @classmethod
    def of(cls, add: Add, *, timestamp: int, data_change: bool = True) -> Remove:
        """The tombstone of a live file, with extended metadata."""
        return cls(
            path=add.path,
            data_change=data_change,
            deletion_timestamp=timestamp,
            extended_file_metadata=True,
            partition_values=add.partition_values,
            size=add.size,
            stats=add.stats,
            tags=add.tags,
            deletion_vector=add.deletion_vector,
            base_row_id=add.base_row_id,
            default_row_commit_version=add.default_row_commit_version,
        )

    def to_json(self) -> dict[str, Any]:
        vector, values = self.deletion_vector, self.partition_values
        return _compact(
            {
                "path": self.path,
                "deletionTimestamp": self.deletion_timestamp,
                "dataChange": self.data_change,
                "extendedFileMetadata": self.extended_file_metadata,
                "partitionValues": None if values is None else dict(values),
                "size": self.size,
                "stats": self.stats,
                "tags": None if self.tags is None else dict(self.tags),
                "deletionVector": None if vector is None else vector.to_json(),
                "baseRowId": self.base_row_id,
                "defaultRowCommitVersion": self.default_row_commit_version,
                **self.extra,
            }
        )


@dataclass(frozen=True)
class AddCdc:
    """PROTOCOL: Add CDC File."""

    path: str
    partition_values: Mapping[str, str | None]
    size: int
    data_change: bool = False
    tags: Mapping[str, str | None] | None = None
    extra: Mapping[str, Any] = EMPTY

    @classmethod
    def parse(cls, raw: Json) -> AddCdc:
        return cls(
            path=_required(raw, "cdc", "path", str),
            partition_values=_string_map(raw, "cdc", "partitionValues") or EMPTY,
            size=_required_integer(raw, "cdc", "size"),
            data_change=_typed(raw, "cdc", "dataChange", bool) or False,
            tags=_string_map(raw, "cdc", "tags"),
            extra=_extra(raw, _CDC_FIELDS),
        )

    def to_json(self) -> dict[str, Any]:
        return _compact(
            {
                "path": self.path,
                "partitionValues": dict(self.partition_values),
                "size": self.size,
                "dataChange": self.data_change,
                "tags": None if self.tags is None else dict(self.tags),
                **self.extra,
            }
        )


@dataclass(frozen=True)
class Txn:
    """PROTOCOL: Transaction Identifiers."""

    app_id: str
    version: int
    last_updated: int | None = None
    extra: Mapping[str, Any] = EMPTY

    @classmethod
    def parse(cls, raw: Json) -> Txn:
        return cls(
            app_id=_required(raw, "txn", "appId", str),
            version=_required_integer(raw, "txn", "version"),
            last_updated=_integer(raw, "txn", "lastUpdated"),
            extra=_extra(raw, _TXN_FIELDS),
        )

    def to_json(self) -> dict[str, Any]:
        return _compact(
            {
                "appId": self.app_id,
                "version": self.version,
                "lastUpdated": self.last_updated,
                **self.extra,
            }
        )


@dataclass(frozen=True)
class DomainMetadata:
    """PROTOCOL: Domain Metadata."""

    domain: str
    configuration: str
    removed: bool = False
    extra: Mapping[str, Any] = EMPTY

    @classmethod
    def parse(cls, raw: Json) -> DomainMetadata:
        return cls(
            domain=_required(raw, "domainMetadata", "domain", str),
            configuration=_text(raw, "domainMetadata", "configuration", ""),
            removed=_typed(raw, "domainMetadata", "removed", bool) or False,
            extra=_extra(raw, _DOMAIN_FIELDS),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "domain": self.domain,
            "configuration": self.configuration,
            "removed": self.removed,
            **self.extra,
        }


@dataclass(frozen=True)
class CommitInfo:
    """PROTOCOL: Commit Provenance Information: any JSON object."""

    values: Mapping[str, Any]

    @classmethod
    def parse(cls, raw: Json) -> CommitInfo:
        return cls(dict(raw))

    @property
    def in_commit_timestamp(self) -> int | None:
        return _integer(self.values, "commitInfo", "inCommitTimestamp")

    @property
    def operation(self) -> str | None:
        value = self.values.get("operation")
        return value if isinstance(value, str) else None

    @property
    def txn_id(self) -> str | None:
        value = self.values.get("txnId")
        return value if isinstance(value, str) else None

    def to_json(self) -> dict[str, Any]:
        return dict(self.values)


@dataclass(frozen=True)
class Sidecar:
    """PROTOCOL: Sidecar File Information. Only in checkpoints of the V2 spec."""

    path: str
    size_in_bytes: int
    modification_time: int
    tags: Mapping[str, str | None] | None = None
    extra: Mapping[str, Any] = EMPTY

    @classmethod
    def parse(cls, raw: Json) -> Sidecar:
        return cls(
            path=_required(raw, "sidecar", "path", str),
            size_in_bytes=_required_integer(raw, "sidecar", "sizeInBytes"),
            modification_time=_required_integer(raw, "sidecar", "modificationTime"),
            tags=_string_map(raw, "sidecar", "tags"),
            extra=_extra(raw, _SIDECAR_FIELDS),
        )

    def to_json(self) -> dict[str, Any]:
        return _compact(
            {
                "path": self.path,
                "sizeInBytes": self.size_in_bytes,
                "modificationTime": self.modification_time,
                "tags": None if self.tags is None else dict(self.tags),
                **self.extra,
            }
        )


@dataclass(frozen=True)
class CheckpointMetadata:
    """PROTOCOL: Checkpoint Metadata. Only in checkpoints of the V2 spec."""

    version: int
    tags: Mapping[str, str | None] | None = None
    extra: Mapping[str, Any] = EMPTY

    @classmethod
    def parse(cls, raw: Json) -> CheckpointMetadata:
        return cls(
            version=_required_integer(raw, "checkpointMetadata", "version"),
            tags=_string_map(raw, "checkpointMetadata", "tags"),
            extra=_extra(raw, _CHECKPOINT_FIELDS),
        )

    def to_json(self) -> dict[str, Any]:
        tags = None if self.tags is None else dict(self.tags)
        return _compact({"version": self.version, "tags": tags, **self.extra})


Action = (
    Add
    | Remove
    | AddCdc
    | Metadata
    | Protocol
    | Txn
    | DomainMetadata
    | CommitInfo
    | Sidecar
    | CheckpointMetadata
)

PARSERS: Mapping[str, Callable[[Json], Action]] = {
    "add": Add.parse,
    "remove": Remove.parse,
    "cdc": AddCdc.parse,
    "metaData": Metadata.parse,
    "protocol": Protocol.parse,
    "txn": Txn.parse,
    "domainMetadata": DomainMetadata.parse,
    "commitInfo": CommitInfo.parse,
    "sidecar": Sidecar.parse,
    "checkpointMetadata": CheckpointMetadata.parse,
}

NAMES: Mapping[type, str] = {
    Add: "add",
    Remove: "remove",
    AddCdc: "cdc",
    Metadata: "metaData",
    Protocol: "protocol",
    Txn: "txn",
    DomainMetadata: "domainMetadata",
    CommitInfo: "commitInfo",
    Sidecar: "sidecar",
    CheckpointMetadata: "checkpointMetadata",
}


def wrap(action: Action) -> dict[str, Any]:
    """The one-key object that stands on a line of the log: `{"add": {...}}`."""
    return {NAMES[type(action)]: action.to_json()}


_METADATA_FIELDS = frozenset(
    "id name description format schemaString partitionColumns createdTime configuration".split()
)
_PROTOCOL_FIELDS = frozenset(
    "minReaderVersion minWriterVersion readerFeatures writerFeatures".split()
)
_DV_FIELDS = frozenset("storageType pathOrInlineDv offset sizeInBytes cardinality".split())
_ADD_FIELDS = frozenset(
    "path partitionValues size modificationTime dataChange stats tags deletionVector baseRowId "
    "defaultRowCommitVersion clusteringProvider".split()
)
_REMOVE_FIELDS = frozenset(
    "path deletionTimestamp dataChange extendedFileMetadata partitionValues size stats tags "
    "deletionVector baseRowId defaultRowCommitVersion".split()
)
_CDC_FIELDS = frozenset("path partitionValues size dataChange tags".split())
_TXN_FIELDS = frozenset("appId version lastUpdated".split())
_DOMAIN_FIELDS = frozenset("domain configuration removed".split())
_SIDECAR_FIELDS = frozenset("path sizeInBytes modificationTime tags".split())
_CHECKPOINT_FIELDS = frozenset("version tags".split())


def _broken(action: str, name: str, wanted: str) -> LogCorruptedError:
    return LogCorruptedError(f"the {action} action has no valid {name!r}: expected {wanted}")


def _typed(raw: Json, action: str, name: str, kind: type[T]) -> T | None:
    value = raw.get(name)
    if value is None or isinstance(value, kind):
        return value
    raise _broken(action, name, kind.__name__)


def _text(raw: Json, action: str, name: str, default: str) -> str:
    value = _typed(raw, action, name, str)
    return default if value is None else value


def _required(raw: Json, action: str, name: str, kind: type[T]) -> T:
    value = _typed(raw, action, name, kind)
    if value is None:
        raise _broken(action, name, kind.__name__)
    return value


def _integer(raw: Json, action: str, name: str) -> int | None:
    value = raw.get(name)
    # A bool is an int to Python, and some writers put whole numbers as 1.0.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        if value is not None and not -(2**63) <= value < 2**63:
            raise _broken(action, name, "a 64-bit integer")
        return value
    raise _broken(action, name, "an integer")


def _required_integer(raw: Json, action: str, name: str) -> int:
    value = _integer(raw, action, name)
    if value is None:
        raise _broken(action, name, "an integer")
    return value


def _string_map(raw: Json, action: str, name: str) -> dict[str, Any] | None:
    value = _typed(raw, action, name, Mapping)
    if value is None:
        return None
    for entry in value.values():
        if entry is not None and not isinstance(entry, str):
            raise _broken(action, name, "a map of strings")
    return dict(value)


def _names(raw: Json, name: str) -> tuple[str, ...] | None:
    value = _typed(raw, "protocol", name, list)
    if value is None:
        return None
    if not all(isinstance(entry, str) for entry in value):
        raise _broken("protocol", name, "a list of strings")
    return tuple(value)


def _vector(raw: Json, action: str) -> DeletionVector | None:
    value = _typed(raw, action, "deletionVector", Mapping)
    return None if value is None else DeletionVector.parse(value)


def _extra(raw: Json, known: frozenset[str]) -> Mapping[str, Any]:
    return {name: value for name, value in raw.items() if name not in known} or EMPTY


def _compact(raw: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in raw.items() if value is not None}
