"""Reading data files into Arrow: the second data plane, for work without Spark.

PROTOCOL: Reader Requirements of column mapping, deletion vectors and type widening. What the log
says about a file wins: partition values come from it, deleted rows go, absent columns are null.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.arrow.file_columns import physical_names, positions
from lakebed.arrow.relabel import relabel
from lakebed.errors import (
    DataFileError,
    InvalidArgumentError,
    ObjectNotFoundError,
    SchemaError,
    SchemaMismatchError,
)
from lakebed.expressions import Expression, evaluate, references
from lakebed.formats.arrow_cast import cast_table
from lakebed.formats.arrow_types import to_arrow_schema
from lakebed.formats.deletion_vectors import GetRange, RowIndexSet, read_vector
from lakebed.log.selection import select_files
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import DeletionVector
from lakebed.spec.columns.column_mapping import mapping_mode, physical_name, physical_schema
from lakebed.spec.partition_values import parse_column
from lakebed.spec.schema import LONG, VOID, StructField, StructType
from lakebed.storage.store import Store

_WORKERS = 4
# Row groups are read together up to about this size, so that a large file need not fit in memory.
_PIECE_BYTES = 64 * 1024 * 1024
_COLUMNS_AT_ONCE = 4096
"""Columns of a file that are read at once: pyarrow keeps 40 kB for each of them meanwhile."""
_DAMAGE = (pa.ArrowException, OSError, ValueError, TypeError, KeyError, IndexError, OverflowError)


@dataclass(frozen=True)
class ScannedTable:
    """What reading the files of a version needs to know of it; can be pickled, if the store can."""

    store: Store
    version: int
    schema: StructType
    partition_columns: tuple[str, ...]
    mode: str

    @classmethod
    def of(cls, snapshot: Snapshot) -> ScannedTable:
        return cls(
            snapshot.store,
            snapshot.version,
            snapshot.schema,
            snapshot.partition_columns,
            mapping_mode(snapshot.metadata.configuration),
        )


@dataclass(frozen=True)
class ScanPlan:
    """What to read and what to give back. `read` holds also the columns that only `where` needs."""

    table: ScannedTable
    output: StructType
    read: StructType
    where: Expression | None
    files: pa.Table
    position: StructField | None = None
    """The last column of `output`, if it is to be the index of each row in its file."""

    @cached_property
    def schema(self) -> pa.Schema:
        return to_arrow_schema(self.output)

    @cached_property
    def partitions(self) -> frozenset[str]:
        return frozenset(name.lower() for name in self.table.partition_columns)

    @cached_property
    def stored(self) -> StructType:
        """The columns of `read` that data files hold."""
        fields = (
            field
            for field in self.read.fields
            if field.name.lower() not in self.partitions and field.data_type != VOID
        )
        return StructType(tuple(fields))

    @cached_property
    def physical(self) -> StructType:
        """The same under the names that they have in files."""
        return physical_schema(self.stored, self.table.mode)


def plan_scan(
    snapshot: Snapshot,
    columns: Sequence[str] | None = None,
    where: Expression | None = None,
    *,
    position: str | None = None,
) -> ScanPlan:
    """Choose columns and files; reads no data.

    `position` is the name of one more column, with the index of each row in its file: deleted rows
    and rows that `where` leaves out count too.
    """
    schema = snapshot.schema
    if not schema.fields:
        raise SchemaError(
            f"{snapshot.store.url} has no columns at version {snapshot.version}",
            hint="its metadata has no schema: there is nothing to read",
        )
    output = schema if columns is None else pick_columns(schema, columns)
    needed = {name.lower() for name in output.names}
    needed |= {path[0].lower() for path in (references(where) if where else ())}
    read = StructType(tuple(field for field in schema.fields if field.name.lower() in needed))
    files = select_files(snapshot, where).files
    index = None if position is None else position_field(schema, position)
    shown = output if index is None else StructType((*output.fields, index))
    return ScanPlan(ScannedTable.of(snapshot), shown, read, where, files, index)


def read_batches(plan: ScanPlan) -> Iterator[pa.RecordBatch]:
    """The rows, file by file, with the next few files being read ahead."""
    rows = (row for batch in plan.files.to_batches(max_chunksize=1024) for row in batch.to_pylist())
    with ThreadPoolExecutor(_WORKERS, thread_name_prefix="lakebed-scan") as pool:
        waiting: deque[Future[pa.Table]] = deque()
        for row in rows:
            waiting.append(pool.submit(read_file, plan, row))
            if len(waiting) > _WORKERS:
                yield from waiting.popleft().result().to_batches()
        while waiting:
            yield from waiting.popleft().result().to_batches()


def read_file(plan: ScanPlan, row: dict[str, Any]) -> pa.Table:
    """All rows of one logical file that the scan wants."""
    pieces = list(read_pieces(plan, row))
    return pa.concat_tables(pieces) if pieces else plan.schema.empty_table()


def read_pieces(
    plan: ScanPlan, row: dict[str, Any], only: RowIndexSet | None = None
) -> Iterator[pa.Table]:
    """The same, some row groups at a time.

    `only` are the rows that are wanted, in the order of the file; row groups without them are not
    read. They are rows of the version: its deletion vector is not asked again.
    """
    for table in _Reader(plan, row, only).read():
        if plan.where is not None:
            table = table.filter(evaluate(plan.where, table))
        yield table.select(list(plan.output.names))


class _Reader:
    """Reads one file. Names in the file are physical, names in the result logical."""

    def __init__(
        self, plan: ScanPlan, row: dict[str, Any], only: RowIndexSet | None = None
    ) -> None:
        self._plan = plan
        self._row = row
        self._only = only
        self._store, self._path = plan.table.store.resolve(row["path"])

    def read(self) -> Iterator[pa.Table]:
        with reading(self._plan.table.version, self._name):
            yield from self._pieces()

    def _pieces(self) -> Iterator[pa.Table]:
        source = self._store.open_input(self._path)
        remote = not self._store.cheap_probes
        with pq.ParquetFile(source, pre_buffer=remote, coerce_int96_timestamp_unit="us") as file:
            kept = self._kept_rows(file.metadata.num_rows)
            for groups, start, count in _piecewise(file.metadata, self._is_wanted):
                table = self._with_position(self._table(file, groups, count), start)
                yield table if kept is None else table.filter(kept.slice(start, count))

    def _is_wanted(self, start: int, count: int) -> bool:
        return self._only is None or self._only.has_any(start, start + count)

    def _table(self, file: pq.ParquetFile, groups: list[int], count: int) -> pa.Table:
        # Each access to the property converts all of the schema.
        schema = file.schema_arrow
        fields = stored_fields(self._plan, schema)
        names = [schema.field(index).name for index, _ in fields]
        columns: list[pa.ChunkedArray] = []
        for start in range(0, len(names), _COLUMNS_AT_ONCE):
            some = names[start : start + _COLUMNS_AT_ONCE]
            table = file.read_row_groups(groups, columns=some)
            columns += [table.column(name) for name in some]
        values = dict(self._row.get("partitionValues") or ())
        return fit_columns(self._plan, [field for _, field in fields], columns, values, count)

    def _with_position(self, table: pa.Table, start: int) -> pa.Table:
        field = self._plan.position
        if field is None:
            return table
        numbers = pc.indices_nonzero(pa.repeat(pa.scalar(True), table.num_rows))
        column = pc.add(numbers.cast(pa.int64()), start)
        return table.append_column(pa.field(field.name, pa.int64(), field.nullable), column)

    def _kept_rows(self, count: int) -> pa.BooleanArray | None:
        """Which of the rows its deletion vector leaves; None without a vector."""
        if self._only is not None:
            return pc.invert(self._only.keep_mask(count))
        vector = self._row.get("deletionVector")
        if vector is None:
            return None
        store = self._plan.table.store
        opener, found = _opener(store), DeletionVector.parse(vector)
        return read_vector(found, opener, file=self._name, num_rows=count).keep_mask(count)

    @property
    def _name(self) -> str:
        return f"{self._store.url.rstrip('/')}/{self._path}"


def stored_fields(plan: ScanPlan, file: pa.Schema) -> list[tuple[int, pa.Field]]:
    """Where the columns of a scan are in a file that has them, with the names of the log."""
    labelled = physical_names(file, plan.table.schema, plan.table.mode)
    indexes = positions(labelled, plan.physical.names)
    return [(index, labelled.field(index)) for index in indexes if index is not None]


def fit_columns(
    plan: ScanPlan,
    fields: Sequence[pa.Field],
    columns: Sequence[pa.ChunkedArray],
    values: Mapping[str, str | None],
    count: int,
) -> pa.Table:
    """The columns of a scan from those of a file, which `stored_fields` found, as the table has
    them. `values` are the partition values of the file.
    """
    stored = None
    if columns:
        arrays = [relabel(_plain(c), field.type) for c, field in zip(columns, fields, strict=True)]
        given = pa.table(arrays, names=[field.name for field in fields])
        stored = cast_table(given, plan.physical)
    texts = {key.lower(): value for key, value in values.items()}
    known = {} if stored is None else dict(zip(plan.stored.names, stored.columns, strict=True))
    target = to_arrow_schema(plan.read)
    found = [
        _column(plan, field, kind, known.get(field.name), texts, count)
        for field, kind in zip(plan.read.fields, target.types, strict=True)
    ]
    return pa.table(found, schema=target)


def _column(
    plan: ScanPlan,
    field: StructField,
    kind: pa.DataType,
    stored: pa.ChunkedArray | None,
    values: Mapping[str, str | None],
    count: int,
) -> pa.ChunkedArray:
    if stored is not None:
        return relabel(stored, kind)
    if field.name.lower() not in plan.partitions:
        return pa.chunked_array([pa.nulls(count, kind)])
    text = pa.array([values.get(physical_name(field).lower())], pa.string())
    value = parse_column(text, field.data_type, column=field.name)[0]
    return pa.chunked_array([pa.repeat(value, count)], type=kind)


@contextmanager
def reading(version: int, file: str) -> Iterator[None]:
    """What can go wrong with a file of a version, in words of the table."""
    try:
        yield
    except ObjectNotFoundError as error:
        raise DataFileError(
            f"version {version} needs this file, but it or its deletion vector is gone",
            file=file,
            hint="VACUUM may have removed it; read a newer version or restore the file",
        ) from error
    except SchemaMismatchError as error:
        raise DataFileError(
            f"its columns are not those of the table: {error.message}", file=file
        ) from error
    except _DAMAGE as error:
        raise DataFileError(
            f"cannot be read: {error}",
            file=file,
            hint="the file is damaged or no Parquet file: restore it, or read another version",
        ) from error


def _piecewise(
    footer: pq.FileMetaData, is_wanted: Callable[[int, int], bool]
) -> Iterator[tuple[list[int], int, int]]:
    """Row groups to read together, the number of their first row, and how many rows they have."""
    groups: list[int] = []
    start = count = size = 0
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        wanted = is_wanted(start + count, group.num_rows)
        if groups and (not wanted or size + group.total_byte_size > _PIECE_BYTES):
            yield groups, start, count
            groups, start, count, size = [], start + count, 0, 0
        if not wanted:
            start += group.num_rows
            continue
        groups.append(number)
        count += group.num_rows
        size += group.total_byte_size
    if groups:
        yield groups, start, count


def position_field(schema: StructType, name: str) -> StructField:
    taken = schema.find(name)
    if taken is not None:
        raise SchemaError(
            f"the column {taken.name!r} has the name that row numbers have while rows are changed",
            hint="rename the column",
        )
    return StructField(name, LONG, nullable=False)


def pick_columns(schema: StructType, columns: Sequence[str]) -> StructType:
    if isinstance(columns, str) or not columns:
        raise InvalidArgumentError(
            f"columns={columns!r} is not a list of column names",
            hint="give a list such as ['id', 'price'], or leave it out for all columns",
        )
    picked = tuple(_picked(schema, name) for name in columns)
    if len({field.name for field in picked}) < len(picked):
        raise InvalidArgumentError(
            f"columns={list(columns)} names a column twice",
            hint="names that differ only in case count as the same",
        )
    return StructType(picked)


def _picked(schema: StructType, name: str) -> StructField:
    found = schema.find(name) if isinstance(name, str) else None
    if found is not None:
        return found
    near = get_close_matches(str(name), schema.names, n=1)
    raise SchemaError(
        f"there is no column {name!r}",
        hint=f"did you mean {near[0]!r}?" if near else f"the columns are: {list(schema.names)}",
    )


def _opener(store: Store) -> Any:
    def open_file(reference: str) -> GetRange:
        home, path = store.resolve(reference)
        return lambda start, length: home.get_range(path, start, length)

    return open_file


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Logical annotations that Arrow knows as extension types are read as what they store."""
    if isinstance(column.type, pa.BaseExtensionType):
        chunks = [chunk.storage for chunk in column.chunks]
        return pa.chunked_array(chunks, type=column.type.storage_type)
    return column
