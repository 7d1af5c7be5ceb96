"""Partition values and statistics of all files as columns (PROTOCOL: Per-file Statistics).

`FileColumns` is what skipping and metadata-only answers ask. Statistics come from JSON texts, from
structs of a checkpoint, or from both, and are parsed when a column is first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.formats.statistics.stats_bounds import exact_values, lower_bound, upper_bound
from lakebed.formats.statistics.stats_from_json import parse_stats
from lakebed.formats.statistics.stats_from_structs import conform_stats, has_column
from lakebed.spec.columns.column_mapping import Mode, physical_name, physical_path
from lakebed.spec.partition_values import parse_column
from lakebed.spec.schema import Path, StructField, StructType
from lakebed.spec.stats import (
    MAX_VALUES,
    MIN_VALUES,
    NULL_COUNT,
    NUM_RECORDS,
    TIGHT_BOUNDS,
    leaves,
    may_have_bounds,
    stats_schema,
)


class FileColumns:
    """One row per file, in the order of `files`. Names and paths are logical, in any case.

    `files` has the columns of the log (see `formats.file_actions`), with the statistics as JSON in
    `stats`, as structs in `stats_parsed`, or both.
    """

    def __init__(
        self,
        files: pa.Table,
        schema: StructType,
        partition_columns: Sequence[str] = (),
        mapping_mode: Mode = "none",
    ) -> None:
        self._files = files
        self._schema = schema
        self._mode = mapping_mode
        partitions = {name.lower() for name in partition_columns}
        self._leaves = {
            _folded(path): (path, field)
            for path, field in leaves(schema)
            if path[0].lower() not in partitions
        }
        self._partitions: dict[str, pa.Array] = {}
        self._columns: dict[Path, _Column] = {}
        self._file_level: _FileLevel | None = None

    @property
    def num_files(self) -> int:
        return int(self._files.num_rows)

    def partition(self, name: str) -> pa.Array:
        """The values of a partition column, of the Arrow type of the column."""
        field = self._schema.field(name)
        if field.name not in self._partitions:
            key = field.name if self._mode == "none" else physical_name(field)
            texts = pc.map_lookup(self._files.column("partitionValues"), key, "first")
            values = parse_column(texts, field.data_type, column=field.name)
            self._partitions[field.name] = values
        return self._partitions[field.name]

    def minimum(self, path: Path) -> pa.Array | None:
        """A bound that no row of each file is below; null where none is known."""
        column = self._column(path)
        if column is None or column.minimum is None:
            return None
        return column.cached("low", lambda: lower_bound(column.minimum, column.field))

    def maximum(self, path: Path) -> pa.Array | None:
        """A bound that no row of each file is above, but for NaN, which many writers leave out."""
        column = self._column(path)
        if column is None or column.maximum is None:
            return None
        return column.cached("high", lambda: upper_bound(column.maximum, column.field))

    def null_count(self, path: Path) -> pa.Array | None:
        """The nulls of each file; null where unknown.

        While a file has a deletion vector or wide bounds, only two counts say something: zero, and
        the number of all its rows.
        """
        column = self._column(path)
        if column is None:
            return None
        return column.cached("nulls", lambda: self._certain(column.null_count))

    def num_records(self) -> pa.Array:
        """The rows in each file, with those that a deletion vector marks as deleted."""
        return self._file_stats().num_records

    def num_rows(self) -> pa.Array:
        """The rows of each file that are not deleted; null where unknown."""
        return pc.subtract(self.num_records(), self._deleted())

    def tight(self) -> pa.Array:
        """Whether the bounds are values of rows that are still there, as far as cuts allow."""
        return self._file_stats().tight_bounds.fill_null(True)

    def exact(self, path: Path) -> pa.Array:
        """Whether both bounds are known to be values of rows that are still there, uncut."""
        column = self._column(path)
        if column is None or column.minimum is None or column.maximum is None:
            return pa.repeat(False, self.num_files)
        low = exact_values(column.minimum, column.field)
        values = pc.and_(low, exact_values(column.maximum, column.field))
        return pc.and_(values, self._current())

    def prefetch(self, paths: Iterable[Path]) -> None:
        """Parses the statistics of several columns in one pass; those of others stay unparsed."""
        wanted = {}
        for path in paths:
            found = self._leaves.get(_folded(path))
            if found is not None and found[0] not in self._columns:
                wanted[found[0]] = found[1]
        if wanted:
            self._parse(wanted)

    # --- how it is kept ---

    def _column(self, path: Path) -> _Column | None:
        """None for what has no statistics: structs, what is inside arrays, partition columns."""
        found = self._leaves.get(_folded(path))
        if found is None:
            return None
        self.prefetch([path])
        return self._columns[found[0]]

    def _file_stats(self) -> _FileLevel:
        if self._file_level is None:
            self._file_level = _FileLevel.of(self._read(StructType(), []))
        return self._file_level

    def _parse(self, wanted: dict[Path, StructField]) -> None:
        stored = {physical_path(self._schema, path, self._mode): path for path in wanted}
        columns = _nested({path: wanted[stored[path]] for path in stored})
        stats = self._read(columns, list(stored))
        for path, logical in stored.items():
            field = wanted[logical]
            bounded = may_have_bounds(field.data_type)
            self._columns[logical] = _Column(
                field=field,
                minimum=_at(stats, (MIN_VALUES, *path)) if bounded else None,
                maximum=_at(stats, (MAX_VALUES, *path)) if bounded else None,
                null_count=_at(stats, (NULL_COUNT, *path)),
            )
        if self._file_level is None:
            self._file_level = _FileLevel.of(stats)

    def _read(self, columns: StructType, paths: list[Path]) -> pa.StructArray:
        schema = stats_schema(columns, booleans=True)
        texts = _column_of(self._files, "stats", pa.string())
        structs = _structs(self._files)
        if structs is None:
            return parse_stats(texts, schema)
        needed = texts.is_valid()
        if all(has_column(structs.type, path) for path in paths):
            # Rows of the checkpoint have structs, later ones have texts: parse no more than those.
            needed = pc.and_(needed, structs.is_null())
        return _fill_in(conform_stats(structs, schema), texts, needed, schema)

    # --- deletion vectors and wide bounds ---

    def _certain(self, counts: pa.Array) -> pa.Array:
        records = self.num_records()
        extremes = pc.or_kleene(pc.equal(counts, 0), pc.equal(counts, records))
        possible = pc.less_equal(counts, records).fill_null(True)
        known = pc.and_(pc.or_kleene(self._plain(), extremes).fill_null(False), possible)
        return pc.if_else(known, counts, pa.scalar(None, pa.int64()))

    def _plain(self) -> pa.BooleanArray:
        """Files whose statistics describe exactly their rows: no wide bounds, nothing deleted."""
        return pc.and_(self.tight(), pc.equal(self._deleted(), 0))

    def _current(self) -> pa.BooleanArray:
        """With a deletion vector, bounds count as tight only if their writer said so."""
        said = self._file_stats().tight_bounds.fill_null(False)
        return pc.and_(self.tight(), pc.or_(said, pc.equal(self._deleted(), 0)))

    def _deleted(self) -> pa.Int64Array:
        index = self._files.schema.get_field_index("deletionVector")
        if index < 0 or not pa.types.is_struct(self._files.schema.field(index).type):
            return pa.repeat(pa.scalar(0, pa.int64()), self.num_files)
        cardinality = pc.struct_field(self._files.column(index), "cardinality")
        return _one_array(cardinality).cast(pa.int64()).fill_null(0)


@dataclass
class _Column:
    """The statistics of one column as the log has them, and what was computed from them."""

    field: StructField
    minimum: pa.Array | None
    maximum: pa.Array | None
    null_count: pa.Array

    def __post_init__(self) -> None:
        self._cached: dict[str, pa.Array] = {}

    def cached(self, name: str, compute: Callable[[], pa.Array]) -> pa.Array:
        if name not in self._cached:
            self._cached[name] = compute()
        return self._cached[name]


@dataclass(frozen=True)
class _FileLevel:
    num_records: pa.Array
    tight_bounds: pa.Array

    @classmethod
    def of(cls, stats: pa.StructArray) -> _FileLevel:
        return cls(_at(stats, (NUM_RECORDS,)), _at(stats, (TIGHT_BOUNDS,)))


def _folded(path: Path) -> Path:
    return tuple(step.lower() for step in path)


def _nested(fields: dict[Path, StructField]) -> StructType:
    """A schema that has just the given columns, each at its path."""
    groups: dict[str, dict[Path, StructField]] = {}
    for path, field in fields.items():
        groups.setdefault(path[0], {})[path[1:]] = field
    return StructType(
        tuple(
            StructField(name, inner[()].data_type if () in inner else _nested(inner))
            for name, inner in groups.items()
        )
    )


def _structs(files: pa.Table) -> pa.StructArray | None:
    index = files.schema.get_field_index("stats_parsed")
    if index < 0 or not pa.types.is_struct(files.schema.field(index).type):
        return None
    return _one_array(files.column(index))


def _column_of(files: pa.Table, name: str, kind: pa.DataType) -> pa.Array:
    index = files.schema.get_field_index(name)
    if index < 0:
        return pa.nulls(files.num_rows, kind)
    return _one_array(files.column(index)).cast(kind)


def _one_array(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _fill_in(
    stats: pa.StructArray, texts: pa.StringArray, needed: pa.BooleanArray, schema: StructType
) -> pa.StructArray:
    """The statistics, with those of the texts for the rows that need them."""
    if not pc.any(needed).as_py():
        return stats
    parsed = parse_stats(texts.filter(needed), schema)
    position = pc.subtract(pc.cumulative_sum(needed.cast(pa.int64())), 1)
    # Rows before the first needed one get some position, too; they do not use what it gives.
    return pc.if_else(needed, parsed.take(pc.max_element_wise(position, 0)), stats)


def _at(stats: pa.StructArray, path: Path) -> pa.Array:
    for step in path:
        stats = pc.struct_field(stats, step)
    return stats
