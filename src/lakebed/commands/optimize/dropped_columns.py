"""Files that still have columns which the table has no more: a purge writes them anew.

DROP COLUMN changes the log alone (PROTOCOL: Column Mapping); what was in the column stays in the
files. Only their footers say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from lakebed.arrow.file_columns import physical_names
from lakebed.commands.target.file_footers import files_whose_footer
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Add
from lakebed.spec.columns.column_mapping import mapping_mode, physical_schema
from lakebed.spec.schema import ArrayType, DataType, MapType, StructType


def with_dropped_columns(snapshot: Snapshot, adds: Sequence[Add]) -> list[Add]:
    """Those of the files that have a column or a field of a struct which the schema has not."""
    mode = mapping_mode(snapshot.metadata.configuration)
    known = _children(physical_schema(snapshot.schema, mode))
    # Ids of rows are in columns that no schema has (PROTOCOL: Row Tracking).
    properties = snapshot.properties
    for name in (
        properties.materialized_row_id_column,
        properties.materialized_row_commit_version_column,
    ):
        if name is not None:
            known[name.lower()] = None

    def has_more(footer: pq.FileMetaData) -> bool:
        fields = physical_names(footer.schema.to_arrow_schema(), snapshot.schema, mode)
        return any(_is_extra(field, known) for field in fields)

    return files_whose_footer(snapshot.store, adds, has_more)


def _is_extra(field: pa.Field, known: Mapping[str, DataType | None]) -> bool:
    name = field.name.lower()
    return name not in known or _has_extra(field.type, known[name])


def _has_extra(stored: pa.DataType, wanted: DataType | None) -> bool:
    if pa.types.is_struct(stored) and isinstance(wanted, StructType):
        known = _children(wanted)
        return any(_is_extra(field, known) for field in _fields(stored))
    if _is_list(stored) and isinstance(wanted, ArrayType):
        return _has_extra(stored.value_type, wanted.element_type)
    if pa.types.is_map(stored) and isinstance(wanted, MapType):
        return _has_extra(stored.key_type, wanted.key_type) or _has_extra(
            stored.item_type, wanted.value_type
        )
    return False


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _fields(kind: pa.DataType) -> Iterable[pa.Field]:
    return (kind.field(place) for place in range(kind.num_fields))


def _children(schema: StructType) -> dict[str, DataType | None]:
    return {field.name.lower(): field.data_type for field in schema.fields}
