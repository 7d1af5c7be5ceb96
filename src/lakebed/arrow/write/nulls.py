"""NOT NULL at every depth (PROTOCOL: Column Metadata, `nullable`, `containsNull`).

As in delta-spark a field that is NOT NULL demands that the structs around it are not null either:
delta-spark cannot rewrite such a row. It does not look into arrays and maps; there, what is below a
null does not count.
"""

from __future__ import annotations

import pyarrow as pa

from lakebed.errors import ConstraintViolationError
from lakebed.spec.schema import (
    ArrayType,
    DataType,
    MapType,
    Path,
    StructType,
    render_path,
    walk_types,
)


def check_nulls(table: pa.Table, schema: StructType) -> None:
    """Refuses nulls where the schema takes none; `table` has the columns of the schema."""
    for column, field in zip(table.columns, schema.fields, strict=True):
        if not field.nullable:
            _refuse(column, (field.name,))
        if _has_limits(field.data_type):
            for chunk in column.chunks:
                _check_inside(chunk, field.data_type, (field.name,))


def _check_inside(array: pa.Array, data_type: DataType, path: Path) -> None:
    """`array` is a column, or a field of structs that are not in an array or a map."""
    if isinstance(data_type, StructType) and _has_limits(data_type):
        # Here the fields of a null struct are null.
        for part, field in zip(array.flatten(), data_type.fields, strict=True):
            here = (*path, field.name)
            if not field.nullable:
                _refuse(part, here)
            _check_inside(part, field.data_type, here)
    else:
        _check_elements(array, data_type, path)


def _check_elements(array: pa.Array, data_type: DataType, path: Path) -> None:
    if not _has_limits(data_type):
        return
    present = array.drop_null() if array.null_count else array
    if isinstance(data_type, StructType):
        for i, field in enumerate(data_type.fields):
            _check_part(present.field(i), field.data_type, field.nullable, (*path, field.name))
    elif isinstance(data_type, ArrayType):
        here = (*path, "element")
        _check_part(present.flatten(), data_type.element_type, data_type.contains_null, here)
    elif isinstance(data_type, MapType):
        first, count = _range(present)
        nullable = data_type.value_contains_null
        _check_elements(present.keys.slice(first, count), data_type.key_type, (*path, "key"))
        values = present.items.slice(first, count)
        _check_part(values, data_type.value_type, nullable, (*path, "value"))


def _check_part(array: pa.Array, data_type: DataType, nullable: bool, path: Path) -> None:
    if not nullable:
        _refuse(array, path)
    _check_elements(array, data_type, path)


def _refuse(values: pa.Array | pa.ChunkedArray, path: Path) -> None:
    if values.null_count:
        raise ConstraintViolationError(
            f"column {render_path(path)} is NOT NULL, but {values.null_count} of its values "
            f"{'is' if values.null_count == 1 else 'are'} null",
            hint="nothing was written; fill the nulls, or make the column nullable first",
        )


def _range(array: pa.MapArray) -> tuple[int, int]:
    """The entries that an array without nulls, maybe a slice of another, is about."""
    if not len(array):
        return 0, 0
    first = array.offsets[0].as_py()
    return first, array.offsets[len(array)].as_py() - first


def _has_limits(data_type: DataType) -> bool:
    return any(
        (isinstance(each, StructType) and not all(field.nullable for field in each))
        or (isinstance(each, ArrayType) and not each.contains_null)
        or (isinstance(each, MapType) and not each.value_contains_null)
        for each in walk_types(data_type)
    )
