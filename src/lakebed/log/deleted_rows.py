"""The deleted rows of a file, wherever the log says that its deletion vector is."""

from __future__ import annotations

from functools import cached_property

from pyroaring import BitMap64

from lakebed.errors import DataFileError, ObjectNotFoundError
from lakebed.formats.deletion_vectors import GetRange, RowIndexSet, read_vector
from lakebed.spec.actions import DeletionVector
from lakebed.storage.store import Store


def deleted_rows(
    store: Store, vector: DeletionVector | None, *, file: str, num_rows: int | None = None
) -> RowIndexSet:
    """`store` is that of the table; `file` names the data file in errors, `num_rows` are its."""
    if vector is None:
        return RowIndexSet()

    def open_file(reference: str) -> GetRange:
        home, path = store.resolve(reference)
        return lambda start, length: home.get_range(path, start, length)

    try:
        return read_vector(vector, open_file, file=file, num_rows=num_rows)
    except ObjectNotFoundError as error:
        raise DataFileError(
            "the deletion vector of this file is gone, so its deleted rows are not known",
            file=file,
            hint="VACUUM may have removed it; read a newer version or restore the file",
        ) from error


class StoredRows(RowIndexSet):
    """Rows that a vector has beside those of the vector before it; read when somebody asks.

    Executors write the vectors of large changes: the driver then knows how many rows they have, and
    looks at them only where another commit changed the same file.
    """

    def __init__(
        self,
        store: Store,
        vector: DeletionVector,
        before: DeletionVector | None,
        *,
        file: str,
    ) -> None:
        self.vector = vector
        self.before = before
        self._store = store
        self._file = file

    @property
    def cardinality(self) -> int:
        return self.vector.cardinality - (0 if self.before is None else self.before.cardinality)

    @cached_property
    def _bitmap(self) -> BitMap64:  # type: ignore[override]
        now = deleted_rows(self._store, self.vector, file=self._file)
        before = deleted_rows(self._store, self.before, file=self._file)
        return now.difference(before)._bitmap
