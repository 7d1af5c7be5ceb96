"""UPDATE: rows for which a condition is true get new values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lakebed.commands.rows.assignments import assignments, check_identity
from lakebed.commands.rows.change_target import ChangeTarget
from lakebed.commands.rows.row_change import RowChange
from lakebed.errors import InvalidArgumentError
from lakebed.log.snapshot import Snapshot


def update_rows(target: ChangeTarget, condition: Any, values: Mapping[str, Any]) -> dict[str, int]:
    """Updates the rows; what the history says about it, `numUpdatedRows` among it."""
    if not values:
        raise InvalidArgumentError(
            "UPDATE sets no column", hint='give for example set={"price": "price * 1.1"}'
        )
    return target.change(lambda snapshot: _Update(target, snapshot, condition, values).run())


class _Update:
    def __init__(
        self, target: ChangeTarget, snapshot: Snapshot, condition: Any, values: Mapping[str, Any]
    ) -> None:
        self._condition = target.condition(snapshot, condition, "UPDATE")
        aliases = () if target.alias is None else (target.alias,)
        self._given = assignments(values, snapshot.schema, aliases)
        check_identity(self._given, snapshot.schema)
        self._change = RowChange(target, snapshot, self._condition.operation)

    def run(self) -> dict[str, int]:
        updated = self._condition.updated(self._condition.files(), self._given, self._change)
        if updated is None:
            return {"numUpdatedRows": 0}
        return self._change.commit(updated, lambda new, _: {"numUpdatedRows": new})
