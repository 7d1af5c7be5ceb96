"""The digest inside the Parquet files of a checkpoint that Lakebed writes.

The footer holds one key with two CRC-32 values: of everything before the footer, and of the
footer itself with that value as zeros. Both start from the name of the file, as in `digest`, so
that a checkpoint of another version in its place is not taken for it. A reader checks the footer
always, and the rest where it has the whole file anyway; the pages carry Parquet's own page
checksums besides.
"""

from __future__ import annotations

import struct
import zlib

from lakebed.errors import LogCorruptedError
from lakebed.formats.digest import mismatch, name_digest

KEY = "lakebed.crc32"
PLACEHOLDER = "00000000:00000000"
# In Thrift's compact protocol: the key, then the header of a string field, then its length.
_MARK = KEY.encode() + bytes([0x18, len(PLACEHOLDER)])
_TAIL = 8
_MAGIC = b"PAR1"


def with_digest(data: memoryview | bytes, file: str) -> bytes:
    """Fill in the placeholder that the writer put under `KEY`."""
    start = len(data) - _TAIL - _footer_length(bytes(data[-_TAIL:]))
    at = start + bytes(data[start:]).index(_MARK) + len(_MARK)
    filled, name = bytearray(data), name_digest(file)
    filled[at : at + 8] = f"{zlib.crc32(memoryview(filled)[:start], name):08x}".encode()
    footer = zlib.crc32(memoryview(filled)[start:-_TAIL], name)
    filled[at + 9 : at + 17] = f"{footer:08x}".encode()
    return bytes(filled)


def verify_footer(footer: bytes, file: str) -> bytes | None:
    """The digest of the body, or None where another writer made the file."""
    at = footer.find(_MARK)
    if at < 0:
        return None
    at += len(_MARK)
    blank = footer[: at + 9] + PLACEHOLDER[9:].encode() + footer[at + 17 :]
    if f"{zlib.crc32(blank, name_digest(file)):08x}".encode() != footer[at + 9 : at + 17]:
        raise mismatch(file)
    return footer[at : at + 8]


def verify(data: memoryview | bytes, file: str) -> bool:
    """Check a whole file; False where another writer made it."""
    if len(data) < 12 or bytes(data[-4:]) != _MAGIC:
        raise LogCorruptedError("not a Parquet file", file=file)
    start = len(data) - _TAIL - _footer_length(bytes(data[-_TAIL:]))
    if start < 4:
        raise LogCorruptedError("not a Parquet file: its footer is cut off", file=file)
    body = verify_footer(bytes(data[start:-_TAIL]), file)
    if body is None:
        return False
    if f"{zlib.crc32(data[:start], name_digest(file)):08x}".encode() != body:
        raise mismatch(file)
    return True


def _footer_length(tail: bytes) -> int:
    length: int = struct.unpack("<I", tail[:4])[0]
    return length
