"""Reading data files into Arrow: the second data plane, for work without Spark.

PROTOCOL: Reader Requirements of column mapping, deletion vectors and type widening. What the log
says about a file wins: partition values come from it, deleted rows go, absent columns are null.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.arrow.file_columns import find, physical_names
from lakebed.arrow.relabel import relabel
from lakebed.errors import (
    DataFileError,
    InvalidArgumentError,
    ObjectNotFoundError,
    SchemaError,
    SchemaMismatchError,
)
from lakebed.expressions import Expression, evaluate, references
from lakebed.formats.arrow_types import cast_table, to_arrow_schema, to_arrow_type
from lakebed.formats.deletion_vectors import GetRange, read_vector
from lakebed.log.selection import select_files
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import DeletionVector
from lakebed.spec.column_mapping import mapping_mode, physical_name, physical_schema
from lakebed.spec.partition_values import parse_column
from lakebed.spec.schema import LONG, VOID, StructField, StructType
from lakebed.storage.store import Store

_WORKERS = 4
# Row groups are read together up to about this size, so that a large file need not fit in memory.
_PIECE_BYTES = 64 * 1024 * 1024
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
    index = None if position is None else _position_field(schema, position)
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


def read_pieces(plan: ScanPlan, row: dict[str, Any]) -> Iterator[pa.Table]:
    """The same, some row groups at a time."""
    for table in _Reader(plan, row).read():
        if plan.where is not None:
            table = table.filter(evaluate(plan.where, table))
        yield table.select(list(plan.output.names))


class _Reader:
    """Reads one file. Names in the file are physical, names in the result logical."""

    def __init__(self, plan: ScanPlan, row: dict[str, Any]) -> None:
        self._plan = plan
        self._row = row
        self._store, self._path = plan.table.store.resolve(row["path"])

    def read(self) -> Iterator[pa.Table]:
        try:
            yield from self._pieces()
        except ObjectNotFoundError as error:
            raise DataFileError(
                f"version {self._plan.table.version} needs this file, but it or its deletion "
                "vector is gone",
                file=self._name,
                hint="VACUUM may have removed it; read a newer version or restore the file",
            ) from error
        except SchemaMismatchError as error:
            raise DataFileError(
                f"its columns are not those of the table: {error.message}", file=self._name
            ) from error
        except _DAMAGE as error:
            raise DataFileError(
                f"cannot be read: {error}",
                file=self._name,
                hint="the file is damaged or no Parquet file: restore it, or read another version",
            ) from error

    def _pieces(self) -> Iterator[pa.Table]:
        source = self._store.open_input(self._path)
        remote = not self._store.cheap_probes
        with pq.ParquetFile(source, pre_buffer=remote, coerce_int96_timestamp_unit="us") as file:
            kept = self._kept_rows(file.metadata.num_rows)
            start = 0
            for groups, count in _piecewise(file.metadata):
                table = self._with_position(self._table(file, groups, count), start)
                yield table if kept is None else table.filter(kept.slice(start, count))
                start += count

    def _table(self, file: pq.ParquetFile, groups: list[int], count: int) -> pa.Table:
        stored = self._stored_columns(file, groups)
        columns = [self._column(field, stored, count) for field in self._plan.read.fields]
        return pa.table(columns, schema=to_arrow_schema(self._plan.read))

    def _with_position(self, table: pa.Table, start: int) -> pa.Table:
        field = self._plan.position
        if field is None:
            return table
        numbers = pc.indices_nonzero(pa.repeat(pa.scalar(True), table.num_rows))
        column = pc.add(numbers.cast(pa.int64()), start)
        return table.append_column(pa.field(field.name, pa.int64(), field.nullable), column)

    def _stored_columns(self, file: pq.ParquetFile, groups: list[int]) -> pa.Table | None:
        """The columns of the file that the scan needs, cast to the table's types."""
        plan = self._plan
        wanted = physical_schema(plan.stored, plan.table.mode)
        labelled = physical_names(file.schema_arrow, plan.table.schema, plan.table.mode)
        places = [find(labelled, field.name) for field in wanted.fields]
        present = [place for place in places if place is not None]
        if not present:
            return None
        names = [file.schema_arrow.field(place).name for place in present]
        table = file.read_row_groups(groups, columns=names)
        arrays, names = [], []
        for place in present:
            column = table.column(file.schema_arrow.field(place).name)
            arrays.append(relabel(_plain(column), labelled.field(place).type))
            names.append(labelled.field(place).name)
        return cast_table(pa.table(arrays, names=names), wanted)

    def _column(self, field: StructField, stored: pa.Table | None, count: int) -> pa.ChunkedArray:
        kind = to_arrow_type(field.data_type)
        position = self._position(field)
        if position is not None and stored is not None:
            return relabel(stored.column(position), kind)
        if field.name.lower() in self._plan.partitions:
            return pa.chunked_array([self._partition(field, count)], type=kind)
        return pa.chunked_array([pa.nulls(count, kind)])

    def _position(self, field: StructField) -> int | None:
        names = self._plan.stored.names
        return list(names).index(field.name) if field.name in names else None

    def _partition(self, field: StructField, count: int) -> pa.Array:
        values = {key.lower(): value for key, value in self._row.get("partitionValues") or ()}
        text = pa.array([values.get(physical_name(field).lower())], pa.string())
        return pa.repeat(parse_column(text, field.data_type, column=field.name)[0], count)

    def _kept_rows(self, count: int) -> pa.BooleanArray | None:
        """Which of the rows its deletion vector leaves; None without a vector."""
        vector = self._row.get("deletionVector")
        if vector is None:
            return None
        store = self._plan.table.store
        deleted = read_vector(DeletionVector.parse(vector), _opener(store), file=self._name)
        return deleted.keep_mask(count)

    @property
    def _name(self) -> str:
        return f"{self._store.url.rstrip('/')}/{self._path}"


def _piecewise(footer: pq.FileMetaData) -> Iterator[tuple[list[int], int]]:
    """Row groups to read together, and how many rows they have."""
    groups: list[int] = []
    count = size = 0
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        if groups and size + group.total_byte_size > _PIECE_BYTES:
            yield groups, count
            groups, count, size = [], 0, 0
        groups.append(number)
        count += group.num_rows
        size += group.total_byte_size
    if groups:
        yield groups, count


def _position_field(schema: StructType, name: str) -> StructField:
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
