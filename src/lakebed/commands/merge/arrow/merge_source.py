"""The source of a MERGE in memory: its rows, and how they are joined with those of the table.

Parts of the condition that say that something of the table equals something of the source are keys:
rows are looked up by them, and what else the condition says is asked of the pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, reduce

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.commands.merge.key_predicates import MOST_VALUES, all_of, among, between, has_order
from lakebed.commands.rows.arrow.new_values import check_evaluable
from lakebed.errors import InvalidArgumentError, SchemaMismatchError
from lakebed.expressions import (
    Column,
    Compare,
    Expression,
    Side,
    Sides,
    conjunction,
    evaluate,
    parse_predicate,
    references,
    split_conjuncts,
)
from lakebed.expressions.casting import align_decimals
from lakebed.expressions.evaluator.evaluate import can_fail
from lakebed.formats.arrow_cast import cast_table
from lakebed.formats.arrow_types import from_arrow_schema
from lakebed.log.snapshot import Snapshot
from lakebed.spec.schema import DataType, DecimalType, StructType

PREFIX = "__lakebed_source."
"""Before the names of columns of the source where those of the table are too."""


@dataclass(frozen=True)
class SourceRows:
    """The rows, as the types of tables have them."""

    table: pa.Table
    schema: StructType

    @classmethod
    def of(cls, given: pa.Table) -> SourceRows:
        folded = [name.lower() for name in given.column_names]
        doubled = [name for name in given.column_names if folded.count(name.lower()) > 1]
        if doubled:
            raise InvalidArgumentError(
                f"the source has more than one column {doubled[0]!r}",
                hint="select or rename its columns first",
            )
        if not folded:
            raise SchemaMismatchError("the source has no columns")
        schema = from_arrow_schema(given.schema)
        return cls(cast_table(given, schema).combine_chunks(), schema)

    @property
    def num_rows(self) -> int:
        return int(self.table.num_rows)

    def some(self, places: pa.Array, names: Sequence[str] | None = None) -> pa.Table:
        """Rows under the names that they have beside those of the table."""
        chosen = self.table if names is None else self.table.select(list(names))
        taken = chosen.take(places)
        return taken.rename_columns([PREFIX + name for name in chosen.column_names])


@dataclass(frozen=True)
class Key:
    """What must be equal in a row of the table and one of the source, null too if `with_nulls`."""

    target: Expression
    source: Expression
    with_nulls: bool


@dataclass(frozen=True)
class MergeJoin:
    """`condition` is about rows of the table and of the source, under their names for both."""

    condition: Expression
    source: SourceRows

    @classmethod
    def of(cls, sql: str, sides: Sides, source: SourceRows) -> MergeJoin:
        condition = parse_predicate(sql, sides)
        check_evaluable(condition, sql)
        return cls(condition, source)

    @cached_property
    def target_columns(self) -> set[str]:
        """Of the table, in lower case."""
        return {n.lower() for n in names_of(self.condition) if not n.startswith(PREFIX)}

    def pairs(self, rows: pa.Table) -> tuple[pa.Array, pa.Array]:
        """The places of rows of the table, in ascending order, and those of the source beside them,
        for which the condition is true.
        """
        found = list(self._pairs(rows))
        if len(found) == 1:
            return found[0]
        empty = pa.array([], pa.int64())
        return (
            pa.concat_arrays([empty, *(one for one, _ in found)]),
            pa.concat_arrays([empty, *(other for _, other in found)]),
        )

    # --- what the source can match ---

    def predicate(self, snapshot: Snapshot) -> Expression | None:
        """What is true of all rows of the table that the source can match."""
        tests = [each for each in split_conjuncts(self.condition) if self._is_of_target(each)]
        for key in self._keys:
            column = key.target
            if key.with_nulls or not isinstance(column, Column) or len(column.path) > 1:
                continue
            field = snapshot.schema.field(column.path[0])
            if key.source.data_type != field.data_type or not has_order(field.data_type):
                continue
            values = pc.unique(self._of_source(key.source))
            if len(values) <= MOST_VALUES:
                tests += among(field, values)
                continue
            bounds = pc.min_max(values)
            tests += between(field, [bounds["min"], bounds["max"]])
        return all_of(tests)

    @property
    def key_columns(self) -> list[str]:
        """The columns of the table that must equal something."""
        found = (key.target for key in self._keys)
        return [each.path[0] for each in found if isinstance(each, Column)]

    # --- the parts of the condition ---

    @cached_property
    def _keys(self) -> list[Key]:
        return [key for key in map(self._key, split_conjuncts(self.condition)) if key is not None]

    @cached_property
    def _rest(self) -> Expression | None:
        """What is asked of pairs that have the same keys."""
        others = [each for each in split_conjuncts(self.condition) if self._key(each) is None]
        return conjunction(others) if others else None

    def _key(self, part: Expression) -> Key | None:
        if not isinstance(part, Compare) or part.operator not in ("=", "<=>"):
            return None
        # A part that may fail may rely on those before it: it is asked of pairs, in its place.
        if can_fail(part):
            return None
        for one, other in ((part.left, part.right), (part.right, part.left)):
            if self._is_of_target(one) and self._is_of_source(other):
                if _too_wide(one.data_type, other.data_type):
                    return None
                return Key(one, other, part.operator == "<=>")
        return None

    def _is_of_target(self, part: Expression) -> bool:
        names = names_of(part)
        return bool(names) and not any(name.startswith(PREFIX) for name in names)

    def _is_of_source(self, part: Expression) -> bool:
        names = names_of(part)
        return bool(names) and all(name.startswith(PREFIX) for name in names)

    # --- looking up ---

    def _pairs(self, rows: pa.Table) -> Iterator[tuple[pa.Array, pa.Array]]:
        if not self._keys:
            yield from self._all_pairs(rows)
            return
        sides = [
            _comparable(evaluate(key.target, rows), self._of_source(key.source), key.with_nulls)
            for key in self._keys
        ]
        here = [values for side, _ in sides for values in side]
        there = [values for _, side in sides for values in side]
        yield self._meeting(rows, *_matches(here, there))

    def _all_pairs(self, rows: pa.Table) -> Iterator[tuple[pa.Array, pa.Array]]:
        """Every row beside every other one, some rows of the table at a time."""
        other = self.source.num_rows
        step = max(1, _MOST_PAIRS // max(1, other))
        for start in range(0, rows.num_rows if other else 0, step):
            count = min(step, rows.num_rows - start)
            numbers = _numbers(count * other)
            yield self._meeting(
                rows,
                pc.add(pc.divide(numbers, other), start),
                pc.subtract(numbers, pc.multiply(pc.divide(numbers, other), other)),
            )

    def _meeting(
        self, rows: pa.Table, here: pa.Array, there: pa.Array
    ) -> tuple[pa.Array, pa.Array]:
        """The pairs for which also the rest of the condition is true."""
        if self._rest is None or not len(here):
            return here, there
        is_met = pc.fill_null(
            evaluate(self._rest, self.joined(rows, here, there, self._rest)), False
        )
        is_met = is_met.combine_chunks()
        return here.filter(is_met), there.filter(is_met)

    def joined(
        self, rows: pa.Table, here: pa.Array, there: pa.Array, *needed: Expression
    ) -> pa.Table:
        """The pairs as rows, with the columns that expressions need."""
        names = {name for each in needed for name in names_of(each)}
        own = [name for name in rows.column_names if name in names]
        others = [name for name in self.source.table.column_names if PREFIX + name in names]
        left, right = rows.select(own).take(here), self.source.some(there, others)
        columns = [*left.columns, *right.columns, here]
        return pa.table(columns, names=[*left.column_names, *right.column_names, _PAIR])

    def _of_source(self, expression: Expression) -> pa.ChunkedArray:
        if expression not in self._known:
            names = self.source.table.column_names
            renamed = self.source.table.rename_columns([PREFIX + name for name in names])
            self._known[expression] = evaluate(expression, renamed)
        return self._known[expression]

    @cached_property
    def _known(self) -> dict[Expression, pa.ChunkedArray]:
        return {}


def scopes(table: StructType, alias: str | None, source: StructType, other: str | None) -> Sides:
    """Both sides of a MERGE, as expressions name them."""
    return Sides((Side(table, alias), Side(source, other, PREFIX)))


def names_of(expression: Expression) -> set[str]:
    return {path[0] for path in references(expression)}


def _too_wide(one: DataType, other: DataType) -> bool:
    """Whether no decimal of Arrow's 128 bits holds the values of both."""
    if not isinstance(one, DecimalType) or not isinstance(other, DecimalType):
        return False
    whole = max(one.precision - one.scale, other.precision - other.scale)
    return whole + max(one.scale, other.scale) > 38


