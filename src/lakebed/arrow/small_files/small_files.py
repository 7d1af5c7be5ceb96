"""Decoding small Parquet files whole, many after the other.

Nothing but pyarrow is imported: processes that only do this start in a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyarrow._parquet import ParquetReader


class UnreadableError(Exception):
    """A file that Spark has to read; `number` is its place among those that were given."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(reason)
        self.number = number


@dataclass(frozen=True)
class Needs:
    """What the columns of a table ask of whoever decodes its files."""

    timestamps: bool
    """Dates and timestamps, which old files have by another calendar."""
    field_ids: bool
    """Columns are found by their ids: files with others are not alike."""


@dataclass(frozen=True)
class Decoded:
    """The rows of files with the same columns, put together; `counts` has those of each."""

    table: pa.Table
    counts: list[int]


def decode(files: Iterable[bytes], needs: Needs) -> list[Decoded]:
    """All rows in order. Neighbours with the same columns are one table."""
    found: list[Decoded] = []
    alike: list[pa.Table] = []
    known: pa.Schema | None = None
    for number, data in enumerate(files):
        try:
            table = _table(data, needs)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise UnreadableError(number, str(error)) from error
        columns = table.schema
        if alike and not columns.equals(known, check_metadata=needs.field_ids):
            found.append(_joined(alike))
            alike = []
        if not alike:
            known = columns
        alike.append(table)
    return [*found, _joined(alike)] if alike else found


def has_old_calendar(known: Mapping[bytes, bytes] | None) -> bool:
    """Spark before 3.1 wrote days and times of another calendar; only Spark converts them."""
    known = known or {}
    version = known.get(b"org.apache.spark.version", b"")
    return bool(version and version < b"3.1") or any(key in known for key in _LEGACY)


def _table(data: bytes, needs: Needs) -> pa.Table:
    # Not `ParquetFile`: it looks at the file for choices of columns that no one makes here. And
    # the bytes are there: to ask for them ahead is work for nothing.
    reader = ParquetReader()
    reader.open(pa.py_buffer(data), pre_buffer=False, coerce_int96_timestamp_unit="us")
    if needs.timestamps and _is_of_spark(data) and has_old_calendar(reader.metadata.metadata):
        raise ValueError("dates of the Julian calendar")
    # Threads read different files; within such a small one they only get in the way.
    table = reader.read_all(use_threads=False)
    return table.replace_schema_metadata(None) if needs.field_ids else table


def _is_of_spark(data: bytes) -> bool:
    """Whether it may be, by the bytes of the footer; its length is before the last four."""
    footer = max(0, len(data) - 8 - int.from_bytes(data[-8:-4], "little"))
    return data.find(_SPARK, footer) >= 0


def _joined(alike: list[pa.Table]) -> Decoded:
    counts = [table.num_rows for table in alike]
    together = pa.concat_tables(alike)
    return Decoded(together.combine_chunks() if len(alike) > 1 else together, counts)


_SPARK = b"org.apache.spark"
_LEGACY = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
