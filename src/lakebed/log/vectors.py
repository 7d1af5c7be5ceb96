"""The deleted rows of a file, wherever the log says that its deletion vector is."""

from __future__ import annotations

from lakebed.errors import DataFileError, ObjectNotFoundError
from lakebed.formats.deletion_vectors import GetRange, RowIndexSet, read_vector
from lakebed.spec.actions import DeletionVector
from lakebed.storage.store import Store


def deleted_rows(store: Store, vector: DeletionVector | None, *, file: str) -> RowIndexSet:
    """`store` is that of the table; `file` names the data file in errors."""
    if vector is None:
        return RowIndexSet()

    def open_file(reference: str) -> GetRange:
        home, path = store.resolve(reference)
        return lambda start, length: home.get_range(path, start, length)

    try:
        return read_vector(vector, open_file, file=file)
    except ObjectNotFoundError as error:
        raise DataFileError(
            "the deletion vector of this file is gone, so its deleted rows are not known",
            file=file,
            hint="VACUUM may have removed it; read a newer version or restore the file",
        ) from error
