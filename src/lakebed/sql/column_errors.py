"""Columns that Spark does not find in a part of a statement, shown where they stand in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyspark.errors import AnalysisException

from lakebed.errors import SqlError
from lakebed.expressions.parser.tokens import Kind, Token, tokenize
from lakebed.sql.context import SqlContext
from lakebed.sql.statement import Slice

_UNRESOLVED = "UNRESOLVED_COLUMN"
_PART = re.compile(r"`((?:[^`]|``)+)`")


@contextmanager
def pointing_at(context: SqlContext, parts: Sequence[Slice | None]) -> Iterator[None]:
    """Errors of Spark about unknown columns in the parts become errors with their position."""
    try:
        yield
    except AnalysisException as error:
        condition = error.getCondition() or ""
        if not condition.startswith(_UNRESOLVED):
            raise
        values = error.getMessageParameters() or {}
        name = _PART.findall(values.get("objectName", ""))
        position = _position(name, [part for part in parts if part is not None])
        if not name or position is None:
            raise
        raise SqlError(
            f"there is no column {'.'.join(name)}",
            sql=context.sql,
            position=position,
            hint=_hint(values.get("proposal", "")),
        ) from error


def _hint(proposal: str) -> str | None:
    """Spark's suggestions, the nearest first."""
    found = [".".join(_PART.findall(each)) for each in proposal.split(", ")]
    # Columns that changes of rows add are nothing that a user could mean.
    near = " or ".join([name for name in found if name and "__lakebed" not in name][:3])
    return f"did you mean {near}?" if near else None


def _position(name: Sequence[str], parts: Sequence[Slice]) -> int | None:
    for part in parts:
        tokens = tokenize(part.text)
        for index in range(len(tokens)):
            found = tokens[index : index + 2 * len(name) - 1 : 2]
            if len(found) == len(name) and all(map(_is_part, found, name)):
                return part.position + tokens[index].position
    return None


def _is_part(token: Token, name: str) -> bool:
    return token.kind in (Kind.WORD, Kind.QUOTED) and token.text.lower() == name.lower()
