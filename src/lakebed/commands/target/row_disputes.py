"""Rows that two commits change, as the user knows them: by their values."""

from __future__ import annotations

from lakebed.arrow.file_rows import rows_at
from lakebed.errors import DataFileError, RowConflictError
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.file_state import ADD_FIELDS
from lakebed.log.snapshot import Snapshot
from lakebed.transaction.read_set import paths_of

_SHOWN = 5


def with_values(error: RowConflictError, snapshot: Snapshot) -> RowConflictError:
    """The same error, which also shows some of the rows as they were in `snapshot`."""
    adds = list(adds_from_table(snapshot.files(tuple(ADD_FIELDS))))
    known = dict(zip(paths_of(adds), adds, strict=True))
    values: list[dict[str, object]] = []
    for path, positions in error.rows.items():
        if path in known and len(values) < _SHOWN:
            try:
                values += rows_at(snapshot, known[path], positions[: _SHOWN - len(values)])
            except DataFileError:
                # The files may be gone by now; where the rows were is in the message anyway.
                break
    if not values:
        return error
    shown = "; ".join(map(str, values))
    return RowConflictError(
        f"{error.message}; some of these rows, as this operation read them: {shown}",
        version=error.version,
        operation=error.operation,
        files=error.files,
        rows=error.rows,
        values=values,
        hint=error.hint,
    )
