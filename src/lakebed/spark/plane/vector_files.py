"""Vectors that executors wrote: where each is, and what was counted on the way."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from uuid import UUID

from lakebed.spec.actions import DeletionVector
from lakebed.spec.vector_descriptors import (
    RELATIVE,
    inline_data,
    is_inline,
    log_path,
    relative_path,
    stored_vector,
)


@dataclass(frozen=True)
class WrittenVector:
    """The vector of the file with the number `file`: its old one and the rows that were marked.

    `marked` counts these without those of the old vector, `num_seen` how often they came.
    """

    file: int
    num_seen: int
    sums: Mapping[str, int]
    marked: int
    vector: DeletionVector


def written_vectors(messages: Iterable[bytes], sums: list[str]) -> Iterator[WrittenVector]:
    """What tasks reported; `StoredMarks.java` says how it is written down."""
    head = struct.Struct(f">i{1 + len(sums)}q2q16si")
    tail = struct.Struct(">2i")
    for message in messages:
        place = 0
        while place < len(message):
            file, seen, *numbers, marked, total, name, length = head.unpack_from(message, place)
            place += head.size
            prefix = message[place : place + length].decode()
            offset, size = tail.unpack_from(message, place + length)
            place += length + tail.size
            vector = stored_vector(prefix, UUID(bytes=name), offset, size, total)
            yield WrittenVector(file, seen, dict(zip(sums, numbers, strict=True)), marked, vector)


def known_vectors(vectors: Mapping[int, DeletionVector]) -> str:
    """Where the vectors of files are, as `StoredMarks.java` reads it."""
    return "\n".join(_line(number, vector) for number, vector in vectors.items())


def _line(number: int, vector: DeletionVector) -> str:
    if is_inline(vector):
        data = base64.b64encode(inline_data(vector)).decode()
        return f"{number}\ti\t{data}\t0\t{vector.size_in_bytes}"
    kind = vector.storage_type
    path = relative_path(vector) if kind == RELATIVE else log_path(vector)
    return f"{number}\t{kind}\t{path}\t{vector.offset or 0}\t{vector.size_in_bytes}"
