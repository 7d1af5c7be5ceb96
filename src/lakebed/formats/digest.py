"""Digests that Lakebed puts into the log files that it writes, so that damage never goes unseen.

The protocol has no checksum for commits, compactions, checkpoints and sidecars. It does let
writers add fields that others ignore, so Lakebed's files carry a CRC-32 of their own name and
bytes, taken with the digest itself as zeros. The name is in it because a file of the log in the
place of another is well-formed and wrong. JSON lines say in their last line that their first has
a digest: else a file that lost its beginning would look like one of another writer. Files of
other writers have no digest and are read as they are.
See docs/decisions/0006-digests-in-log-files.md.
"""

from __future__ import annotations

import re
import zlib

from lakebed.errors import LogCorruptedError

FIELD = "lakebedCrc32"
PLACEHOLDER = "00000000"
END_FIELD = "lakebedEnd"
_MARK = f'"{FIELD}":"'.encode()
_UNIQUE = re.compile(r"^(\d{20}\.checkpoint\.)[0-9a-fA-F-]{36}\.")
_END_MARK = f'"{END_FIELD}":'.encode()


def with_digest(data: bytes, file: str) -> bytes:
    """Fill in the placeholder in the first line of a JSON log file."""
    at = _digest_position(data)
    if at < 0:
        return data
    return data[:at] + f"{zlib.crc32(data, name_digest(file)):08x}".encode() + data[at + 8 :]


def has_digest(data: bytes) -> bool:
    """Whether Lakebed wrote the file, as far as its first or its last line tell."""
    first, last = _first_line_end(data), _last_line_start(data)
    return any(
        data.find(mark, 0, first) >= 0 or data.find(mark, last) >= 0 for mark in (_MARK, _END_MARK)
    )


def verify(data: bytes, file: str) -> bool:
    """True if the file carries a digest and it fits; an error if it does not fit."""
    if not has_digest(data):
        return False
    at = _digest_position(data)
    if at < 0:
        raise mismatch(file)
    head = zlib.crc32(data[:at] + PLACEHOLDER.encode(), name_digest(file))
    expected = f"{zlib.crc32(memoryview(data)[at + 8 :], head):08x}".encode()
    if expected != data[at : at + 8]:
        raise mismatch(file)
    return True


def name_digest(file: str) -> int:
    """What the digest of a file starts from: its name without the folders.

    Without the unique part of a V2 checkpoint too: all checkpoints of a version say the same, and
    a clean-up may copy one to the classic name for old readers.
    """
    return zlib.crc32(_UNIQUE.sub(r"\1", file.rsplit("/", 1)[-1]).encode())


def mismatch(file: str) -> LogCorruptedError:
    return LogCorruptedError(
        "its bytes do not match the digest that its writer put into it",
        file=file,
        hint="restore this file from a backup or from another copy of the table",
    )


def _digest_position(data: bytes) -> int:
    at = data.find(_MARK, 0, _first_line_end(data))
    return at + len(_MARK) if at >= 0 else -1


def _first_line_end(data: bytes) -> int:
    end = data.find(b"\n")
    return end if end >= 0 else len(data)


def _last_line_start(data: bytes) -> int:
    return data.rfind(b"\n", 0, max(len(data) - 1, 0)) + 1
