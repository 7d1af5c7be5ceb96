"""What a table keeps when its metadata is replaced by that of another version or table.

Ids that were given out are never given out again: the marks of identity columns and the names of
the columns that hold row ids stay those of the table (PROTOCOL: Identity Columns, Row Tracking).
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace

from lakebed.commands.target.clustering_columns import FEATURE as CLUSTERING
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Protocol
from lakebed.spec.columns.column_mapping import physical_name
from lakebed.spec.columns.column_metadata import identity, with_identity
from lakebed.spec.features import is_supported, without_feature
from lakebed.spec.pins import PIN_PREFIX
from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import StructField, StructType, parse_schema, schema_to_json

ROW_ID_NAMES = {
    TableProperties.materialized_row_id_column.key: "_row-id-col-",
    TableProperties.materialized_row_commit_version_column.key: "_row-commit-version-col-",
}


def with_identity_marks(schema_string: str, current: StructType | None) -> str:
    """The schema with the marks of the current one where these are further."""
    if current is None:
        return schema_string
    marks = {
        physical_name(field): column.high_water_mark
        for field in current.fields
        if (column := identity(field)) is not None and column.high_water_mark is not None
    }
    if not marks:
        return schema_string
    schema = parse_schema(schema_string)
    fields = tuple(_advanced(field, marks.get(physical_name(field))) for field in schema.fields)
    return schema_to_json(replace(schema, fields=fields))


def with_row_id_names(
    configuration: Mapping[str, str], protocol: Protocol, current: Mapping[str, str]
) -> dict[str, str]:
    """The configuration with the names of the current table; a table without any gets fresh ones.

    Another table's names would make its materialised ids count here, beside new ids.
    """
    others = {key: value for key, value in configuration.items() if key not in ROW_ID_NAMES}
    if not is_supported(protocol, "rowTracking"):
        return others
    names = {key: current.get(key, f"{start}{uuid.uuid4()}") for key, start in ROW_ID_NAMES.items()}
    return {**others, **names}


def with_pins(configuration: Mapping[str, str], current: Mapping[str, str]) -> dict[str, str]:
    """The configuration with the pins of the current table: they are promises about its history."""
    others = {k: v for k, v in configuration.items() if not k.startswith(PIN_PREFIX)}
    return {**others, **{k: v for k, v in current.items() if k.startswith(PIN_PREFIX)}}


def unclustered_if_partitioned(protocol: Protocol, wanted: Snapshot) -> Protocol:
    """The protocol of a table that becomes like `wanted`. No table is clustered and partitioned.

    The feature alone makes a table a clustered one. It is a matter of writers, so that versions
    that were clustered can be read without it.
    """
    if not wanted.partition_columns or is_supported(wanted.protocol, CLUSTERING):
        return protocol
    return without_feature(protocol, CLUSTERING) if is_supported(protocol, CLUSTERING) else protocol


def _advanced(field: StructField, mark: int | None) -> StructField:
    column = identity(field)
    return (
        field if column is None or mark is None else with_identity(field, column.advanced_to(mark))
    )
