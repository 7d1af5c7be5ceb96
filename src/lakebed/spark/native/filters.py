"""Catalyst's filters as expressions of `lakebed.expressions`.

Spark passes its filters to a file index as trees of its own classes, and applies them again after
reading: what is not understood here becomes `Opaque`, which keeps files. Columns have the names of
the data files and fields of structs come by position; both become the table's logical names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any

import orjson

from lakebed.errors import LakebedError, SchemaError
from lakebed.expressions import (
    And,
    Cast,
    Column,
    Compare,
    Expression,
    Function,
    In,
    IsNotNull,
    IsNull,
    Like,
    Literal,
    Not,
    Opaque,
    Or,
    StartsWith,
)
from lakebed.expressions.casting import is_widening
from lakebed.expressions.evaluator.functions import TRUNCATIONS
from lakebed.expressions.time_zones import is_utc
from lakebed.expressions.values import TEMPORAL, is_atomic
from lakebed.spark.columns.spark_types import stored_name
from lakebed.spark.internals.jvm import JavaObject, Jvm
from lakebed.spec.columns.column_metadata import collations
from lakebed.spec.schema import (
    BINARY,
    BOOLEAN,
    DATE,
    FLOAT,
    INTEGER,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
    Path,
    StructField,
    StructType,
    parse_type,
)


@dataclass(frozen=True)
class Filter:
    """One of Spark's filters, as Spark writes it and as Lakebed understands it."""

    fetch: Callable[[], JavaObject]
    text: str
    expression: Expression

    @cached_property
    def source(self) -> JavaObject:
        """Spark's own object, which few filters are asked for: it takes a call."""
        return self.fetch()

    @property
    def sql(self) -> str:
        return str(self.source.sql())


