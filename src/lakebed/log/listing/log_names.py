"""The names of the files in `_delta_log` (PROTOCOL: File Types, Checkpoint Naming Scheme)."""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from typing import Literal

LOG_FOLDER = "_delta_log"
SIDECAR_FOLDER = f"{LOG_FOLDER}/_sidecars"
PUT_PROBE = f"{LOG_FOLDER}/_put_if_absent_probe"
"""What a store has to refuse to create again before the first commit of a process.

Readers of Delta ignore files of `_delta_log` with names that they do not know. This one sorts
behind the versions.
"""
LAST_CHECKPOINT = f"{LOG_FOLDER}/_last_checkpoint"

Kind = Literal["commit", "checkpoint", "checksum", "compaction"]


@dataclass(frozen=True)
class LogFile:
    """A file of the log, known by its name. `path` is relative to the table."""

    path: str
    kind: Kind
    version: int
    size: int = 0
    modified_ms: int = 0
    part: int | None = None
    parts: int | None = None
    unique: str | None = None
    end_version: int | None = None

    @property
    def is_json(self) -> bool:
        return self.path.endswith(".json")


def commit_path(version: int) -> str:
    return f"{LOG_FOLDER}/{version:020d}.json"


def checksum_path(version: int) -> str:
    return f"{LOG_FOLDER}/{version:020d}.crc"


def compaction_path(start: int, end: int) -> str:
    return f"{LOG_FOLDER}/{start:020d}.{end:020d}.compacted.json"


def classic_checkpoint_path(version: int) -> str:
    return f"{LOG_FOLDER}/{version:020d}.checkpoint.parquet"


def part_checkpoint_path(version: int, part: int, parts: int) -> str:
    return f"{LOG_FOLDER}/{version:020d}.checkpoint.{part:010d}.{parts:010d}.parquet"


def unique_checkpoint_path(version: int, suffix: Literal["json", "parquet"]) -> str:
    return f"{LOG_FOLDER}/{version:020d}.checkpoint.{uuid.uuid4()}.{suffix}"


def sidecar_path(name: str) -> str:
    return f"{SIDECAR_FOLDER}/{name}"


def list_start(version: int) -> str:
    """Everything about `version` and later sorts at or after this."""
    return f"{LOG_FOLDER}/{version:020d}."


_PATTERN = re.compile(
    r"(?P<version>\d{20})\."
    r"(?:(?P<commit>json)"
    r"|(?P<checksum>crc)"
    r"|(?P<end>\d{20})\.compacted\.json"
    r"|checkpoint\.(?:(?P<part>\d{10})\.(?P<parts>\d{10})\.|(?P<unique>[0-9a-fA-F-]{36})\.)?"
    r"(?P<format>json|parquet))",
    re.ASCII,
)


def parse_name(path: str, size: int = 0, modified_ms: int = 0) -> LogFile | None:
    """What a name says; None for files that are not part of the log."""
    match = _PATTERN.fullmatch(path.removeprefix(f"{LOG_FOLDER}/"))
    if match is None:
        return None
    version = int(match["version"])
    if match["commit"]:
        return LogFile(path, "commit", version, size, modified_ms)
    if match["checksum"]:
        return LogFile(path, "checksum", version, size, modified_ms)
    if match["end"]:
        end = int(match["end"])
        return LogFile(path, "compaction", version, size, modified_ms, end_version=end)
    if match["format"] == "json" and not match["unique"]:
        return None
    return LogFile(
        path,
        "checkpoint",
        version,
        size,
        modified_ms,
        part=int(match["part"]) if match["part"] else None,
        parts=int(match["parts"]) if match["parts"] else None,
        unique=match["unique"],
    )
