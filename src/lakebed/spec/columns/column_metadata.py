"""Typed access to the metadata of columns.

PROTOCOL: Column Metadata, Column Invariants, Generated Columns, Default Columns, Identity Columns;
and the keys that Spark keeps there: comment, char/varchar and collations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import orjson

from lakebed.errors import ConstraintViolationError, SchemaError
from lakebed.spec.columns.sql_types import parse_sql_type
from lakebed.spec.schema import (
    CHAR_VARCHAR,
    ArrayType,
    DataType,
    MapType,
    Path,
    PrimitiveType,
    StructField,
    StructType,
    walk,
)

COMMENT = "comment"
INVARIANTS = "delta.invariants"
GENERATION_EXPRESSION = "delta.generationExpression"
CURRENT_DEFAULT = "CURRENT_DEFAULT"
EXISTS_DEFAULT = "EXISTS_DEFAULT"
IDENTITY_START = "delta.identity.start"
IDENTITY_STEP = "delta.identity.step"
IDENTITY_HIGH_WATER_MARK = "delta.identity.highWaterMark"
IDENTITY_ALLOW_EXPLICIT_INSERT = "delta.identity.allowExplicitInsert"
COLLATIONS = "__COLLATIONS"

T = TypeVar("T")


def comment(field: StructField) -> str | None:
    return _typed(field, COMMENT, str)


def generation_expression(field: StructField) -> str | None:
    """The SQL expression of a generated column."""
    return _typed(field, GENERATION_EXPRESSION, str)


def current_default(field: StructField) -> str | None:
    """The SQL expression for rows that give the column no value."""
    return _typed(field, CURRENT_DEFAULT, str)


def exists_default(field: StructField) -> str | None:
    """Spark's value for rows older than the column; the protocol does not use it."""
    return _typed(field, EXISTS_DEFAULT, str)


def invariant(field: StructField) -> str | None:
    """The SQL condition that every value written to the column must meet."""
    text = _typed(field, INVARIANTS, str)
    if text is None:
        return None
    try:
        sql = orjson.loads(text)["expression"]["expression"]
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise _broken(field, INVARIANTS, "an expression in JSON") from error
    if not isinstance(sql, str):
        raise _broken(field, INVARIANTS, "an expression in JSON")
    return sql


def invariants(schema: StructType) -> dict[Path, str]:
    """The conditions of all columns by field path, nested ones too."""
    found = ((path, invariant(field)) for path, field in walk(schema))
    return {path: sql for path, sql in found if sql is not None}


def with_invariant(field: StructField, sql: str) -> StructField:
    text = orjson.dumps({"expression": {"expression": sql}}).decode()
    return field.with_metadata({INVARIANTS: text})


def is_filled_by_writer(field: StructField) -> bool:
    """Whether data may lack the column because the writer makes its values."""
    keys = (GENERATION_EXPRESSION, CURRENT_DEFAULT, IDENTITY_START, IDENTITY_STEP)
    return any(key in field.metadata for key in keys)


# --- identity columns --------------------------------------------------------------------------


@dataclass(frozen=True)
class Identity:
    """The values `start + k * step` that a writer gives out for a column."""

    start: int
    step: int
    high_water_mark: int | None = None
    allow_explicit_insert: bool = False

    def take(self, count: int) -> range:
        """The next `count` values; the last of them is the new high-water mark."""
        mark = self.high_water_mark
        first = self.start if mark is None else self._aligned(mark + self.step)
        values = range(first, first + count * self.step, self.step)
        if count and not all(-(2**63) <= value < 2**63 for value in (values[0], values[-1])):
            raise ConstraintViolationError(
                f"the identity column has no {count} values left after {mark}"
            )
        return values

    def advanced_to(self, value: int) -> Identity:
        """The column after `value` was written; lower values never take the mark back."""
        direction = 1 if self.step > 0 else -1
        if (value - self.start) * direction < 0:
            return self
        mark, aligned = self.high_water_mark, self._aligned(value)
        if mark is not None and (aligned - mark) * direction <= 0:
            return self
        return replace(self, high_water_mark=aligned)

    def _aligned(self, value: int) -> int:
        """The first value of the column that is not before `value`."""
        steps = -((self.start - value) // self.step)
        return self.start + max(0, steps) * self.step


def identity(field: StructField) -> Identity | None:
    start, step = _typed(field, IDENTITY_START, int), _typed(field, IDENTITY_STEP, int)
    if start is None and step is None:
        return None
    if start is None or not step:
        raise _broken(field, IDENTITY_STEP, "a start, and a step that is not 0")
    return Identity(
        start=start,
        step=step,
        high_water_mark=_typed(field, IDENTITY_HIGH_WATER_MARK, int),
        allow_explicit_insert=_typed(field, IDENTITY_ALLOW_EXPLICIT_INSERT, bool) or False,
    )


def with_identity(field: StructField, column: Identity) -> StructField:
    return field.with_metadata(
        {
            IDENTITY_START: column.start,
            IDENTITY_STEP: column.step,
            IDENTITY_HIGH_WATER_MARK: column.high_water_mark,
            IDENTITY_ALLOW_EXPLICIT_INSERT: column.allow_explicit_insert,
        }
    )


# --- strings with limits and collations --------------------------------------------------------


@dataclass(frozen=True)
class LengthLimit:
    """`char(n)` is padded to its length, `varchar(n)` is not; neither may be longer."""

    padded: bool
    length: int

    def __str__(self) -> str:
        return f"{'char' if self.padded else 'varchar'}({self.length})"


def char_varchar(field: StructField) -> str | None:
    """The type as it was declared, if `char` or `varchar` is part of it."""
    return _typed(field, CHAR_VARCHAR, str)


def length_limits(field: StructField) -> dict[Path, LengthLimit]:
    """The limits inside a column by field path below it; a plain string has the path `()`."""
    declared = char_varchar(field)
    return {} if declared is None else dict(_limits(parse_sql_type(declared), ()))


def collations(field: StructField) -> Mapping[str, str]:
    """`provider.name` by dotted path, which starts with the column's name."""
    found = _typed(field, COLLATIONS, dict) or {}
    if not all(isinstance(value, str) for value in found.values()):
        raise _broken(field, COLLATIONS, "a map of strings")
    return found


def _limits(data_type: DataType, path: Path) -> Iterator[tuple[Path, LengthLimit]]:
    if isinstance(data_type, PrimitiveType) and data_type.name.startswith(("char", "varchar")):
        kind, _, length = data_type.name.rstrip(")").partition("(")
        yield path, LengthLimit(kind == "char", int(length))
    elif isinstance(data_type, ArrayType):
        yield from _limits(data_type.element_type, (*path, "element"))
    elif isinstance(data_type, MapType):
        yield from _limits(data_type.key_type, (*path, "key"))
        yield from _limits(data_type.value_type, (*path, "value"))
    elif isinstance(data_type, StructType):
        for each in data_type.fields:
            yield from _limits(each.data_type, (*path, each.name))


def _typed(field: StructField, key: str, kind: type[T]) -> T | None:
    value: Any = field.metadata.get(key)
    # A bool is an int to Python.
    fits = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    if value is None or fits:
        return value  # type: ignore[no-any-return]
    raise _broken(field, key, _KINDS[kind])


_KINDS: Mapping[type, str] = {
    str: "text",
    int: "a whole number",
    bool: "true or false",
    dict: "an object",
}


def _broken(field: StructField, key: str, wanted: str) -> SchemaError:
    value = field.metadata.get(key)
    return SchemaError(f"column {field.name!r}: {key} must be {wanted}, not {value!r}")
