"""Avro container files (Apache Avro 1.11: Object Container Files, Binary Encoding).

What Iceberg's manifests need, and no more: records, unions with null, arrays and primitive types,
in blocks that are compressed with deflate. Values of logical types are as Avro stores them: days,
microseconds, the bytes of a decimal.
"""

from __future__ import annotations

import json
import secrets
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from lakebed.errors import LogCorruptedError

Schema = Any
"""A schema as JSON has it: a name, a list (union) or an object."""

_MAGIC = b"Obj\x01"
_SYNC_LENGTH = 16
_BLOCK_BYTES = 64 * 1024
_Write = Callable[[bytearray, Any], None]
_Read = Callable[["_Cursor"], Any]


def encode(schema: Schema, records: Iterable[Any], metadata: Mapping[str, str]) -> bytes:
    """A whole file. `metadata` are more entries for its header."""
    sync = secrets.token_bytes(_SYNC_LENGTH)
    header = {**metadata, "avro.schema": json.dumps(schema), "avro.codec": "deflate"}
    out = bytearray(_MAGIC)
    _write_header(out, header)
    out += sync
    write, block, count = _writer(schema), bytearray(), 0
    for record in records:
        write(block, record)
        count += 1
        if len(block) >= _BLOCK_BYTES:
            _write_block(out, block, count, sync)
            block, count = bytearray(), 0
    if count:
        _write_block(out, block, count, sync)
    return bytes(out)


def decode(data: bytes, file: str) -> tuple[dict[str, str], list[Any]]:
    """The metadata of the header and the records. `file` only makes errors clearer."""
    try:
        header, blocks = _open(data)
        read = _reader(json.loads(header["avro.schema"]))
        records: list[Any] = []
        for count, block in blocks:
            cursor = _Cursor(block)
            records.extend(read(cursor) for _ in range(count))
    except (ValueError, KeyError, IndexError, struct.error, zlib.error) as error:
        raise _broken(file, error) from error
    return header, records


def decoded_blocks(data: bytes, file: str) -> Iterator[bytes]:
    """The records as bytes, to search for a text without decoding them all."""
    try:
        for _, block in _open(data)[1]:
            yield block
    except (ValueError, KeyError, IndexError, zlib.error) as error:
        raise _broken(file, error) from error


# --- the container ------------------------------------------------------------------------------


def _write_header(out: bytearray, header: Mapping[str, str]) -> None:
    _write_long(out, len(header))
    for key, value in header.items():
        _write_bytes(out, key.encode("utf-8"))
        _write_bytes(out, value.encode("utf-8"))
    _write_long(out, 0)


def _write_block(out: bytearray, block: bytearray, count: int, sync: bytes) -> None:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    packed = packer.compress(block) + packer.flush()
    _write_long(out, count)
    _write_bytes(out, packed)
    out += sync


def _open(data: bytes) -> tuple[dict[str, str], Iterator[tuple[int, bytes]]]:
    if data[: len(_MAGIC)] != _MAGIC:
        raise ValueError("it does not begin like an Avro file")
    cursor = _Cursor(data, len(_MAGIC))
    header: dict[str, str] = {}
    while count := _block_length(cursor):
        for _ in range(count):
            key = cursor.bytes().decode("utf-8")
            header[key] = cursor.bytes().decode("utf-8")
    sync = cursor.take(_SYNC_LENGTH)
    return header, _blocks(cursor, sync, header.get("avro.codec", "null"))


def _blocks(cursor: _Cursor, sync: bytes, codec: str) -> Iterator[tuple[int, bytes]]:
    if codec not in ("null", "deflate"):
        raise ValueError(f"its codec is {codec}")
    while cursor.position < len(cursor.data):
        count, packed = cursor.long(), cursor.bytes()
        if cursor.take(_SYNC_LENGTH) != sync:
            raise ValueError("a block does not end where it should")
        yield count, zlib.decompress(packed, -zlib.MAX_WBITS) if codec == "deflate" else packed


def _broken(file: str, error: Exception) -> LogCorruptedError:
    return LogCorruptedError(f"not an Avro file that can be read: {error}", file=file)


# --- writing ------------------------------------------------------------------------------------


def _write_long(out: bytearray, value: int) -> None:
    number = (value << 1) ^ (value >> 63)
    while number > 0x7F:
        out.append((number & 0x7F) | 0x80)
        number >>= 7
    out.append(number)


