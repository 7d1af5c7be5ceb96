"""The bytes of one Parquet file, with statistics that hide no row from any reader.

pyarrow leaves NaN out of the minimum and maximum of a row group. Spark takes NaN to be the greatest
value, and skips the row group for `d > 100`. So a floating-point leaf in which there is a NaN has
no statistics in the file; all others keep theirs, and row groups are skipped by them as usual.

Spark also looks values up in the dictionary of a row group, where it takes -0.0 and 0.0 to be two
values, and skips the row group for `d = 0.0`. So a leaf in which there is a -0.0 has no dictionary.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.arrow.relabel import relabel


class ParquetBytes:
    """A Parquet file in memory, written piece by piece; `options` are those of pyarrow's writer."""

    def __init__(self, schema: pa.Schema, options: dict[str, Any]) -> None:
        self._schema = schema
        self._options = options
        self._floats = _float_leaves(schema)
        self._without = _NOTHING
        self._is_rewritten = False
        self._sink = pa.BufferOutputStream()
        self._footers: list[pq.FileMetaData] = []
        self._writer: pq.ParquetWriter | None = None

    def write(self, rows: pa.Table) -> None:
        """Each piece becomes row groups of its own."""
        known, self._without = self._without, self._without.union(self._misleading(rows))
        if self._writer is None:
            self._writer = self._opened()
        elif self._without != known:
            self._writer = self._rewritten(self._writer)
        self._writer.write_table(rows)

    def finish(self) -> tuple[pa.Buffer, pq.FileMetaData]:
        """At least one piece was written, if only one without rows."""
        assert self._writer is not None
        self._writer.close()
        return self._sink.getvalue(), self._footers[0]

    def _opened(self) -> pq.ParquetWriter:
        self._sink = pa.BufferOutputStream()
        self._footers = []
        return pq.ParquetWriter(
            self._sink,
            self._schema,
            store_schema=False,
            metadata_collector=self._footers,
            write_statistics=self._all_but(self._without.statistics),
            use_dictionary=self._all_but(self._without.dictionary),
            **self._options,
        )

    def _all_but(self, leaves: frozenset[int]) -> bool | list[str]:
        """pyarrow takes leaves by dotted paths, which a column `a.b` and a field can share."""
        if not leaves:
            return True
        paths = _leaf_paths(self._schema)
        return sorted(set(paths) - {paths[leaf] for leaf in leaves})

    def _misleading(self, rows: pa.Table) -> _Leaves:
        """What would hide values of the rows from readers."""
        nan: set[int] = set()
        minus_zero: set[int] = set()
        for first, name in self._floats:
            for chunk in rows.column(name).chunks:
                for number, values in enumerate(_leaf_values(chunk), first):
                    if _has_nan(values):
                        nan.add(number)
                    if _has_minus_zero(values):
                        minus_zero.add(number)
        return _Leaves(frozenset(nan), frozenset(minus_zero))

    def _rewritten(self, writer: pq.ParquetWriter) -> pq.ParquetWriter:
        """Options are chosen when a writer is opened: what this one wrote is written again.

        This happens at most twice for a file, however many leaves have their first NaN late.
        """
        if self._is_rewritten:
            every = frozenset(_numbers_of_floats(self._schema))
            self._without = _Leaves(every, every)
        self._is_rewritten = True
        writer.close()
        file = pq.ParquetFile(pa.BufferReader(self._sink.getvalue()))
        again = self._opened()
        for number in range(file.num_row_groups):
            again.write_table(self._relabelled(file.read_row_group(number)))
        return again

    def _relabelled(self, rows: pa.Table) -> pa.Table:
        columns = [relabel(rows.column(i), each.type) for i, each in enumerate(self._schema)]
        return pa.table(columns, schema=self._schema)


@dataclass(frozen=True)
class _Leaves:
    """Those without statistics and those without a dictionary, by their numbers in the file."""

    statistics: frozenset[int] = frozenset()
    dictionary: frozenset[int] = frozenset()

    def union(self, other: _Leaves) -> _Leaves:
        return _Leaves(self.statistics | other.statistics, self.dictionary | other.dictionary)


_NOTHING = _Leaves()


def _has_nan(values: pa.Array) -> bool:
    return pa.types.is_floating(values.type) and bool(pc.any(pc.is_nan(values)).as_py())


def _has_minus_zero(values: pa.Array) -> bool:
    """-0.0 is the number whose only bit is its sign: the smallest integer."""
    if not pa.types.is_floating(values.type):
        return False
    bits = values.type.bit_width
    sign = pa.scalar(-(2 ** (bits - 1)), getattr(pa, f"int{bits}")())
    return bool(pc.any(pc.equal(values.view(sign.type), sign)).as_py())


def _float_leaves(schema: pa.Schema) -> list[tuple[int, int]]:
    """The columns with floating-point leaves: the number of their first leaf, and their own."""
    found = []
    first = 0
    for number, each in enumerate(schema):
        kinds = list(_leaf_types(each.type))
        if any(map(pa.types.is_floating, kinds)):
            found.append((first, number))
        first += len(kinds)
    return found


def _numbers_of_floats(schema: pa.Schema) -> Iterator[int]:
    kinds = (kind for each in schema for kind in _leaf_types(each.type))
    return (number for number, kind in enumerate(kinds) if pa.types.is_floating(kind))


def _leaf_types(kind: pa.DataType) -> Iterator[pa.DataType]:
    """In the order of the leaves in the file."""
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if not pa.types.is_nested(kind) or pa.types.is_dictionary(kind):
        yield kind
        return
    for number in range(kind.num_fields):
        yield from _leaf_types(kind.field(number).type)


def _leaf_values(values: pa.Array) -> Iterator[pa.Array]:
    """In the same order. Values that are not written because a parent is null may be among them."""
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    kind = values.type
    if pa.types.is_struct(kind):
        children = values.flatten()
    elif pa.types.is_map(kind):
        children = [values.keys, values.items]
    elif pa.types.is_nested(kind) and not pa.types.is_dictionary(kind):
        children = [values.flatten()]
    else:
        yield values
        return
    for child in children:
        yield from _leaf_values(child)


def _leaf_paths(schema: pa.Schema) -> list[str]:
    """As pyarrow itself calls them in a file."""
    sink = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), sink, store_schema=False)
    footer = pq.read_metadata(pa.BufferReader(sink.getvalue()))
    return [footer.schema.column(number).path for number in range(footer.num_columns)]
