"""Columns of several rows side by side, as the expressions of a MERGE name them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lakebed.errors import PredicateError
from lakebed.expressions.coercion import Term
from lakebed.expressions.parser.operands import resolve_column
from lakebed.expressions.parser.tokens import Token
from lakebed.expressions.tree import Column
from lakebed.spec.schema import StructType, quote_name


@dataclass(frozen=True)
class Side:
    """Rows of a schema that may be called `alias`; `prefix` is before the names of its columns in
    the rows that expressions are evaluated on.
    """

    schema: StructType
    alias: str | None = None
    prefix: str = ""

    def named(self, name: str) -> str:
        return self.prefix + name


@dataclass(frozen=True)
class Sides:
    """As in Spark a name is first that of a column behind an alias, and else that of a column."""

    sides: tuple[Side, ...]

    def resolve(self, names: Sequence[Token], sql: str) -> Term:
        behind = [
            each
            for each in self.sides
            if len(names) > 1 and _is_alias(each, names[0]) and names[1].text in each.schema
        ]
        if behind:
            return self._only(behind, names, 1, sql)
        found = [each for each in self.sides if names[0].text in each.schema]
        if found:
            return self._only(found, names, 0, sql)
        aliased = [each for each in self.sides if len(names) > 1 and _is_alias(each, names[0])]
        known = _all_columns(aliased or self.sides)
        return resolve_column(known, list(names[1:] if aliased else names), sql)

    def _only(self, found: Sequence[Side], names: Sequence[Token], skip: int, sql: str) -> Term:
        if len(found) > 1:
            aliases = " or ".join(f"{quote_name(each.alias or '?')}" for each in found)
            raise PredicateError(
                f"the column {quote_name(names[skip].text)} may be one of {aliases}",
                sql=sql,
                position=names[0].position,
                hint="write the alias and a dot before it",
            )
        (side,) = found
        term = resolve_column(side.schema, list(names[skip:]), sql)
        column = term.expression
        assert isinstance(column, Column)
        path = (side.named(column.path[0]), *column.path[1:])
        return Term(Column(path, column.data_type), term.sql, names[0].position, term.char_length)


def _is_alias(side: Side, name: Token) -> bool:
    return side.alias is not None and side.alias.lower() == name.text.lower()


def _all_columns(sides: Sequence[Side]) -> StructType:
    """For the error about a name that none of them has."""
    return StructType(tuple(field for side in sides for field in side.schema.fields))
