"""What was done to a table, commit by commit, newest first (delta-spark's DESCRIBE HISTORY).

After delta-spark's columns comes `readable`: false where a VACUUM of Lakebed has recorded that the
version lost files, else null, which is "nobody looked". `log.versions.readable` looks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from lakebed.errors import InvalidArgumentError
from lakebed.formats import commit_file as commit
from lakebed.log.listing.commit_times import CommitTimes
from lakebed.log.listing.log_names import LogFile
from lakebed.spec.actions import CommitInfo
from lakebed.spec.version_ranges import VersionRanges
from lakebed.storage.store import Store

UNREADABLE_TAG = "lakebed.unreadableVersions"
"""The tag of a VACUUM END commit that names every version that cannot be read after it."""

READABLE = "readable"
"""The column behind those of delta-spark."""

_STRINGS = pa.map_(pa.string(), pa.string())

HISTORY_SCHEMA = pa.schema(
    [
        ("version", pa.int64()),
        ("timestamp", pa.timestamp("ms", tz="UTC")),
        ("userId", pa.string()),
        ("userName", pa.string()),
        ("operation", pa.string()),
        ("operationParameters", _STRINGS),
        ("job", _STRINGS),
        ("notebook", _STRINGS),
        ("clusterId", pa.string()),
        ("readVersion", pa.int64()),
        ("isolationLevel", pa.string()),
        ("isBlindAppend", pa.bool_()),
        ("operationMetrics", _STRINGS),
        ("userMetadata", pa.string()),
        ("engineInfo", pa.string()),
        (READABLE, pa.bool_()),
    ]
)


def read_history(store: Store, commits: Sequence[LogFile], times: CommitTimes) -> pa.Table:
    """One row per commit in `commits` (oldest first), newest first."""
    bodies = store.get_many([file.path for file in commits])
    rows = []
    lost: list[VersionRanges] = []
    for file, data in zip(reversed(commits), reversed(bodies), strict=True):
        info = commit.decode_commit_info(data, file.path)
        # Newest first: what a VACUUM says about older versions is known when they come.
        gone = any(file.version in ranges for ranges in lost)
        lost.extend(_recorded(info))
        rows.append(_row(file.version, times.time_of(file.version), info, gone))
    return pa.Table.from_pylist(rows, schema=HISTORY_SCHEMA)


def _recorded(info: CommitInfo | None) -> list[VersionRanges]:
    """What a VACUUM END says; a tag that is no list of versions says nothing."""
    tags = None if info is None else info.values.get("tags")
    text = tags.get(UNREADABLE_TAG) if isinstance(tags, Mapping) else None
    if not isinstance(text, str) or not text:
        return []
    try:
        return [VersionRanges(text)]
    except InvalidArgumentError:
        return []


def _row(version: int, timestamp: int, info: CommitInfo | None, gone: bool) -> dict[str, Any]:
    row: dict[str, Any] = {
        "version": version,
        "timestamp": timestamp,
        READABLE: False if gone else None,
    }
    values = {} if info is None else info.values
    for field in HISTORY_SCHEMA:
        if field.name not in row:
            row[field.name] = _fit(values.get(field.name), field.type)
    return row


def _fit(value: Any, kind: pa.DataType) -> Any:
    """commitInfo is free JSON: what does not fit its column is shown as text or left out."""
    if value is None:
        return None
    if pa.types.is_map(kind):
        return _texts(value) if isinstance(value, Mapping) else None
    if pa.types.is_string(kind):
        return _text(value)
    if pa.types.is_boolean(kind):
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if -(2**63) <= value < 2**63 else None


def _texts(values: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    return [(name, None if value is None else _text(value)) for name, value in values.items()]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
