"""Digests that Lakebed puts into the log files that it writes, so that damage never goes unseen.

The protocol has no checksum for commits, compactions, checkpoints and sidecars. It does let
writers add fields that others ignore, so Lakebed's files carry a CRC-32 of their own bytes, taken
with the digest itself as zeros. Files of other writers have none and are read as they are.
See docs/decisions/0006-digests-in-log-files.md.
"""

from __future__ import annotations

import zlib

from lakebed.errors import LogCorruptedError

FIELD = "lakebedCrc32"
PLACEHOLDER = "00000000"
_MARK = f'"{FIELD}":"'.encode()


def seal(data: bytes) -> bytes:
    """Fill in the placeholder in the first line of a JSON log file."""
    at = _place(data)
    if at < 0:
        return data
    return data[:at] + f"{zlib.crc32(data):08x}".encode() + data[at + 8 :]


def is_sealed(data: bytes) -> bool:
    return _place(data) >= 0


def verify(data: bytes, file: str) -> bool:
    """True if the file carries a digest and it fits; an error if it does not fit."""
    at = _place(data)
    if at < 0:
        return False
    found = data[at : at + 8]
    head = zlib.crc32(data[:at] + PLACEHOLDER.encode())
    if f"{zlib.crc32(memoryview(data)[at + 8 :], head):08x}".encode() != found:
        raise LogCorruptedError(
            "its bytes do not match the digest that its writer put into it",
            file=file,
            hint="restore this file from a backup or from another copy of the table",
        )
    return True


def _place(data: bytes) -> int:
    end = data.find(b"\n")
    at = data.find(_MARK, 0, end if end >= 0 else len(data))
    return at + len(_MARK) if at >= 0 else -1
