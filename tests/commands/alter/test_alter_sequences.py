"""Random sequences of schema changes and writes, against a model in plain Python.

The model knows columns by numbers of its own, whatever their names: after each step, what other
readers find under a name must be what was written to that very column.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import lakebed
from lakebed.errors import SchemaError
from testkit.readers.other_readers import by_deltalake, by_duckdb

NAMES = ("a", "b", "c", "d", "B")
TYPES = ("int", "bigint", "string", "double")
VALUES = {"int": 7, "bigint": 2**40, "string": "text", "double": 0.5}
WIDER = {"int": ("bigint", "double")}
ARROW = {"int": pa.int32(), "bigint": pa.int64(), "string": pa.string(), "double": pa.float64()}


@dataclass
class Model:
    """`columns` are (number, name, type) in order; a row has values by number."""

    columns: list[tuple[int, str, str]] = field(default_factory=list)
    rows: list[dict[int, Any]] = field(default_factory=list)
    next: int = 0

    def find(self, name: str) -> int | None:
        """The place of a column, by a name in any case."""
        folded = [each[1].lower() for each in self.columns]
        return folded.index(name.lower()) if name.lower() in folded else None

    def add(self, name: str, kind: str, place: int) -> None:
        self.columns.insert(place, (self.next, name, kind))
        self.next += 1

    def seen(self) -> list[dict[str, Any]]:
        return [{name: row.get(number) for number, name, _ in self.columns} for row in self.rows]


class Step:
    """One change, made to a table and to the model."""

    def __init__(self, table: lakebed.Table, model: Model) -> None:
        self.table, self.model = table, model

    def add(self, name: str, kind: str, other: str) -> lakebed.Table:
        if self.model.find(name) is not None:
            return self.refused(lambda: self.table.add_columns({name: kind}))
        place = self.model.find(other)
        if place is None:
            self.model.add(name, kind, 0)
            return self.table.add_columns({name: kind}, first=True)
        self.model.add(name, kind, place + 1)
        return self.table.add_columns({name: kind}, after=other)

    def rename(self, name: str, other: str) -> lakebed.Table:
        place, taken = self.model.find(name), self.model.find(other)
        if place is None or taken not in (None, place):
            return self.refused(lambda: self.table.rename_column(name, other))
        number, _, kind = self.model.columns[place]
        self.model.columns[place] = (number, other, kind)
        return self.table.rename_column(name, other)

    def drop(self, name: str) -> lakebed.Table:
        place = self.model.find(name)
        if place is None or len(self.model.columns) == 1:
            return self.refused(lambda: self.table.drop_columns(name))
        del self.model.columns[place]
        return self.table.drop_columns(name)

    def move(self, name: str, other: str) -> lakebed.Table:
        place, after = self.model.find(name), self.model.find(other)
        if place is None or after is None or place == after:
            return self.table
        column = self.model.columns.pop(place)
        self.model.columns.insert(self.model.find(other) + 1, column)  # type: ignore[operator]
        return self.table.alter_column(name, after=other)

    def widen(self, name: str, kind: str) -> lakebed.Table:
        place = self.model.find(name)
        if place is None:
            return self.refused(lambda: self.table.alter_column(name, type=kind))
        number, spelled, old = self.model.columns[place]
        if kind != old and kind not in WIDER.get(old, ()):
            return self.refused(lambda: self.table.alter_column(name, type=kind))
        self.model.columns[place] = (number, spelled, kind)
        if kind != old:
            for row in self.model.rows:
                if row.get(number) is not None and kind == "double":
                    row[number] = float(row[number])
        return self.table.alter_column(name, type=kind)

    def write(self) -> lakebed.Table:
        row = {number: VALUES[kind] for number, _, kind in self.model.columns}
        self.model.rows.append(row)
        data = {name: pa.array([VALUES[kind]], ARROW[kind]) for _, name, kind in self.model.columns}
        return self.table.write(pa.table(data))

    def refused(self, change: Any) -> lakebed.Table:
        try:
            change()
        except SchemaError:
            assert self.table.refresh().version == self.table.version
            return self.table
        raise AssertionError("a change that cannot be was made")


name = st.sampled_from(NAMES)
kind = st.sampled_from(TYPES)
steps = st.one_of(
    st.tuples(st.just("add"), name, kind, name),
    st.tuples(st.just("rename"), name, name),
    st.tuples(st.just("drop"), name),
    st.tuples(st.just("move"), name, name),
    st.tuples(st.just("widen"), name, kind),
    st.tuples(st.just("write")),
    st.tuples(st.just("write")),
)


@given(st.lists(steps, max_size=12), st.booleans())
@settings(max_examples=60)
def test_columns_keep_their_values_through_any_changes(
    changes: list[tuple[str, ...]], widens: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t"
        properties = {"delta.columnMapping.mode": "name"}
        if widens:
            properties["delta.enableTypeWidening"] = "true"
        first = pa.table({"a": pa.array([1], pa.int32()), "b": ["x"]})
        table = lakebed.write(path, first, properties=properties)
        model = Model([(0, "a", "int"), (1, "b", "string")], [{0: 1, 1: "x"}], next=2)
        for action, *arguments in changes:
            if action == "widen" and not widens:
                continue
            table = getattr(Step(table, model), action)(*arguments)
            assert table.schema.names == tuple(column[1] for column in model.columns)
        _check(path, table, model, widens)


def _check(path: Path, table: lakebed.Table, model: Model, widens: bool) -> None:
    wanted = sorted(map(repr, model.seen()))
    # deltalake does not read tables with wider types.
    others = by_duckdb(path) if widens else by_deltalake(path)
    for rows in (table.to_arrow().to_pylist(), lakebed.open(path).to_arrow().to_pylist(), others):
        assert sorted(map(repr, rows)) == wanted
    for number, name, _ in model.columns:
        filled = sum(row.get(number) is not None for row in model.rows)
        where = f"`{name}` is not null"
        assert table.scan([name], where).to_arrow().num_rows == filled
