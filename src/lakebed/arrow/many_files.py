"""Reading files of a table whole, also thousands of small ones, to write their rows again.

A file of some kilobytes is decoded in a tenth of a millisecond, but to fit its columns to those of
the table takes ten times that. So files are read as they are, put together as long as they have the
same columns, and fitted together. Rows are never Python objects.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

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
from lakebed.errors import DataFileError, ObjectNotFoundError, SchemaError
from lakebed.formats.arrow_types import to_arrow_schema
from lakebed.log.made import made_snapshot
from lakebed.log.snapshot import Snapshot
from lakebed.log.vectors import deleted_rows
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


class NotForArrowError(Exception):
    """Files that Spark has to read; nobody but the caller sees it."""


@dataclass(frozen=True)
class ManyFiles:
    """Files of one version. What is read has the columns of the table, and `ids`."""

    snapshot: Snapshot

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
        made = made_snapshot(
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
            if self._has_moments:
                home, path = self.snapshot.store.resolve(add.path)
                with reading(self.snapshot.version, add.path):
                    self._check_footer(pq.read_metadata(home.open_input(path)))
            for rows in read_pieces(self.plan, row):
                if self.ids:
                    rows = with_row_ids(rows, rows.column(_POSITION), add, self.ids)
                yield rows.select(self.names)

    # --- small files ---

    def _small(self, adds: Sequence[Add]) -> list[_Rows]:
        """Those with the same columns together."""
        found: list[_Rows] = []
        alike: list[_Rows] = []
        for rows in self._decoded(adds, self._bytes(adds)):
            if alike and not self._are_alike(alike[0], rows):
                found.append(_joined(alike))
                alike = []
            alike.append(rows)
        return [*found, _joined(alike)]

    def _decoded(self, adds: Sequence[Add], files: Sequence[bytes]) -> Iterator[_Rows]:
        last = adds[0]
        try:
            for last, data in zip(adds, files, strict=True):
                yield self._rows(last, data)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise NotForArrowError(f"{last.path} cannot be read: {error}") from error

    def _are_alike(self, one: _Rows, other: _Rows) -> bool:
        """Field ids are metadata; they count where they say which column it is."""
        by_id = self.plan.table.mode == "id"
        return bool(one.table.schema.equals(other.table.schema, check_metadata=by_id))

    def _bytes(self, adds: Sequence[Add]) -> list[bytes]:
        """Those of one store at once: some answer many questions as fast as one."""
        places = [self.snapshot.store.resolve(add.path) for add in adds]
        first = places[0][0]
        try:
            if all(home is first for home, _ in places):
                return first.get_many([path for _, path in places])
            return [home.get(path) for home, path in places]
        except ObjectNotFoundError:
            for add, (home, path) in zip(adds, places, strict=True):
                with reading(self.snapshot.version, add.path):
                    home.head(path)
            raise

    def _rows(self, add: Add, data: bytes) -> _Rows:
        # The bytes are there: to ask for them ahead is work for nothing.
        file = _SmallFile(pa.BufferReader(data), coerce_int96_timestamp_unit="us", pre_buffer=False)
        if self._has_moments:
            self._check_footer(file.metadata)
        # Threads read different files; within such a small one they only get in the way.
        table = file.reader.read_all(use_threads=False)
        if self.plan.table.mode == "id":
            table = table.replace_schema_metadata(None)
        kept = None
        if add.deletion_vector is not None:
            deleted = deleted_rows(self.snapshot.store, add.deletion_vector, file=add.path)
            kept = deleted.keep_mask(table.num_rows)
        ids = ids_of_file(_numbers(table.num_rows), add) if self.ids else ()
        if kept is None:
            return _Rows(add, table, ids)
        return _Rows(add, table.filter(kept), tuple(each.filter(kept) for each in ids))

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
    def _has_moments(self) -> bool:
        return any(each in _MOMENTS for each in _types(self.snapshot.schema))

    def _check_footer(self, footer: pq.FileMetaData) -> None:
        """Spark before 3.1 wrote days and times of another calendar; only Spark converts them."""
        known = footer.metadata or {}
        version = known.get(b"org.apache.spark.version", b"")
        if (version and version < b"3.1") or any(key in known for key in _LEGACY):
            raise NotForArrowError("dates of the Julian calendar")


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


class _SmallFile(pq.ParquetFile):  # type: ignore[misc]
    """Without what only a choice of columns needs, and takes a tenth of the time of such a file."""

    def _build_nested_paths(self) -> dict[str, list[int]]:
        return {}


@dataclass(frozen=True, slots=True)
class _Rows:
    """`table` has the columns of a file, `ids` the ids and versions of its rows. With those of
    more files behind them, `add` is the first."""

    add: Add
    table: pa.Table
    ids: tuple[pa.Array | pa.ChunkedArray, ...] = ()


def _joined(alike: Sequence[_Rows]) -> _Rows:
    table = pa.concat_tables([each.table for each in alike])
    if len(alike) > 1:
        table = table.combine_chunks()
    ids = zip(*(each.ids for each in alike), strict=True)
    return _Rows(alike[0].add, table, tuple(pa.chunked_array(each) for each in ids))


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
_LEGACY = (b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96")
