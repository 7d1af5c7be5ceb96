"""Converting columns of a DataFrame to the types of a table, at every depth.

Nothing that a value has is dropped on the way: a field that the table does not have is an error,
and whether one that only the table has may be null is for the caller to say. Strings of limited
length are as Spark stores them: `char(n)` padded, neither longer than n.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column

from lakebed.errors import SchemaMismatchError
from lakebed.spark.columns.projection import is_same_type, spark_type
from lakebed.spark.errors.rule_errors import rule_message
from lakebed.spark.write.store_casts import Cast, exact_cast
from lakebed.spec.columns.column_metadata import LengthLimit, length_limits
from lakebed.spec.schema import (
    ArrayType,
    DataType,
    MapType,
    Path,
    StructField,
    StructType,
    render_path,
)


@dataclass(frozen=True)
class TypeConversion:
    """Converts values to the type of a column, structs field by field and by name.

    `f` are Spark's functions.
    """

    f: Any
    cast: Cast = exact_cast
    """How values of other atomic types are converted."""
    fills: bool = True
    """Fields that only the table has are null; else they are an error."""

    def converted(
        self,
        value: Column,
        given: DataType,
        wanted: DataType,
        path: Path = (),
        current: Column | None = None,
    ) -> Column:
        """The value as the wanted type; `path` is where it goes.

        `current` is what the column has now: fields of structs that only the table has keep it.
        """
        f = self.f
        if is_same_type(given, wanted):
            return value
        if isinstance(given, StructType) and isinstance(wanted, StructType):
            return self._struct(value, given, wanted, path, current)
        if isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
            inner = (given.element_type, wanted.element_type, (*path, "element"))
            return f.transform(value, lambda element: self.converted(element, *inner))
        if isinstance(given, MapType) and isinstance(wanted, MapType):
            return self._map(value, given, wanted, path)
        return self.cast(value, given, wanted, path)

    def _struct(
        self,
        value: Column,
        given: StructType,
        wanted: StructType,
        path: Path,
        current: Column | None,
    ) -> Column:
        self._check(given, wanted, path)
        parts = [self._part(value, given, each, path, current) for each in wanted.fields]
        null = self.f.lit(None).cast(spark_type(wanted))
        is_there = value.isNotNull()
        if current is not None and _has_more(wanted, given):
            is_there = is_there | current.isNotNull()
        return self.f.when(is_there, self.f.struct(*parts)).otherwise(null)

    def _part(
        self,
        value: Column,
        given: StructType,
        wanted: StructField,
        path: Path,
        current: Column | None,
    ) -> Column:
        source = given.find(wanted.name)
        old = None if current is None else current.getField(wanted.name)
        if source is None:
            kept = self.f.lit(None).cast(spark_type(wanted.data_type)) if old is None else old
            return kept.alias(wanted.name)
        part, here = value.getField(source.name), (*path, wanted.name)
        converted = self.converted(part, source.data_type, wanted.data_type, here, old)
        return converted.alias(wanted.name)

    def _map(self, value: Column, given: MapType, wanted: MapType, path: Path) -> Column:
        f = self.f
        if not is_same_type(given.value_type, wanted.value_type):
            values = (given.value_type, wanted.value_type, (*path, "value"))
            value = f.transform_values(value, lambda _, each: self.converted(each, *values))
        if not is_same_type(given.key_type, wanted.key_type):
            keys = (given.key_type, wanted.key_type, (*path, "key"))
            value = f.transform_keys(value, lambda each, _: self.converted(each, *keys))
        return value

    def _check(self, given: StructType, wanted: StructType, path: Path) -> None:
        more = [name for name in given.names if name not in wanted]
        less = [] if self.fills else [name for name in wanted.names if name not in given]
        if not more and not less:
            return
        lines = [f"the table does not have its field {name!r}" for name in more]
        lines += [f"it does not have the field {name!r} of the table" for name in less]
        raise SchemaMismatchError(
            f"the value for {render_path(path)} does not fit: {'; '.join(lines)}",
            hint=f"give it the fields of the table: {', '.join(wanted.names)}",
            condition="DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION",
        )


def converted(f: Any, value: Column, given: DataType, wanted: DataType) -> Column:
    """The value as the table's type, where every value can be converted."""
    return TypeConversion(f).converted(value, given, wanted)


def limited(f: Any, value: Column, field: StructField) -> Column:
    """The value with every string of limited length in it as it is stored."""
    limits = length_limits(field)
    return _limited(f, value, field.data_type, (field.name,), (), limits) if limits else value


def _has_more(table: StructType, data: StructType) -> bool:
    """Whether the table has a field that the data does not have; not inside arrays and maps."""
    for field in table.fields:
        given = data.find(field.name)
        if given is None:
            return True
        one, other = field.data_type, given.data_type
        if isinstance(one, StructType) and isinstance(other, StructType) and _has_more(one, other):
            return True
    return False


def _limited(
    f: Any,
    value: Column,
    data_type: DataType,
    name: Path,
    path: Path,
    limits: Mapping[Path, LengthLimit],
) -> Column:
    if path in limits:
        return _text(f, value, limits[path], render_path((*name, *path)))
    if not any(known[: len(path)] == path for known in limits):
        return value

    def inside(part: Column, part_type: DataType, step: str) -> Column:
        return _limited(f, part, part_type, name, (*path, step), limits)

    if isinstance(data_type, StructType):
        parts = [
            inside(value.getField(each.name), each.data_type, each.name).alias(each.name)
            for each in data_type.fields
        ]
        null = f.lit(None).cast(spark_type(data_type))
        return f.when(value.isNotNull(), f.struct(*parts)).otherwise(null)
    if isinstance(data_type, ArrayType):
        return f.transform(value, lambda each: inside(each, data_type.element_type, "element"))
    if isinstance(data_type, MapType):
        kinds = (data_type.key_type, data_type.value_type)
        value = f.transform_values(value, lambda _, each: inside(each, kinds[1], "value"))
        return f.transform_keys(value, lambda each, _: inside(each, kinds[0], "key"))
    return value


def _text(f: Any, value: Column, limit: LengthLimit, name: str) -> Column:
    """Blanks beyond the limit are cut off; anything else makes the job fail."""
    head, tail = rule_message(f"limit of column {name}, {limit}")
    failed = f.raise_error(f.concat(f.lit(head), value, f.lit(tail))).cast("string")
    length = f.lit(limit.length)
    stored = f.rpad(value, limit.length, " ") if limit.padded else f.substring(value, 1, length)
    return f.when(f.length(f.rtrim(value)) > length, failed).otherwise(stored)
