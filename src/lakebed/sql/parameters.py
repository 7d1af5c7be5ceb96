"""Parameters of Lakebed's own statements: `:name` and `?` become literals, which Spark wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lakebed.errors import PredicateError, SqlError
from lakebed.expressions.tokens import Kind, Token, tokenize

Arguments = Mapping[str, str] | Sequence[str]


def bind(text: str, args: Arguments) -> str:
    """The text with the values, which are SQL, of its parameters."""
    if not args:
        return text
    tokens = _tokens(text)
    if isinstance(args, Mapping):
        return _replaced(text, _named(text, tokens, args))
    return _replaced(text, _positional(text, tokens, list(args)))


def has_marks(text: str) -> bool:
    """Whether the text has question marks for values."""
    return any(token.is_symbol("?") for token in _tokens(text))


_Edit = tuple[int, int, str]


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


def _named(text: str, tokens: list[Token], args: Mapping[str, str]) -> list[_Edit]:
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
        found.append((mark.position, name.end, args[name.text]))
    return found


def _ends_operand(token: Token) -> bool:
    return token.kind in (Kind.WORD, Kind.QUOTED) or token.is_symbol(")", "]")


def _positional(text: str, tokens: list[Token], args: list[str]) -> list[_Edit]:
    marks = [token for token in tokens if token.is_symbol("?")]
    if len(marks) > len(args):
        raise SqlError(
            f"the statement has {len(marks)} parameters, but args has {len(args)} values",
            sql=text,
            position=marks[len(args)].position,
            hint="give a value for each question mark",
        )
    pairs = zip(marks, args, strict=False)
    return [(mark.position, mark.end, value) for mark, value in pairs]
