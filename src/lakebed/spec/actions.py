"""The actions of a commit as values (PROTOCOL: Actions).

Each class maps one JSON object of the log. `parse` takes the decoded object and checks required
fields and types; `to_json` gives the object back. Fields that Lakebed does not know are kept in
`extra` and written out again, so that a round trip loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from lakebed.spec.columns.json_fields import (
    Json,
    broken,
    compact,
    extra,
    integer,
    integer32,
    names,
    required,
    required_integer,
    required_integer32,
    string_map,
    text,
    typed,
)


@dataclass(frozen=True)
class Format:
    """PROTOCOL: Format Specification."""

    provider: str = "parquet"
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, raw: Json) -> Format:
        return cls(
            provider=text(raw, "format", "provider", "parquet"),
            options=string_map(raw, "format", "options") or {},
        )

    def to_json(self) -> dict[str, Any]:
        return {"provider": self.provider, "options": dict(self.options)}


@dataclass(frozen=True)
class Metadata:
    """PROTOCOL: Change Metadata. `schema_string` is parsed by `spec.schema`.

    Old writers left it out of tables without columns; it is then empty.
    """

    id: str
    schema_string: str
    partition_columns: tuple[str, ...] = ()
    configuration: Mapping[str, str] = field(default_factory=dict)
    format: Format = field(default_factory=Format)
    name: str | None = None
    description: str | None = None
    created_time: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, raw: Json) -> Metadata:
        columns = typed(raw, "metaData", "partitionColumns", list) or []
        if not all(isinstance(column, str) for column in columns):
            raise broken("metaData", "partitionColumns", "a list of strings")
        return cls(
            id=required(raw, "metaData", "id", str),
            schema_string=text(raw, "metaData", "schemaString", ""),
            partition_columns=tuple(columns),
            configuration=string_map(raw, "metaData", "configuration") or {},
            format=Format.parse(typed(raw, "metaData", "format", dict) or {}),
            name=typed(raw, "metaData", "name", str),
            description=typed(raw, "metaData", "description", str),
            created_time=integer(raw, "metaData", "createdTime"),
            extra=extra(raw, _METADATA_FIELDS),
        )

    def to_json(self) -> dict[str, Any]:
        return compact(
            {
                "id": self.id,
                "name": self.name,
                "description": self.description,
                "format": self.format.to_json(),
                "schemaString": self.schema_string or None,
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
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, raw: Json) -> Protocol:
        return cls(
            min_reader_version=required_integer32(raw, "protocol", "minReaderVersion"),
            min_writer_version=required_integer32(raw, "protocol", "minWriterVersion"),
            reader_features=names(raw, "readerFeatures"),
            writer_features=names(raw, "writerFeatures"),
            extra=extra(raw, _PROTOCOL_FIELDS),
        )

    def to_json(self) -> dict[str, Any]:
        reader, writer = self.reader_features, self.writer_features
        return compact(
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
    """PROTOCOL: Deletion Vector Descriptor Schema. Paths and bytes: `spec.vector_descriptors`."""

    storage_type: str
    path_or_inline_dv: str
    size_in_bytes: int
    cardinality: int
    offset: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, raw: Json) -> DeletionVector:
        return cls(
            storage_type=required(raw, "deletionVector", "storageType", str),
            path_or_inline_dv=required(raw, "deletionVector", "pathOrInlineDv", str),
            size_in_bytes=required_integer32(raw, "deletionVector", "sizeInBytes"),
            cardinality=required_integer(raw, "deletionVector", "cardinality"),
            offset=integer32(raw, "deletionVector", "offset"),
            extra=extra(raw, _DV_FIELDS),
        )

    @property
    def unique_id(self) -> str:
        """PROTOCOL: Derived Fields. Half of the primary key of a logical file."""
        name = f"{self.storage_type}{self.path_or_inline_dv}"
        return name if self.offset is None else f"{name}@{self.offset}"

    def to_json(self) -> dict[str, Any]:
        return compact(
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
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, raw: Json) -> Add:
        return cls(
            path=required(raw, "add", "path", str),
            partition_values=string_map(raw, "add", "partitionValues") or {},
            size=required_integer(raw, "add", "size"),
            modification_time=required_integer(raw, "add", "modificationTime"),
            data_change=required(raw, "add", "dataChange", bool),
            stats=typed(raw, "add", "stats", str),
            tags=string_map(raw, "add", "tags"),
            deletion_vector=_vector(raw, "add"),
            base_row_id=integer(raw, "add", "baseRowId"),
            default_row_commit_version=integer(raw, "add", "defaultRowCommitVersion"),
            clustering_provider=typed(raw, "add", "clusteringProvider", str),
            extra=extra(raw, ADD_FIELDS),
        )

    @property
    def key(self) -> tuple[str, str | None]:
        vector = self.deletion_vector
        return self.path, None if vector is None else vector.unique_id

    def to_json(self) -> dict[str, Any]:
        vector = self.deletion_vector
        return compact(
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
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, raw: Json) -> Remove:
        changed = typed(raw, "remove", "dataChange", bool)
        return cls(
            path=required(raw, "remove", "path", str),
            data_change=True if changed is None else changed,
            deletion_timestamp=integer(raw, "remove", "deletionTimestamp"),
            extended_file_metadata=typed(raw, "remove", "extendedFileMetadata", bool),
            partition_values=string_map(raw, "remove", "partitionValues"),
            size=integer(raw, "remove", "size"),
            stats=typed(raw, "remove", "stats", str),
            tags=string_map(raw, "remove", "tags"),
            deletion_vector=_vector(raw, "remove"),
            base_row_id=integer(raw, "remove", "baseRowId"),
            default_row_commit_version=integer(raw, "remove", "defaultRowCommitVersion"),
            extra=extra(raw, REMOVE_FIELDS),
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
        return compact(
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
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, raw: Json) -> AddCdc:
        return cls(
            path=required(raw, "cdc", "path", str),
            partition_values=string_map(raw, "cdc", "partitionValues") or {},
            size=required_integer(raw, "cdc", "size"),
            data_change=typed(raw, "cdc", "dataChange", bool) or False,
            tags=string_map(raw, "cdc", "tags"),
            extra=extra(raw, _CDC_FIELDS),
        )

    def to_json(self) -> dict[str, Any]:
        return compact(
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
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, raw: Json) -> Txn:
        return cls(
            app_id=required(raw, "txn", "appId", str),
            version=required_integer(raw, "txn", "version"),
            last_updated=integer(raw, "txn", "lastUpdated"),
            extra=extra(raw, _TXN_FIELDS),
        )

    def to_json(self) -> dict[str, Any]:
        return compact(
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
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, raw: Json) -> DomainMetadata:
        return cls(
            domain=required(raw, "domainMetadata", "domain", str),
            configuration=text(raw, "domainMetadata", "configuration", ""),
            removed=typed(raw, "domainMetadata", "removed", bool) or False,
            extra=extra(raw, _DOMAIN_FIELDS),
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
        return integer(self.values, "commitInfo", "inCommitTimestamp")

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
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, raw: Json) -> Sidecar:
        return cls(
            path=required(raw, "sidecar", "path", str),
            size_in_bytes=required_integer(raw, "sidecar", "sizeInBytes"),
            modification_time=required_integer(raw, "sidecar", "modificationTime"),
            tags=string_map(raw, "sidecar", "tags"),
            extra=extra(raw, _SIDECAR_FIELDS),
        )

    def to_json(self) -> dict[str, Any]:
        return compact(
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
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, raw: Json) -> CheckpointMetadata:
        return cls(
            version=required_integer(raw, "checkpointMetadata", "version"),
            tags=string_map(raw, "checkpointMetadata", "tags"),
            extra=extra(raw, _CHECKPOINT_FIELDS),
        )

    def to_json(self) -> dict[str, Any]:
        tags = None if self.tags is None else dict(self.tags)
        return compact({"version": self.version, "tags": tags, **self.extra})


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


def _fields(action: type) -> Mapping[str, str]:
    """The attribute of each field, by the field's name in the log.

    The attributes of a class are the one list of its fields: their names are those of the log in
    snake case.
    """
    names = [each.name for each in fields(action) if each.name != "extra"]
    return {_camel_case(name): name for name in names}


def _camel_case(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))


ADD_FIELDS = _fields(Add)
REMOVE_FIELDS = _fields(Remove)
_METADATA_FIELDS = _fields(Metadata)
_PROTOCOL_FIELDS = _fields(Protocol)
_DV_FIELDS = _fields(DeletionVector)
_CDC_FIELDS = _fields(AddCdc)
_TXN_FIELDS = _fields(Txn)
_DOMAIN_FIELDS = _fields(DomainMetadata)
_SIDECAR_FIELDS = _fields(Sidecar)
_CHECKPOINT_FIELDS = _fields(CheckpointMetadata)


def _vector(raw: Json, action: str) -> DeletionVector | None:
    value = typed(raw, action, "deletionVector", dict)
    return None if value is None else DeletionVector.parse(value)
