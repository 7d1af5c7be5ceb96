"""Counts, minimums and maximums over whole files, from the log alone.

PROTOCOL: Per-file Statistics, Deletion Vectors. The results are values, not bounds: where a
statistic is missing, truncated, rounded or of rows that may be deleted, Spark reads the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.log.selection import file_columns
from lakebed.spark.columns.spark_types import stored_name, stored_schema
from lakebed.spark.native.file_listing import Listing
from lakebed.spec.schema import DATE, LONG, DataType, StructField
from lakebed.spec.stats import may_have_bounds


@dataclass(frozen=True)
class Aggregate:
    """One aggregate: the kind is rows, count, min or max; the column has its name in data files."""

    kind: str
    column: str

    @staticmethod
    def of(parts: Sequence[str]) -> list[Aggregate]:
        """As the rule in `MetadataOnly.java` writes them: kinds and columns alternate."""
        return [Aggregate(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)]


@dataclass(frozen=True)
class AggregateValue:
    """A value of an Arrow array of length one, and its type in Spark."""

    value: pa.Array
    data_type: DataType


def aggregate_values(
    listing: Listing, files: pa.Int64Array, aggregates: list[Aggregate]
) -> list[AggregateValue] | None:
    """The values over all rows of these files; None if one of them is not certain."""
    rows = file_columns(listing.snapshot).num_rows().take(files)
    if rows.null_count or pc.any(pc.less(rows, 0)).as_py():
        return None
    known = _KnownRows(listing, files, rows)
    values = []
    for aggregate in aggregates:
        found = known.value(aggregate)
        if found is None:
            return None
        values.append(found)
    return values


class _KnownRows:
    """What the log says about some files, of which it has the numbers of rows."""

    def __init__(self, listing: Listing, files: pa.Int64Array, rows: pa.Int64Array) -> None:
        self._listing = listing
        self._places = files
        self._columns = file_columns(listing.snapshot)
        self._rows = rows

    def value(self, aggregate: Aggregate) -> AggregateValue | None:
        if aggregate.kind == "rows":
            return _count(self._rows)
        field = self._field(aggregate.column)
        if field is None:
            return None
        if self._is_partition(field):
            return self._of_partition(aggregate.kind, field)
        if aggregate.kind == "count":
            return self._count_values(field)
        return self._bound(aggregate.kind, field)

    # --- columns ---

    def _field(self, column: str) -> StructField | None:
        """The column of the table, if Spark reads it with the type that it has there."""
        schema, mode = self._listing.snapshot.schema, self._listing.mode
        stored = stored_schema(schema, mode).find(column)
        for field in schema.fields:
            if stored is not None and stored_name(field, mode).lower() == stored.name.lower():
                return field if field.data_type == stored.data_type else None
        return None

    def _is_partition(self, field: StructField) -> bool:
        names = self._listing.snapshot.partition_columns
        return field.name.lower() in {name.lower() for name in names}

    def _of_partition(self, kind: str, field: StructField) -> AggregateValue | None:
        values = self._columns.partition(field.name).take(self._places)
        if kind == "count":
            return _count(self._rows.filter(values.is_valid()))
        return _extreme(kind, values.filter(pc.greater(self._rows, 0)), field.data_type)

    # --- statistics ---

    def _count_values(self, field: StructField) -> AggregateValue | None:
        """The rows with a value; after a deletion they are known only if no row or each is null."""
        # Of arrays and maps, some writers count the nulls of the elements.
        nulls = self._nulls(field) if may_have_bounds(field.data_type) else None
        if nulls is None:
            return None
        counts = pc.subtract(self._rows, pc.if_else(self._all_null(nulls), self._rows, nulls))
        certain = pc.or_kleene(counts.is_valid(), self._empty())
        return _count(counts) if _holds(certain) else None

    def _bound(self, kind: str, field: StructField) -> AggregateValue | None:
        columns, path = self._columns, (field.name,)
        bounds = columns.minimum(path) if kind == "min" else columns.maximum(path)
        if bounds is None:
            return None
        values = bounds.take(self._places)
        exact = pc.and_(columns.exact(path).take(self._places), self._is_whole())
        if field.data_type == DATE:
            exact = pc.and_kleene(exact, pc.greater_equal(values, _FIRST_GREGORIAN))
        nulls = self._nulls(field)
        without = self._empty()
        if nulls is not None:
            without = pc.or_kleene(without, self._all_null(nulls)).fill_null(False)
        if not _holds(pc.or_kleene(exact, without)):
            return None
        return _extreme(kind, values.filter(pc.invert(without)), field.data_type)

    def _nulls(self, field: StructField) -> pa.Int64Array | None:
        nulls = self._columns.null_count((field.name,))
        return None if nulls is None else nulls.take(self._places)

    def _all_null(self, nulls: pa.Int64Array) -> pa.BooleanArray:
        return pc.equal(nulls, self._columns.num_records().take(self._places))

    def _empty(self) -> pa.BooleanArray:
        return pc.equal(self._rows, 0)

    def _is_whole(self) -> pa.BooleanArray:
        """Whether nothing was deleted, which may have been the row with the smallest value."""
        return pc.equal(self._rows, self._columns.num_records().take(self._places))


# Before this day some writers count by another calendar, which Spark corrects as it reads.
_FIRST_GREGORIAN = pa.scalar(date(1582, 10, 15), pa.date32())


def _holds(mask: pa.BooleanArray) -> bool:
    return bool(pc.all(mask.fill_null(False), min_count=0).as_py())


def _count(rows: pa.Int64Array) -> AggregateValue:
    return AggregateValue(pa.array([pc.sum(rows).as_py() or 0], pa.int64()), LONG)


def _extreme(kind: str, values: pa.Array, data_type: DataType) -> AggregateValue:
    """Without a detour through Python's values, which know fewer days than Arrow."""
    found = pc.min(values) if kind == "min" else pc.max(values)
    if not found.is_valid:
        return AggregateValue(pa.nulls(1, values.type), data_type)
    return AggregateValue(values.slice(pc.index(values, found).as_py(), 1), data_type)
