"""Damage to the bytes of a file, and everything that a reader can see of a table."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from lakebed.errors import LakebedError
from lakebed.log.table_log import TableLog
from lakebed.storage import Store, open_store
from lakebed.tables.table import Table

Seen = dict[str, Any]


# --- damage -------------------------------------------------------------------------------------


@st.composite
def mutated(draw: st.DrawFn, data: bytes, others: Sequence[bytes]) -> bytes:
    """`data` after one accident; `others` are the contents of the files beside it."""
    kind = draw(st.sampled_from([*_BYTES, *_LINES, "replace"]))
    if kind == "replace":
        return draw(st.sampled_from(others)) if others else b""
    return draw((_BYTES.get(kind) or _LINES[kind])(data))


@st.composite
def _flip(draw: st.DrawFn, data: bytes) -> bytes:
    result = bytearray(data)
    for _ in range(draw(st.integers(1, 3))):
        if result:
            result[draw(st.integers(0, len(result) - 1))] ^= 1 << draw(st.integers(0, 7))
    return bytes(result)


@st.composite
def _overwrite(draw: st.DrawFn, data: bytes) -> bytes:
    at, new = draw(st.integers(0, len(data))), draw(st.binary(min_size=1, max_size=40))
    return data[:at] + new[: len(data) - at] + data[at + len(new) :]


@st.composite
def _insert(draw: st.DrawFn, data: bytes) -> bytes:
    at = draw(st.integers(0, len(data)))
    return data[:at] + draw(st.binary(min_size=1, max_size=40)) + data[at:]


@st.composite
def _delete(draw: st.DrawFn, data: bytes) -> bytes:
    at = draw(st.integers(0, len(data)))
    return data[:at] + data[draw(st.integers(at, min(len(data), at + 400))) :]


@st.composite
def _truncate(draw: st.DrawFn, data: bytes) -> bytes:
    return data[: draw(st.sampled_from([0, 1]) | st.integers(0, len(data)))]


@st.composite
def _zeros(draw: st.DrawFn, data: bytes) -> bytes:
    """As after a crash of a file system that had noted the size before the bytes."""
    at = draw(st.integers(0, len(data)))
    return data[:at] + bytes(len(data) - at)


@st.composite
def _swap_lines(draw: st.DrawFn, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    one, other = (draw(st.integers(0, len(lines) - 1)) for _ in range(2)) if lines else (0, 0)
    if lines:
        lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


@st.composite
def _duplicate_line(draw: st.DrawFn, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    at = draw(st.integers(0, max(len(lines) - 1, 0)))
    return b"".join(lines[: at + 1] + lines[at:])


@st.composite
def _delete_lines(draw: st.DrawFn, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    first = draw(st.integers(0, len(lines)))
    return b"".join(lines[:first] + lines[draw(st.integers(first, len(lines))) :])


_BYTES = {
    "flip": _flip,
    "overwrite": _overwrite,
    "insert": _insert,
    "delete": _delete,
    "truncate": _truncate,
    "zeros": _zeros,
}
_LINES = {"swap": _swap_lines, "duplicate": _duplicate_line, "delete lines": _delete_lines}


@contextmanager
def damaged(file: Path, data: bytes) -> Iterator[None]:
    """The file holds `data` for a while, with the time that it had."""
    old, times = file.read_bytes(), file.stat()
    try:
        file.write_bytes(data)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        yield
    finally:
        file.write_bytes(old)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


# --- what can be seen ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Refusal:
    """What was seen in place of an answer."""

    error: LakebedError


def store_of(path: Path, *, probes: bool) -> Store:
    """The local disk, either asked name by name or listed like an object store."""
    store = open_store(str(path))
    store.cheap_probes = probes
    return store


def look(store: Store, versions: Sequence[int]) -> dict[str, Seen | Refusal]:
    """The newest version with its rows, each version with its files, and the history."""
    log = TableLog(store)
    found = {"newest": _try(lambda: _version(log, None)), "history": _try(lambda: _history(log))}
    for version in versions:
        found[f"version {version}"] = _try(lambda v=version: _version(log, v))
    return found


def _try(see: Any) -> Seen | Refusal:
    try:
        return see()
    except LakebedError as error:
        return Refusal(error)


def _version(log: TableLog, version: int | None) -> Seen:
    snapshot = log.snapshot(version)
    table = Table(log, snapshot)
    seen = {
        "version": snapshot.version,
        "protocol": snapshot.protocol,
        "metadata": snapshot.metadata,
        "schema": snapshot.schema,
        "partition columns": snapshot.partition_columns,
        "properties": table.properties,
        "transactions": dict(snapshot.transactions),
        "domains": dict(snapshot.domains),
        "files": _sorted(snapshot.files()),
        "tombstones": _sorted(snapshot.tombstones()),
        "num files": table.num_files,
        "size": table.size_in_bytes,
    }
    # Rows follow from the rest, but for deletion vectors, and take the longest to read.
    if version is None or snapshot.files(["deletionVector"]).column(0).null_count == 0:
        seen["rows"] = _sorted(table.to_arrow())
        seen["some rows"] = _sorted(table.to_arrow(where="id > 2"))
    return seen


def _history(log: TableLog) -> Seen:
    return {"history": log.history()}


def _sorted(table: Any) -> list[str]:
    return sorted(map(repr, table.to_pylist()))
