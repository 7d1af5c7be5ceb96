"""Columns that were taken from DataFrames: `table.toDF()["id"]`, `source.id`.

Such a Column names a column of one DataFrame, wherever it is used. A change reads the table with
scans of its own, which are other DataFrames to Spark; so these Columns are translated to names. A
Column that both sides of a MERGE could mean is refused, never guessed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.sql import Column, DataFrame

from lakebed.errors import InvalidArgumentError, SchemaError
from lakebed.spark.internals.column_reference import Reference
from lakebed.spark.session.session_kind import is_connect
from lakebed.spec.columns.column_mapping import physical_name
from lakebed.spec.schema import ArrayType, DataType, StructField, StructType


class TableFrames:
    """The DataFrames that a table gave out. Only numbers and names are kept of them."""

    def __init__(self) -> None:
        self._frames: dict[int, StructType] = {}
        self._outputs: list[tuple[Any, Any, StructType]] = []
        self._known: dict[int, str] = {}

    def add(self, frame: DataFrame, schema: StructType) -> None:
        """`schema` is that of the table when the DataFrame was created."""
        internals = _internals(frame)
        self._frames[internals.frame_number(frame)] = schema
        self._outputs.append((internals, internals.output(frame), schema))

    def gave(self, frame: int | None) -> bool:
        return frame in self._frames

    def knows(self, found: Reference) -> bool:
        return self.gave(found.frame) if found.column is None else found.column in self._columns

    @property
    def _columns(self) -> dict[int, str]:
        """The columns by their numbers, fetched from Spark when first needed."""
        while self._outputs:
            internals, output, schema = self._outputs.pop()
            for number, name in internals.output_columns(output):
                self._known[number] = physical_name(schema.field(name))
        return self._known

    def field(self, found: Reference, schema: StructType) -> tuple[StructField, tuple[str, ...]]:
        """The column as the table has it now, and the path inside of it."""
        inside: tuple[str, ...] = ()
        if found.column is not None:
            name = self._columns[found.column]
        else:
            assert found.frame is not None
            before = self._frames[found.frame]
            place, inside = _split(found.path, before)
            name = physical_name(before.fields[place])
        for field in schema.fields:
            if physical_name(field) == name:
                return field, inside
        raise SchemaError(
            f"the table has no column {found.path[-1]!r} any more",
            hint="the DataFrame that it was taken from is of an older version",
        )


@dataclass(frozen=True)
class SourceFrame:
    """The source of a MERGE, as the user holds it."""

    frame: DataFrame
    schema: StructType

    @cached_property
    def number(self) -> int:
        return int(_internals(self.frame).frame_number(self.frame))

    def has(self, found: Reference) -> bool:
        """Whether the DataFrame of a column is this one, or one that it is derived from."""
        if found.column is not None:
            return found.column in self._columns
        return found.frame in self._inputs

    def find(self, found: Reference) -> tuple[int, tuple[str, ...]] | None:
        """The place of the column, and the path inside of it."""
        if found.column is not None:
            place = self._columns.get(found.column)
            return None if place is None else (place, ())
        return _split(found.path, self.schema) if found.frame in self._alike else None

    @cached_property
    def _columns(self) -> dict[int, int]:
        internals = _internals(self.frame)
        found = internals.output_columns(internals.output(self.frame))
        return {number: place for place, (number, _) in enumerate(found)}

    @cached_property
    def _alike(self) -> set[int]:
        """In other DataFrames that this one is derived from, its names may mean something else."""
        found: set[int] = _internals(self.frame).frames_alike(self.frame)
        return found

    @cached_property
    def _inputs(self) -> set[int]:
        found: set[int] = _internals(self.frame).input_frames(self.frame)
        return found


@dataclass(frozen=True)
class BoundColumns:
    """How Columns are translated in one command.

    `target` and `source` give the names by which the frames of the command have the columns; None
    where an expression cannot use that side.
    """

    session: Any
    frames: TableFrames
    schema: StructType
    target: Callable[[StructField], Column] | None
    of: SourceFrame | None = None
    source: Callable[[int], Column] | None = None

    def translated(self, column: Column) -> Column:
        """The column without references to DataFrames; the same object if it had none."""
        return _internals(self.session).rewritten(self.session, column, self.translate)

    def translate(self, found: Reference) -> Column:
        """The column that replaces one reference."""
        is_ours = self.frames.knows(found)
        if self.of is not None:
            if is_ours and self.of.has(found) and not self._is_of_source_alone(found):
                raise _ambiguous(found)
            place = self.of.find(found)
            if place is not None:
                return self._of_source(found, *place)
        if is_ours:
            return self._of_target(found)
        raise _unknown(found, self.of is not None)

    def _is_of_source_alone(self, found: Reference) -> bool:
        assert self.of is not None
        return found.frame == self.of.number and not self.frames.gave(found.frame)

    def _of_source(self, found: Reference, place: int, inside: tuple[str, ...]) -> Column:
        if self.source is None:
            raise _out_of_sight(found, "source")
        return _inner(self.source(place), inside)

    def _of_target(self, found: Reference) -> Column:
        if self.target is None:
            raise _out_of_sight(found, "table")
        field, inside = self.frames.field(found, self.schema)
        return _inner(self.target(field), inside)


def _inner(column: Column, path: tuple[str, ...]) -> Column:
    for name in path:
        column = column.getField(name)
    return column


def _split(path: tuple[str, ...], schema: StructType) -> tuple[int, tuple[str, ...]]:
    """The place of the column that a path begins with, maybe behind an alias."""
    first, second = _place(path[:1], schema), _place(path[1:2], schema)
    is_inside = first is not None and _has_part(schema.fields[first].data_type, path[1:2])
    if is_inside and second is not None:
        raise InvalidArgumentError(
            f"in {'.'.join(path)!r}, {path[0]!r} may be a column or the alias of a DataFrame",
            hint=f'take the field from its column: df["{path[0]}"]["{path[1]}"]',
        )
    if first is not None and (is_inside or len(path) == 1 or second is None):
        return first, path[1:]
    if second is not None:
        return second, path[2:]
    raise SchemaError(f"there is no column {'.'.join(path)!r}", hint=f"there are {schema.names}")


def _place(path: tuple[str, ...], schema: StructType) -> int | None:
    names = [name.lower() for name in schema.names]
    return names.index(path[0].lower()) if path and path[0].lower() in names else None


def _has_part(data_type: DataType, path: tuple[str, ...]) -> bool:
    inner = data_type.element_type if isinstance(data_type, ArrayType) else data_type
    return bool(path) and isinstance(inner, StructType) and inner.find(path[0]) is not None


def _ambiguous(found: Reference) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"the column {found.path[-1]!r} is of a DataFrame that the source of the MERGE is made of "
        "and that stands for the table, too: nobody can tell which of the two it means",
        hint=_HINT,
    )


def _unknown(found: Reference, has_source: bool) -> InvalidArgumentError:
    known = "of toDF() of this table" + (" or of the source" if has_source else "")
    return InvalidArgumentError(
        f"the column {found.path[-1]!r} was taken from another DataFrame: it is not {known}",
        hint=_HINT,
    )


def _out_of_sight(found: Reference, side: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"the column {found.path[-1]!r} is of the {side}, of which this clause of the MERGE has "
        "no row",
        hint="a clause for rows that do not match knows one side alone",
    )


def _internals(value: object) -> Any:
    """Late, because a Connect client has no py4j and a classic one maybe no gRPC."""
    if is_connect(value):
        from lakebed.spark.internals.connect import connect_columns

        return connect_columns
    from lakebed.spark.internals import classic_columns as columns

    return columns


_HINT = 'give the sides aliases and use names: table.alias("t") and col("t.id") or "t.id = s.id"'
