"""Version checksum files `N.crc` (PROTOCOL: Version Checksum File)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from lakebed.errors import LogCorruptedError
from lakebed.formats import digest
from lakebed.spec.actions import DomainMetadata, Metadata, Protocol, Txn
from lakebed.spec.columns.json_fields import integer, required, required_integer, typed


@dataclass(frozen=True)
class VersionChecksum:
    """With `has_digest` Lakebed wrote it and its bytes are as they were: it can be used."""

    table_size_bytes: int
    num_files: int
    metadata: Metadata
    protocol: Protocol
    txn_id: str | None = None
    in_commit_timestamp: int | None = None
    transactions: tuple[Txn, ...] | None = None
    domains: tuple[DomainMetadata, ...] | None = None
    file_size_histogram: Mapping[str, Any] | None = None
    num_deleted_records: int | None = None
    num_deletion_vectors: int | None = None
    deleted_record_counts: Mapping[str, Any] | None = None
    has_digest: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)

    def encode(self, file: str) -> bytes:
        """The bytes of the checksum file of that name."""
        raw: dict[str, Any] = {
            digest.FIELD: digest.PLACEHOLDER,
            "txnId": self.txn_id,
            "tableSizeBytes": self.table_size_bytes,
            "numFiles": self.num_files,
            "numDeletedRecordsOpt": self.num_deleted_records,
            "numDeletionVectorsOpt": self.num_deletion_vectors,
            "numMetadata": 1,
            "numProtocol": 1,
            "inCommitTimestampOpt": self.in_commit_timestamp,
            "setTransactions": _json_list(self.transactions),
            "domainMetadata": _json_list(self.domains),
            "metadata": self.metadata.to_json(),
            "protocol": self.protocol.to_json(),
            "fileSizeHistogram": self.file_size_histogram,
            "deletedRecordCountsHistogramOpt": self.deleted_record_counts,
            **self.extra,
        }
        return digest.with_digest(
            orjson.dumps({k: v for k, v in raw.items() if v is not None}), file
        )


def decode(data: bytes, file: str) -> VersionChecksum:
    has_digest = digest.verify(data, file)
    try:
        raw = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise LogCorruptedError(f"not valid JSON: {error}", file=file) from error
    if not isinstance(raw, dict):
        raise LogCorruptedError("not a JSON object", file=file)
    try:
        return _parse(raw, has_digest)
    except LogCorruptedError as error:
        raise LogCorruptedError(error.message, file=file) from error


def _parse(raw: dict[str, Any], has_digest: bool) -> VersionChecksum:
    transactions = typed(raw, "crc", "setTransactions", list)
    domains = typed(raw, "crc", "domainMetadata", list)
    histogram = typed(raw, "crc", "fileSizeHistogram", dict)
    return VersionChecksum(
        table_size_bytes=required_integer(raw, "crc", "tableSizeBytes"),
        num_files=required_integer(raw, "crc", "numFiles"),
        metadata=Metadata.parse(required(raw, "crc", "metadata", dict)),
        protocol=Protocol.parse(required(raw, "crc", "protocol", dict)),
        txn_id=typed(raw, "crc", "txnId", str),
        in_commit_timestamp=integer(raw, "crc", "inCommitTimestampOpt"),
        transactions=None if transactions is None else tuple(map(_txn, transactions)),
        domains=None if domains is None else tuple(map(_domain, domains)),
        file_size_histogram=histogram or typed(raw, "crc", "histogramOpt", dict),
        num_deleted_records=integer(raw, "crc", "numDeletedRecordsOpt"),
        num_deletion_vectors=integer(raw, "crc", "numDeletionVectorsOpt"),
        deleted_record_counts=typed(raw, "crc", "deletedRecordCountsHistogramOpt", dict),
        has_digest=has_digest,
        extra={name: value for name, value in raw.items() if name not in _KNOWN},
    )


_KNOWN = frozenset(
    {
        digest.FIELD,
        "txnId",
        "tableSizeBytes",
        "numFiles",
        "numDeletedRecordsOpt",
        "numDeletionVectorsOpt",
        "numMetadata",
        "numProtocol",
        "inCommitTimestampOpt",
        "setTransactions",
        "domainMetadata",
        "metadata",
        "protocol",
        "histogramOpt",
        "fileSizeHistogram",
        "deletedRecordCountsHistogramOpt",
    }
)


def _txn(raw: Any) -> Txn:
    return Txn.parse(_as_object(raw, "setTransactions"))


def _domain(raw: Any) -> DomainMetadata:
    return DomainMetadata.parse(_as_object(raw, "domainMetadata"))


def _as_object(raw: Any, name: str) -> dict[str, Any]:
    if not isinstance(raw, dict):
        raise LogCorruptedError(f"{name!r} holds something that is not an object")
    return raw


def _json_list(entries: tuple[Any, ...] | None) -> list[dict[str, Any]] | None:
    return None if entries is None else [entry.to_json() for entry in entries]
