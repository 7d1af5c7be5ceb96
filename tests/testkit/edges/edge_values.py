"""Columns of every type with values at the edges of what readers get right, and filters on them.

Each column tells a story of its own, so that its statistics are those of the edge alone: a column
with NaN has no other large value. All columns are in one table, which has few rows.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

NAN, INF = math.nan, math.inf
UTC = dt.timezone.utc
ROWS = 4


@dataclass(frozen=True)
class Edge:
    """A column, with one value for each row. `probes` are compared with it besides its values."""

    name: str
    kind: pa.DataType
    values: tuple[Any, ...]
    probes: tuple[Any, ...] = ()

    @property
    def sql_type(self) -> str:
        """As Spark, DuckDB and DataFusion all call it."""
        if pa.types.is_decimal(self.kind):
            return f"DECIMAL({self.kind.precision},{self.kind.scale})"
        return _SQL_TYPES[self.kind]


_SQL_TYPES = {
    pa.float64(): "DOUBLE",
    pa.float32(): "FLOAT",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.bool_(): "BOOLEAN",
    pa.string(): "STRING",
    pa.binary(): "BINARY",
    pa.date32(): "DATE",
    pa.timestamp("us", tz="UTC"): "TIMESTAMP",
    pa.timestamp("us"): "TIMESTAMP_NTZ",
}


def at(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text).replace(tzinfo=UTC)


def _floats(name: str, kind: pa.DataType) -> Iterator[Edge]:
    stories = {
        "nan": (1.0, NAN, None, 2.0),
        "only_nan": (NAN, NAN, NAN, NAN),
        "nan_infinite": (-INF, NAN, INF, None),
        "minus_zero": (-0.0, -0.0, -1.0, None),
        "plus_zero": (0.0, 0.0, 1.0, None),
        "infinite": (1.0, INF, None, 0.5),
        "minus_infinite": (1.0, -INF, None, 0.5),
        "null": (None, None, None, None),
        "plain": (1.5, 2.5, 3.5, None),
    }
    for story, values in stories.items():
        yield Edge(f"{name}_{story}", kind, values, (100.0, 0.0, NAN))


def _integers(name: str, kind: pa.DataType) -> Edge:
    top = 2 ** (kind.bit_width - 1)
    return Edge(name, kind, (-top, top - 1, None, 0), (1,))


def _strings() -> Iterator[Edge]:
    last, emoji = "\U0010ffff", "\U0001f600"
    stories = {
        "empty": ("", "a", None, ""),
        "long": ("a" * 5000, "b" * 5000, None, "a" * 4999),
        "ties": ("x" * 32 + "a", "x" * 32 + "z", None, "x" * 32),
        "last": (last * 40, "b", None, "a"),
        "very_last": (last * 70, "b", None, "a"),
        "emoji": (emoji * 40, "\uffff" * 40, None, "\x7f" * 40),
        "null": (None, None, None, None),
    }
    for story, values in stories.items():
        yield Edge(f"text_{story}", pa.string(), values, ("x" * 33, "b"))


def _times(name: str, kind: pa.DataType, fit: Callable[[dt.datetime], Any]) -> Iterator[Edge]:
    stories = {
        "old": ("1850-06-01T12:00:00.123456", "1899-12-31T23:59:59.999999", "1890-01-01T00:00:00"),
        "first": ("0001-01-01T00:00:00", "1582-10-04T00:00:00.000001", "1582-10-15T00:00:00"),
        "far": ("2262-04-12T00:00:00.000001", "2300-01-01T00:00:00.654321", "2400-02-29T01:02:03"),
        "last": ("9999-12-31T23:59:59.999999", "9000-01-01T00:00:00", "5000-01-01T00:00:00.1"),
        "micros": ("2024-01-31T10:00:00.123001", "2024-01-31T10:00:00.123999", "2024-01-01"),
    }
    for story, texts in stories.items():
        yield Edge(f"{name}_{story}", kind, (*(fit(at(text)) for text in texts), None))


def _dates() -> Iterator[Edge]:
    days = (dt.date(1, 1, 1), dt.date(1582, 10, 4), None, dt.date(1900, 1, 1))
    yield Edge("day_old", pa.date32(), days)
    yield Edge(
        "day_far", pa.date32(), (dt.date(9999, 12, 31), dt.date(2262, 4, 12), None, dt.date.max)
    )


def _decimals() -> Iterator[Edge]:
    for precision in range(1, 39):
        scale = (0, precision // 2, precision)[precision % 3]
        top = Decimal((0, (9,) * precision, -scale))
        one = Decimal((0, (1,), -scale))
        kind = pa.decimal128(precision, scale)
        yield Edge(f"decimal_{precision}", kind, (top, top.copy_negate(), None, one))


def _edges() -> Iterator[Edge]:
    yield from _floats("double", pa.float64())
    yield from _floats("float", pa.float32())
    for name, kind in {"byte": 8, "short": 16, "int": 32, "long": 64}.items():
        yield _integers(name, getattr(pa, f"int{kind}")())
    yield Edge("flag", pa.bool_(), (True, False, None, True))
    yield Edge("raw", pa.binary(), (b"", b"\xff" * 40, None, b"\x00"), (b"\xfe",))
    yield from _strings()
    yield from _dates()
    yield from _times("at", pa.timestamp("us", tz="UTC"), lambda value: value)
    yield from _times("local", pa.timestamp("us"), lambda value: value.replace(tzinfo=None))
    yield from _decimals()


EDGES = tuple(_edges())
# Polars fails on tables with binary fields in structs: it wants bounds of them in the log.
NESTED = tuple(
    edge
    for edge in EDGES
    if edge.kind != pa.binary()
    and (not pa.types.is_decimal(edge.kind) or edge.kind.precision in (9, 38))
)
"""The same columns once more as fields of the struct `s`."""


def edge_table() -> pa.Table:
    """`id`, the columns, the struct `s`, and arrays and maps with NaN inside."""
    columns: dict[str, pa.Array] = {"id": pa.array(range(ROWS), pa.int64())}
    columns |= {edge.name: pa.array(edge.values, edge.kind) for edge in EDGES}
    inner = [columns[edge.name] for edge in NESTED]
    columns["s"] = pa.StructArray.from_arrays(inner, [edge.name for edge in NESTED])
    columns["items"] = pa.array([[1.0, NAN], [], None, [-0.0, None]], pa.list_(pa.float64()))
    entries = [[("a", NAN)], [], None, [("b", 1.0), ("c", None)]]
    columns["by_name"] = pa.array(entries, pa.map_(pa.string(), pa.float32()))
    return pa.table(columns)


# --- filters -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Filter:
    """A comparison of a column with values, negated or not; `IS NULL` has none."""

    edge: Edge
    operator: str
    values: tuple[Any, ...] = ()
    negated: bool = False
    nested: bool = False

    @property
    def path(self) -> tuple[str, ...]:
        return ("s", self.edge.name) if self.nested else (self.edge.name,)

    def holds(self, value: Any) -> bool:
        """Whether it keeps a row, as Spark decides: NaN is equal to NaN and greater than all."""
        truth = self._truth(value)
        return truth is not None and truth is not self.negated

    def _truth(self, value: Any) -> bool | None:
        if self.operator == "IS NULL":
            return value is None
        if self.operator == "<=>" and value is None:
            return False
        if value is None:
            return None
        own, others = _key(value), [_key(each) for each in self.values]
        if self.operator in ("IN", "=", "<=>"):
            return own in others
        return _ORDERS[self.operator](own, others[0])

    def __str__(self) -> str:
        shown = ", ".join(repr(value)[:40] for value in self.values)
        plain = f"{'.'.join(self.path)} {self.operator} {shown}"
        return f"NOT ({plain})" if self.negated else plain


def _key(value: Any) -> Any:
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value


_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda left, right: left < right,
    "<=": lambda left, right: left <= right,
    ">": lambda left, right: left > right,
    ">=": lambda left, right: left >= right,
}


def filters() -> list[Filter]:
    """Every operator with every value of every column, at the top and inside the struct."""
    top = [each for edge in EDGES for each in _filters_on(edge, nested=False)]
    return top + [each for edge in NESTED for each in _filters_on(edge, nested=True)]


def _filters_on(edge: Edge, *, nested: bool) -> Iterator[Filter]:
    for negated in (False, True):
        yield Filter(edge, "IS NULL", negated=negated, nested=nested)
    probes = _distinct([value for value in (*edge.values, *edge.probes) if value is not None])
    operators = ("=", "<=>") if edge.kind == pa.bool_() else ("=", "<=>", "<", "<=", ">", ">=")
    for value in probes:
        for operator in operators:
            for negated in (False, True):
                yield Filter(edge, operator, (value,), negated, nested)
    for negated in (False, True):
        if len(probes) > 1:
            yield Filter(edge, "IN", tuple(probes), negated, nested)


def _distinct(values: list[Any]) -> list[Any]:
    """Both zeros stay, and one NaN."""
    return list({repr(value): value for value in values}.values())


Ids = list[set[int]]
"""For each of some filters, the ids of the rows that it keeps."""


def kept_by_hand(rows: pa.Table, filters: Sequence[Filter]) -> Ids:
    """As Spark compares values."""
    ids = rows.column("id").to_pylist()
    columns = {name: rows.column(name).to_pylist() for name in rows.column_names}

    def value(wanted: Filter, row: int) -> Any:
        found = columns[wanted.path[0]][row]
        for step in wanted.path[1:]:
            found = None if found is None else found[step]
        return found

    return [
        {ids[row] for row in range(len(ids)) if each.holds(value(each, row))} for each in filters
    ]
