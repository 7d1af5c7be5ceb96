"""Names in SQL as columns of a schema, and numbers as literals, typed as Spark types them."""

from __future__ import annotations

import re
from decimal import Context, Decimal
from difflib import get_close_matches

from lakebed.errors import PredicateError, SchemaError
from lakebed.expressions.coercion import Term, cast_to
from lakebed.expressions.parser.tokens import Token
from lakebed.expressions.tree import Column, Literal, decimal_type
from lakebed.spec.columns.column_metadata import collations, length_limits
from lakebed.spec.schema import (
    BYTE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    DataType,
    Path,
    StructField,
    StructType,
    quote_name,
    render_path,
)


def resolve_column(schema: StructType, names: list[Token], sql: str) -> Term:
    """The column that dotted names in any case lead to."""
    field = StructField("", schema)
    path: Path = ()
    for name in names:
        if not isinstance(field.data_type, StructType):
            raise _no_fields(path, field.data_type, name, sql)
        found = field.data_type.find(name.text)
        if found is None:
            raise _unknown(field.data_type, path, name, sql)
        path, field = (*path, found.name), found
    _refuse_collation(field, path, names[0], sql)
    limit = length_limits(field).get(())
    char_length = limit.length if limit is not None and limit.padded else None
    return Term(Column(path, field.data_type), sql, names[0].position, char_length)


def _refuse_collation(field: StructField, path: Path, at: Token, sql: str) -> None:
    collation = collations(field).get(field.name)
    if collation is not None and not collation.upper().endswith("UTF8_BINARY"):
        raise PredicateError(
            f"column {render_path(path)} compares text by the collation {collation}, "
            "which is not supported",
            sql=sql,
            position=at.position,
        )


def _no_fields(path: Path, data_type: DataType, name: Token, sql: str) -> PredicateError:
    return PredicateError(
        f"column {render_path(path)} is of type {data_type} and has no fields",
        sql=sql,
        position=name.position,
    )


def _unknown(struct: StructType, path: Path, name: Token, sql: str) -> PredicateError:
    folded = {each.lower(): each for each in struct.names}
    close = get_close_matches(name.text.lower(), folded, n=1)
    shown = ", ".join(map(quote_name, struct.names[:20])) + (", ..." if len(struct) > 20 else "")
    where = f" in {render_path(path)}" if path else ""
    return PredicateError(
        f"there is no column {quote_name(name.text)}{where}",
        sql=sql,
        position=name.position,
        hint=f"Did you mean {quote_name(folded[close[0]])}?" if close else f"There are: {shown}.",
    )


def number_literal(text: str, is_negative: bool, at: Term) -> Literal:
    """`1` is an INT or, if too large, a BIGINT or a decimal; `1.5` a decimal; `1e3` a double.

    A letter says otherwise: Y TINYINT, S SMALLINT, L BIGINT, F FLOAT, D DOUBLE, BD a decimal.
    """
    match = _NUMBER.fullmatch(text)
    assert match is not None
    digits, suffix = ("-" if is_negative else "") + match[1], match[2].upper()
    is_whole = digits.lstrip("-").isdigit()
    if suffix in _WHOLE_TYPES and not is_whole:
        raise at.error(f"{text} is no whole number")
    if suffix in _TYPES:
        return _converted(digits, _TYPES[suffix], at)
    if is_whole and not suffix:
        return _whole(digits, at)
    if suffix != "BD" and "e" in digits.lower():
        return _converted(digits, DOUBLE, at)
    return _decimal(digits, at)


_NUMBER = re.compile(r"([0-9.]+(?:[eE][+-]?[0-9]+)?)([A-Za-z]*)")
_WHOLE_TYPES = {"Y": BYTE, "S": SHORT, "L": LONG}
_WIDE = Context(prec=60)
_TYPES: dict[str, DataType] = {**_WHOLE_TYPES, "F": FLOAT, "D": DOUBLE}


def _converted(digits: str, data_type: DataType, at: Term) -> Literal:
    text = Term(Literal(digits, STRING), at.sql, at.position)
    converted = cast_to(text, data_type).expression
    assert isinstance(converted, Literal)
    return converted


def _whole(digits: str, at: Term) -> Literal:
    if len(digits) > 40:
        raise at.error("the number has more than 38 digits")
    value = int(digits)
    for data_type, bits in ((INTEGER, 32), (LONG, 64)):
        if -(1 << (bits - 1)) <= value < 1 << (bits - 1):
            return Literal(value, data_type)
    return _decimal(digits, at)


def _decimal(digits: str, at: Term) -> Literal:
    value = Decimal(digits)
    try:
        data_type = decimal_type(value)
    except SchemaError as error:
        raise at.error("the number has more than 38 digits") from error
    # 1e3BD has a positive exponent; values of a decimal type have as many digits as its scale.
    return Literal(value.quantize(Decimal(1).scaleb(-data_type.scale), context=_WIDE), data_type)
