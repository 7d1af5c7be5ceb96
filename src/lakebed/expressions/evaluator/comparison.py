"""Comparing columns of values as Spark does.

NaN equals NaN and is greater than every other number, 0.0 equals -0.0, strings compare by their
UTF-8 bytes. Apart from `<=>`, a comparison with null is null.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import EvaluationError
from lakebed.expressions.casting import align_decimals
from lakebed.expressions.values import Datum


def compare(operator: str, left: Datum, right: Datum) -> Datum:
    """Both sides are of one Arrow type, or both are decimals."""
    if operator == "<=>":
        equal = compare("=", left, right)
        return pc.coalesce(equal, pc.and_(pc.is_null(left), pc.is_null(right)))
    if pa.types.is_null(left.type) or pa.types.is_null(right.type):
        return _no_booleans(left, right)
    if pa.types.is_decimal(left.type) and left.type != right.type:
        left, right = align_decimals(left, right)
    if pa.types.is_floating(left.type):
        return _FLOATING[operator](left, right)
    return _KERNELS[operator](left, right)


def is_in(values: pa.Array, options: pa.Array) -> pa.Array:
    """Whether each value is among the options; null where it is null, or where null might be it."""
    if pa.types.is_floating(values.type):
        values, options = _one_zero(values), _one_zero(options)
    found = pc.is_in(values, value_set=options.drop_null())
    unknown = pa.scalar(None, pa.bool_())
    if options.null_count:
        return pc.if_else(pc.and_(found, pc.is_valid(values)), found, unknown)
    return pc.if_else(pc.is_valid(values), found, unknown)


class Wildcard(Enum):
    ANY = ".*"
    ONE = "."


def like(values: Datum, pattern: str, escape: str) -> Datum:
    """SQL's LIKE. The simple patterns go to faster kernels than regular expressions."""
    parts = like_parts(pattern, escape)
    shape = tuple(part if isinstance(part, Wildcard) else "text" for part in parts)
    if shape in _SIMPLE:
        text = next((part for part in parts if isinstance(part, str)), "")
        return _SIMPLE[shape](values, text)
    regex = "".join(re.escape(part) if isinstance(part, str) else part.value for part in parts)
    try:
        return pc.match_substring_regex(values, rf"\A(?s:{regex})\z")
    except pa.ArrowException as error:
        raise EvaluationError(f"the LIKE pattern {pattern!r} cannot be used: {error}") from error


def like_parts(pattern: str, escape: str) -> list[str | Wildcard]:
    """A pattern as texts, none of them empty, and wildcards."""
    parts: list[str | Wildcard] = []
    text = ""
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            text += _escaped(next(characters, ""), pattern, escape)
        elif character in "%_":
            wildcard = Wildcard.ANY if character == "%" else Wildcard.ONE
            parts += [text, wildcard] if text else [wildcard]
            text = ""
        else:
            text += character
    return [*parts, text] if text else parts


_KERNELS = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_SIMPLE: dict[tuple[Wildcard | str, ...], Callable[[Datum, str], Datum]] = {
    (): lambda values, _: pc.equal(values, ""),
    ("text",): lambda values, text: pc.equal(values, text),
    (Wildcard.ANY,): lambda values, _: pc.starts_with(values, pattern=""),
    ("text", Wildcard.ANY): lambda values, text: pc.starts_with(values, pattern=text),
    (Wildcard.ANY, "text"): lambda values, text: pc.ends_with(values, pattern=text),
    (Wildcard.ANY, "text", Wildcard.ANY): lambda values, text: pc.match_substring(values, text),
}


def _equal(left: Datum, right: Datum) -> Datum:
    return pc.or_(pc.equal(left, right), pc.and_(pc.is_nan(left), pc.is_nan(right)))


def _less(left: Datum, right: Datum) -> Datum:
    only_right = pc.and_(pc.is_nan(right), pc.invert(pc.is_nan(left)))
    return pc.or_(pc.less(left, right), only_right)


def _less_equal(left: Datum, right: Datum) -> Datum:
    return pc.or_(pc.less_equal(left, right), pc.is_nan(right))


_FLOATING: dict[str, Callable[[Datum, Datum], Datum]] = {
    "=": _equal,
    "<>": lambda left, right: pc.invert(_equal(left, right)),
    "<": _less,
    "<=": _less_equal,
    ">": lambda left, right: _less(right, left),
    ">=": lambda left, right: _less_equal(right, left),
}


def _one_zero(values: pa.Array) -> pa.Array:
    # Arrow looks values up by their bits, and -0.0 has others than 0.0; their sum is 0.0.
    return pc.add(values, pa.scalar(0.0, values.type))


def _no_booleans(*operands: Datum) -> Datum:
    lengths = [len(each) for each in operands if not isinstance(each, pa.Scalar)]
    none = pa.scalar(None, pa.bool_())
    return reduce(lambda _, length: pa.nulls(length, pa.bool_()), lengths, none)


def _escaped(character: str, pattern: str, escape: str) -> str:
    if character and character in ("%", "_", escape):
        return character
    found = f"has {escape!r} before {character!r}" if character else f"ends with {escape!r}"
    raise EvaluationError(
        f"the LIKE pattern {pattern!r} {found}",
        hint=f"{escape!r} may stand before %, _ and itself; another one can be set with ESCAPE.",
    )
