"""Spark's `FileIndex` over files that a Python object lists (`TableFiles.java`, `DeltaFiles.java`).

One call of the JVM per file would cost more than reading the log. So files go over in bulk, in the
bytes that Hadoop itself reads: its `TwoDArrayWritable` reads groups of `FileStatus`, each a
Protobuf message (`FileStatusProto` in Hadoop's FSProtos). Tests of the indexes are in
`test_table_versions`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence

from pyspark.sql import Column

from lakebed.spark.internals.jvm import JavaObject, Jvm
from lakebed.spark.internals.startup.rules import DELTA_FILES, TABLE_FILES, compiled


class DeltaFiles:
    """Creates indexes over the files of one version, and parts of their answers."""

    def __init__(self, jvm: Jvm) -> None:
        self._factory = compiled(jvm.session, DELTA_FILES)

    def index(
        self,
        python: object,
        name: str,
        root: str,
        partition_schema: JavaObject,
        *,
        is_time_travel: bool,
        kept: Column | None = None,
        hidden: JavaObject | None = None,
    ) -> JavaObject:
        """The index; `python` is a `java.util.function.BiFunction` that answers its questions.

        `kept` is the condition that leaves out deleted rows, on the two columns of `hidden`.
        """
        condition = None if kept is None else kept._jc
        return self._factory.of(
            python, name, root, partition_schema, is_time_travel, condition, hidden
        )

    def directories(self, rows: JavaObject, encoded: bytes) -> JavaObject:
        """A `Seq[PartitionDirectory]`: the i-th row of an `InternalRow[]` with the i-th files.

        Files are in Hadoop's serialisation; see `encode_groups`.
        """
        return self._factory.directories(rows, encoded)

    def statuses(self, encoded: bytes) -> JavaObject:
        """The files alone, as a `FileStatus[][]`."""
        return self._factory.statuses(encoded)

    def holds_plan(self, expressions: JavaObject) -> bool:
        """Whether some expression of the sequence has a value that another plan gives."""
        return bool(self._factory.holdsPlan(expressions))


def table_index(
    jvm: Jvm,
    python: object,
    key: str,
    name: str,
    root: str,
    partition_schema: JavaObject,
    *,
    is_time_travel: bool,
    follows: bool,
) -> JavaObject:
    """The index of an analyzed plan; `python` is asked for the files of each query.

    `key` is unique to this index; Spark takes indexes with the same `name` for equal.
    """
    factory = compiled(jvm.session, TABLE_FILES)
    return factory.of(python, key, name, root, partition_schema, is_time_travel, follows)


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
    # Names on disk are bytes, of any encoding; Java reads invalid UTF-8 as U+FFFD.
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
