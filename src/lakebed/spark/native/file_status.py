"""Hadoop's `FileStatus` for many files at once, in the bytes that Hadoop itself reads.

One call of the JVM per file would cost more than reading the log. Hadoop's `TwoDArrayWritable`
reads groups of `FileStatus`, each a Protobuf message (`FileStatusProto` in Hadoop's FSProtos).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence


def encode_groups(
    lengths: Sequence[int], paths: Iterable[str], sizes: Iterable[int], times: Iterable[int]
) -> bytes:
    """Files in the order of their groups; `lengths` says how many files each group has.

    Paths are Hadoop's: URIs whose characters are not escaped. Times are milliseconds.
    """
    head = struct.pack(f">{len(lengths) + 1}i", len(lengths), *lengths)
    files = map(_encode, paths, sizes, times)
    return b"".join([head, *files])


def _encode(path: str, size: int, time: int) -> bytes:
    # Names on disk are bytes, of any encoding; Java reads what is no UTF-8 as U+FFFD.
    name = path.encode("utf-8", "replace")
    message = b"".join(
        (_IS_FILE, _PATH, _varint(len(name)), name, _SIZE, _varint(size), _TIME, _varint(time))
    )
    return struct.pack(">i", len(message)) + message


def _varint(number: int) -> bytes:
    """Fourteen bits at a time; most numbers here take two or three steps."""
    encoded = b""
    while number > _CHUNK:
        encoded += _MORE[number & _CHUNK]
        number >>= 14
    return encoded + _LAST[number]


# Field numbers and wire types: fileType = 1 (FT_FILE is 2), path = 2, length = 3, and
# modification_time = 7.
_IS_FILE, _PATH, _SIZE, _TIME = b"\x08\x02", b"\x12", b"\x18", b"\x38"
_CHUNK = 0x3FFF
_MORE = [bytes((n & 0x7F | 0x80, n >> 7 | 0x80)) for n in range(_CHUNK + 1)]
_LAST = [bytes((n,)) if n < 0x80 else bytes((n & 0x7F | 0x80, n >> 7)) for n in range(_CHUNK + 1)]
