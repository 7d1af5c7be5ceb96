"""The first action of a commit (PROTOCOL: Commit Provenance Information), as in delta-spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import orjson

from lakebed.spec.actions import CommitInfo
from lakebed.transaction.proposal import Proposal


def commit_info(
    proposal: Proposal,
    *,
    now: int,
    tags: Mapping[str, str],
    in_commit_timestamp: int | None = None,
) -> CommitInfo:
    """`txnId` is what makes a commit recognisable when its writer reads it back."""
    operation = proposal.operation
    values: dict[str, Any] = {
        "inCommitTimestamp": in_commit_timestamp,
        "timestamp": now,
        "operation": operation.name,
        "operationParameters": {name: _value(v) for name, v in operation.parameters.items()},
        "readVersion": proposal.read_version,
        "isolationLevel": proposal.isolation.value,
        "isBlindAppend": proposal.is_blind_append,
        "operationMetrics": {name: _text(v) for name, v in operation.metrics.items()} or None,
        "userMetadata": operation.user_metadata,
        "tags": dict(tags) or None,
        "engineInfo": engine_info(),
        "txnId": proposal.txn_id,
    }
    return CommitInfo({name: value for name, value in values.items() if value is not None})


@cache
def engine_info() -> str:
    try:
        return f"Lakebed/{version('lakebed')}"
    except PackageNotFoundError:
        return "Lakebed/unknown"


def _value(value: Any) -> Any:
    """Lists and maps become JSON text; plain values stand as they are."""
    if isinstance(value, Mapping):
        return orjson.dumps(dict(value)).decode()
    if isinstance(value, Sequence | frozenset | set) and not isinstance(value, str | bytes):
        return orjson.dumps(list(value)).decode()
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
