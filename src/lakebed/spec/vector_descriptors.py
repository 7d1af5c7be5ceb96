"""Where a deletion vector lives (PROTOCOL: Deletion Vectors, Deletion Vector Descriptor Schema).

A descriptor of the log points to its vector in one of three ways: `u` a file whose name derives
from a Z85-encoded UUID, `p` a file by its absolute path, `i` the bytes themselves. The bytes are
read and written by `formats.deletion_vectors`.
"""

from __future__ import annotations

import base64
import secrets
import string
from urllib.parse import quote
from uuid import UUID, uuid4

from lakebed.errors import LogCorruptedError
from lakebed.spec.actions import DeletionVector

RELATIVE, ABSOLUTE, INLINE = "u", "p", "i"


def check(vector: DeletionVector) -> DeletionVector:
    """The same descriptor, once it is known to follow the protocol; else LogCorruptedError."""
    if vector.storage_type not in (RELATIVE, ABSOLUTE, INLINE):
        raise _invalid(vector, "its storageType is none of 'u', 'p' and 'i'")
    if vector.size_in_bytes < 0 or vector.cardinality < 0 or (vector.offset or 0) < 0:
        raise _invalid(vector, "its size, offset or cardinality is negative")
    if vector.storage_type == INLINE and vector.offset is not None:
        raise _invalid(vector, "an inline vector has no offset")
    if vector.storage_type == ABSOLUTE and not vector.path_or_inline_dv:
        raise _invalid(vector, "it has no path")
    return vector


def is_inline(vector: DeletionVector) -> bool:
    return check(vector).storage_type == INLINE


def relative_path(vector: DeletionVector) -> str:
    """The file of a `u` vector, relative to the table's root, not URL-encoded."""
    if check(vector).storage_type != RELATIVE:
        raise _invalid(vector, "only storageType 'u' has a path relative to the table")
    return file_name(*prefix_and_uuid(vector))


def log_path(vector: DeletionVector) -> str | None:
    """The vector's file in the form of `add.path`: relative or absolute, URL-encoded.

    None for an inline vector, which has no file.
    """
    kind = check(vector).storage_type
    if kind == INLINE:
        return None
    return vector.path_or_inline_dv if kind == ABSOLUTE else quote(relative_path(vector))


def prefix_and_uuid(vector: DeletionVector) -> tuple[str, UUID]:
    """The random prefix (maybe empty) and the UUID of a `u` vector."""
    text = vector.path_or_inline_dv
    if len(text) < _UUID_LENGTH:
        raise _invalid(vector, f"a UUID takes {_UUID_LENGTH} characters")
    try:
        return text[:-_UUID_LENGTH], decode_uuid(text[-_UUID_LENGTH:])
    except LogCorruptedError as error:
        raise _invalid(vector, error.message) from error


def file_name(prefix: str, uuid: UUID) -> str:
    name = f"deletion_vector_{uuid}.bin"
    return f"{prefix}/{name}" if prefix else name


def inline_data(vector: DeletionVector) -> bytes:
    """The bitmap's bytes of an `i` vector, without the padding of the encoding."""
    if check(vector).storage_type != INLINE:
        raise _invalid(vector, "only storageType 'i' holds its data")
    try:
        data = decode_z85(vector.path_or_inline_dv)
    except LogCorruptedError as error:
        raise _invalid(vector, error.message) from error
    # The encoding works on blocks of 4 bytes: anything but up to 3 bytes of padding is damage.
    if not 0 <= len(data) - vector.size_in_bytes < 4:
        raise _invalid(vector, f"it decodes to {len(data)} bytes")
    return data[: vector.size_in_bytes]


def inline_vector(data: bytes, cardinality: int) -> DeletionVector:
    """A descriptor that carries the bitmap's bytes in the log itself."""
    return DeletionVector(INLINE, encode_z85(data), len(data), cardinality)


def stored_vector(
    prefix: str, uuid: UUID, offset: int, size_in_bytes: int, cardinality: int
) -> DeletionVector:
    """A descriptor of one vector in the file `file_name(prefix, uuid)` of the table."""
    path = prefix + encode_uuid(uuid)
    return DeletionVector(RELATIVE, path, size_in_bytes, cardinality, offset)


def new_file(prefix_length: int = 0) -> tuple[str, UUID]:
    """A fresh random prefix and UUID, for a file that no one else writes."""
    return "".join(secrets.choice(_ALPHANUMERIC) for _ in range(prefix_length)), uuid4()


def encode_uuid(uuid: UUID) -> str:
    return encode_z85(uuid.bytes)


def decode_uuid(text: str) -> UUID:
    data = decode_z85(text)
    if len(data) != 16:
        raise LogCorruptedError(f"{text!r} is no UUID: it decodes to {len(data)} bytes")
    return UUID(bytes=data)


def encode_z85(data: bytes) -> str:
    """Z85; data that is no multiple of 4 bytes is padded with zeros."""
    padded = data + bytes(-len(data) % 4)
    return base64.b85encode(padded).translate(_TO_Z85).decode("ascii")


def decode_z85(text: str) -> bytes:
    """The decoded bytes with their padding; LogCorruptedError if `text` is not Z85.

    Some Rust writers do not pad: they put a `#`, with which no block can start, for every missing
    byte in front of a shorter last block.
    """
    if len(text) % 5:
        raise LogCorruptedError("the length of a Z85 text is a multiple of 5")
    last = text[-5:]
    missing = len(last) - len(last.lstrip("#"))
    data = _decode_blocks(text[:-5] + last.replace("#", "0", missing))
    if missing > 3 or data[len(data) - 4 : len(data) - 4 + missing] != bytes(missing):
        raise LogCorruptedError("the text is not valid Z85")
    return data[: len(data) - 4] + data[len(data) - 4 + missing :] if missing else data


_UUID_LENGTH = 20
_ALPHANUMERIC = string.ascii_letters + string.digits
_Z85 = (string.digits + string.ascii_lowercase + string.ascii_uppercase).encode("ascii")
_Z85 += b".-:+=^!/*?&<>()[]{}@%$#"
# The standard library's base85 is the same code over another alphabet.
_B85 = (string.digits + string.ascii_uppercase + string.ascii_lowercase).encode("ascii")
_B85 += b"!#$%&()*+-;<=>?@^_`{|}~"
_TO_Z85 = bytes.maketrans(_B85, _Z85)
# Bytes outside the alphabet become 0, which the standard library refuses.
_FROM_Z85 = bytes(_B85[_Z85.index(code)] if code in _Z85 else 0 for code in range(256))


def _decode_blocks(text: str) -> bytes:
    try:
        return base64.b85decode(text.encode("ascii").translate(_FROM_Z85))
    except ValueError as error:
        raise LogCorruptedError("the text is not valid Z85") from error


def _invalid(vector: DeletionVector, reason: str) -> LogCorruptedError:
    return LogCorruptedError(
        f"the deletion vector {vector.unique_id!r} "
        f"({vector.size_in_bytes} bytes, {vector.cardinality} rows) is not valid: {reason}",
        hint="The log entry is damaged; restore an earlier version or rewrite the data file.",
    )
