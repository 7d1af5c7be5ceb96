"""Parameters of statements: `:name` and `?` become SQL literals, and IDENTIFIER(...) a name.

Values go into the text as tokens that Spark's parser reads as exactly that value, so nothing in
them is ever read as SQL.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from lakebed.errors import InvalidArgumentError, PredicateError, SqlError
from lakebed.expressions.tokens import Kind, Token, tokenize
from lakebed.spark.names import split_name

Arguments = Mapping[str, Any] | Sequence[Any] | None


def bind(text: str, args: Arguments) -> str:
    """The text with the values of its parameters; without arguments it stays as it is."""
    if not args:
        return text
    tokens = _tokens(text)
    if isinstance(args, Mapping):
        return _replaced(text, _named(text, tokens, args))
    return _replaced(text, _positional(text, tokens, list(args)))


def has_marks(text: str) -> bool:
    """Whether the text has question marks for values."""
    return any(token.is_symbol("?") for token in _tokens(text))


@dataclass(frozen=True)
class SqlLiteral:
    """A value that is SQL already."""

    text: str


def with_names(text: str) -> str:
    """The text with names in the place of IDENTIFIER('...'), and `t@v3` in backquotes."""
    if _IDENTIFIER.search(text) is None and "@" not in text:
        return text
    try:
        tokens = _tokens(text)
    except SqlError:
        # Spark's parser has more to say about it.
        return text
    return _replaced(text, [*_identifiers(text, tokens), *_versioned(tokens)])


def literal(value: Any) -> str:
    """A value as SQL."""
    write = next((found for kind, found in _WRITERS if isinstance(value, kind)), None)
    if write is not None:
        return write(value)
    if _is_column(value):
        return _column(value)
    if hasattr(value, "item") and hasattr(value, "dtype"):
        return literal(value.item())
    raise InvalidArgumentError(
        f"{type(value).__name__} cannot be the value of a parameter",
        hint="give a string, a number, a date or time, bytes, a list or dict of these, or None",
    )


def quoted(name: str) -> str:
    """A name in backquotes."""
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


_Edit = tuple[int, int, str]
_IDENTIFIER = re.compile(r"\bidentifier\s*\(", re.IGNORECASE)
_VERSION = re.compile(r"[vV][0-9]+|[0-9]{17}")


def _tokens(text: str) -> list[Token]:
    try:
        return tokenize(text)
    except PredicateError as error:
        message = str(error).split("\n")[0]
        raise SqlError(message, sql=text, position=error.position) from error


def _replaced(text: str, edits: list[_Edit]) -> str:
    parts, last = [], 0
    for start, end, new in sorted(edits):
        parts += [text[last:start], new]
        last = end
    return "".join([*parts, text[last:]])


def _named(text: str, tokens: list[Token], args: Mapping[str, Any]) -> list[_Edit]:
    found = []
    for before, mark, name in zip([None, *tokens], tokens, tokens[1:], strict=False):
        if not mark.is_symbol(":") or name.kind is not Kind.WORD or name.position != mark.end:
            continue
        # `column:field` looks into a value, and is no parameter.
        if before is not None and before.end == mark.position and _ends_operand(before):
            continue
        if name.text not in args:
            raise SqlError(
                f"the parameter :{name.text} has no value",
                sql=text,
                position=mark.position,
                hint=f"args has {', '.join(sorted(map(str, args)))}",
            )
        found.append((mark.position, name.end, literal(args[name.text])))
    return found


def _ends_operand(token: Token) -> bool:
    return token.kind in (Kind.WORD, Kind.QUOTED) or token.is_symbol(")", "]")


def _positional(text: str, tokens: list[Token], args: list[Any]) -> list[_Edit]:
    marks = [token for token in tokens if token.is_symbol("?")]
    if len(marks) > len(args):
        raise SqlError(
            f"the statement has {len(marks)} parameters, but args has {len(args)} values",
            sql=text,
            position=marks[len(args)].position,
            hint="give a value for each question mark",
        )
    pairs = zip(marks, args, strict=False)
    return [(mark.position, mark.end, literal(value)) for mark, value in pairs]


def _identifiers(text: str, tokens: list[Token]) -> list[_Edit]:
    """IDENTIFIER of strings, also of several with || between them."""
    found = []
    for place, token in enumerate(tokens):
        if not token.is_word("IDENTIFIER") or not tokens[place + 1].is_symbol("("):
            continue
        at, name = place + 2, ""
        while tokens[at].kind is Kind.STRING:
            name += tokens[at].text
            at += 1
            if tokens[at].is_symbol("||") and tokens[at + 1].kind is Kind.STRING:
                at += 1
        if at > place + 2 and tokens[at].is_symbol(")"):
            found.append((token.position, tokens[at].end, _as_name(text, token, name)))
    return found


def _as_name(text: str, token: Token, name: str) -> str:
    try:
        parts = split_name(name)
    except InvalidArgumentError as error:
        raise SqlError(error.message, sql=text, position=token.position) from error
    if not all(parts):
        raise SqlError(f"{name!r} is not a name", sql=text, position=token.position)
    return ".".join(map(quoted, parts))


def _versioned(tokens: list[Token]) -> list[_Edit]:
    """`orders@v3` is a name with a version, which Spark's parser takes in backquotes alone."""
    found = []
    for name, mark, version in zip(tokens, tokens[1:], tokens[2:], strict=False):
        is_name = name.kind in (Kind.WORD, Kind.QUOTED) and mark.is_symbol("@")
        is_joined = name.end == mark.position and mark.end == version.position
        if is_name and is_joined and _VERSION.fullmatch(version.text):
            found.append((name.position, version.end, quoted(f"{name.text}@{version.text}")))
    return found


