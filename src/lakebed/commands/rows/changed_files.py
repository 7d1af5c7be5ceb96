"""The files of a version whose rows change, by what the log says about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import orjson
import pyarrow.parquet as pq

from lakebed.formats.deletion_vectors import RowIndexSet, encode_bitmap
from lakebed.log.deleted_rows import StoredRows, deleted_rows
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Add
from lakebed.spec.stats import NUM_RECORDS
from lakebed.spec.vector_descriptors import inline_vector
from lakebed.transaction.row_tracking import physical_records


@dataclass(frozen=True)
class ChangedFiles:
    """`adds` are numbered from 0; rows are sets of indexes by these numbers."""

    snapshot: Snapshot
    adds: Sequence[Add]

    @property
    def num_rows(self) -> int:
        """At most so many rows are in the files, deleted ones among them.

        A row takes hardly less than a bit of a file that does not say how many it has.
        """
        return sum(map(self.num_rows_of, range(len(self.adds))))

    def num_rows_of(self, number: int) -> int:
        """The same for one file."""
        count = physical_records(self.adds[number])
        return 8 * self.adds[number].size if count is None else count

    def counted(self, numbers: Iterable[int]) -> ChangedFiles:
        """The same, in which these files say how many rows they have.

        Not every writer counts them, and a file with a vector must say how many rows it has.
        """
        adds = list(self.adds)
        for number in numbers:
            adds[number] = self._counted(adds[number])
        return replace(self, adds=adds)

    def _counted(self, add: Add) -> Add:
        if physical_records(add) is not None:
            return add
        home, path = self.snapshot.store.resolve(add.path)
        footer = pq.read_metadata(home.open_input(path))
        stats = {**orjson.loads(add.stats or "{}"), NUM_RECORDS: footer.num_rows}
        return replace(add, stats=orjson.dumps(stats).decode())

    def is_dead(self, number: int, marked: RowIndexSet) -> bool:
        """Whether a file has no row but those that are marked or deleted already."""
        left = self._num_left(number, marked)
        return left is not None and left <= 0

    def num_kept(self, marks: Mapping[int, RowIndexSet]) -> int:
        """How many rows of the marked files are not marked; the files are `counted`."""
        return sum(self._num_left(number, marked) or 0 for number, marked in marks.items())

    def kept(self, marks: Mapping[int, RowIndexSet]) -> list[Add]:
        """The marked files without the marked rows; without those that have no other rows."""
        adds = [self._without(number, marks[number]) for number in sorted(marks)]
        return [add for add in adds if add is not None]

    def _num_left(self, number: int, marked: RowIndexSet) -> int | None:
        add = self.adds[number]
        total = physical_records(add)
        gone = 0 if add.deletion_vector is None else add.deletion_vector.cardinality
        return None if total is None else total - gone - marked.cardinality

    def _without(self, number: int, marked: RowIndexSet) -> Add | None:
        if self.is_dead(number, marked):
            return None
        add = self.adds[number]
        if isinstance(marked, StoredRows):
            return replace(add, deletion_vector=marked.vector)
        rows = deleted_rows(self.snapshot.store, add.deletion_vector, file=add.path).union(marked)
        return replace(add, deletion_vector=inline_vector(encode_bitmap(rows), rows.cardinality))
