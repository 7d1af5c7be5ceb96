"""Reading files of a table whole, also thousands of small ones, to write their rows again.

A file of some kilobytes is decoded in a tenth of a millisecond, but to fit its columns to those of
the table takes ten times that. So files are read as they are, put together as long as they have the
same columns, and fitted together. Thousands of them other processes decode (`reading_processes`).
Rows are never Python objects.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.arrow.row_ids import filled_row_ids, ids_of_file, row_id_columns, with_row_ids
from lakebed.arrow.scan import (
    ScanPlan,
    fit_columns,
    plan_scan,
    read_pieces,
    reading,
    stored_fields,
)
from lakebed.arrow.small_files.reading_processes import Readers
from lakebed.arrow.small_files.small_files import (
    Decoded,
    Needs,
    UnreadableError,
    decode,
    has_old_calendar,
)
from lakebed.errors import DataFileError, ObjectNotFoundError, SchemaError
from lakebed.formats.arrow_types import to_arrow_schema
from lakebed.log.deleted_rows import deleted_rows
from lakebed.log.snapshot import Snapshot
from lakebed.log.synthetic_snapshot import synthetic_snapshot
from lakebed.spec.actions import Add
from lakebed.spec.schema import (
    DATE,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    DataType,
    StructField,
    StructType,
    UserDefinedType,
    walk_types,
)
from lakebed.storage.store import Store


class NotForArrowError(Exception):
    """Files that Spark has to read; no one but the caller sees it."""


@dataclass(frozen=True)
class ManyFiles:
    """Files of one version. What is read has the columns of the table, and `ids`."""

    snapshot: Snapshot
    readers: Readers | None = None
    """Processes that decode small files; without them this one does."""

    @cached_property
    def ids(self) -> tuple[StructField, ...]:
        """Columns for the ids of rows, which follow those of the table."""
        return row_id_columns(self.snapshot)

    @cached_property
    def names(self) -> list[str]:
        return [*self.snapshot.schema.names, *(field.name for field in self.ids)]

    @cached_property
    def plan(self) -> ScanPlan:
        snapshot = self.snapshot
        made = synthetic_snapshot(
            snapshot.store, snapshot.protocol, snapshot.metadata, [], columns=self.ids
        )
        return plan_scan(made, position=_POSITION if self.ids else None)

    def check(self) -> None:
        """Refuses tables with types that only Spark reads and writes in every form."""
        types = _types(self.snapshot.schema)
        if any(each == VARIANT or isinstance(each, UserDefinedType) for each in types):
            raise NotForArrowError("a type that only Spark has in every form")
        try:
            to_arrow_schema(self.plan.output)
        except SchemaError as error:
            raise NotForArrowError(error.message) from error

    def read(self, adds: Iterable[Add], pool: ThreadPoolExecutor) -> Iterator[pa.Table]:
        """All rows of files of one partition, in order; the next few files are read ahead.

        The pool decodes, which is most of the work; the rest is for the thread of the caller.
        """
        for chunk in _in_turn(pool, self._small, chunks(adds)):
            if isinstance(chunk, Add):
                yield from self._large(chunk)
            else:
                for rows in chunk:
                    yield self._fitted(rows)

    def _large(self, add: Add) -> Iterator[pa.Table]:
        row = {
            "path": add.path,
            "partitionValues": list(add.partition_values.items()),
            "deletionVector": add.deletion_vector and add.deletion_vector.to_json(),
        }
        with _handing_over():
            if self._has_timestamps:
                home, path = self.snapshot.store.resolve(add.path)
                with reading(self.snapshot.version, add.path):
                    footer = pq.read_metadata(home.open_input(path))
                if has_old_calendar(footer.metadata):
                    raise NotForArrowError("dates of the Julian calendar")
            for rows in read_pieces(self.plan, row):
                if self.ids:
                    rows = with_row_ids(rows, rows.column(_POSITION), add, self.ids)
                yield rows.select(self.names)

    # --- small files ---

    def _small(self, adds: Sequence[Add]) -> list[_Rows]:
        """Those with the same columns together."""
        resolved = [self.snapshot.store.resolve(add.path) for add in adds]
        files = [home.local_file(path) for home, path in resolved]
        here = partial(self._decoded, adds, resolved)
        paths = [file for file in files if file is not None]
        if self.readers is not None and len(paths) == len(files):
            found = self.readers.decoded(paths, self._needs, here)
        else:
            found = here()
        rest = iter(adds)
        return [self._live(each, list(islice(rest, len(each.counts)))) for each in found]

    def _decoded(self, adds: Sequence[Add], resolved: Sequence[_Resolved]) -> list[Decoded]:
        try:
            return decode(self._bytes(adds, resolved), self._needs)
        except UnreadableError as error:
            path = adds[error.number].path
            raise NotForArrowError(f"{path} cannot be read: {error}") from error

    @cached_property
    def _needs(self) -> Needs:
        return Needs(timestamps=self._has_timestamps, field_ids=self.plan.table.mode == "id")

    def _bytes(self, adds: Sequence[Add], resolved: Sequence[_Resolved]) -> list[bytes]:
        """Those of one store at once: some answer many questions as fast as one."""
        first = resolved[0][0]
        try:
            if all(home is first for home, _ in resolved):
                return first.get_many([path for _, path in resolved])
            return [home.get(path) for home, path in resolved]
        except ObjectNotFoundError:
            for add, (home, path) in zip(adds, resolved, strict=True):
                with reading(self.snapshot.version, add.path):
                    home.head(path)
            raise

    def _live(self, decoded: Decoded, adds: Sequence[Add]) -> _Rows:
        """Without the rows that are deleted."""
        table, counts = decoded.table, decoded.counts
        ids: tuple[pa.ChunkedArray, ...] = ()
        if self.ids:
            parts = [
                ids_of_file(_numbers(count), add) for add, count in zip(adds, counts, strict=True)
            ]
            ids = tuple(pa.chunked_array(each) for each in zip(*parts, strict=True))
        if all(add.deletion_vector is None for add in adds):
            return _Rows(adds[0], table, ids)
        masks = [self._kept(add, count) for add, count in zip(adds, counts, strict=True)]
        kept = pa.chunked_array(masks, pa.bool_())
        return _Rows(adds[0], table.filter(kept), tuple(each.filter(kept) for each in ids))

    def _kept(self, add: Add, count: int) -> pa.Array:
        if add.deletion_vector is None:
            return pa.repeat(pa.scalar(True), count)
        store, vector = self.snapshot.store, add.deletion_vector
        deleted = deleted_rows(store, vector, file=add.path, num_rows=count)
        return deleted.keep_mask(count)

    def _fitted(self, rows: _Rows) -> pa.Table:
        add, table = rows.add, rows.table
        with _handing_over(), reading(self.snapshot.version, add.path):
            found = stored_fields(self.plan, table.schema)
            columns = [table.column(place) for place, _ in found]
            fields = [field for _, field in found]
            fitted = fit_columns(self.plan, fields, columns, add.partition_values, table.num_rows)
        if self.ids:
            fitted = filled_row_ids(fitted, rows.ids, self.ids)
        return fitted.select(self.names)

    @cached_property
    def _has_timestamps(self) -> bool:
        return any(each in _MOMENTS for each in _types(self.snapshot.schema))


def chunks(adds: Iterable[Add]) -> Iterator[list[Add] | Add]:
    """Small files to be read together; large ones stay alone."""
    found: list[Add] = []
    size = 0
    for add in adds:
        if add.size > _SMALL_BYTES:
            yield add
            continue
        found.append(add)
        size += add.size
        if len(found) == _CHUNK_FILES or size > _SMALL_BYTES:
            yield found
            found, size = [], 0
    if found:
        yield found


@dataclass(frozen=True, slots=True)
class _Rows:
    """`table` has the columns of a file, `ids` the ids and versions of its rows. With those of
    more files behind them, `add` is the first."""

    add: Add
    table: pa.Table
    ids: tuple[pa.ChunkedArray, ...] = ()


@contextmanager
def _handing_over() -> Iterator[None]:
    """What Arrow cannot read Spark may; it also says better what is wrong. Only a file that is gone
    is gone for both."""
    try:
        yield
    except DataFileError as error:
        if isinstance(error.__cause__, ObjectNotFoundError):
            raise
        raise NotForArrowError(str(error)) from error


def _in_turn(
    pool: ThreadPoolExecutor,
    read: Callable[[Sequence[Add]], list[_Rows]],
    found: Iterable[list[Add] | Add],
) -> Iterator[list[_Rows] | Add]:
    """Chunks of small files, read; a few are being read ahead."""
    waiting: deque[Future[list[_Rows]] | Add] = deque()
    try:
        for chunk in found:
            waiting.append(chunk if isinstance(chunk, Add) else pool.submit(read, chunk))
            if len(waiting) > _AHEAD:
                yield _result(waiting.popleft())
        while waiting:
            yield _result(waiting.popleft())
    finally:
        for each in waiting:
            if not isinstance(each, Add):
                each.cancel()


def _result(waiting: Future[list[_Rows]] | Add) -> list[_Rows] | Add:
    return waiting if isinstance(waiting, Add) else waiting.result()


def _numbers(count: int) -> pa.Array:
    return pc.indices_nonzero(pa.repeat(pa.scalar(True), count)).cast(pa.int64())


def _types(schema: StructType) -> list[DataType]:
    return [each for field in schema.fields for each in walk_types(field.data_type)]


_POSITION = "__lakebed_row"
_CHUNK_FILES = 64
_SMALL_BYTES = 8 << 20
_AHEAD = 4
_MOMENTS = (DATE, TIMESTAMP, TIMESTAMP_NTZ)
_Resolved = tuple[Store, str]
