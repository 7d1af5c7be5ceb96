"""Removing rows from files: what a data plane is asked to do, and what it has done.

With deletion vectors nothing is written: the rows to remove are marked. Else the rows that stay are
written again, with their row ids (PROTOCOL: Row Tracking). New files then have rows that are not
new, so readers of the change feed need change files (PROTOCOL: Add CDC File).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lakebed.data_files.file_layout import FileLayout
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.log.change_feed.change_files import CHANGE_TYPE
from lakebed.log.snapshot import Snapshot
from lakebed.log.synthetic_snapshot import mapped_field, synthetic_snapshot
from lakebed.spec.actions import Add, AddCdc, Metadata, Protocol
from lakebed.transaction.row_tracking import physical_records

_CHANGE_NUMBER = 10


@dataclass(frozen=True)
class Rewrite:
    """Remove the rows of `adds` for which a SQL condition is true; rows of `new` files come in.

    `metadata`, `protocol` and `layout` are those of the table after it.
    """

    snapshot: Snapshot
    adds: Sequence[Add]
    where: str
    new: Sequence[Add]
    metadata: Metadata
    protocol: Protocol
    layout: FileLayout
    marks_only: bool
    """Whether deletion vectors will mark the removed rows."""
    feed: bool
    """Whether changes get files of their own where they need them."""

    @property
    def new_rows(self) -> Snapshot:
        """The new files as a table."""
        return synthetic_snapshot(self.snapshot.store, self.protocol, self.metadata, self.new)

    @property
    def change_layout(self) -> FileLayout:
        kind = mapped_field(CHANGE_TYPE, _CHANGE_NUMBER, self.layout.mode)
        return self.layout.with_columns([kind])


@dataclass(frozen=True)
class Rewritten:
    """`marks` are the files with rows to remove, and which rows; each file says how many it has.

    `adds` have the rows of these files that stay.
    """

    marks: Sequence[tuple[Add, RowIndexSet]] = ()
    adds: Sequence[Add] = ()
    changes: Sequence[AddCdc] = ()

    @property
    def num_deleted(self) -> int:
        return sum(rows.cardinality for _, rows in self.marks)

    @property
    def num_copied(self) -> int:
        return sum(physical_records(add) or 0 for add in self.adds)


def num_left(add: Add, marked: RowIndexSet) -> int:
    """How many rows of a file are neither marked nor deleted already."""
    total = physical_records(add)
    assert total is not None
    gone = 0 if add.deletion_vector is None else add.deletion_vector.cardinality
    return total - gone - marked.cardinality


def change_actions(files: Sequence[Add]) -> list[AddCdc]:
    return [AddCdc(add.path, add.partition_values, add.size) for add in files]
