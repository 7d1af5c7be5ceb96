"""Whether a query that was analyzed against one version of a table may read a later one.

As in delta-spark, a DataFrame keeps its columns: columns that were added since do not show. A
column that is gone, renamed, of another type or newly nullable would make the plan wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lakebed.errors import SchemaChangedError
from lakebed.spec.columns.column_mapping import physical_name
from lakebed.spec.schema import (
    ArrayType,
    DataType,
    MapType,
    Path,
    StructField,
    StructType,
    render_path,
)


def check_read_compatible(
    table: str,
    analyzed: StructType,
    now: StructType,
    *,
    partitions: tuple[Sequence[str], Sequence[str]],
) -> None:
    """`partitions` are the partition columns at the analysis and now."""
    differences = list(_struct(analyzed, now, ()))
    before, after = partitions
    if list(before) != list(after):
        differences.append(
            f"the table is now partitioned by {list(after)} instead of {list(before)}"
        )
    if differences:
        raise SchemaChangedError(
            f"the schema of {table} has changed since the DataFrame was created: "
            + "; ".join(differences),
            hint="read the table again",
        )


def _struct(analyzed: StructType, now: StructType, path: Path) -> Iterator[str]:
    for field in analyzed.fields:
        found = now.find(field.name)
        where = (*path, field.name)
        if found is None or physical_name(found) != physical_name(field):
            yield f"column {render_path(where)} is gone or renamed"
        else:
            yield from _field(field, found, where)


def _field(analyzed: StructField, now: StructField, path: Path) -> Iterator[str]:
    if now.nullable and not analyzed.nullable:
        yield f"column {render_path(path)} is no longer NOT NULL"
    yield from _type(analyzed.data_type, now.data_type, path)


def _type(analyzed: DataType, now: DataType, path: Path) -> Iterator[str]:
    if isinstance(analyzed, StructType) and isinstance(now, StructType):
        yield from _struct(analyzed, now, path)
    elif isinstance(analyzed, ArrayType) and isinstance(now, ArrayType):
        yield from _type(analyzed.element_type, now.element_type, (*path, "element"))
        if now.contains_null and not analyzed.contains_null:
            yield f"elements of {render_path(path)} may now be null"
    elif isinstance(analyzed, MapType) and isinstance(now, MapType):
        yield from _type(analyzed.key_type, now.key_type, (*path, "key"))
        yield from _type(analyzed.value_type, now.value_type, (*path, "value"))
        if now.value_contains_null and not analyzed.value_contains_null:
            yield f"values of {render_path(path)} may now be null"
    elif analyzed != now:
        yield f"column {render_path(path)} is now of type {now}, not {analyzed}"