class FilterReader:
    """Reads filters on the relation of one table."""

    def __init__(self, jvm: Jvm, schema: StructType, mode: str) -> None:
        self._jvm = jvm
        self._columns = {stored_name(field, mode).lower(): field for field in schema.fields}
        self._mode = mode

    def read(self, source: JavaObject) -> Filter:
        return self.read_text(self._jvm.to_json(source), lambda: source)

    def read_text(self, text: str, fetch: Callable[[], JavaObject]) -> Filter:
        """The filter of this JSON; `fetch` gets its object, should something lack in the text."""
        tree = _Tree(self._jvm, fetch, orjson.loads(text))
        return Filter(fetch, text, self._expression(tree.root))

    # --- nodes ---

    def _expression(self, node: _Node) -> Expression:
        handler = _HANDLERS.get(node.name)
        found = None if handler is None else handler(self, node)
        return found or Opaque(node.name)

    def _operands(self, node: _Node) -> list[Expression]:
        return [self._expression(child) for child in node.children]

    def _attribute(self, node: _Node) -> Expression | None:
        path = self._path(node)
        if path is None or not _has_plain_order(path[1]):
            return None
        # A column that is read or cast with another type than the table's has other values.
        types = (self._stored_type(node), self._plan_type(node))
        return Column(path[0], path[1].data_type) if types == (path[1].data_type,) * 2 else None

    def _path(self, node: _Node) -> tuple[Path, StructField] | None:
        """The logical path of a column or of a field in a struct column."""
        if node.name == "GetStructField":
            return self._field_path(node)
        if node.name == "Cast" and isinstance(node.data_type, StructType):
            # A struct with other names or types, field by field.
            return self._path(node.children[0])
        field = self._columns.get(str(node.raw.get("name")).lower())
        if node.name != "AttributeReference" or field is None or _is_hidden(node):
            return None
        return (field.name,), field

    def _field_path(self, node: _Node) -> tuple[Path, StructField] | None:
        parent = self._path(node.children[0])
        stored = self._stored_field(node)
        if parent is None or stored is None or not isinstance(parent[1].data_type, StructType):
            return None
        for field in parent[1].data_type.fields:
            if stored_name(field, self._mode).lower() == stored.name.lower():
                return (*parent[0], field.name), field
        return None

    def _stored_type(self, node: _Node) -> DataType | None:
        """The type of a column or field as it is read, before any cast."""
        if node.name == "Cast":
            return self._stored_type(node.children[0])
        if node.name == "AttributeReference":
            return node.data_type
        field = self._stored_field(node)
        return None if field is None else field.data_type

    def _stored_field(self, node: _Node) -> StructField | None:
        """By its place in the plan, where fields that are not needed are left out."""
        is_field = node.name == "GetStructField"
        return _field_at(node, self._stored_type(node.children[0])) if is_field else None

    def _plan_type(self, node: _Node) -> DataType | None:
        """The type of a column or field where the filter uses it."""
        if node.name in ("AttributeReference", "Cast"):
            return node.data_type
        is_field = node.name == "GetStructField"
        field = _field_at(node, self._plan_type(node.children[0])) if is_field else None
        return None if field is None else field.data_type

    def _literal(self, node: _Node) -> Expression | None:
        data_type = node.data_type
        if data_type is None or not is_atomic(data_type):
            return None
        text = node.raw.get("value")
        if text is None:
            return Literal(None, data_type)
        if data_type in (BINARY, TIMESTAMP):
            return Literal(self._jvm.literal_value(node.source()), data_type)
        if data_type == DATE:
            return Literal(self._days(node, text), DATE)
        return _constant(text, data_type)

    def _days(self, node: _Node, text: str) -> int:
        try:
            return (date.fromisoformat(text) - date(1970, 1, 1)).days
        except ValueError:
            return int(self._jvm.literal_value(node.source()))

    def _comparison(self, node: _Node) -> Expression | None:
        left, right = self._operands(node)
        if not _are_comparable(left, right):
            return None
        return Compare(_OPERATORS[node.name], left, right)

    def _in(self, node: _Node) -> Expression | None:
        operand, *options = self._operands(node)
        if not all(_are_comparable(operand, option) for option in options):
            return None
        return In(operand, tuple(options))

    def _in_set(self, node: _Node) -> Expression | None:
        (operand,) = self._operands(node)
        data_type = operand.data_type
        if isinstance(operand, Opaque) or data_type == BINARY or not is_atomic(data_type):
            return None
        options = []
        for text in self._jvm.set_values(node.source()):
            # Spark prints null as a word. As text it only makes the list longer, which is sound.
            if text == "null" and data_type != STRING:
                continue
            option = _constant(text, data_type)
            if option is None:
                return None
            options.append(option)
        return In(operand, tuple(options)) if options else None

    def _starts_with(self, node: _Node) -> Expression | None:
        operand, prefix = self._operands(node)
        if not _is_text(operand) or not isinstance(prefix, Literal) or prefix.value is None:
            return None
        return StartsWith(operand, prefix.value)

    def _like(self, node: _Node) -> Expression | None:
        operand, pattern = self._operands(node)
        if not _is_text(operand) or not isinstance(pattern, Literal) or pattern.value is None:
            return None
        return Like(operand, pattern.value, self._jvm.escape_character(node.source()))

    def _cast(self, node: _Node) -> Expression | None:
        (operand,) = self._operands(node)
        target = node.data_type
        if isinstance(operand, Opaque) or target is None or not is_atomic(target):
            return None
        source = operand.data_type
        if source == target:
            return operand
        if not is_widening(source, target) or not _is_zone_free(node, source, target):
            return None
        if isinstance(source, DecimalType) and target == FLOAT:
            # Java rounds once, Arrow by way of a double.
            return None
        return Cast(operand, target)

    def _year(self, node: _Node) -> Expression | None:
        (operand,) = self._operands(node)
        is_date = not isinstance(operand, Opaque) and operand.data_type == DATE
        return Function("year", (operand,), INTEGER) if is_date else None

    def _truncated_date(self, node: _Node) -> Expression | None:
        operand, unit = self._operands(node)
        known = _truncation(unit)
        # Of a shorter unit Spark's result is null.
        if isinstance(operand, Opaque) or known not in ("year", "quarter", "month", "week"):
            return None
        return Function("trunc", (operand, Literal(known, STRING)), DATE)

    def _truncated_time(self, node: _Node) -> Expression | None:
        unit, operand = self._operands(node)
        known = _truncation(unit)
        if isinstance(operand, Opaque) or known is None:
            return None
        if operand.data_type != TIMESTAMP or not _is_utc(node):
            return None
        return Function("date_trunc", (Literal(known, STRING), operand), TIMESTAMP)

    def _junction(self, node: _Node) -> Expression | None:
        operands = tuple(self._operands(node))
        return And(operands) if node.name == "And" else Or(operands)

    def _unary(self, node: _Node) -> Expression | None:
        return _UNARY[node.name](self._expression(node.children[0]))

    def _null_check(self, node: _Node) -> Expression | None:
        """Also of structs, arrays and maps: whether they are null needs no order."""
        child = node.children[0]
        path = self._path(child)
        if path is not None and self._keeps_nulls(child, path[1]):
            return _NULL_CHECKS[node.name](Column(path[0], path[1].data_type))
        operand = self._expression(child)
        return None if isinstance(operand, Opaque) else _NULL_CHECKS[node.name](operand)

    def _keeps_nulls(self, node: _Node, field: StructField) -> bool:
        """Whether no cast on the way may make a null of a value."""
        return not is_atomic(field.data_type) or self._stored_type(node) == self._plan_type(node)


# --- the JSON of a tree --------------------------------------------------------------------------


