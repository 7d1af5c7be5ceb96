"""Rows that a change deletes from files that stay (PROTOCOL: Deletion Vectors, File Statistics).

A mark names a live file and the rows that go. Until the commit it is no action: what the log will
say depends on the file's vector at that moment, and other commits may have marked other rows of the
same file by then. So the vectors are written again for every draft that needs it, from the file as
it is in the version below.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import orjson

from lakebed.errors import InvalidArgumentError, InvalidCommitError
from lakebed.formats.deletion_vectors import RowIndexSet, write_vectors
from lakebed.log.deleted_rows import StoredRows, deleted_rows
from lakebed.spec.actions import Action, Add, DeletionVector, Remove
from lakebed.spec.properties import TableProperties
from lakebed.spec.stats import TIGHT_BOUNDS
from lakebed.spec.vector_descriptors import file_name, new_file, stored_vector
from lakebed.storage.store import Store
from lakebed.transaction.read_set import paths_of
from lakebed.transaction.row_tracking import physical_records
from lakebed.transaction.winner import Winner

_MAX_FILE_BYTES = 64 << 20
_TIGHT = re.compile(rf'"{TIGHT_BOUNDS}"\s*:\s*true')
_NO_ROWS = RowIndexSet()


@dataclass(frozen=True)
class Mark:
    """`rows` of `add` go; `seen` stay, and the change depends on their being there."""

    add: Add
    rows: RowIndexSet
    seen: RowIndexSet = field(default_factory=RowIndexSet)

    @property
    def path(self) -> str:
        """In the spelling that conflict rules compare."""
        return paths_of([self.add])[0]

    def merged(self, other: Mark) -> Mark:
        if other.add != self.add:
            raise InvalidArgumentError(
                f"rows of {self.add.path} are marked in two states of the file",
                hint="take the files of a transaction from its own snapshot",
            )
        return Mark(self.add, self.rows.union(other.rows), self.seen.union(other.seen))


class Vectors:
    """Reads deletion vectors, each once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, RowIndexSet] = {}

    def rows(self, file: Add | Remove) -> RowIndexSet:
        """The rows that the file's vector deletes."""
        vector = file.deletion_vector
        if vector is None:
            return _NO_ROWS
        if vector.unique_id not in self._known:
            self._known[vector.unique_id] = deleted_rows(self._store, vector, file=file.path)
        return self._known[vector.unique_id]

    def keep_only(self, marks: Sequence[Mark]) -> None:
        """A long chain of winners leaves many vectors behind that no one asks for again."""
        vectors = (mark.add.deletion_vector for mark in marks)
        wanted = {vector.unique_id for vector in vectors if vector is not None}
        self._known = {name: rows for name, rows in self._known.items() if name in wanted}


@dataclass(frozen=True)
class StoredMark:
    """A mark whose vector is in the store; without a vector, no row of the file is left."""

    mark: Mark
    vector: DeletionVector | None

    def actions(self, now: int) -> list[Action]:
        """The file as it was goes, and comes again with the new vector.

        `numRecords` counts the rows in the file and stays; the bounds hold for the rows that are
        left, but some may not occur any more.
        """
        add = self.mark.add
        removed = Remove.of(add, timestamp=now)
        if self.vector is None:
            return [removed]
        stats = None if add.stats is None else with_wide_bounds(add.stats)
        marked = replace(add, deletion_vector=self.vector, data_change=True, stats=stats)
        return [removed, marked]


def check_marks(marks: Mapping[str, Mark], actions: Sequence[Action]) -> None:
    """What happens to a file is said once: rows are marked, or the file is added or removed."""
    staged = paths_of(action.path for action in actions if isinstance(action, Add | Remove))
    both = next((path for path in staged if path in marks), None)
    if both is not None:
        raise InvalidCommitError(
            f"rows of {both} are marked, and the file is also added or removed",
            hint="mark the rows, or stage the actions of the file, not both",
        )


