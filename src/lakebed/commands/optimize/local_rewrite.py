"""OPTIMIZE of little data by this process, on Arrow: Spark's tasks would cost more than the work.

A task of Spark takes some milliseconds for each file that it opens, Arrow a tenth of one. Rows are
read, put together or arranged, and written by C++; memory is bounded (see `Local`).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa

from lakebed.arrow import curve_parts
from lakebed.arrow.small_files.many_files import ManyFiles, NotForArrowError
from lakebed.arrow.small_files.reading_processes import MIN_FILES, Readers, lent
from lakebed.arrow.write.write import FileWriter, stored_rows
from lakebed.commands.optimize.curve_columns import CurveColumn
from lakebed.commands.optimize.file_selection import Bin
from lakebed.data_files.curves import Curve, Kind, quantiles
from lakebed.data_files.file_layout import FileLayout
from lakebed.log.snapshot import Snapshot
from lakebed.settings.setting_table import COMPRESSION, MAX_RECORDS
from lakebed.spec.actions import Add
from lakebed.spec.paths import decode_path
from lakebed.spec.properties import TableProperties
from lakebed.storage.store import Store

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Local:
    """Writes rows of one version of a table again, in this process.

    Files of `most_bytes` together are taken at most. To put rows together only some row groups are
    in memory at a time, and the new files until they are stored. To arrange rows all of a partition
    are, so that what needs more than four times as many bytes is left to Spark.
    """

    snapshot: Snapshot
    max_file: int
    most_bytes: int
    settings: Mapping[str, str]
    done: Callable[[int], None] = lambda _: None
    """Is called with the bytes that are in new files, for the progress bar."""

    def compact(self, bins: Sequence[Bin]) -> list[Add] | None:
        """Each bin becomes one file; None if Spark has to do it."""
        return self._run(bins, lambda run: run.compact(bins))

    def arrange(
        self, bins: Sequence[Bin], columns: Sequence[CurveColumn], kind: Kind
    ) -> list[Add] | None:
        """Each bin becomes files of about `max_file` bytes, its rows along a curve."""
        if not curve_parts.is_available():
            return None
        return self._run(bins, lambda run: run.arrange(bins, columns, kind))

    def _run(self, bins: Sequence[Bin], work: Callable[[_Run], list[Add]]) -> list[Add] | None:
        if sum(add.size for one in bins for add in one.adds) > self.most_bytes:
            return None
        try:
            ManyFiles(self.snapshot).check()
            with _started(self, bins) as run:
                return work(run)
        except NotForArrowError as reason:
            _log.info("Spark puts %s in order: %s", self.snapshot.store.url, reason)
            return None

    @cached_property
    def layout(self) -> FileLayout:
        """With the codec of the session, unless the table has one."""
        layout = FileLayout.of(self.snapshot.metadata, self.snapshot.protocol)
        if TableProperties.parquet_compression_codec.key not in layout.configuration:
            codec = (COMPRESSION.read(self.settings) or layout.codec).lower()
            if codec not in _CODECS:
                raise NotForArrowError(f"the codec {codec}")
            layout = layout.with_codec(codec)
        if MAX_RECORDS.read(self.settings) != 0:
            raise NotForArrowError(f"{MAX_RECORDS.name} is set")
        return layout


@contextmanager
def _started(local: Local, bins: Sequence[Bin]) -> Iterator[_Run]:
    """What a run that fails has written is deleted, as far as this process lives to do it."""
    written: list[Add] = []
    try:
        with (
            _readers(local.snapshot.store, bins) as readers,
            ThreadPoolExecutor(
                _num_readers(local.snapshot.store, readers), "lakebed-read"
            ) as reading,
            ThreadPoolExecutor(_CORES, "lakebed-write") as writing,
        ):
            files = ManyFiles(local.snapshot, readers)
            layout = local.layout.with_columns(files.ids)
            yield _Run(local, files, layout, reading, writing, written)
    except BaseException:
        for add in written:
            local.snapshot.store.delete(decode_path(add.path))
        raise


def _readers(store: Store, bins: Sequence[Bin]) -> AbstractContextManager[Readers | None]:
    """Other processes, if there are enough files on the disk of this machine."""
    num_files = sum(len(one.adds) for one in bins)
    return lent() if store.cheap_probes and num_files >= MIN_FILES else nullcontext()


def _num_readers(store: Store, readers: Readers | None) -> int:
    """Two threads that decode small files wait for each other's Python most of the time, and cost
    half as much again. What waits for a store, or for another process, is another matter."""
    if readers is not None:
        return readers.wanted + 1
    return 1 if store.cheap_probes else 4 * _CORES


@dataclass(frozen=True)
class _Run:
    local: Local
    files: ManyFiles
    layout: FileLayout
    reading: ThreadPoolExecutor
    writing: ThreadPoolExecutor
    written: list[Add]

    def compact(self, bins: Sequence[Bin]) -> list[Add]:
        found = self.writing.map(self._put_together, bins)
        return [add for add in found if add is not None]

    def arrange(self, bins: Sequence[Bin], columns: Sequence[CurveColumn], kind: Kind) -> list[Add]:
        """One after the other, for each may fill the memory."""
        return [add for one in bins for add in self._arranged(one, columns, kind)]

    # --- putting together ---

    def _put_together(self, one: Bin) -> Add | None:
        return self._write(one, self.files.read(one.adds, self.reading))

    def _write(self, one: Bin, pieces: Iterator[pa.Table]) -> Add | None:
        """None if there are no rows."""
        file = FileWriter(self.layout, one.adds[0].partition_values)
        num_rows = 0
        for piece in pieces:
            if piece.num_rows:
                file.write(stored_rows(self.layout, piece))
                num_rows += piece.num_rows
        if not num_rows:
            return None
        add = file.finish(self.local.snapshot.store, data_change=False)
        self.written.append(add)
        self.local.done(add.size)
        return add

    # --- arranging ---

    def _arranged(self, one: Bin, columns: Sequence[CurveColumn], kind: Kind) -> Iterator[Add]:
        num_files = max(1, round(one.size / self.local.max_file))
        if num_files == 1:
            add = self._put_together(one)
            yield from [add] if add is not None else []
            return
        rows = _Rows(list(self._pieces(one)))
        curve, starts = _cut(rows.pieces, columns, kind, num_files)

        def sort(number: int) -> None:
            values = [column.arrow_value(rows.pieces[number]) for column in columns]
            keys = curve_parts.curve_keys(curve, values)
            rows.sort(number, curve_parts.parts(keys, starts), len(starts) + 1)

        list(self.writing.map(sort, range(len(rows.pieces))))
        most = max(1, 2 * rows.num_rows // num_files)
        tables = rows.parts(len(starts) + 1, most)
        for add in self.writing.map(lambda table: self._write(one, iter([table])), tables):
            if add is not None:
                yield add

    def _pieces(self, one: Bin) -> Iterator[pa.Table]:
        """All rows, in pieces of some size."""
        held: list[pa.Table] = []
        size = total = 0
        for rows in self.files.read(one.adds, self.reading):
            held.append(rows)
            size += rows.nbytes
            total += rows.nbytes
            if total > _DECODED * self.local.most_bytes:
                raise NotForArrowError(f"the rows take more than {total} bytes")
            if size >= _PIECE_BYTES:
                yield pa.concat_tables(held).combine_chunks()
                held, size = [], 0
        if held:
            yield pa.concat_tables(held).combine_chunks()


@dataclass(frozen=True)
class _Rows:
    """Pieces, of which each is sorted by the part of the curve that its rows are in."""

    pieces: list[pa.Table]
    offsets: dict[int, list[int]] = field(default_factory=dict)

    @property
    def num_rows(self) -> int:
        return sum(piece.num_rows for piece in self.pieces)

    def sort(self, number: int, parts: Any, num_parts: int) -> None:
        import numpy as np

        order = pa.array(np.argsort(parts, kind="stable"))
        self.pieces[number] = self.pieces[number].take(order)
        counts = np.bincount(parts, minlength=num_parts)
        self.offsets[number] = [0, *np.cumsum(counts).tolist()]

    def parts(self, num_parts: int, most_rows: int) -> Iterator[pa.Table]:
        """The rows of each part, in two tables or more if they are more than so many."""
        for part in range(num_parts):
            table = pa.concat_tables(
                piece.slice(
                    self.offsets[n][part], self.offsets[n][part + 1] - self.offsets[n][part]
                )
                for n, piece in enumerate(self.pieces)
            )
            for start in range(0, table.num_rows, most_rows):
                yield table.slice(start, most_rows)


def _cut(
    pieces: Sequence[pa.Table], columns: Sequence[CurveColumn], kind: Kind, num_files: int
) -> tuple[Curve, list[int]]:
    """The curve, and where on it each file but the first begins, by a sample of the rows."""
    import numpy as np

    random = np.random.default_rng(42)
    total = sum(piece.num_rows for piece in pieces)
    names = list(dict.fromkeys(column.path[0] for column in columns))
    share = min(1.0, _SAMPLE / max(1, total))
    sample = pa.concat_tables(
        piece.select(names).filter(pa.array(random.random(piece.num_rows) < share))
        for piece in pieces
    )
    values = [column.arrow_value(sample) for column in columns]
    curve = Curve.of(kind, values)
    keys = pa.array(curve_parts.curve_keys(curve, values))
    return curve, quantiles(keys, num_files - 1)


_CODECS = ("snappy", "zstd", "gzip", "lz4", "lz4_raw", "uncompressed", "none")
_CORES = os.cpu_count() or 2
_DECODED = 4
"""How many times the bytes of files their rows may take in memory."""
_PIECE_BYTES = 32 << 20
_SAMPLE = 100_000
