"""Markers of parameters in Lakebed's own statements, `:name` and `?`, and the values for them.

The text of a statement keeps its markers. A value never becomes a part of it: where a clause is an
expression or a query, Spark gets the text and the expressions of the values; where it is a plain
string or number, the grammar takes the value itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession

from lakebed.expressions.parser.tokens import Kind, Token, tokenize
from lakebed.spark.internals.sql_parser import (
    JavaExpression,
    bound_column,
    bound_query,
    expression_values,
)
from lakebed.sql.statement import Slice


@dataclass(frozen=True)
class Marker:
    """`name` is None for a question mark."""

    name: str | None
    position: int


def find_markers(text: str) -> tuple[Marker, ...]:
    tokens = tokenize(text)
    found = []
    for index, token in enumerate(tokens):
        if token.is_symbol("?"):
            found.append(Marker(None, token.position))
        elif is_named_marker(tokens, index):
            found.append(Marker(tokens[index + 1].text, token.position))
    return tuple(found)


def is_named_marker(tokens: Sequence[Token], index: int) -> bool:
    """Whether `:name` begins here. `column:field` looks into a value, and is none."""
    colon = tokens[index]
    if not colon.is_symbol(":"):
        return False
    name = tokens[index + 1]
    if name.kind is not Kind.WORD or name.position != colon.end:
        return False
    before = tokens[index - 1] if index else None
    return before is None or before.end != colon.position or not _ends_operand(before)


def _ends_operand(token: Token) -> bool:
    return token.kind in (Kind.WORD, Kind.QUOTED) or token.is_symbol(")", "]")


@dataclass(frozen=True)
class Values:
    """Spark's expressions for the markers of a statement, one for each."""

    session: SparkSession
    markers: Sequence[Marker]
    expressions: Sequence[JavaExpression]

    @cached_property
    def python_values(self) -> Mapping[int, Any]:
        """The values as Python has them, by the positions of the markers."""
        if not self.markers:
            return {}
        found = expression_values(self.session, self.expressions)
        return {each.position: value for each, value in zip(self.markers, found, strict=True)}

    def python_values_in(self, parts: Sequence[Slice]) -> list[Any]:
        """The values for the markers in parts of the statement."""
        return [self.python_values[each.position] for each, _ in self._given(parts)]

    def column(self, text: str, parts: Sequence[Slice]) -> Column | None:
        """An expression that has the markers of these parts in their order; None without any."""
        given = self._given(parts)
        return bound_column(self.session, text, *self._placed(text, given)) if given else None

    def query(self, text: str, parts: Sequence[Slice]) -> DataFrame | None:
        """The same for a query."""
        given = self._given(parts)
        return bound_query(self.session, text, *self._placed(text, given)) if given else None

    def _given(self, parts: Sequence[Slice]) -> list[tuple[Marker, JavaExpression]]:
        ranges = [range(part.position, part.position + len(part.text)) for part in parts]
        both = zip(self.markers, self.expressions, strict=True)
        return [pair for pair in both if any(pair[0].position in each for each in ranges)]

    def _placed(
        self, text: str, given: Sequence[tuple[Marker, JavaExpression]]
    ) -> tuple[list[str | None], list[int], list[JavaExpression]]:
        """Names, positions in the text and values of the markers."""
        found = find_markers(text)
        assert len(found) == len(given)
        values = [value for _, value in given]
        return [each.name for each in found], [each.position for each in found], values
