"""High-water marks of identity columns after files were written (PROTOCOL: Identity Columns).

As in delta-spark a mark moves only when the table itself draws values for the column. Values that
users give do not move it; SYNC IDENTITY takes them into account.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import orjson

from lakebed.errors import SchemaError
from lakebed.spec.actions import Add
from lakebed.spec.columns.column_mapping import physical_name
from lakebed.spec.columns.column_metadata import identity, with_identity
from lakebed.spec.schema import StructField, StructType
from lakebed.spec.stats import MAX_VALUES, MIN_VALUES, NULL_COUNT, NUM_RECORDS


def generated_identity_columns(given: StructType, schema: StructType) -> tuple[str, ...]:
    """The identity columns that rows with the columns `given` get from the table."""
    return tuple(
        field.name
        for field in schema.fields
        if identity(field) is not None and field.name not in given
    )


def with_new_high_water_marks(
    schema: StructType, drawn: Collection[str], adds: Sequence[Add]
) -> StructType:
    """The schema after the files were written; their statistics cover all identity columns."""
    if not drawn:
        return schema
    stats = [orjson.loads(add.stats or "{}") for add in adds]
    return StructType(
        tuple(_moved(field, stats) if field.name in drawn else field for field in schema.fields)
    )


def _moved(field: StructField, stats: Sequence[dict[str, Any]]) -> StructField:
    marks = identity(field)
    assert marks is not None
    bounds, name = MAX_VALUES if marks.step > 0 else MIN_VALUES, physical_name(field)
    moved = marks
    for each in stats:
        if each[NUM_RECORDS] == each[NULL_COUNT].get(name, 0):
            continue
        if name not in each[bounds]:
            # The mark would stay behind, and the same values be given out again.
            raise SchemaError(
                f"the values of the identity column {field.name!r} cannot be followed, because the "
                "table is partitioned by it",
                hint="write the table with another partitioning",
            )
        moved = moved.advanced_to(each[bounds][name])
    return field if moved == marks else with_identity(field, moved)
