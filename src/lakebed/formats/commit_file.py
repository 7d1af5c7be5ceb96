"""Commit files: one JSON object per line (PROTOCOL: Delta Log Entries).

Log compaction files and V2 checkpoints in JSON have the same shape.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson

from lakebed.errors import LogCorruptedError
from lakebed.formats import digest
from lakebed.spec.actions import (
    NAMES,
    PARSERS,
    Action,
    CheckpointMetadata,
    CommitInfo,
    wrap,
)


def encode(actions: Iterable[Action], file: str) -> bytes:
    """The bytes of the log file of that name, with a digest in its first action."""
    everything = list(actions)
    lines: list[bytes] = []
    for number, action in enumerate(everything, 1):
        line = wrap(action)
        if number == 1:
            _leave_room(line)
        if number == len(everything):
            _body(line)[digest.END_FIELD] = True
        lines.append(orjson.dumps(line))
    lines.append(b"")
    return digest.with_digest(b"\n".join(lines), file)


def decode(data: bytes, file: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Name and raw object of each action, in order. Unknown actions are passed over."""
    has_digest = digest.verify(data, file)
    lines = data.split(b"\n")
    found = False
    for number, line in enumerate(lines, 1):
        if not line or line.isspace():
            continue
        found = True
        actions = _object(line, number, file)
        if has_digest and number in (1, len(lines) - 1):
            _without_digest(actions)
        for name, raw in actions.items():
            # Unknown actions too: some other JSON file in the place of a commit has no actions.
            if raw is not None and not isinstance(raw, dict):
                raise LogCorruptedError(f"line {number}: {name!r} is not an object", file=file)
            if raw is not None and name in PARSERS:
                yield name, raw
    if not found:
        raise LogCorruptedError(
            "the file is empty",
            file=file,
            hint="a writer that cannot write atomically died; restore or remove the file",
        )


def decode_actions(data: bytes, file: str, wanted: Sequence[type] | None = None) -> list[Action]:
    """The actions as values; `wanted` limits their classes."""
    names = None if wanted is None else {NAMES[kind] for kind in wanted}
    return [
        parse(name, raw, file) for name, raw in decode(data, file) if names is None or name in names
    ]


def parse(name: str, raw: dict[str, Any], file: str) -> Action:
    """One action as a value; errors name the file."""
    try:
        return PARSERS[name](raw)
    except LogCorruptedError as error:
        raise LogCorruptedError(error.message, file=file, hint=error.hint) from error


def decode_commit_info(data: bytes, file: str) -> CommitInfo | None:
    """Only the commitInfo, which is nearly always in the first line."""
    has_digest = digest.verify(data, file)
    for number, line in enumerate(data.split(b"\n"), 1):
        if b'"commitInfo"' not in line:
            continue
        actions = _object(line, number, file)
        if has_digest:
            _without_digest(actions)
        raw = actions.get("commitInfo")
        if isinstance(raw, dict):
            return CommitInfo.parse(raw)
    for _ in decode(data, file):
        pass  # no commitInfo at all is rare: then the rest must at least be a commit
    return None


def _leave_room(line: dict[str, Any]) -> None:
    body = _body(line)
    if NAMES[CheckpointMetadata] in line:
        body["tags"] = {**(body.get("tags") or {}), digest.FIELD: digest.PLACEHOLDER}
    else:
        body[digest.FIELD] = digest.PLACEHOLDER


def _body(line: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = next(iter(line.values()))
    return body


def _without_digest(actions: dict[str, Any]) -> None:
    """The digest is of this file: an action that moves on must not take it along."""
    for raw in actions.values():
        if isinstance(raw, dict):
            raw.pop(digest.FIELD, None)
            raw.pop(digest.END_FIELD, None)
            tags = raw.get("tags")
            if isinstance(tags, dict):
                tags.pop(digest.FIELD, None)


def _object(line: bytes, number: int, file: str) -> dict[str, Any]:
    try:
        value = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise LogCorruptedError(f"line {number} is not JSON: {error}", file=file) from error
    if not isinstance(value, dict):
        raise LogCorruptedError(f"line {number} is not a JSON object", file=file)
    return value