# --- values --------------------------------------------------------------------------------------


def _string(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\0", "\\0")
    return f"'{escaped}'"


def _integer(value: int) -> str:
    return str(value) if value >= 0 else f"({value})"


def _float(value: float) -> str:
    if math.isfinite(value):
        text = f"{value!r}D"
        return f"({text})" if text.startswith("-") else text
    return "double('NaN')" if math.isnan(value) else f"double('{value}')"


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise InvalidArgumentError(f"{value} is no number that Spark's decimals have")
    text = f"{value:f}BD"
    return f"({text})" if text.startswith("-") else text


def _datetime(value: dt.datetime) -> str:
    """A time without a zone is one of this machine, as in PySpark."""
    moment = value.astimezone(dt.timezone.utc).replace(tzinfo=None)
    return f"TIMESTAMP_LTZ'{moment.isoformat(sep=' ', timespec='microseconds')}Z'"


def _duration(value: dt.timedelta) -> str:
    sign, size = ("-", -value) if value < dt.timedelta(0) else ("", value)
    minutes, seconds = divmod(size.seconds, 60)
    clock = f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}.{size.microseconds:06}"
    return f"INTERVAL '{sign}{size.days} {clock}' DAY TO SECOND"


def _array(values: Sequence[Any]) -> str:
    return f"array({', '.join(map(literal, values))})"


def _map(values: Mapping[Any, Any]) -> str:
    pairs = (literal(each) for pair in values.items() for each in pair)
    return f"map({', '.join(pairs)})"


_WRITERS: list[tuple[type[Any], Callable[[Any], str]]] = [
    (SqlLiteral, lambda value: value.text),
    (type(None), lambda _: "NULL"),
    (bool, lambda value: str(value).lower()),
    (int, _integer),
    (float, _float),
    (Decimal, _decimal),
    (str, _string),
    (bytes, lambda value: f"X'{value.hex()}'"),
    (bytearray, lambda value: f"X'{value.hex()}'"),
    (dt.datetime, _datetime),
    (dt.date, lambda value: f"DATE'{value.isoformat()}'"),
    (dt.time, lambda value: f"TIME'{value.isoformat()}'"),
    (dt.timedelta, _duration),
    (list, _array),
    (tuple, _array),
    (dict, _map),
]
"""The first kind that fits counts: True is an int, and a datetime is a date."""


def _is_column(value: object) -> bool:
    return any(kind.__name__ == "Column" for kind in type(value).__mro__)


def _column(value: Any) -> str:
    """A column of a classic session as SQL; the JVM knows how it is written."""
    from pyspark.sql import SparkSession

    from lakebed.spark.functions import is_connect

    session = SparkSession.getActiveSession()
    if session is None or is_connect(value):
        raise InvalidArgumentError(
            "a Column can be a parameter in a classic session alone",
            hint="give the value itself",
        )
    # Late: Spark Connect has no JVM at hand, and may have no py4j.
    from lakebed.spark.internals.columns import column_sql

    return column_sql(session, value)
