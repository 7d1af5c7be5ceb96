"""A MERGE whose Columns are names, whatever DataFrames the user took them from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lakebed.commands.merge.merge_request import Clause, MergeRequest
from lakebed.commands.merge.merge_values import source_name, target_name
from lakebed.commands.target.row_target import RowTarget
from lakebed.log.snapshot import Snapshot
from lakebed.spark.columns.bound_columns import BoundColumns, SourceFrame
from lakebed.spark.session.session_kind import functions_of
from lakebed.spec.schema import StructType


def named_request(
    target: RowTarget, snapshot: Snapshot, request: MergeRequest, source: StructType
) -> MergeRequest:
    """The same, in terms of the numbered columns that both sides have in the join.

    `source` is the schema of the source.
    """
    f = functions_of(request.source)
    places = {field.name: place for place, field in enumerate(snapshot.schema.fields)}
    both = BoundColumns(
        target.session,
        target.frames,
        snapshot.schema,
        lambda field: f.col(target_name(places[field.name])),
        SourceFrame(request.source, source),
        lambda place: f.col(source_name(place)),
    )
    scopes = {
        "matched": both,
        "not_matched": replace(both, target=None),
        "not_matched_by_source": replace(both, source=None),
    }
    return replace(
        request,
        condition=_named(both, request.condition),
        clauses=tuple(_clause(scopes[each.kind], each) for each in request.clauses),
    )


def _clause(scope: BoundColumns, clause: Clause) -> Clause:
    values = {name: _named(scope, value) for name, value in clause.values.items()}
    return replace(clause, condition=_named(scope, clause.condition), values=values)


def _named(scope: BoundColumns, value: Any) -> Any:
    return value if value is None or isinstance(value, str) else scope.translated(value)
