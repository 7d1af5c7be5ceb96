"""A few rows of a few files, looked at without a job: to decide a conflict, or to show it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.arrow.scan import plan_scan, read_batches
from lakebed.errors import DataFileError, EvaluationError
from lakebed.expressions import Expression, references
from lakebed.log.snapshot import Snapshot
from lakebed.log.synthetic_snapshot import synthetic_snapshot
from lakebed.spec.actions import Add

_POSITION = "__lakebed_position"


def may_match(snapshot: Snapshot, adds: Sequence[Add], predicate: Expression) -> bool:
    """Whether one of the files has a row for which the predicate is true.

    True also where that cannot be found out: what was not seen may be there.
    """
    table = synthetic_snapshot(snapshot.store, snapshot.protocol, snapshot.metadata, adds)
    named = [path[0] for path in references(predicate)] or [snapshot.schema.names[0]]
    try:
        plan = plan_scan(table, named[:1], predicate)
        return any(batch.num_rows for batch in read_batches(plan))
    except (DataFileError, EvaluationError):
        return True


def rows_at(
    snapshot: Snapshot, add: Add, positions: Sequence[int], columns: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """The rows with these indexes in a file; without those that it does not have."""
    table = synthetic_snapshot(snapshot.store, snapshot.protocol, snapshot.metadata, [add])
    found: list[dict[str, Any]] = []
    wanted = pa.array(positions, pa.int64())
    for batch in read_batches(plan_scan(table, columns, position=_POSITION)):
        chosen = batch.filter(pc.is_in(batch.column(_POSITION), value_set=wanted))
        found += chosen.drop_columns([_POSITION]).to_pylist()
        if len(found) == len(positions):
            break
    return found