def store_marks(
    store: Store, marks: Sequence[Mark], vectors: Vectors, properties: TableProperties
) -> list[StoredMark]:
    """Write the vectors. Those of an attempt that fails are left for VACUUM."""
    changing = [mark for mark in marks if mark.rows.cardinality]
    there = [mark for mark in changing if _stored(mark) is not None]
    others = [mark for mark in changing if _stored(mark) is None]
    whole = [_all_deleted(mark, vectors.rows(mark.add)) for mark in others]
    partly = [rows for rows in whole if rows is not None]
    written = iter(_write(store, partly, prefix_length(properties)))
    stored = [
        StoredMark(mark, None if rows is None else next(written))
        for mark, rows in zip(others, whole, strict=True)
    ]
    return [*map(_already_stored, there), *stored]


def prefix_length(properties: TableProperties) -> int:
    """Of the folders with random names that files of the table get."""
    return properties.random_prefix_length if properties.randomize_file_prefixes else 0


def _stored(mark: Mark) -> DeletionVector | None:
    """The vector that the rows are in already, if no one changed that of the file meanwhile."""
    rows = mark.rows
    if not isinstance(rows, StoredRows) or rows.before != mark.add.deletion_vector:
        return None
    return rows.vector


def _already_stored(mark: Mark) -> StoredMark:
    vector = _stored(mark)
    assert vector is not None
    records = _checked_records(mark, vector.cardinality)
    return StoredMark(mark, None if vector.cardinality == records else vector)


def carry_over(marks: Sequence[Mark], winner: Winner) -> tuple[Mark, ...]:
    """The marks on top of a winner that is not in their way (see `row_conflicts`)."""
    if not marks:
        return ()
    added = winner.adds_by_path
    gone = winner.removed_paths - added.keys()
    return tuple(
        replace(mark, add=added[mark.path]) if mark.path in added else mark
        for mark in marks
        if mark.path not in gone
    )


def with_wide_bounds(stats: str) -> str:
    """The statistics with `tightBounds` false, and everything else to the letter.

    Numbers must not pass through floats: a bound that was rounded is wrong.
    """
    known = orjson.loads(stats)
    if known.get(TIGHT_BOUNDS) is False:
        return stats
    if TIGHT_BOUNDS not in known:
        head = stats.rstrip()[:-1].rstrip()
        comma = "," if known else ""
        return f'{head}{comma}"{TIGHT_BOUNDS}":false}}'
    for found in _TIGHT.finditer(stats):
        # A column may have the same name; only one of the places is the flag.
        text = f'{stats[: found.start()]}"{TIGHT_BOUNDS}":false{stats[found.end() :]}'
        if orjson.loads(text)[TIGHT_BOUNDS] is False:
            return text
    raise InvalidCommitError(f"statistics with {TIGHT_BOUNDS} = {known[TIGHT_BOUNDS]!r}")


def _all_deleted(mark: Mark, old: RowIndexSet) -> RowIndexSet | None:
    """The old vector and the new rows together; None if that is every row of the file."""
    rows = old.union(mark.rows)
    if rows.cardinality < old.cardinality + mark.rows.cardinality:
        raise InvalidCommitError(
            f"some of the rows marked in {mark.add.path} are deleted already",
            hint="mark rows of the files as the transaction's snapshot has them",
        )
    records = _checked_records(mark, rows.cardinality)
    return None if rows.cardinality == records else rows


def _checked_records(mark: Mark, deleted: int) -> int | None:
    """How many rows the file has, if the log says it: no more than that can go."""
    records = physical_records(mark.add)
    if records is not None and deleted > records:
        raise InvalidCommitError(
            f"{deleted} rows of {mark.add.path} are marked, but it has {records}"
        )
    return records


def _write(store: Store, sets: Sequence[RowIndexSet], prefix_length: int) -> list[DeletionVector]:
    if not sets:
        return []
    content, stored = write_vectors(sets)
    if len(content) > _MAX_FILE_BYTES and len(sets) > 1:
        half = len(sets) // 2
        del content
        first = _write(store, sets[:half], prefix_length)
        return first + _write(store, sets[half:], prefix_length)
    prefix, uuid = new_file(prefix_length)
    store.put(file_name(prefix, uuid), content)
    return [
        stored_vector(prefix, uuid, each.offset, each.size_in_bytes, each.cardinality)
        for each in stored
    ]
