"""Writing deletion vectors of the rows that a task gets, in a Python worker.

What failed attempts wrote is in files that no commit names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.formats.deletion_vectors import RowIndexSet, write_vectors
from lakebed.log.deleted_rows import deleted_rows
from lakebed.spark.errors.encoded_errors import encoding_errors
from lakebed.spark.plane.position_bitmaps import FILE, SEEN, row_indexes
from lakebed.spark.plane.vector_files import WrittenVector
from lakebed.spec.actions import DeletionVector
from lakebed.spec.vector_descriptors import file_name, new_file, stored_vector
from lakebed.storage.store import Store

SCHEMA = "vector string"
_ENOUGH_ROWS = 4 << 20
"""Rows of vectors that wait to be written together: about as many bytes, at most twice."""


@dataclass(frozen=True)
class VectorTask:
    """What `mapInArrow` runs: takes words, those of a file together, and says where vectors are."""

    store: Store
    vectors: Mapping[int, DeletionVector]
    sums: Sequence[str]
    prefix_length: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with encoding_errors():
            waiting: list[_Marked] = []
            for marked in self._by_file(batches):
                waiting.append(marked)
                if sum(each.rows.cardinality for each in waiting) > _ENOUGH_ROWS:
                    yield from self._write(waiting)
                    waiting = []
            yield from self._write(waiting)

    def _by_file(self, batches: Iterable[pa.RecordBatch]) -> Iterator[_Marked]:
        current: _Marked | None = None
        for batch in batches:
            files = batch.column(FILE)
            for file in pc.unique(files).to_pylist():
                part = self._marked(file, batch.filter(pc.equal(files, file)))
                if current is not None and current.file == file:
                    current = current.and_(part)
                    continue
                if current is not None:
                    yield current
                current = part
        if current is not None:
            yield current

    def _marked(self, file: int, words: pa.RecordBatch) -> _Marked:
        sums = [int(pc.sum(words.column(name)).as_py() or 0) for name in [SEEN, *self.sums]]
        return _Marked(file, RowIndexSet.from_indexes(row_indexes(words)), sums)

    def _write(self, marked: Sequence[_Marked]) -> Iterator[pa.RecordBatch]:
        if not marked:
            return
        whole = [m.rows.union(self._before(m.file)) for m in marked]
        content, stored = write_vectors(whole)
        prefix, uuid = new_file(self.prefix_length)
        self.store.put(file_name(prefix, uuid), content)
        for m, each in zip(marked, stored, strict=True):
            vector = stored_vector(prefix, uuid, each.offset, each.size_in_bytes, each.cardinality)
            text = orjson.dumps(
                {
                    "file": m.file,
                    "num_seen": m.sums[0],
                    "sums": dict(zip(self.sums, m.sums[1:], strict=True)),
                    "marked": m.rows.cardinality,
                    "vector": vector.to_json(),
                }
            )
            yield pa.record_batch({"vector": pa.array([text.decode()])})

    def _before(self, file: int) -> RowIndexSet:
        return deleted_rows(self.store, self.vectors.get(file), file=f"file {file}")


def written_vector(row: str) -> WrittenVector:
    """What a task said about one vector."""
    values = orjson.loads(row)
    return WrittenVector(**{**values, "vector": DeletionVector.parse(values["vector"])})


@dataclass(frozen=True)
class _Marked:
    """The rows of one file, how many came and what was added up."""

    file: int
    rows: RowIndexSet
    sums: list[int]

    def and_(self, other: _Marked) -> _Marked:
        sums = [one + more for one, more in zip(self.sums, other.sums, strict=True)]
        return _Marked(self.file, self.rows.union(other.rows), sums)
