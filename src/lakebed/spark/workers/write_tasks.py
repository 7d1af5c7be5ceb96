"""Writing the rows of a task as data files of a table, in a Python worker.

Only the actions of successful attempts come back to the client, so an attempt that failed, or one
that another attempt overtook, leaves files that no commit names.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import orjson
import pyarrow as pa
from pyspark.sql import DataFrame

from lakebed.arrow.write.write import rows_by_partition, write_file
from lakebed.data_files.curves import Curve
from lakebed.data_files.file_layout import FileLayout
from lakebed.formats.arrow_cast import cast_table
from lakebed.spark.errors.encoded_errors import encoding_errors
from lakebed.spark.plane.plane import FileSettings
from lakebed.spec.actions import Add
from lakebed.storage.store import Store

COLUMN = "add"
_DEFAULT_FILE_BYTES = 128 * 1024 * 1024
_MOST_HELD_BYTES = 512 * 1024 * 1024
"""What a task keeps in memory, whatever the number of partitions that it has rows of."""


@dataclass(frozen=True)
class WriteTask:
    """What `mapInArrow` runs: takes rows and gives the `add` actions of their files as JSON."""

    store: Store
    layout: FileLayout
    max_rows_per_file: int | None = None
    folder: str | None = None

    @classmethod
    def of(cls, store: Store, layout: FileLayout, settings: FileSettings) -> WriteTask:
        coded = layout.with_codec(settings.compression)
        return cls(store, coded, settings.max_rows_per_file, settings.folder)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with encoding_errors():
            files = _OpenFiles(self)
            for batch in batches:
                if batch.num_rows:
                    yield from map(_row, files.take(cast_table(batch, self.layout.schema)))
            yield from map(_row, files.close())


@dataclass(frozen=True)
class PartsTask:
    """What `mapInArrow` runs: adds to each row the part of a space-filling curve that it is on.

    The parts are those of `CurveKeys.java`.
    """

    columns: list[str]
    curve: Curve
    starts: list[int]
    marks: list[int]
    name: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with encoding_errors():
            for batch in batches:
                keys = self.curve.keys([batch.column(column) for column in self.columns])
                parts = [self.marks[bisect_right(self.starts, key)] for key in keys]
                field = pa.field(self.name, pa.int32(), nullable=False)
                yield batch.append_column(field, pa.array(parts, pa.int32()))


def write_files(
    frame: DataFrame, store: Store, layout: FileLayout, settings: FileSettings
) -> list[Add]:
    """Writes all rows of the frame, each task those that it has."""
    rows = frame.mapInArrow(WriteTask.of(store, layout, settings), f"{COLUMN} string").collect()
    return [added(row[0]) for row in rows]


def added(row: str) -> Add:
    """The action of a row that a task gave."""
    return Add.parse(orjson.loads(row))


Values = tuple[tuple[str, str | None], ...]


@dataclass
class _OpenFile:
    """Rows that wait for more of their partition."""

    pieces: list[pa.Table] = field(default_factory=list)
    num_rows: int = 0
    num_bytes: int = 0

    def take(self, piece: pa.Table) -> None:
        self.pieces.append(piece)
        self.num_rows += piece.num_rows
        self.num_bytes += piece.nbytes

    @property
    def table(self) -> pa.Table:
        return pa.concat_tables(self.pieces)


class _OpenFiles:
    """The rows of a task that are not written yet, by partition."""

    def __init__(self, task: WriteTask) -> None:
        self._task = task
        self._max_rows = task.max_rows_per_file
        self._target = min(
            task.layout.properties.target_file_size or _DEFAULT_FILE_BYTES, _MOST_HELD_BYTES
        )
        self._files: dict[Values, _OpenFile] = {}

    def take(self, table: pa.Table) -> Iterator[Add]:
        """Keeps rows, and writes what has become large enough."""
        for values, rows in rows_by_partition(self._task.layout, table):
            key = tuple(values.items())
            yield from self._take(key, rows)
        while sum(file.num_bytes for file in self._files.values()) > _MOST_HELD_BYTES:
            largest = max(self._files, key=lambda each: self._files[each].num_bytes)
            yield self._write(largest, self._files.pop(largest).table)

    def close(self) -> Iterator[Add]:
        for key, file in self._files.items():
            yield self._write(key, file.table)
        self._files.clear()

    def _take(self, key: Values, rows: pa.Table) -> Iterator[Add]:
        file = self._files.setdefault(key, _OpenFile())
        while rows.num_rows:
            room = rows.num_rows if self._max_rows is None else self._max_rows - file.num_rows
            file.take(rows.slice(0, room))
            rows = rows.slice(room)
            if file.num_rows == self._max_rows or file.num_bytes >= self._target:
                yield self._write(key, self._files.pop(key).table)
                file = self._files.setdefault(key, _OpenFile())
        if not file.num_rows:
            del self._files[key]

    def _write(self, key: Values, table: pa.Table) -> Add:
        task = self._task
        return write_file(task.store, task.layout, dict(key), table, folder=task.folder)


def _row(add: Add) -> pa.RecordBatch:
    return pa.record_batch({COLUMN: pa.array([orjson.dumps(add.to_json()).decode()])})