class _Node:
    """One node. Its Java object is fetched only where the JSON lacks something."""

    def __init__(self, tree: _Tree, raw: dict[str, Any], steps: tuple[int, ...]) -> None:
        self._tree = tree
        self.raw = raw
        self.steps = steps
        self.name = str(raw["class"]).rpartition(".")[2]
        self.children = [tree.take((*steps, place)) for place in range(raw["num-children"])]

    @property
    def data_type(self) -> DataType | None:
        try:
            return parse_type(self.raw["dataType"])
        except SchemaError:
            # Spark has more types than the protocol: intervals, times, collated strings.
            return None

    def source(self) -> JavaObject:
        return self._tree.jvm.descend(self._tree.fetch(), self.steps)


class _Tree:
    def __init__(
        self, jvm: Jvm, fetch: Callable[[], JavaObject], nodes: list[dict[str, Any]]
    ) -> None:
        self.jvm = jvm
        self.fetch = fetch
        self._left = iter(nodes)
        self.root = self.take(())

    def take(self, steps: tuple[int, ...]) -> _Node:
        return _Node(self, next(self._left), steps)


def _field_at(node: _Node, struct: DataType | None) -> StructField | None:
    if not isinstance(struct, StructType) or len(struct) <= node.raw["ordinal"]:
        return None
    return struct.fields[node.raw["ordinal"]]


# --- values and types ----------------------------------------------------------------------------


def _constant(text: str, data_type: DataType) -> Literal | None:
    """The literal of Spark's text for its internal value; None where the text loses something."""
    if data_type == STRING:
        # Invalid UTF-8 was replaced on the way.
        return None if "\ufffd" in text else Literal(text, STRING)
    if data_type == BOOLEAN:
        return Literal(text == "true", BOOLEAN)
    try:
        if isinstance(data_type, DecimalType):
            return Literal(Decimal(text), data_type)
        if str(data_type) in ("float", "double"):
            return Literal(float(text), data_type)
        return Literal(int(text), data_type)
    except (ValueError, InvalidOperation) as error:
        raise LakebedError(
            f"Spark wrote the {data_type} literal {text!r}, which Lakebed cannot read",
            hint="please report this with the version of Spark",
        ) from error


def _are_comparable(left: Expression, right: Expression) -> bool:
    if isinstance(left, Opaque) or isinstance(right, Opaque):
        return False
    both = (left.data_type, right.data_type)
    same = both[0] == both[1] or all(isinstance(each, DecimalType) for each in both)
    return same and is_atomic(both[0])


def _has_plain_order(field: StructField) -> bool:
    """Whether values compare as Lakebed compares them: collations have an order of their own."""
    names = collations(field).values()
    return all(name.upper().endswith("UTF8_BINARY") for name in names)


def _is_hidden(node: _Node) -> bool:
    """Columns of `_metadata` may have the name of a column of the table."""
    return any(key.startswith("__") and "metadata" in key for key in node.raw["metadata"])


def _is_text(operand: Expression) -> bool:
    return not isinstance(operand, Opaque) and operand.data_type == STRING


def _truncation(unit: Expression) -> str | None:
    """Lakebed's name of a unit, of which Spark has several."""
    is_text = isinstance(unit, Literal) and isinstance(unit.value, str)
    return TRUNCATIONS.get(unit.value.upper()) if is_text and isinstance(unit, Literal) else None


def _is_zone_free(node: _Node, source: DataType, target: DataType) -> bool:
    """Whether the result is the same in every time zone, or the zone is UTC."""
    if source not in TEMPORAL or {source, target} <= {DATE, TIMESTAMP_NTZ}:
        return True
    return _is_utc(node)


def _is_utc(node: _Node) -> bool:
    return is_utc(node.raw.get("timeZoneId"))


_OPERATORS = {
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
}
_UNARY: Mapping[str, Callable[[Expression], Expression]] = {"Not": Not}
_NULL_CHECKS: Mapping[str, Callable[[Expression], Expression]] = {
    "IsNull": IsNull,
    "IsNotNull": IsNotNull,
}
_HANDLERS: Mapping[str, Callable[[FilterReader, _Node], Expression | None]] = {
    "And": FilterReader._junction,
    "Or": FilterReader._junction,
    "Not": FilterReader._unary,
    "IsNull": FilterReader._null_check,
    "IsNotNull": FilterReader._null_check,
    **dict.fromkeys(_OPERATORS, FilterReader._comparison),
    "In": FilterReader._in,
    "InSet": FilterReader._in_set,
    "StartsWith": FilterReader._starts_with,
    "Like": FilterReader._like,
    "Cast": FilterReader._cast,
    "Year": FilterReader._year,
    "TruncDate": FilterReader._truncated_date,
    "TruncTimestamp": FilterReader._truncated_time,
    "AttributeReference": FilterReader._attribute,
    "GetStructField": FilterReader._attribute,
    "Literal": FilterReader._literal,
}
