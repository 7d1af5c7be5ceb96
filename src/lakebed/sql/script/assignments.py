"""SET of variables: DEFAULT as a value, which the server would not know of variables put aside."""

from __future__ import annotations

from collections.abc import Mapping

from lakebed.expressions.tokens import Kind, tokenize


def with_defaults(text: str, defaults: Mapping[str, str]) -> str:
    """`v = DEFAULT` with the text of the default; names are in small letters."""
    tokens = tokenize(text)
    parts, last = [], 0
    for name, equals, value, after in zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False):
        is_end = after.kind is Kind.END or after.is_symbol(",")
        is_name = name.kind in (Kind.WORD, Kind.QUOTED) and name.text.lower() in defaults
        if is_name and is_end and equals.is_symbol("=") and value.is_word("DEFAULT"):
            parts += [text[last : value.position], f"({defaults[name.text.lower()]})"]
            last = value.end
    return "".join([*parts, text[last:]])
