"""Snapshots that are in no log: some files of a table, read in a way that the log does not say.

A change of rows scans the files that it looks at with their number beside each row, or only the
rows that it keeps; the change feed scans files of many versions with the version beside each row.
All of that is a table with the same columns, some partition columns more and other deletion
vectors, so it is made as one and read by the ordinary scan.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace

from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Add, Metadata, Protocol
from lakebed.spec.columns.column_mapping import mapping_mode
from lakebed.spec.schema import StructField, StructType, parse_schema, schema_to_json
from lakebed.storage.store import Store


def synthetic_snapshot(
    store: Store,
    protocol: Protocol,
    metadata: Metadata,
    adds: Sequence[Add],
    *,
    columns: Sequence[StructField] = (),
    partitions: Sequence[StructField] = (),
) -> Snapshot:
    """These files as a table. No path is in `adds` twice with the same vector.

    `columns` are more columns that the files may have, `partitions` are more columns whose values
    each of `adds` has in its partition values. Their names are theirs also in the files and in the
    partition values, whatever the column mapping of the table.
    """
    schema = parse_schema(metadata.schema_string)
    mode = mapping_mode(metadata.configuration)
    more = [
        mapped_field(field, number, mode) for number, field in enumerate([*columns, *partitions])
    ]
    described = replace(
        metadata,
        # Spark takes relations of one table and version for the same: this is another table.
        id=str(uuid.uuid4()),
        schema_string=schema_to_json(StructType((*schema.fields, *more))),
        partition_columns=(*metadata.partition_columns, *(field.name for field in partitions)),
    )
    return Snapshot.created(store, [protocol, described, *adds])


def mapped_field(field: StructField, number: int, mode: str) -> StructField:
    """A column that is in no schema, which keeps its name in the files of the table."""
    if mode == "none":
        return field
    mapping = {
        "delta.columnMapping.id": _FIRST_ID + number,
        "delta.columnMapping.physicalName": field.name,
    }
    return replace(field, metadata={**field.metadata, **mapping})


_FIRST_ID = 1_000_000_000
"""Beyond the ids that columns of tables have."""
