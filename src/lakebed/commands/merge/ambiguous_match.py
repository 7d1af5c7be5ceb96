"""The error for a row of the table that several rows of the source would change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lakebed.arrow.file_rows import rows_at
from lakebed.errors import MultipleMatchesError
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Add

SHOWN = 4
"""So many rows of the source are in the message."""


def ambiguous_match(
    snapshot: Snapshot,
    place: tuple[Add, int],
    keys: Sequence[str],
    count: int,
    shown: Sequence[Mapping[str, Any]],
) -> MultipleMatchesError:
    """`place` is that of the row, `keys` are columns of the table to show of it. `shown` are some
    of the `count` rows of the source.
    """
    add, position = place
    (met,) = rows_at(snapshot, add, [position], list(dict.fromkeys(keys)) or None)
    return MultipleMatchesError(
        f"{count} rows of the source match one row of the table, {met}, and MERGE "
        "would change it more than once; some of them: " + "; ".join(map(str, shown)),
        hint="make the source unique in what the condition compares, for example with "
        "dropDuplicates, or add a condition to the clause that only one of them meets",
    )
