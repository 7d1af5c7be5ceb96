"""Damage to the bytes of a file, and everything that a reader can see of a table."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
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


@dataclass(frozen=True)
class Accident:
    """What happens to a file. Numbers are taken modulo whatever they count."""

    kind: str
    one: int
    two: int
    junk: bytes

    def happen(self, data: bytes, others: Sequence[bytes]) -> bytes:
        """The bytes afterwards; `others` are the contents of the files beside it."""
        if self.kind == "replaced":
            return others[self.one % len(others)]
        return _ACCIDENTS[self.kind](self, data)

    def span(self, length: int) -> tuple[int, int]:
        """A place among `length` things, and one at or after it."""
        start = self.one % (length + 1)
        return start, start + self.two % (length - start + 1)


def _flipped(how: Accident, data: bytes) -> bytes:
    result = bytearray(data)
    for step in range(1 + len(how.junk) % 3 if data else 0):
        result[(how.one + step * how.two) % len(result)] ^= 1 << (how.two + step) % 8
    return bytes(result)


def _overwritten(how: Accident, data: bytes) -> bytes:
    start, _ = how.span(len(data))
    return data[:start] + how.junk[: len(data) - start] + data[start + len(how.junk) :]


def _inserted(how: Accident, data: bytes) -> bytes:
    start, _ = how.span(len(data))
    return data[:start] + how.junk + data[start:]


def _run_deleted(how: Accident, data: bytes) -> bytes:
    start, _ = how.span(len(data))
    return data[:start] + data[start + how.two % 400 :]


def _truncated(how: Accident, data: bytes) -> bytes:
    return data[: how.one % (len(data) + 1)] if how.two % 4 else b""


def _zeroed(how: Accident, data: bytes) -> bytes:
    """As after a crash of a file system that had noted the size before the bytes."""
    start, _ = how.span(len(data))
    return data[:start] + bytes(len(data) - start)


def _lines_swapped(how: Accident, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    one, two = (number % max(len(lines), 1) for number in (how.one, how.two))
    for place, line in zip((one, two), (lines[two:][:1], lines[one:][:1]), strict=True):
        lines[place : place + 1] = line
    return b"".join(lines)


def _line_doubled(how: Accident, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    place = how.one % max(len(lines), 1)
    return b"".join(lines[: place + 1] + lines[place:])


def _lines_deleted(how: Accident, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    start, end = how.span(len(lines))
    return b"".join(lines[:start] + lines[end:])


def _value_changed(how: Accident, data: bytes) -> bytes:
    """A value of a JSON file becomes another one, of whatever type."""
    found = list(_VALUE.finditer(data))
    if not found:
        return data
    start, end = found[how.one % len(found)].span()
    return data[:start] + _VALUES[how.two % len(_VALUES)] + data[end:]


_VALUE = re.compile(rb'(?<=":)(?:"(?:[^"\\]|\\.)*"|-?\d+|true|false|null|\{\}|\[\])')
_VALUES = [
    *(
        b"null",
        b"true",
        b"{}",
        b"[]",
        b"[[1]]",
        b'{"a":1}',
        b'{"a":null}',
        b"0",
        b"-1",
        b"0.5",
        b"1e400",
    ),
    *(b"2147483648", b"9223372036854775807", b"9223372036854775808", b"18446744073709551616"),
    *(
        b'""',
        b'"x"',
        b'"-1"',
        b'"../x"',
        b'"%zz"',
        b'"file:///x/y"',
        b'"\\u0000"',
        b'"\\ud83d\\ude00"',
    ),
    *(b'"{}"', b'"[]"', b'"{\\"type\\":\\"struct\\",\\"fields\\":[]}"', b"1" * 5000, b"[" * 2000),
]
_ACCIDENTS: dict[str, Callable[[Accident, bytes], bytes]] = {
    "flipped": _flipped,
    "overwritten": _overwritten,
    "inserted": _inserted,
    "run deleted": _run_deleted,
    "truncated": _truncated,
    "zeroed": _zeroed,
    "lines swapped": _lines_swapped,
    "line doubled": _line_doubled,
    "lines deleted": _lines_deleted,
    "value changed": _value_changed,
}

_NUMBERS = st.integers(0, 100) | st.integers(0, 2**20)
# Bytes that leave JSON valid find more than any bytes do.
_JUNK = st.binary(min_size=1, max_size=40) | st.text(
    '0123456789-.eE"{}[]:,\\\n abctrufalsn', min_size=1, max_size=8
).map(str.encode)

accidents = st.builds(
    Accident, st.sampled_from([*_ACCIDENTS, "replaced"]), _NUMBERS, _NUMBERS, _JUNK
)


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


def log_files(path: Path) -> list[Path]:
    """Everything that can be damaged: the log, its sidecars, and deletion vectors."""
    found = [*path.glob("_delta_log/**/*"), *path.glob("deletion_vector*")]
    return sorted(file for file in found if file.is_file())


def look_at_damage(
    path: Path, file: Path, files: Sequence[Path], accident: Accident, *, probes: bool
) -> dict[str, Seen | Refusal]:
    """What is to be seen of the table at `path` while one of its files is damaged."""
    others = [other.read_bytes() for other in files if other != file]
    with damaged(file, accident.happen(file.read_bytes(), others)):
        return look(store_of(path, probes=probes), versions_of(path))


def versions_of(path: Path) -> range:
    """All versions: the sample tables keep all their commits."""
    return range(len(list(path.glob(f"_delta_log/{'[0-9]' * 20}.json"))))


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
