"""New files of a table whose rows come bit by bit: written whenever there are enough for one."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor

import pyarrow as pa

from lakebed.arrow.in_order import CORES
from lakebed.arrow.write.write import write_files
from lakebed.data_files.file_layout import FileLayout
from lakebed.spec.actions import Add
from lakebed.spec.paths import decode_path
from lakebed.storage.store import Store


class GrowingFiles:
    """At most about `most_bytes` of rows are in memory, some of them on their way to the store."""

    def __init__(
        self, store: Store, layout: FileLayout, most_bytes: int, folder: str | None = None
    ) -> None:
        self._store = store
        self._layout = layout
        self._folder = folder
        self._file_bytes = max(1, most_bytes // (CORES + 1))
        self._held: list[pa.Table] = []
        self._held_bytes = 0
        self._pool = ThreadPoolExecutor(CORES, thread_name_prefix="lakebed-grow")
        self._writing: deque[Future[list[Add]]] = deque()
        self._written: list[Add] = []

    def write(self, rows: pa.Table) -> None:
        """`rows` have the columns of the layout's schema, in its order and types."""
        if not rows.num_rows:
            return
        self._held.append(rows)
        self._held_bytes += rows.nbytes
        if self._held_bytes >= self._file_bytes:
            self._start()

    def finish(self) -> list[Add]:
        self._start()
        while self._writing:
            self._wait()
        self._pool.shutdown()
        return self._written

    def discard(self) -> None:
        """Deletes what was written: it will not be committed."""
        self._held = []
        for future in self._writing:
            if future.exception() is None:
                self._written += future.result()
        self._writing.clear()
        self._pool.shutdown()
        for add in self._written:
            self._store.delete(decode_path(add.path))

    def _start(self) -> None:
        if not self._held:
            return
        rows = pa.concat_tables(self._held)
        self._held, self._held_bytes = [], 0
        while len(self._writing) >= CORES:
            self._wait()
        self._writing.append(self._pool.submit(self._files, rows))

    def _wait(self) -> None:
        self._written += self._writing.popleft().result()

    def _files(self, rows: pa.Table) -> list[Add]:
        return write_files(self._store, self._layout, rows, folder=self._folder)
