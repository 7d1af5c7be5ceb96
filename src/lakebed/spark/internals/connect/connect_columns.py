"""Columns of Spark Connect as the messages that the client sends.

Imported only where a session is one of Spark Connect (see `connect`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql.connect.column import Column
from pyspark.sql.connect.expressions import CastExpression, Expression
from pyspark.sql.types import DataType

from lakebed.expressions.equalities import Name, equal_names
from lakebed.spark.internals.column_reference import Reference, Translate
from lakebed.spec.columns.column_names import split_name


def frame_number(frame: Any) -> int:
    return int(frame._plan._plan_id)


def output(frame: Any) -> None:
    """Only the server has numbers for columns."""


def output_columns(output: None) -> list[tuple[int, str]]:  # noqa: ARG001 - see there
    return []


def input_frames(frame: Any) -> set[int]:
    """The numbers of the DataFrame and of all its inputs."""
    whole = frame._plan.to_proto(frame._session.client)
    found = {
        each.plan_id
        for each in _messages(whole)
        if each.DESCRIPTOR.name == "RelationCommon" and each.HasField("plan_id")
    }
    return {frame_number(frame), *found}


def frames_alike(frame: Any) -> set[int]:
    """The numbers of the DataFrame and of those whose columns it has under the same names."""
    found = {frame_number(frame)}
    relation = frame._plan.to_proto(frame._session.client).root
    while relation is not None:
        found.add(relation.common.plan_id)
        kind = relation.WhichOneof("rel_type")
        relation = getattr(relation, kind).input if kind in _KEEPING else None
    return found


def cast_in_mode(value: Any, kind: DataType, mode: str) -> Any:
    """A cast that is `ansi` or `legacy`, whatever the settings of the session are."""
    return Column(CastExpression(value._expr, kind, mode))


def message(session: Any, column: Any) -> Any:
    """A column as the server gets it."""
    return column._expr.to_plan(session.client)


def rewritten(session: Any, column: Any, translate: Translate) -> Any:
    """The column with its references to DataFrames translated."""
    whole = message(session, column)
    found = [each for each in _messages(whole) if _is_bound(each)]
    for each in found:
        attribute = each.unresolved_attribute
        path = tuple(split_name(attribute.unparsed_identifier))
        each.CopyFrom(message(session, translate(Reference(path, attribute.plan_id))))
    return Column(_Message(whole, column._expr)) if found else column


def equalities(session: Any, column: Any) -> list[tuple[Name, Name]]:
    """The pairs of names that are equal wherever the condition is true."""
    return _equalities(message(session, column))


def _equalities(condition: Any) -> list[tuple[Name, Name]]:
    kind = condition.WhichOneof("expr_type")
    if kind == "expression_string":
        return equal_names(condition.expression_string.expression)
    if kind != "unresolved_function" or condition.unresolved_function.is_user_defined_function:
        return []
    call = condition.unresolved_function
    if call.function_name == "and":
        return [pair for each in call.arguments for pair in _equalities(each)]
    if call.function_name != "==" or len(call.arguments) != _PAIR:
        return []
    names = [_name(each) for each in call.arguments]
    return [(one, other) for one, other in [names] if one is not None and other is not None]


def _name(column: Any) -> Name | None:
    """None if it is not a name, or is that of a certain DataFrame."""
    if column.WhichOneof("expr_type") != "unresolved_attribute" or _is_bound(column):
        return None
    return tuple(split_name(column.unresolved_attribute.unparsed_identifier))


_PAIR = 2
_KEEPING = ("subquery_alias", "filter", "sort", "limit", "offset", "tail", "hint", "repartition")


class _Message(Expression):
    """An expression with a known message. Its subqueries are in the expression that it replaces."""

    def __init__(self, message: Any, origin: Expression) -> None:
        super().__init__()
        self._message = message
        self._origin = origin

    def to_plan(self, session: Any) -> Any:  # noqa: ARG002
        return self._message

    @property
    def children(self) -> Sequence[Expression]:
        return [self._origin]

    def __repr__(self) -> str:
        return repr(self._origin)


def _is_bound(each: Any) -> bool:
    if each.DESCRIPTOR.name != "Expression":
        return False
    is_column = each.WhichOneof("expr_type") == "unresolved_attribute"
    return bool(is_column and each.unresolved_attribute.HasField("plan_id"))


def _messages(whole: Any) -> Iterator[Any]:
    """A message and all that are in it."""
    yield whole
    for field, value in whole.ListFields():
        if field.message_type is None:
            continue
        if field.message_type.GetOptions().map_entry:
            parts = [each for each in value.values() if hasattr(each, "ListFields")]
        else:
            parts = value if hasattr(value, "__len__") else [value]
        for part in parts:
            yield from _messages(part)