def _write_bytes(out: bytearray, value: bytes) -> None:
    _write_long(out, len(value))
    out += value


def _write_string(out: bytearray, value: str) -> None:
    _write_bytes(out, value.encode("utf-8"))


def _writer(schema: Schema) -> _Write:
    if isinstance(schema, list):
        return _union_writer(schema)
    if isinstance(schema, str):
        return _WRITERS[schema]
    kind = schema["type"]
    if kind == "record":
        return _record_writer(schema["fields"])
    if kind == "array":
        return _array_writer(_writer(schema["items"]))
    return _writer(kind)


def _union_writer(schema: Schema) -> _Write:
    if schema[0] != "null" or len(schema) != 2:
        raise ValueError("a union must be of null and another type")
    inner = _writer(schema[1])

    def write(out: bytearray, value: Any) -> None:
        if value is None:
            out.append(0)
        else:
            out.append(2)
            inner(out, value)

    return write


def _record_writer(fields: list[Any]) -> _Write:
    parts = [(field["name"], _writer(field["type"])) for field in fields]

    def write(out: bytearray, value: Any) -> None:
        for name, part in parts:
            part(out, value[name])

    return write


def _array_writer(item: _Write) -> _Write:
    def write(out: bytearray, value: Any) -> None:
        if value:
            _write_long(out, len(value))
            for each in value:
                item(out, each)
        out.append(0)

    return write


def _add(out: bytearray, value: bytes) -> None:
    out += value


_WRITERS: dict[str, _Write] = {
    "boolean": lambda out, value: out.append(1 if value else 0),
    "int": _write_long,
    "long": _write_long,
    "float": lambda out, value: _add(out, struct.pack("<f", value)),
    "double": lambda out, value: _add(out, struct.pack("<d", value)),
    "bytes": _write_bytes,
    "string": _write_string,
    "fixed": _add,
}


# --- reading ------------------------------------------------------------------------------------


class _Cursor:
    def __init__(self, data: bytes, position: int = 0) -> None:
        self.data = data
        self.position = position

    def long(self) -> int:
        data, position = self.data, self.position
        byte = data[position]
        number, shift = byte & 0x7F, 7
        while byte & 0x80:
            position += 1
            byte = data[position]
            number |= (byte & 0x7F) << shift
            shift += 7
        self.position = position + 1
        return (number >> 1) ^ -(number & 1)

    def take(self, length: int) -> bytes:
        end = self.position + length
        if length < 0 or end > len(self.data):
            raise ValueError("it ends too early")
        taken, self.position = self.data[self.position : end], end
        return taken

    def bytes(self) -> bytes:
        return self.take(self.long())


def _block_length(cursor: _Cursor) -> int:
    count = cursor.long()
    if count < 0:  # then the size in bytes follows
        cursor.long()
    return abs(count)


def _reader(schema: Schema) -> _Read:
    if isinstance(schema, list):
        branches = [_reader(each) for each in schema]
        return lambda cursor: branches[cursor.long()](cursor)
    if isinstance(schema, str):
        return _READERS[schema]
    kind = schema["type"]
    if kind == "record":
        parts = [(field["name"], _reader(field["type"])) for field in schema["fields"]]
        return lambda cursor: {name: part(cursor) for name, part in parts}
    if kind == "array":
        return _array_reader(_reader(schema["items"]))
    if kind == "fixed":
        size = schema["size"]
        return lambda cursor: cursor.take(size)
    return _reader(kind)


def _array_reader(item: _Read) -> _Read:
    def read(cursor: _Cursor) -> list[Any]:
        values: list[Any] = []
        while count := _block_length(cursor):
            values.extend(item(cursor) for _ in range(count))
        return values

    return read


_READERS: dict[str, _Read] = {
    "null": lambda _: None,
    "boolean": lambda cursor: cursor.take(1) == b"\x01",
    "int": _Cursor.long,
    "long": _Cursor.long,
    "float": lambda cursor: struct.unpack("<f", cursor.take(4))[0],
    "double": lambda cursor: struct.unpack("<d", cursor.take(8))[0],
    "bytes": _Cursor.bytes,
    "string": lambda cursor: cursor.bytes().decode("utf-8"),
}
