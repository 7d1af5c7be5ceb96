"""CREATE, IF NOT EXISTS, REPLACE and OR REPLACE where a table may exist already."""

from __future__ import annotations

from collections.abc import Mapping

from lakebed.commands.create.create_table import TableDefinition
from lakebed.commands.create.named_tables import Place, refuse_foreign, refuse_taken
from lakebed.errors import SchemaMismatchError, TableExistsError, TableNotFoundError
from lakebed.log.snapshot import Snapshot
from lakebed.spec.columns.column_mapping import strip
from lakebed.spec.columns.column_metadata import generation_expression
from lakebed.spec.features import (
    is_about_protocol,
    supported_features,
    upgraded_for_properties,
)
from lakebed.spec.schema import StructType

CREATE, IF_NOT_EXISTS, REPLACE, OR_REPLACE = (
    "create",
    "create_if_not_exists",
    "replace",
    "create_or_replace",
)


def registers_existing(place: Place, mode: str) -> bool:
    """Whether the statement only gives a name to the table that is in the location already."""
    return mode in (CREATE, IF_NOT_EXISTS) and place.is_new_name and place.has_table()


def is_there(place: Place, mode: str) -> bool:
    """True if there is nothing to do. Refuses what the statement must not replace."""
    if mode == IF_NOT_EXISTS and (place.is_foreign or (place.entry and place.has_table())):
        return True
    if mode == IF_NOT_EXISTS and place.database is None:
        return place.has_table()
    if mode in (CREATE, IF_NOT_EXISTS):
        refuse_taken(place)
        return False
    refuse_foreign(place)
    if mode == REPLACE and not place.has_table():
        raise TableNotFoundError(
            f"the Delta table {place.shown}, which is to be replaced, cannot be found",
            hint="write CREATE OR REPLACE",
            condition="DELTA_CANNOT_REPLACE_MISSING_TABLE",
        )
    return False


def existing_table(place: Place, stated: TableDefinition) -> Snapshot:
    """The table that is in the location already; refused if the statement defines another one."""
    snapshot, schema = place.log.snapshot(), stated.schema
    found = snapshot.metadata
    if len(schema) and _shape(schema) != _shape(snapshot.schema):
        raise SchemaMismatchError(
            f"{place.location} is a Delta table with other columns:\n  there:  "
            f"{snapshot.schema}\n  stated: {schema}",
            hint="leave the columns out to take those of the table",
            condition="DELTA_CREATE_TABLE_SCHEME_MISMATCH",
        )
    if stated.partition_by and _folded(stated.partition_by) != _folded(found.partition_columns):
        raise SchemaMismatchError(
            f"{place.location} is partitioned by {list(found.partition_columns)}, not by "
            f"{list(stated.partition_by)}",
            hint="leave PARTITIONED BY out",
            condition="DELTA_CREATE_TABLE_WITH_DIFFERENT_PARTITIONING",
        )
    differs = _other_properties(snapshot, stated.properties)
    if differs:
        raise SchemaMismatchError(
            f"{place.location} is a Delta table with other properties: {sorted(differs)}",
            hint="leave them out, and change them by ALTER TABLE ... SET TBLPROPERTIES",
            condition="DELTA_CREATE_TABLE_WITH_DIFFERENT_PROPERTY",
        )
    if place.is_managed and (snapshot.version > 0 or snapshot.totals.num_files):
        raise unnamed_table(place)
    return snapshot


def unnamed_table(place: Place) -> TableExistsError:
    return TableExistsError(
        f"{place.location} already exists as a Delta table, though without the name {place.shown}",
        hint=f"CREATE TABLE ... USING delta LOCATION '{place.location}' gives it a name, and "
        "CREATE OR REPLACE TABLE replaces it",
    )


def _other_properties(snapshot: Snapshot, stated: Mapping[str, str]) -> set[str]:
    """The names of those that the table does not have.

    SHOW CREATE TABLE states the protocol too: versions and features differ where they would add.
    """
    there = supported_features(snapshot.protocol)
    configuration = snapshot.metadata.configuration
    differs = {key for key, value in stated.items() if configuration.get(key) != value}
    for key in [key for key in differs if is_about_protocol(key)]:
        after = upgraded_for_properties(snapshot.protocol, {key: stated[key]})
        if supported_features(after) == there:
            differs.remove(key)
    return differs


def _shape(schema: StructType) -> list[tuple[object, ...]]:
    return [
        (f.name.lower(), f.data_type, f.nullable, generation_expression(f))
        for f in strip(schema).fields
    ]


def _folded(names: tuple[str, ...]) -> list[str]:
    return [name.lower() for name in names]
