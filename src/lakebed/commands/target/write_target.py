"""What metadata and protocol a table has after a write: created, kept, grown or replaced.

PROTOCOL: Change Metadata, Protocol Evolution. All of it is decided before any file is written.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from lakebed.commands.target.write_options import WriteOptions
from lakebed.data_files.file_layout import HANDLED_FEATURES
from lakebed.errors import (
    AppendOnlyError,
    InvalidArgumentError,
    SchemaError,
    SchemaMismatchError,
)
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Metadata, Protocol
from lakebed.spec.columns.column_mapping import (
    MAX_COLUMN_ID,
    assign_column_mapping,
    mapping_mode,
    max_column_id,
    strip,
)
from lakebed.spec.columns.column_metadata import is_filled_by_writer
from lakebed.spec.columns.schema_evolution import check_compatible, merge_schemas
from lakebed.spec.columns.schema_validation import validate, validate_plain_names
from lakebed.spec.features import (
    check_writable,
    is_supported,
    protocol_for,
    supported_features,
    upgraded,
    upgraded_for,
    without_protocol_properties,
)
from lakebed.spec.iceberg_compat import check_compat, for_new_table
from lakebed.spec.partition_values import serialize_value
from lakebed.spec.properties import FEATURE_PREFIX, TableProperties, check_together, validated
from lakebed.spec.schema import StructType, parse_schema, schema_to_json


@dataclass(frozen=True)
class Target:
    metadata: Metadata
    protocol: Protocol

    @property
    def schema(self) -> StructType:
        return parse_schema(self.metadata.schema_string)


def new_table(schema: StructType, options: WriteOptions) -> Target:
    if not len(schema):
        raise InvalidArgumentError(
            "the data has no columns",
            hint="a new table needs at least one column",
            condition="DELTA_EMPTY_DATA",
        )
    validate(schema)
    columns = _partition_columns(schema, options.partition_by or ())
    configuration = for_new_table(
        validated(options.default_properties), validated(options.properties)
    )
    protocol = protocol_for(schema, columns, configuration)
    configuration = without_protocol_properties(configuration)
    check_together(configuration)
    if mapping_mode(configuration) == "none":
        validate_plain_names(schema)
    schema, configuration = assign_column_mapping(schema, configuration)
    if is_supported(protocol, "rowTracking"):
        configuration |= row_tracking_columns()
    metadata = Metadata(
        id=str(uuid.uuid4()),
        schema_string=schema_to_json(schema),
        partition_columns=columns,
        configuration=configuration,
        name=options.name,
        description=options.description,
        created_time=int(time.time() * 1000),
    )
    return _writable(Target(metadata, protocol))


def changed_table(snapshot: Snapshot, incoming: StructType, options: WriteOptions) -> Target:
    """The table after `incoming` was written to it; refuses what does not fit."""
    before = snapshot.metadata
    _writable(Target(before, snapshot.protocol), before)
    _check_append_only(snapshot, options)
    if options.replaces_table:
        return _writable(replaced_table(new_table(incoming, options), snapshot), before)
    _check_same_table(snapshot, options)
    if options.replaces_schema:
        return _writable(_replaced(snapshot, incoming, options), before)
    _check_partitioning(snapshot.metadata, options)
    _check_partition_columns(snapshot, incoming)
    if not options.merge_schema:
        check_compatible(snapshot.schema, incoming)
        return Target(snapshot.metadata, snapshot.protocol)
    widening = snapshot.properties.enable_type_widening
    merged = merge_schemas(snapshot.schema, incoming, allow_widening=widening)
    return _writable(_with_schema(snapshot, before, merged), before)


def evolved_table(snapshot: Snapshot, incoming: StructType) -> Target:
    """The table with the columns and fields that only `incoming` has.

    Types that differ stay as they are, unless the table widens types: who asks converts the values.
    """
    before = snapshot.metadata
    widening = snapshot.properties.enable_type_widening
    merged = merge_schemas(
        snapshot.schema, incoming, allow_widening=widening, allow_conversions=True
    )
    return _writable(_with_schema(snapshot, before, merged), before)


def replaced_table(new: Target, snapshot: Snapshot) -> Target:
    """The new table in the place of one that is there: no feature goes, no id comes again."""
    protocol = upgraded(snapshot.protocol, supported_features(new.protocol))
    if new.metadata.partition_columns and is_supported(protocol, "clustering"):
        raise InvalidArgumentError(
            "a clustered table cannot be replaced by a partitioned one",
            hint="cluster it by the partition columns instead, or choose another location",
            condition="DELTA_CLUSTERING_REPLACE_TABLE_WITH_PARTITIONED_TABLE",
        )
    before, configuration = snapshot.metadata.configuration, dict(new.metadata.configuration)
    mode = mapping_mode(configuration)
    if mode == "none":
        return replace(new, protocol=protocol)
    highest = max_column_id(snapshot.schema, before)
    schema, configuration = assign_column_mapping(
        strip(new.schema),
        {**configuration, MAX_COLUMN_ID: str(highest)},
        reuse=snapshot.schema if mode == mapping_mode(before) else None,
    )
    text = schema_to_json(schema)
    metadata = replace(new.metadata, schema_string=text, configuration=configuration)
    return Target(metadata, protocol)


def _replaced(snapshot: Snapshot, incoming: StructType, options: WriteOptions) -> Target:
    old, asked = snapshot.metadata, options.partition_by
    if asked is None:
        # Who asks for clustering gives up partitions: a table cannot have both.
        asked = () if options.cluster_by else old.partition_columns
    columns = _partition_columns(incoming, asked)
    return _with_schema(snapshot, replace(old, partition_columns=columns), incoming)


def _with_schema(snapshot: Snapshot, metadata: Metadata, schema: StructType) -> Target:
    if schema == snapshot.schema and metadata == snapshot.metadata:
        return Target(metadata, snapshot.protocol)
    validate(schema)
    if mapping_mode(metadata.configuration) == "none":
        # The table may have such names already; no more are added.
        known = snapshot.schema.fields
        validate_plain_names(StructType(tuple(f for f in schema.fields if f not in known)))
    schema, configuration = assign_column_mapping(
        schema, metadata.configuration, reuse=snapshot.schema
    )
    metadata = replace(metadata, schema_string=schema_to_json(schema), configuration=configuration)
    return Target(metadata, upgraded_for(snapshot.protocol, metadata))


def _writable(target: Target, before: Metadata | None = None) -> Target:
    check_writable(target.protocol, target.metadata, handles=HANDLED_FEATURES)
    if target.metadata != before:
        check_compat(target.protocol, target.metadata, before)
    return target


def row_tracking_columns() -> dict[str, str]:
    """Names for ids of rows that are copied; no column may ever have such a name."""
    return {
        TableProperties.materialized_row_id_column.key: f"_row-id-col-{uuid.uuid4()}",
        TableProperties.materialized_row_commit_version_column.key: (
            f"_row-commit-version-col-{uuid.uuid4()}"
        ),
    }


def _check_append_only(snapshot: Snapshot, options: WriteOptions) -> None:
    if options.mode == "overwrite" and snapshot.properties.append_only:
        raise AppendOnlyError(
            f"{snapshot.store.url} is append-only: it cannot be overwritten",
            hint="append to it, or set delta.appendOnly to false first",
        )


def _check_same_table(snapshot: Snapshot, options: WriteOptions) -> None:
    """A write does not change what a table is; that it repeats what the table has is fine."""
    metadata = snapshot.metadata
    asked = validated(options.properties)
    stored = without_protocol_properties(asked)
    differs = {k: v for k, v in stored.items() if metadata.configuration.get(k) != v}
    features = supported_features(snapshot.protocol)
    differs |= {k: v for k, v in asked.items() if _is_missing_feature(k, features)}
    for key in ("name", "description"):
        value = getattr(options, key)
        if value is not None and value != getattr(metadata, key):
            differs[key] = value
    if differs:
        raise InvalidArgumentError(
            f"the table exists, and a write does not change its {', '.join(sorted(differs))}",
            hint="leave them out of the write; set_properties and set_comment change them",
        )


def _is_missing_feature(key: str, features: Iterable[str]) -> bool:
    name = key.lower()
    known = {f"{FEATURE_PREFIX}{each}".lower() for each in features}
    return name.startswith(FEATURE_PREFIX) and name not in known


def _check_partitioning(old: Metadata, options: WriteOptions) -> None:
    asked = options.partition_by
    if asked is None:
        return
    if [name.lower() for name in asked] != [name.lower() for name in old.partition_columns]:
        raise SchemaMismatchError(
            f"the table is partitioned by {list(old.partition_columns)}, not by {list(asked)}",
            hint="leave partition_by out, or overwrite with overwrite_schema=True",
        )


def _check_partition_columns(snapshot: Snapshot, incoming: StructType) -> None:
    """Data without them would all go to the partition of nulls, or replace the table by it."""
    schema = snapshot.schema
    absent = [
        name
        for name in snapshot.partition_columns
        if name not in incoming and not is_filled_by_writer(schema.field(name))
    ]
    if absent:
        raise SchemaMismatchError(
            f"the data does not have the partition column {', '.join(map(repr, absent))}; its "
            f"columns are {list(incoming.names)}",
            hint="add the column to the data, with nulls if that is what is meant",
            condition="DELTA_PARTITION_COLUMN_NOT_FOUND",
        )


def _partition_columns(schema: StructType, names: Sequence[str]) -> tuple[str, ...]:
    """The names as the schema spells them."""
    for name in names:
        if name not in schema:
            near = get_close_matches(name, schema.names, n=1)
            raise SchemaError(
                f"there is no column {name!r} to partition by",
                hint=f"did you mean {near[0]!r}?" if near else f"columns: {list(schema.names)}",
                condition="DELTA_PARTITION_COLUMN_NOT_FOUND",
            )
    fields = [schema.field(name) for name in names]
    columns = tuple(field.name for field in fields)
    if len(set(columns)) != len(columns):
        raise InvalidArgumentError(
            f"partition_by={list(names)} names a column twice",
            condition="DELTA_DUPLICATE_COLUMNS_FOUND",
        )
    if columns and len(columns) >= len(schema.fields):
        raise InvalidArgumentError(
            "a table needs at least one column that is not a partition column",
            condition="ALL_PARTITION_COLUMNS_NOT_ALLOWED",
            hint="leave a column out of partition_by",
        )
    for field in fields:
        # Refuses types that cannot be partition values in the log.
        serialize_value(None, field.data_type, column=field.name)
    return columns
