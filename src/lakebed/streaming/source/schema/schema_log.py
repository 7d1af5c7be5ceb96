"""The schemas that a stream reads one after the other, as delta-spark keeps them.

The log is the folder `_schema_log_<table id>[_<tracking id>]` of the schema location. Each entry
is a file with its number as the name: a line with the version of the format, then JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from lakebed.errors import (
    InvalidArgumentError,
    LakebedError,
    ObjectExistsError,
    SourceReplacedError,
    StreamingError,
)
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Metadata, Protocol
from lakebed.spec.schema import StructType, parse_schema, schema_to_json
from lakebed.storage.store import Store
from lakebed.streaming.source.schema.schema_rules import partition_schema


@dataclass(frozen=True)
class TrackedSchema:
    """An entry: what files are read with, from a version on."""

    table_id: str
    version: int
    schema_string: str
    partition_string: str
    source_path: str
    """The folder of the source in the checkpoint of its query."""
    configuration: Mapping[str, str] | None = None
    protocol: Protocol | None = None
    previous: int | None = None
    """The number of the entry before, if it is not the one with the number before."""

    @classmethod
    def of(
        cls, version: int, metadata: Metadata, protocol: Protocol, source_path: str
    ) -> TrackedSchema:
        return cls(
            metadata.id,
            version,
            metadata.schema_string,
            schema_to_json(partition_schema(metadata)),
            source_path,
            dict(metadata.configuration),
            protocol,
        )

    @property
    def schema(self) -> StructType:
        return parse_schema(self.schema_string)

    def metadata(self, snapshot: Snapshot) -> Metadata:
        """That of the table, as this entry has it."""
        known = snapshot.metadata
        return replace(
            known,
            schema_string=self.schema_string,
            partition_columns=parse_schema(self.partition_string).names,
            configuration=known.configuration if self.configuration is None else self.configuration,
        )

    def encode(self) -> bytes:
        text = None
        if self.protocol is not None:
            text = orjson.dumps({"protocol": self.protocol.to_json()}).decode()
        values = {
            "tableId": self.table_id,
            "deltaCommitVersion": self.version,
            "dataSchemaJson": self.schema_string,
            "partitionSchemaJson": self.partition_string,
            "sourceMetadataPath": self.source_path,
            "tableConfigurations": self.configuration,
            "protocolJson": text,
            "previousMetadataSeqNum": self.previous,
        }
        present = {key: value for key, value in values.items() if value is not None}
        return b"v1\n" + orjson.dumps(present)

    @classmethod
    def decode(cls, data: bytes, file: str) -> TrackedSchema:
        try:
            return cls._decode(data)
        except (ValueError, KeyError, TypeError, LakebedError) as error:
            raise StreamingError(
                f"{file} is not an entry of a schema log: {error}",
                hint="give the stream a new schemaTrackingLocation and a new checkpoint location",
            ) from error

    @classmethod
    def _decode(cls, data: bytes) -> TrackedSchema:
        head, _, body = data.partition(b"\n")
        if head.strip() != b"v1":
            raise ValueError(f"its format is {head[:20].decode(errors='replace')!r}, not 'v1'")
        raw = _object(orjson.loads(body.partition(b"\n")[0]))
        text = raw.get("protocolJson")
        configuration = raw.get("tableConfigurations")
        found = cls(
            _text(raw["tableId"]),
            int(raw["deltaCommitVersion"]),
            _text(raw["dataSchemaJson"]),
            _text(raw["partitionSchemaJson"]),
            _text(raw["sourceMetadataPath"]),
            None
            if configuration is None
            else {k: _text(v) for k, v in _object(configuration).items()},
            None
            if text is None
            else Protocol.parse(_object(_object(orjson.loads(text))["protocol"])),
            None if (last := raw.get("previousMetadataSeqNum")) is None else int(last),
        )
        parse_schema(found.schema_string)
        parse_schema(found.partition_string)
        return found


class SchemaLog:
    """The log of one source; `store` is its schema location.

    It goes on from the newest entry that it found when it was opened, so that of two queries with
    one log one fails.
    """

    def __init__(self, store: Store, table_id: str, tracking_id: str | None = None) -> None:
        self._store = store
        suffix = "" if tracking_id is None else f"_{tracking_id}"
        self.folder = f"_schema_log_{table_id}{suffix}"
        numbers = self._numbers()
        self._number = max(numbers, default=-1)
        self.current = self._entry(self._number) if numbers else None
        if self.current is not None and self.current.table_id != table_id:
            raise SourceReplacedError(
                f"the schema log {store.url}/{self.folder} is of the table with the id "
                f"{self.current.table_id}, but the source has the id {table_id}",
                hint="start the query with a new checkpoint and schema location",
            )

    @property
    def previous(self) -> TrackedSchema | None:
        """The schema that the stream read before the current one."""
        number = self._previous_number
        return self._entry(number) if number in self._numbers() else None

    def check_source(self, source_path: str) -> None:
        """One log is for one source of one query."""
        if self.current is not None and self.current.source_path != source_path:
            raise InvalidArgumentError(
                f"the schema location {self._store.url} is used by the source "
                f"{self.current.source_path}, and cannot be used by {source_path} too",
                hint="give each stream its own schemaTrackingLocation, or tell the sources of one "
                "query apart with streamingSourceTrackingId",
            )

    def write(self, entry: TrackedSchema, *, replaces: bool = False) -> None:
        """With `replaces` the entry before stays what the stream read before."""
        if replaces and self.current is not None:
            entry = replace(entry, previous=self._previous_number)
        if entry == self.current:
            return
        try:
            self._store.put_if_absent(f"{self.folder}/{self._number + 1}", entry.encode())
        except ObjectExistsError as error:
            raise InvalidArgumentError(
                f"another stream writes to the schema log {self._store.url}/{self.folder}",
                hint="give each stream its own schemaTrackingLocation, or tell the sources of one "
                "query apart with streamingSourceTrackingId",
            ) from error
        self._number += 1
        self.current = entry

    @property
    def _previous_number(self) -> int:
        known = None if self.current is None else self.current.previous
        return self._number - 1 if known is None else known

    def _numbers(self) -> list[int]:
        names = (
            found.path.rpartition("/")[2] for found in self._store.list_from(self.folder + "/")
        )
        return [int(name) for name in names if name.isascii() and name.isdigit()]

    def _entry(self, number: int) -> TrackedSchema:
        path = f"{self.folder}/{number}"
        return TrackedSchema.decode(self._store.get(path), f"{self._store.url}/{path}")


def _object(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError(f"{value!r} is not an object")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a string")
    return value
