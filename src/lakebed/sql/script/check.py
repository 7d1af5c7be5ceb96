"""The server's own parser reads a script before anything of it is run.

It gets the script inside of a block that is left before. So mistakes are told as Spark tells them,
and scripts are refused where Spark would refuse them: they are off by default in Spark 4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from lakebed.errors import PredicateError
from lakebed.expressions.tokens import Kind, tokenize
from lakebed.sql.parameters import with_names
from lakebed.sql.parse import parse_statement
from lakebed.sql.plain import plain_sql
from lakebed.sql.script.tree import Block, Plain, nodes
from lakebed.sql.statement import Slice, Statement

_PLACEHOLDER = "VALUES 0"
_LABEL = "lakebed_parses_only"


def check_script(session: SparkSession, text: str, script: Block) -> None:
    """Statements of Lakebed alone are left out, and are parsed here."""
    found = {each: parse_statement(with_names(each.text)) for each in _statements(script)}
    ours = {each: statement for each, statement in found.items() if statement is not None}
    try:
        _parse(session, _without(text, ours, lambda each: each.is_ours))
    except ParseException:
        if all(each.is_ours for each in ours.values()):
            raise
        # Some statements take more here than Spark's parser knows.
        _parse(session, _without(text, ours, lambda _: True))


def check_text(session: SparkSession, text: str) -> None:
    """The same, for what is no script."""
    _parse(session, text)


def _parse(session: SparkSession, text: str) -> None:
    # With its label at both ends, no text inside can end the block and have the rest run.
    block = f"{_LABEL}: BEGIN LEAVE {_LABEL}; {_unended(text)}; END {_LABEL}"
    plain_sql(session, f"BEGIN {block}; END")


def _unended(text: str) -> str:
    """Without semicolons and comments at the end."""
    try:
        tokens = [each for each in tokenize(text) if each.kind is not Kind.END]
    except PredicateError:
        return text
    while tokens and tokens[-1].is_symbol(";"):
        tokens.pop()
    return text[: tokens[-1].end] if tokens else text


def _statements(script: Block) -> Iterable[Slice]:
    return (each.text for each in nodes(script) if isinstance(each, Plain))


def _without(
    text: str, found: dict[Slice, Statement], is_left_out: Callable[[Statement], bool]
) -> str:
    """Places stay the same, so that the server's messages name the right ones."""
    for each, statement in found.items():
        if is_left_out(statement):
            start, end = each.position, each.position + len(each.text)
            blank = "".join("\n" if letter == "\n" else " " for letter in each.text)
            shown = _PLACEHOLDER + blank[len(_PLACEHOLDER) :]
            text = text[:start] + shown + text[end:]
    return text
