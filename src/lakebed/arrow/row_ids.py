"""Row ids and row commit versions of rows that move to other files (PROTOCOL: Row Tracking)."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.log.snapshot import Snapshot
from lakebed.log.synthetic_snapshot import mapped_field
from lakebed.spec.actions import Add
from lakebed.spec.columns.column_mapping import mapping_mode
from lakebed.spec.schema import LONG, StructField


def row_id_columns(snapshot: Snapshot) -> tuple[StructField, ...]:
    """The columns in which files keep ids and versions of rows that came from other files."""
    properties = snapshot.properties
    names = (
        properties.materialized_row_id_column,
        properties.materialized_row_commit_version_column,
    )
    if not properties.enable_row_tracking or None in names:
        return ()
    mode = mapping_mode(snapshot.metadata.configuration)
    return tuple(
        mapped_field(StructField(str(name), LONG), number, mode)
        for number, name in enumerate(names)
    )


def ids_of_file(positions: pa.Array | pa.ChunkedArray, add: Add) -> tuple[pa.Array, pa.Array]:
    """The ids and versions of rows at these positions of a file that says nothing about them."""
    ids = pc.add(positions, pa.scalar(add.base_row_id, pa.int64()))
    version = pa.scalar(add.default_row_commit_version, pa.int64())
    return ids, pa.repeat(version, len(positions))


def with_row_ids(
    rows: pa.Table, positions: pa.ChunkedArray, add: Add, columns: Sequence[StructField]
) -> pa.Table:
    """The rows with the ids and versions that they have, wherever these are written."""
    return filled_row_ids(rows, ids_of_file(positions, add), columns) if columns else rows


def filled_row_ids(
    rows: pa.Table,
    values: Sequence[pa.Array | pa.ChunkedArray],
    columns: Sequence[StructField],
) -> pa.Table:
    """What a file says about a row comes before where the row is."""
    for column, value in zip(columns, values, strict=True):
        index = rows.schema.get_field_index(column.name)
        known = pc.coalesce(rows.column(index), value)
        rows = rows.set_column(index, rows.schema.field(index), known)
    return rows
