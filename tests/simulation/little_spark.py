"""A Spark of a few lines, so that DELETE, UPDATE, MERGE and OPTIMIZE run Lakebed's own code.

Only what touches rows is a substitute: frames are lists of tuples, computed whenever they are asked
for, as Spark's are. Files are read and written by Lakebed's Arrow plane. To Lakebed all of it looks
like Spark Connect, where it never asks for plans of a JVM.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import little_columns
import pyarrow as pa
from little_columns import Aggregate, Column, Name, Numbers, Values, col

from lakebed.arrow.scan import plan_scan, read_batches
from lakebed.arrow.write.write import write_files
from lakebed.data_files.file_layout import FileLayout
from lakebed.formats.arrow_types import to_arrow_schema
from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.log.snapshot import Snapshot
from lakebed.spark.plane.plane import FileSettings, TrackedRows
from lakebed.spark.plane.position_bitmaps import FILE, POSITION, Positions
from lakebed.spec.actions import Add
from lakebed.spec.schema import StructField, StructType, schema_to_json
from lakebed.storage.store import Store

Rows = Callable[[], list[Values]]


class Conf:
    def __init__(self, values: Mapping[str, str]) -> None:
        self.getAll = {"spark.sql.session.timeZone": "UTC", **values}

    def get(self, key: str, default: str | None = None) -> str | None:
        return self.getAll.get(key, {_BROADCAST: "10MB"}.get(key, default))


class Session:
    def __init__(self, settings: Mapping[str, str]) -> None:
        self.conf = Conf(settings)
        self.sparkContext = self
        self.defaultParallelism = 2

    def frame(self, table: pa.Table, schema: StructType) -> Frame:
        names = [Name(each.name, each.data_type) for each in schema.fields]
        return Frame(self, names, lambda: tuples(table))


@dataclass(frozen=True)
class Schema:
    names: list[str]
    table: StructType

    def json(self) -> str:
        return schema_to_json(self.table)


class Frame:
    """Rows that are computed again each time, unless they are stored."""

    def __init__(self, session: Session, names: Sequence[Name], rows: Rows) -> None:
        self.sparkSession = session
        self.fields = list(names)
        self.rows = rows

    @property
    def schema(self) -> Schema:
        fields = tuple(StructField(each.name, each.data_type) for each in self.fields)
        return Schema([each.name for each in fields], StructType(fields))

    @property
    def columns(self) -> list[str]:
        return [each.name for each in self.fields]

    def select(self, *given: Any) -> Frame:
        columns: list[Column] = []
        for each in given:
            if each == "*" and isinstance(each, str):
                columns += [self._own(place) for place in range(len(self.fields))]
            else:
                columns.append(col(each) if isinstance(each, str) else each)
        bound = [(column, *column.bind(self.fields)) for column in columns]
        names = [Name(column.name, kind) for column, kind, _ in bound]

        def rows() -> list[Values]:
            return [
                tuple(n if isinstance(c, Numbers) else find(row) for c, _, find in bound)
                for n, row in enumerate(self.rows())
            ]

        return Frame(self.sparkSession, names, rows)

    def where(self, condition: Column) -> Frame:
        _, holds = condition.bind(self.fields)
        return self._with(lambda: [row for row in self.rows() if holds(row) is True])

    def withColumns(self, columns: Mapping[str, Column]) -> Frame:
        known = self.schema.names
        own = [
            columns[name].alias(name) if name in columns else self._own(place)
            for place, name in enumerate(known)
        ]
        new = [value.alias(name) for name, value in columns.items() if name not in known]
        frame = self.select(*own, *new)
        for place, each in enumerate(self.fields):
            frame.fields[place] = replace(frame.fields[place], of=each.of)
        return frame

    def withColumn(self, name: str, value: Column) -> Frame:
        return self.withColumns({name: value})

    def withColumnsRenamed(self, names: Mapping[str, str]) -> Frame:
        frame = self._with(self.rows)
        frame.fields = [replace(e, name=names.get(e.name, e.name)) for e in self.fields]
        return frame

    def alias(self, name: str) -> Frame:
        frame = self._with(self.rows)
        frame.fields = [replace(each, of=name) for each in self.fields]
        return frame

    def join(self, other: Frame, on: Column, how: str) -> Frame:
        names = [*self.fields, *other.fields]
        _, holds = on.bind(names)

        def rows() -> list[Values]:
            right, found = other.rows(), []
            for row in self.rows():
                matches = [row + each for each in right if holds(row + each) is True]
                if how == "left_anti":
                    found += [] if matches else [row]
                elif how == "left":
                    found += matches or [row + (None,) * len(other.fields)]
                else:
                    found += matches
            return found

        return Frame(self.sparkSession, self.fields if how == "left_anti" else names, rows)

    def union(self, other: Frame) -> Frame:
        return self.unionAll(other)

    def unionAll(self, other: Frame) -> Frame:
        assert len(self.fields) == len(other.fields)
        return self._with(lambda: [*self.rows(), *other.rows()])

    def unionByName(self, other: Frame) -> Frame:
        return self.unionAll(other.select(*[each.name for each in self.fields]))

    def dropDuplicates(self, names: Sequence[str]) -> Frame:
        places = [self.schema.names.index(name) for name in names]
        return self._with(
            lambda: list({tuple(row[p] for p in places): row for row in self.rows()}.values())
        )

    def distinct(self) -> Frame:
        return self._with(lambda: list(dict.fromkeys(self.rows())))

    def limit(self, most: int) -> Frame:
        return self._with(lambda: self.rows()[:most])

    def coalesce(self, _: int) -> Frame:
        return self

    def repartition(self, *_: Any) -> Frame:
        return self

    def localCheckpoint(self) -> Frame:
        stored = self.rows()
        return self._with(lambda: stored)

    def agg(self, *columns: Aggregate) -> Frame:
        bound = [(each, *each.bind(self.fields)) for each in columns]
        names = [Name(each.name, kind) for each, kind, _ in bound]

        def rows() -> list[Values]:
            found = self.rows()
            return [tuple(each.work([find(r) for r in found]) for each, _, find in bound)]

        return Frame(self.sparkSession, names, rows)

    def isEmpty(self) -> bool:
        return not self.rows()

    def toArrow(self) -> pa.Table:
        schema = to_arrow_schema(self.schema.table)
        columns = list(zip(*self.rows(), strict=True)) or [()] * len(schema)
        arrays = [pa.array(v, f.type) for v, f in zip(columns, schema, strict=True)]
        return pa.Table.from_arrays(arrays, schema=schema)

    def _own(self, place: int) -> Column:
        each = self.fields[place]
        return Column(lambda _: (each.data_type, lambda row: row[place]), each.name)

    def _with(self, rows: Rows) -> Frame:
        return Frame(self.sparkSession, self.fields, rows)


@dataclass(frozen=True)
class LittlePlane:
    """Lakebed's Arrow plane in the place of Spark's scan and writer."""

    session: Session
    store: Store
    tracks: bool = True
    """Whether it can track positions while rows are written, as Spark's own plane can."""

    def scan(
        self, snapshot: Snapshot, _: Mapping[str, str], *, only: Sequence[str] | None = None
    ) -> Frame:
        plan = plan_scan(snapshot)
        if only is not None:
            chosen = [path in set(only) for path in plan.files.column("path").to_pylist()]
            plan = replace(plan, files=plan.files.filter(pa.array(chosen, pa.bool_())))
        return self._frame(plan, snapshot.schema)

    def scan_synthetic(self, snapshot: Snapshot, *, positions: bool = False) -> Frame:
        plan = plan_scan(snapshot, position=POSITION if positions else None)
        return self._frame(plan, plan.output)

    def _frame(self, plan: Any, schema: StructType) -> Frame:
        names = [Name(each.name, each.data_type) for each in schema.fields]

        def rows() -> list[Values]:
            return [row for batch in read_batches(plan) for row in tuples(batch)]

        return Frame(self.session, names, rows)

    def write_files(self, frame: Frame, layout: FileLayout, settings: FileSettings) -> list[Add]:
        found = frame.toArrow()
        return write_files(self.store, layout, found, folder=settings.folder)

    def find_positions(self, frame: Frame, sums: Mapping[str, Column]) -> Positions:
        rows = frame.rows()
        found = _positions(frame, rows)
        totals = {}
        for name, column in sums.items():
            value = column.bind(frame.fields)[1]
            totals[name] = sum(value(row) is True for row in rows)
        return Positions(found, len(rows), totals)

    def track_positions(self, frame: Frame) -> TrackedRows | None:
        if not self.tracks:
            return None
        tracked: list[Values] = []

        def rows() -> list[Values]:
            tracked[:] = frame.rows()
            return list(tracked)

        shown = Frame(self.session, frame.fields, rows)
        return TrackedRows(
            shown,
            lambda: Positions(_positions(frame, tracked), len(tracked), {}),  # type: ignore[arg-type]
        )

    def recache(self) -> None:
        pass


def _positions(frame: Frame, rows: Sequence[Values]) -> dict[int, RowIndexSet]:
    file, row = (frame.schema.names.index(name) for name in (FILE, POSITION))
    found: dict[int, Counter[int]] = {}
    for each in rows:
        found.setdefault(each[file], Counter())[each[row]] += 1
    return {number: RowIndexSet.from_indexes(sorted(at)) for number, at in found.items()}


def tuples(table: pa.Table | pa.RecordBatch) -> list[Values]:
    return list(zip(*[column.to_pylist() for column in table.columns], strict=True))


_BROADCAST = "spark.sql.autoBroadcastJoinThreshold"
functions = little_columns
for _class in (Session, Frame):
    _class.__module__ = "pyspark.sql.connect.simulated"
