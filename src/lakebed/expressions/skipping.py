"""Which files can hold rows that a predicate keeps (PROTOCOL: Per-file Statistics).

A row is kept where the predicate is true. For every part of the predicate it is asked where the
part may be true, or, under NOT, where it may be false; null is neither. What is not known may be.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import EvaluationError
from lakebed.expressions.bounds import Bounds, Files
from lakebed.expressions.evaluator.comparison import Wildcard, compare, like_parts
from lakebed.expressions.evaluator.masks import NEVER, Mask, all_of, any_of, is_never, keep
from lakebed.expressions.file_facts import FileColumnsProtocol
from lakebed.expressions.tree import (
    And,
    Column,
    Compare,
    Expression,
    In,
    IsNotNull,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    StartsWith,
    conjunction,
    depends_only_on,
    split_conjuncts,
)
from lakebed.expressions.values import Datum, arrow_type
from lakebed.spec.schema import BOOLEAN


def skip(
    expression: Expression, columns: FileColumnsProtocol, partition_columns: Collection[str]
) -> pa.BooleanArray:
    """True for the files to read; the others have no row that matches.

    Conjuncts on partition columns alone are decided exactly, before any statistics are asked for.
    """
    files = Files(columns, partition_columns)
    partitions, others = split_by_partition(expression, partition_columns)
    mask = None
    if partitions is not None:
        mask = _exactly(partitions, True, files, or_fail=others is None)
    if others is None or is_never(mask):
        return keep(mask, columns.num_files)
    rows = columns.num_records()
    has_rows = None if rows is None else pc.greater(rows, pa.scalar(0, rows.type))
    return keep(all_of(mask, _may_be(others, True, files), has_rows), columns.num_files)


def split_by_partition(
    expression: Expression, partition_columns: Collection[str]
) -> tuple[Expression | None, Expression | None]:
    """The conjuncts on partition columns alone, and the others; None where there are none."""
    names = {name.lower() for name in partition_columns}
    partitions: list[Expression] = []
    others: list[Expression] = []
    for part in split_conjuncts(expression):
        (partitions if depends_only_on(part, names) else others).append(part)
    return (
        conjunction(partitions) if partitions else None,
        conjunction(others) if others else None,
    )


# --- where a part may be true, or false --------------------------------------------------------


def _may_be(expression: Expression, truth: bool, files: Files) -> Mask:
    if files.is_exact(expression):
        return _exactly(expression, truth, files, or_fail=False)
    handler = _HANDLERS.get(type(expression))
    return None if handler is None else handler(expression, truth, files)


def _exactly(expression: Expression, truth: bool, files: Files, *, or_fail: bool) -> Mask:
    try:
        values = files.exact(expression)
    except EvaluationError:
        if or_fail:
            raise
        # Another part may exclude the rows that fail: only they can tell.
        return None
    return pc.fill_null(pc.equal(values, pa.scalar(truth)), False)


def _may_and(expression: And, truth: bool, files: Files) -> Mask:
    parts = [_may_be(each, truth, files) for each in expression.operands]
    return all_of(*parts) if truth else any_of(*parts)


def _may_or(expression: Or, truth: bool, files: Files) -> Mask:
    parts = [_may_be(each, truth, files) for each in expression.operands]
    return any_of(*parts) if truth else all_of(*parts)


def _may_not(expression: Not, truth: bool, files: Files) -> Mask:
    return _may_be(expression.operand, not truth, files)


def _may_be_null(expression: IsNull, truth: bool, files: Files) -> Mask:
    bounds = files.bounds(expression.operand)
    return bounds.nulls if truth else bounds.values


def _may_be_not_null(expression: IsNotNull, truth: bool, files: Files) -> Mask:
    bounds = files.bounds(expression.operand)
    return bounds.values if truth else bounds.nulls


def _may_column(expression: Column, truth: bool, files: Files) -> Mask:
    bounds = files.bounds(expression)
    bound = bounds.high if truth else bounds.low
    return all_of(bounds.values, _test("=", bound, pa.scalar(truth)))


# --- comparisons -------------------------------------------------------------------------------

_OPPOSITES = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}


def _may_compare(expression: Compare, truth: bool, files: Files) -> Mask:
    operator, left, right = expression.operator, expression.left, expression.right
    if left.data_type == BOOLEAN and operator in ("=", "<>", "<=>"):
        one, other = (right, left) if isinstance(left, Literal) else (left, right)
        if isinstance(other, Literal):
            return _may_equal_truth(operator, one, other.value, truth, files)
    bounds = (files.bounds(left), files.bounds(right))
    if operator == "<=>":
        return _may_be_same(*bounds) if truth else _may_differ(*bounds)
    return _may_hold(operator if truth else _OPPOSITES[operator], *bounds)


def _may_equal_truth(
    operator: str, condition: Expression, wanted: bool | None, truth: bool, files: Files
) -> Mask:
    """`condition = TRUE` and the like."""
    if operator == "<=>":
        # False would also be a condition that is null.
        return _may_be(condition, wanted, files) if truth and wanted is not None else None
    if wanted is None:
        return NEVER
    return _may_be(condition, wanted == (truth == (operator == "=")), files)


def _may_hold(operator: str, left: Bounds, right: Bounds) -> Mask:
    return all_of(left.values, right.values, _RANGES[operator](left, right))


def _may_be_same(left: Bounds, right: Bounds) -> Mask:
    return any_of(_may_hold("=", left, right), all_of(left.nulls, right.nulls))


def _may_differ(left: Bounds, right: Bounds) -> Mask:
    one_is_null = [all_of(left.nulls, right.values), all_of(left.values, right.nulls)]
    return any_of(_may_hold("<>", left, right), *one_is_null)


def _may_be_equal(left: Bounds, right: Bounds) -> Mask:
    if left.has_nan and right.has_nan:
        return None
    return all_of(_reaches(left, right), _reaches(right, left))


def _reaches(left: Bounds, right: Bounds) -> Mask:
    """Whether the values on the right go up to those on the left, as far as these are no NaN."""
    reaches = _test("<=", left.low, right.high)
    if reaches is None or not right.has_nan:
        return reaches
    return pc.or_kleene(reaches, pc.is_nan(left.low))


def _may_be_unequal(left: Bounds, right: Bounds) -> Mask:
    if left.has_nan or right.has_nan:
        return None
    return any_of(_test("<>", left.low, right.high), _test("<>", left.high, right.low))


_RANGES: dict[str, Callable[[Bounds, Bounds], Mask]] = {
    "=": _may_be_equal,
    "<>": _may_be_unequal,
    "<": lambda left, right: _test("<", left.low, right.top),
    "<=": lambda left, right: _test("<=", left.low, right.top),
    ">": lambda left, right: _test("<", right.low, left.top),
    ">=": lambda left, right: _test("<=", right.low, left.top),
}


def _test(operator: str, left: Datum | None, right: Datum | None) -> Mask:
    return None if left is None or right is None else compare(operator, left, right)


# --- lists and patterns ------------------------------------------------------------------------

_MOST_RANGES = 16


def _may_in(expression: In, truth: bool, files: Files) -> Mask:
    options = expression.options
    constants = [each.value for each in options if isinstance(each, Literal)]
    if len(constants) < len(options):
        equal = [Compare("=", expression.operand, each) for each in options]
        return _may_or(Or(tuple(equal)), truth, files)
    known = [each for each in constants if each is not None]
    if not known or (not truth and len(known) < len(constants)):
        # With null in the list, the result is true or null.
        return NEVER
    bounds = files.bounds(expression.operand)
    wanted = pa.array(known, arrow_type(expression.operand.data_type))
    matching = _may_match if truth else _may_miss
    return all_of(bounds.values, matching(bounds, wanted))


def _may_match(bounds: Bounds, wanted: pa.Array) -> Mask:
    """Many values are taken together as ranges; a range of one is exact."""
    if bounds.has_nan and pc.any(pc.is_nan(wanted)).as_py():
        return None
    # Arrow puts NaN last, where Spark has it, and orders text by its bytes.
    ordered = wanted.take(pc.sort_indices(wanted))
    size = -(-len(ordered) // _MOST_RANGES)
    ranges = [ordered.slice(start, size) for start in range(0, len(ordered), size)]
    matches = [
        all_of(_test("<=", bounds.low, each[-1]), _test("<=", each[0], bounds.high))
        for each in ranges
    ]
    return any_of(*matches)


def _may_miss(bounds: Bounds, wanted: pa.Array) -> Mask:
    if bounds.has_nan or bounds.low is None or bounds.high is None:
        return None
    misses = pc.invert(pc.is_in(bounds.low, value_set=wanted))
    return any_of(_test("<>", bounds.low, bounds.high), misses)


def _may_start_with(expression: StartsWith, truth: bool, files: Files) -> Mask:
    bounds = files.bounds(expression.operand)
    within = _may_have_prefix if truth else _may_lack_prefix
    return all_of(bounds.values, within(bounds, expression.prefix))


def _may_like(expression: Like, truth: bool, files: Files) -> Mask:
    parts = like_parts(expression.pattern, expression.escape)
    first = parts[0] if parts else ""
    prefix = first if isinstance(first, str) else ""
    if len(parts) <= 1 and first == prefix:
        equal = Compare("=", expression.operand, Literal(prefix, expression.operand.data_type))
        return _may_compare(equal, truth, files)
    bounds = files.bounds(expression.operand)
    if truth:
        return all_of(bounds.values, _may_have_prefix(bounds, prefix))
    is_prefix = parts == [*([prefix] if prefix else []), Wildcard.ANY]
    return all_of(bounds.values, _may_lack_prefix(bounds, prefix) if is_prefix else None)


def _may_have_prefix(bounds: Bounds, prefix: str) -> Mask:
    if not prefix:
        return None
    low, high = _as_bytes(bounds.low), _as_bytes(bounds.high)
    first, after = _prefix_range(prefix)
    return all_of(_test("<", low, after), _test("<=", first, high))


def _may_lack_prefix(bounds: Bounds, prefix: str) -> Mask:
    if not prefix:
        return NEVER
    low, high = _as_bytes(bounds.low), _as_bytes(bounds.high)
    first, after = _prefix_range(prefix)
    return any_of(_test("<", low, first), _test("<=", after, high))


def _prefix_range(prefix: str) -> tuple[pa.Scalar, pa.Scalar]:
    """The first text with the prefix, and the first bytes after all such texts."""
    first = prefix.encode()
    # UTF-8 has no byte 255: the last one can be raised.
    after = first[:-1] + bytes([first[-1] + 1])
    return pa.scalar(first, pa.binary()), pa.scalar(after, pa.binary())


def _as_bytes(bound: Datum | None) -> Datum | None:
    return None if bound is None else pc.cast(bound, pa.binary())


_HANDLERS: dict[type[Expression], Callable[[Any, bool, Files], Mask]] = {
    And: _may_and,
    Or: _may_or,
    Not: _may_not,
    IsNull: _may_be_null,
    IsNotNull: _may_be_not_null,
    Column: _may_column,
    Compare: _may_compare,
    In: _may_in,
    StartsWith: _may_start_with,
    Like: _may_like,
}
