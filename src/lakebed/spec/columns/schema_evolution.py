"""Whether data fits a table, and how a table's schema grows to take it.

PROTOCOL: Consistency Between Table Metadata and Data Files. The protocol leaves to writers what
they accept. As in delta-spark names match in any case, and the nullability that data declares is
not trusted (rows are checked instead); conversions are made only if they lose nothing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

from lakebed.errors import SchemaMismatchError
from lakebed.spec.columns import column_mapping
from lakebed.spec.columns.column_metadata import is_filled_by_writer
from lakebed.spec.columns.type_widening import (
    can_widen_automatically,
    is_lossless,
    record_type_changes,
)
from lakebed.spec.schema import (
    BINARY,
    VARIANT,
    VOID,
    ArrayType,
    DataType,
    MapType,
    Path,
    PrimitiveType,
    StructField,
    StructType,
    UserDefinedType,
    as_nullable,
    render_path,
    render_tree,
)


def check_compatible(table_schema: StructType, data_schema: StructType) -> None:
    """Refuses data that cannot be written to the table as its schema is now."""
    differences = _Differences()
    _compare_structs(table_schema, data_schema, (), differences)
    differences.refuse(table_schema, data_schema)


def merge_schemas(
    table_schema: StructType,
    data_schema: StructType,
    allow_widening: bool = False,
    *,
    allow_conversions: bool = False,
) -> StructType:
    """The table's schema with what is new in the data at the end of its struct, as nullable.

    Columns that exist keep their spelling, nullability and metadata. `allow_widening` is for tables
    with `delta.enableTypeWidening`: wider types are taken over and recorded. `allow_conversions`
    leaves it to whoever stores the data to convert values of other types, or to refuse them.
    """
    differences = _Differences()
    merge = _Merge(differences, allow_widening, allow_conversions)
    merged = merge.structs(table_schema, data_schema, ())
    differences.refuse(table_schema, data_schema)
    return record_type_changes(table_schema, merged) if allow_widening else merged


def can_store(data_type: DataType, table_type: DataType) -> bool:
    """Whether every value of one type without parts is exactly a value of the other."""
    if data_type in (table_type, VOID) or is_lossless(data_type, table_type):
        return True
    if isinstance(table_type, UserDefinedType):
        return data_type == table_type.sql_type
    geospatial = isinstance(table_type, PrimitiveType) and table_type.is_geospatial
    return geospatial and data_type == BINARY


def is_stored_variant(data_type: DataType) -> bool:
    """Whether the type is the struct of two binaries that holds a variant outside of Delta."""
    return isinstance(data_type, StructType) and {
        each.name: each.data_type for each in data_type
    } == {"metadata": BINARY, "value": BINARY}


@dataclass
class _Differences:
    lines: list[str] = field(default_factory=list)

    def add(self, path: Path, message: str) -> None:
        self.lines.append(f"  {render_path(path)}: {message}")

    def types(self, path: Path, table_type: DataType, data_type: DataType) -> None:
        self.add(path, f"the table has {table_type}, the data has {data_type}")

    def doubled(self, data: StructType, path: Path) -> None:
        counts = Counter(each.name.lower() for each in data)
        for name in (name for name, count in counts.items() if count > 1):
            self.add((*path, name), "the data has it more than once")

    def refuse(self, table_schema: StructType, data_schema: StructType) -> None:
        if not self.lines:
            return
        parts = (
            "the data does not fit the table:",
            *self.lines,
            "schema of the table:",
            render_tree(table_schema),
            "schema of the data:",
            render_tree(data_schema),
        )
        raise SchemaMismatchError(
            "\n".join(parts),
            hint="change the data, or let the write merge the schemas to add columns to the table",
        )


def _compare_structs(
    table: StructType, data: StructType, path: Path, differences: _Differences
) -> None:
    differences.doubled(data, path)
    for name in data.names:
        if name not in table:
            differences.add((*path, name), "the table does not have it")
    for column in table:
        here = (*path, column.name)
        given = data.find(column.name)
        if given is not None:
            _compare(column.data_type, given.data_type, here, differences)
        elif not column.nullable and not is_filled_by_writer(column):
            differences.add(here, "the data does not have it, and the table does not take nulls")


def _compare(table: DataType, data: DataType, path: Path, differences: _Differences) -> None:
    if isinstance(table, StructType) and isinstance(data, StructType):
        _compare_structs(table, data, path, differences)
    elif isinstance(table, ArrayType) and isinstance(data, ArrayType):
        _compare(table.element_type, data.element_type, (*path, "element"), differences)
    elif isinstance(table, MapType) and isinstance(data, MapType):
        _compare(table.key_type, data.key_type, (*path, "key"), differences)
        _compare(table.value_type, data.value_type, (*path, "value"), differences)
    elif not (can_store(data, table) or (table == VARIANT and is_stored_variant(data))):
        differences.types(path, table, data)


@dataclass(frozen=True)
class _Merge:
    differences: _Differences
    allow_widening: bool
    allow_conversions: bool

    def structs(self, table: StructType, data: StructType, path: Path) -> StructType:
        fields = [self.field(column, data.find(column.name), path) for column in table]
        known = {column.name.lower() for column in table}
        for given in data:
            if given.name.lower() not in known:
                known.add(given.name.lower())
                fields.extend(column_mapping.strip(as_nullable(StructType((given,)))))
        self.differences.doubled(data, path)
        return StructType(tuple(fields))

    def field(self, column: StructField, given: StructField | None, path: Path) -> StructField:
        if given is None:
            return column
        merged = self.types(column.data_type, given.data_type, (*path, column.name))
        return replace(column, data_type=merged)

    def types(self, table: DataType, data: DataType, path: Path) -> DataType:
        if isinstance(table, StructType) and isinstance(data, StructType):
            return self.structs(table, data, path)
        if isinstance(table, ArrayType) and isinstance(data, ArrayType):
            element = self.types(table.element_type, data.element_type, (*path, "element"))
            return replace(table, element_type=element)
        if isinstance(table, MapType) and isinstance(data, MapType):
            key = self.types(table.key_type, data.key_type, (*path, "key"))
            value = self.types(table.value_type, data.value_type, (*path, "value"))
            return replace(table, key_type=key, value_type=value)
        return self.leaves(table, data, path)

    def leaves(self, table: DataType, data: DataType, path: Path) -> DataType:
        if can_store(data, table) or (table == VARIANT and is_stored_variant(data)):
            return table
        if table == VOID:
            # A void column takes any type, without the feature (PROTOCOL: Void Type).
            column = column_mapping.strip(as_nullable(StructType((StructField("x", data),))))
            return column.fields[0].data_type
        if self.allow_widening and can_widen_automatically(table, data):
            return data
        if self.allow_conversions:
            return table
        self.differences.types(path, table, data)
        return table