def _comparable(
    here: pa.ChunkedArray, there: pa.ChunkedArray, with_nulls: bool
) -> tuple[list[pa.ChunkedArray], list[pa.ChunkedArray]]:
    """Both sides of a key as values that are equal where Spark says so, none of them floating."""
    if pa.types.is_decimal(here.type) and here.type != there.type:
        here, there = align_decimals(here, there)
    sides = [_by_bits(each) for each in (here, there)]
    if not with_nulls:
        return [sides[0]], [sides[1]]
    # A join never finds nulls: whether there is a value is a key of its own.
    one, other = ([_filled(each), pc.is_valid(each)] for each in sides)
    return one, other


def _by_bits(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Floats as whole numbers: all NaN are one value, and so are 0.0 and -0.0."""
    if not pa.types.is_floating(values.type):
        return values
    zero, nan = pa.scalar(0.0, values.type), pa.scalar(float("nan"), values.type)
    one_zero = pc.add(values, zero)
    one_nan = pc.if_else(pc.is_nan(one_zero), nan, one_zero)
    return one_nan.cast(pa.float64()).combine_chunks().view(pa.int64())


def _filled(values: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = values.type
    if pa.types.is_decimal(kind):
        return pc.fill_null(values, pa.scalar(Decimal(0), kind))
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        whole = pa.int32() if pa.types.is_date(kind) else pa.int64()
        return pc.fill_null(values, pa.scalar(0, whole).cast(kind))
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return pc.fill_null(values, pa.scalar(b"").cast(kind))
    return pc.fill_null(values, pa.scalar(0, pa.int8()).cast(kind))


def _matches(
    here: Sequence[pa.ChunkedArray], there: Sequence[pa.ChunkedArray]
) -> tuple[pa.Array, pa.Array]:
    """The pairs of places with equal keys, in the order of the first side."""
    if len(there) == 1:
        key = _single(there[0])
        known = key.drop_null()
        if len(pc.unique(known)) == len(known):
            found = pc.index_in(here[0], value_set=key, skip_nulls=True)
            found = _single(found)
            return _places(pc.is_valid(found)), found.drop_null().cast(pa.int64())
    names = [f"k{number}" for number in range(len(here))]
    sides = []
    for place, keys in (("here", here), ("there", there)):
        columns = [_single(each) for each in keys]
        table = pa.table([*columns, _numbers(len(columns[0]))], names=[*names, place])
        is_known = reduce(pc.and_, (pc.is_valid(each) for each in columns))
        sides.append(table.filter(is_known))
    joined = (
        sides[0]
        .join(sides[1], keys=names, join_type="inner")
        .sort_by([("here", "ascending"), ("there", "ascending")])
    )
    return _single(joined.column("here")), _single(joined.column("there"))


def _places(mask: pa.Array) -> pa.Array:
    return pc.indices_nonzero(mask).cast(pa.int64())


def _numbers(count: int) -> pa.Array:
    return _places(pa.repeat(pa.scalar(True), count))


def _single(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    if isinstance(values, pa.Array):
        return values
    combined = values.combine_chunks()
    if isinstance(combined, pa.ChunkedArray):
        return combined.chunk(0) if combined.num_chunks else pa.array([], combined.type)
    return combined


_MOST_PAIRS = 1 << 20
_PAIR = "__lakebed_pair"
"""So that pairs have a number of rows, whatever columns are needed."""
