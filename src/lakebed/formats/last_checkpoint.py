"""The hint `_last_checkpoint` and its checksum (PROTOCOL: Last Checkpoint File Schema)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from lakebed.errors import LogCorruptedError
from lakebed.spec.columns.json_fields import integer, required_integer, string_map, typed


@dataclass(frozen=True)
class LastCheckpoint:
    version: int
    size: int
    parts: int | None = None
    size_in_bytes: int | None = None
    num_of_add_files: int | None = None
    checkpoint_schema: Mapping[str, Any] | None = None
    v2_checkpoint: Mapping[str, Any] | None = None
    tags: Mapping[str, str | None] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def encode(self) -> bytes:
        raw: dict[str, Any] = {
            "version": self.version,
            "size": self.size,
            "parts": self.parts,
            "sizeInBytes": self.size_in_bytes,
            "numOfAddFiles": self.num_of_add_files,
            "checkpointSchema": self.checkpoint_schema,
            "v2Checkpoint": self.v2_checkpoint,
            "tags": None if self.tags is None else dict(self.tags),
            **self.extra,
        }
        raw = {name: value for name, value in raw.items() if value is not None}
        found = checksums(raw)
        if len(found) == 1:
            raw["checksum"] = found.pop()
        return json.dumps(raw, separators=(",", ":"), ensure_ascii=False).encode()


def decode(data: bytes, file: str) -> LastCheckpoint:
    """Raises LogCorruptedError for anything that cannot be trusted; callers then list the log."""
    try:
        raw = json.loads(data, object_pairs_hook=_no_duplicates, parse_constant=_no_constants)
        valid = checksums(raw) if isinstance(raw, dict) else set()
    except (ValueError, RecursionError) as error:
        raise LogCorruptedError(f"not valid JSON: {error}", file=file) from error
    if not isinstance(raw, dict):
        raise LogCorruptedError("not a JSON object", file=file)
    if raw.get("checksum") is not None and raw["checksum"] not in valid:
        raise LogCorruptedError("its checksum does not match its contents", file=file)
    return LastCheckpoint(
        version=required_integer(raw, "_last_checkpoint", "version"),
        size=required_integer(raw, "_last_checkpoint", "size"),
        parts=integer(raw, "_last_checkpoint", "parts"),
        size_in_bytes=integer(raw, "_last_checkpoint", "sizeInBytes"),
        num_of_add_files=integer(raw, "_last_checkpoint", "numOfAddFiles"),
        checkpoint_schema=typed(raw, "_last_checkpoint", "checkpointSchema", dict),
        v2_checkpoint=typed(raw, "_last_checkpoint", "v2Checkpoint", dict),
        tags=string_map(raw, "_last_checkpoint", "tags"),
        extra={name: value for name, value in raw.items() if name not in _KNOWN},
    )


def checksums(raw: Mapping[str, Any]) -> set[str]:
    """PROTOCOL: JSON checksum. The MD5 of the canonical form, without the key `checksum`.

    delta-spark sorts "path=value" where the protocol sorts paths, which differs for lists of more
    than ten plain values: entry 10 comes before entry 1. Then there are two checksums: both are
    taken when reading, and none is written, since no one of them suits every reader.
    """
    content = {name: value for name, value in raw.items() if name != "checksum"}
    texts = {canonical(content), _as_spark_sorts(content)}
    return {hashlib.md5(text.encode(), usedforsecurity=False).hexdigest() for text in texts}


def canonical(value: Any) -> str:
    pairs = sorted((path.encode(), path, text) for path, text in _leaves(value, ""))
    return ",".join(f"{path}={text}" for _, path, text in pairs)


def _as_spark_sorts(value: Any) -> str:
    return ",".join(sorted(f"{path}={text}" for path, text in _leaves(value, "")))


_KNOWN = frozenset(
    {
        "version",
        "size",
        "parts",
        "sizeInBytes",
        "numOfAddFiles",
        "checkpointSchema",
        "v2Checkpoint",
        "tags",
        "checksum",
    }
)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, entry in value.items():
            yield from _leaves(entry, _join(path, _quoted(name)))
    elif isinstance(value, list | tuple):
        for position, entry in enumerate(value):
            yield from _leaves(entry, _join(path, str(position)))
    else:
        yield path, _quoted(value) if isinstance(value, str) else json.dumps(value)


def _join(path: str, name: str) -> str:
    return f"{path}+{name}" if path else name


def _quoted(text: str) -> str:
    return f'"{quote(text, safe="-._~")}"'


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("duplicate keys")
    return result


def _no_constants(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
