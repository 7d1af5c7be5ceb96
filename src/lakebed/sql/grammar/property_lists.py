"""Lists of properties and options: ('key' = 'value', ...)."""

from __future__ import annotations

from lakebed.errors import SqlError
from lakebed.expressions.parser.tokens import Kind
from lakebed.sql.cursor import Cursor


def properties(cursor: Cursor) -> dict[str, str]:
    """Keys are strings or names with dots; values strings, numbers, true and false."""
    cursor.expect_symbol("(")
    found: dict[str, str] = {}
    while True:
        token = cursor.token
        key = property_key(cursor)
        if key in found:
            raise cursor.error(f"{key!r} is given twice", token)
        cursor.accept_symbol("=")
        found[key] = property_value(cursor)
        if not cursor.accept_symbol(","):
            break
    cursor.expect_symbol(")")
    return found


def property_key(cursor: Cursor) -> str:
    if cursor.token.kind is Kind.STRING:
        return cursor.string()
    return ".".join(cursor.parts("the name of a property"))


def property_value(cursor: Cursor) -> str:
    token = cursor.token
    if token.kind is Kind.STRING:
        return cursor.string()
    if cursor.at_marker:
        return _text_of(cursor.parameter())
    sign = "-" if cursor.accept_symbol("-") else ""
    if cursor.token.kind is Kind.NUMBER:
        return sign + cursor.next().text
    if not sign and token.is_word("TRUE", "FALSE"):
        return cursor.next().text.lower()
    raise _no_value(cursor)


def _text_of(value: object) -> str:
    """The value of a parameter as it would be written."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _no_value(cursor: Cursor) -> SqlError:
    return cursor.error(
        f"expected the value of a property, found {cursor.token}", hint="put it in quotes"
    )
