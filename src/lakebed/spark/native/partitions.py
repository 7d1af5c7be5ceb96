"""Files grouped by their partition values, as Spark wants them (PROTOCOL: Partition Values).

Spark trusts a file index with filters on partition columns and does not apply them again. What is
returned for them must be exact for any expression, so Catalyst itself evaluates them, on one row
per group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.formats.file_actions import map_values
from lakebed.spark.columns.spark_types import stored_name, type_json, visible_schema
from lakebed.spark.internals.jvm import JavaObject, Jvm
from lakebed.spark.native.filters import Filter
from lakebed.spec.columns.column_mapping import physical_name
from lakebed.spec.partition_values import parse_column
from lakebed.spec.schema import StructField, StructType


@dataclass(frozen=True)
class FileGroups:
    """Files that share all their partition values. `order` are places of files, group by group."""

    order: pa.Int64Array
    lengths: pa.Int64Array

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def first(self) -> pa.Int64Array:
        """The first file of each group; the others have the same values."""
        return self.order.take(self._starts())

    def pick(self, groups: Sequence[int]) -> FileGroups:
        if len(groups) == len(self):
            return self
        chosen = pa.array(groups, pa.int64())
        lists = pa.ListArray.from_arrays(pc.cast(self._bounds(), pa.int32()), self.order).take(
            chosen
        )
        return FileGroups(lists.flatten(), self.lengths.take(chosen))

    def _bounds(self) -> pa.Int64Array:
        ends = pc.cumulative_sum(self.lengths)
        return pa.concat_arrays([pa.array([0], pa.int64()), ends])

    def _starts(self) -> pa.Int64Array:
        return self._bounds()[:-1]


class Partitioning:
    """The partition columns of all files of a snapshot."""

    def __init__(
        self,
        jvm: Jvm,
        fields: Sequence[StructField],
        values: Callable[[], pa.MapArray],
        mode: str,
    ) -> None:
        """`values` gets the partition values of all files as the log has them, when asked for."""
        self._jvm = jvm
        self._values = values
        self._names = {stored_name(field, mode).lower(): field for field in fields}
        self._keys = {
            field.name: physical_name(field) if mode != "none" else field.name for field in fields
        }
        self.fields = [
            visible_schema(StructType((field,))).fields[0] for field in _renamed(fields, mode)
        ]

    def group(self, files: pa.Int64Array, apart: pa.Array | None = None) -> FileGroups:
        """Groups of the given files; files with different values of `apart` never share one."""
        keys = []
        if self._keys and len(files):
            maps = self._values().take(files)
            keys = [map_values(maps, key) for key in self._keys.values()]
        if apart is not None:
            keys.append(apart.take(files))
        if not keys or not len(files):
            return FileGroups(files, pa.array([len(files)] if len(files) else [], pa.int64()))
        return _grouped(keys, files)

    def matching(
        self,
        groups: FileGroups,
        filters: Sequence[Filter],
        hidden: Sequence[tuple[StructField, pa.Array]] = (),
    ) -> FileGroups:
        """The groups whose values meet all filters, which may be on hidden columns too."""
        if not filters or not len(groups):
            return groups
        sources = [each.source for each in filters]
        known = {field.name.lower(): (field, values) for field, values in hidden}
        columns = [
            known.get(name.lower()) or self._column(groups, self._names[name.lower()])
            for name in self._jvm.referenced_names(sources)
        ]
        return groups.pick(self._jvm.matching(sources, self._rows(columns), len(groups)))

    def rows(
        self, groups: FileGroups, extra: Sequence[tuple[StructField, pa.Array]] = ()
    ) -> JavaObject:
        """The partition values of each group as Spark's rows, followed by extra columns."""
        own = [self._column(groups, field) for field in self._names.values()]
        return self._rows([*own, *extra])

    def _column(self, groups: FileGroups, field: StructField) -> tuple[StructField, pa.Array]:
        """Of the first file of each group, not of all files."""
        texts = map_values(self._values().take(groups.first), self._keys[field.name])
        return field, parse_column(texts, field.data_type, column=field.name)

    def _rows(self, columns: Sequence[tuple[StructField, pa.Array]]) -> JavaObject:
        if not columns:
            return self._jvm.empty_rows()
        fields = [StructField(f"c{i}", each.data_type) for i, (each, _) in enumerate(columns)]
        table = pa.table([array for _, array in columns], names=[field.name for field in fields])
        return self._jvm.rows(table, type_json(StructType(tuple(fields))))


def _grouped(keys: list[pa.Array], files: pa.Int64Array) -> FileGroups:
    names = [f"k{i}" for i in range(len(keys))]
    table = pa.table([*keys, files], names=[*names, "file"])
    lists = table.group_by(names, use_threads=False).aggregate([("file", "list")])
    found = lists.column("file_list").combine_chunks()
    lengths = pc.cast(pc.list_value_length(found), pa.int64())
    return FileGroups(found.flatten(), lengths)


def _renamed(fields: Sequence[StructField], mode: str) -> list[StructField]:
    return [
        StructField(stored_name(field, mode), field.data_type, field.nullable, field.metadata)
        for field in fields
    ]
