"""The word DEFAULT among the values to insert.

Spark knows it only in its own INSERT. A column whose value is DEFAULT in all rows is left out, and
the write fills it, whether it is generated, an identity or has a default. Elsewhere the word stands
for the default's expression.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from lakebed.errors import SqlError
from lakebed.expressions.tokens import Kind, Token, tokenize
from lakebed.spark.sql_expressions import checked_text
from lakebed.spec.column_metadata import current_default, is_filled_by_writer
from lakebed.spec.schema import StructField

Span = tuple[int, int]
_OPENING = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def without_defaults(
    session: SparkSession, sql: str, targets: list[StructField]
) -> tuple[str, list[StructField]]:
    """The query without the word, and the columns that it still has values for."""
    tokens = tokenize(sql)
    if not any(token.is_word("DEFAULT") for token in tokens):
        return sql, targets
    rows = _value_rows(tokens) if tokens[0].is_word("VALUES") else _selected(tokens)
    if not any(_is_default(sql, span) for row in rows for span in row):
        return sql, targets
    width = len(rows[0])
    if any(len(row) != width for row in rows) or width != len(targets):
        # Spark, or the count of columns, says what is wrong.
        return sql, targets
    gone = [place for place in range(width) if all(_is_default(sql, row[place]) for row in rows)]
    if len(gone) == width:
        gone = gone[1:]
    texts = {}
    for row in rows:
        for place, span in enumerate(row):
            if place not in gone and _is_default(sql, span):
                texts[span] = _expression(session, targets[place], sql, span)
    kept = [target for place, target in enumerate(targets) if place not in gone]
    return _rewritten(sql, rows, set(gone), texts), kept


def _is_default(sql: str, span: Span) -> bool:
    return sql[span[0] : span[1]].strip().upper() == "DEFAULT"


def _expression(session: SparkSession, target: StructField, sql: str, span: Span) -> str:
    default = current_default(target)
    if default is None and is_filled_by_writer(target):
        raise SqlError(
            f"{target.name} is filled by the table: DEFAULT must be its value in all rows",
            sql=sql,
            position=span[0],
            hint="insert the rows that bring a value in a statement of their own",
        )
    return "NULL" if default is None else f"({checked_text(session, default, target.name)})"


def _rewritten(sql: str, rows: list[list[Span]], gone: set[int], texts: dict[Span, str]) -> str:
    out, start = "", 0
    for row in rows:
        kept = [texts.get(span, sql[span[0] : span[1]].strip()) for span in _without(row, gone)]
        out += sql[start : row[0][0]] + ", ".join(kept)
        start = row[-1][1]
    return out + sql[start:]


def _without(row: list[Span], gone: set[int]) -> list[Span]:
    return [span for place, span in enumerate(row) if place not in gone]


def _value_rows(tokens: list[Token]) -> list[list[Span]]:
    """VALUES (a, b), (c, d) or VALUES a, b: where each value is."""
    rows, place = [], 1
    while place < len(tokens) and tokens[place].kind is not Kind.END:
        if tokens[place].is_symbol("("):
            row, place = _items(tokens, place + 1, ())
            rows.append(row)
        elif not tokens[place].is_symbol(",", ")"):
            row, place = _items(tokens, place, ())
            return [*rows, *([span] for span in row)]
        else:
            place += 1
            continue
        place += 1
    return rows


def _selected(tokens: list[Token]) -> list[list[Span]]:
    """SELECT a, b FROM ...: where each of the expressions is."""
    if not tokens[0].is_word("SELECT"):
        return []
    return [_items(tokens, 1, ("FROM", "WHERE", "UNION", "LIMIT", "ORDER", "GROUP"))[0]]


def _items(tokens: list[Token], place: int, stops: tuple[str, ...]) -> tuple[list[Span], int]:
    """What is between commas, up to the parenthesis that closes, a word or the end."""
    found: list[Span] = []
    start, end, depth = tokens[place].position, tokens[place].position, 0
    while True:
        token = tokens[place]
        closes = depth == 0 and token.is_symbol(")", "]", "}")
        if token.kind is Kind.END or closes or (depth == 0 and token.is_word(*stops)):
            return [*found, (start, end)], place
        if depth == 0 and token.is_symbol(","):
            found.append((start, end))
            start = tokens[place + 1].position
        elif token.kind is Kind.SYMBOL:
            depth += _OPENING.get(token.text, 0)
        end = token.end
        place += 1
