"""Finding the table's columns in a data file (PROTOCOL: Reader Requirements for Column Mapping).

By name a column is found under its physical name; by id under the Parquet field id, at every
level of nesting.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import pyarrow as pa

from lakebed.spec.columns.column_mapping import COLUMN_ID, physical_name
from lakebed.spec.schema import StructType, walk

_FIELD_ID = b"PARQUET:field_id"


def physical_names(file: pa.Schema, schema: StructType, mode: str) -> pa.Schema:
    """The file's schema with its columns under the names that the table's log uses."""
    if mode != "id" or not any(map(_has_id, file)):
        return file
    names = {
        field.metadata[COLUMN_ID]: physical_name(field)
        for _, field in walk(schema)
        if COLUMN_ID in field.metadata
    }
    return pa.schema([_rename(field, names) for field in file])


def positions(file: pa.Schema, names: Iterable[str]) -> list[int | None]:
    """Of columns; a name that differs in case alone will do."""
    known = {name: file.get_field_index(name) for name in names}
    if min(known.values(), default=0) >= 0:
        return list(known.values())
    folded = defaultdict(list)
    for index, name in enumerate(file.names):
        folded[name.lower()].append(index)
    alike = {name: folded.get(name.lower(), []) for name in known}
    return [
        index if index >= 0 else alike[name][0] if len(alike[name]) == 1 else None
        for name, index in known.items()
    ]


def _rename(field: pa.Field, names: dict[int, str]) -> pa.Field:
    number = (field.metadata or {}).get(_FIELD_ID)
    name = names.get(int(number), field.name) if number is not None else field.name
    return pa.field(name, _rename_inside(field.type, names), field.nullable)


def _rename_inside(kind: pa.DataType, names: dict[int, str]) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([_rename(kind.field(i), names) for i in range(kind.num_fields)])
    if pa.types.is_map(kind):
        item = kind.item_field.with_type(_rename_inside(kind.item_type, names))
        key = kind.key_field.with_type(_rename_inside(kind.key_type, names))
        return pa.map_(key, item, keys_sorted=kind.keys_sorted)
    if pa.types.is_large_list(kind):
        return pa.large_list(kind.value_field.with_type(_rename_inside(kind.value_type, names)))
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_rename_inside(kind.value_type, names)))
    return kind


def _has_id(field: pa.Field) -> bool:
    return _FIELD_ID in (field.metadata or {})
