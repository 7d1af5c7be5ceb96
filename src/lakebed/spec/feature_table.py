"""Every table feature, one record each (PROTOCOL: Valid Feature Names in Table Features).

The records say what the protocol and delta-spark say about a feature, and how far Lakebed has it.
The rules that use them are in `spec.features`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from lakebed.spec.columns.column_metadata import (
    COLLATIONS,
    CURRENT_DEFAULT,
    GENERATION_EXPRESSION,
    IDENTITY_START,
    INVARIANTS,
)
from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import (
    TIMESTAMP_NTZ,
    VARIANT,
    DataType,
    PrimitiveType,
    StructType,
    walk,
    walk_types,
)

TABLE_FEATURES_READER = 3
TABLE_FEATURES_WRITER = 7


class Support(Enum):
    """How far Lakebed goes with tables that list a feature."""

    YES = "yes"
    UNUSED = "only while the table makes no use of it"
    NO = "no"


@dataclass(frozen=True)
class TableShape:
    """What of a table's metadata can turn a feature on. The schema is parsed when asked for."""

    configuration: Mapping[str, str]
    load_schema: Callable[[], StructType]

    @cached_property
    def schema(self) -> StructType:
        return self.load_schema()

    @cached_property
    def properties(self) -> TableProperties:
        return TableProperties(self.configuration)


Condition = Callable[[TableShape], bool]


def _always(_: TableShape) -> bool:
    return True


@dataclass(frozen=True)
class Feature:
    """A table feature.

    `active` tells from the metadata whether a table that supports the feature uses it.
    `enabled_by_metadata`: the same condition makes writers add the feature to a new table;
    `upgrades_tables`: and to an existing one, without being asked.
    `preview`: the name under which the feature ran before; a table with that one needs no other.
    `rebases`: a commit may go through although the feature was added while it ran.
    """

    name: str
    reader: bool = False
    legacy: tuple[int, int] | None = None
    requires: tuple[str, ...] = ()
    active: Condition = _always
    enabled_by_metadata: bool = False
    upgrades_tables: bool = False
    preview: str | None = None
    rebases: bool = False
    reads: Support = Support.YES
    writes: Support = Support.YES

    @property
    def min_reader_version(self) -> int:
        if self.legacy is not None:
            return self.legacy[0]
        return TABLE_FEATURES_READER if self.reader else 1

    @property
    def min_writer_version(self) -> int:
        return TABLE_FEATURES_WRITER if self.legacy is None else self.legacy[1]


def column_has(key: str) -> Condition:
    """Whether any column, nested or not, has the key in its metadata."""
    return lambda table: any(key in field.metadata for _, field in walk(table.schema))


def schema_has(data_type: DataType) -> Condition:
    return lambda table: data_type in walk_types(table.schema)


def _has_geospatial(table: TableShape) -> bool:
    types = walk_types(table.schema)
    return any(isinstance(each, PrimitiveType) and each.is_geospatial for each in types)


_LEGACY = [
    Feature(
        name="appendOnly",
        legacy=(1, 2),
        active=lambda table: table.properties.append_only,
        enabled_by_metadata=True,
        upgrades_tables=True,
        rebases=True,
    ),
    Feature(
        name="invariants",
        legacy=(1, 2),
        active=column_has(INVARIANTS),
        enabled_by_metadata=True,
        upgrades_tables=True,
    ),
    Feature(
        name="checkConstraints",
        legacy=(1, 3),
        active=lambda table: bool(table.properties.constraints),
        enabled_by_metadata=True,
        upgrades_tables=True,
    ),
    Feature(
        name="changeDataFeed",
        legacy=(1, 4),
        active=lambda table: table.properties.enable_change_data_feed,
        enabled_by_metadata=True,
        upgrades_tables=True,
        rebases=True,
    ),
    Feature(
        name="generatedColumns",
        legacy=(1, 4),
        active=column_has(GENERATION_EXPRESSION),
        enabled_by_metadata=True,
        upgrades_tables=True,
        writes=Support.UNUSED,
    ),
    Feature(
        name="columnMapping",
        reader=True,
        legacy=(2, 5),
        active=lambda table: table.properties.column_mapping_mode != "none",
        enabled_by_metadata=True,
        upgrades_tables=True,
        rebases=True,
    ),
    Feature(
        name="identityColumns",
        legacy=(1, 6),
        active=column_has(IDENTITY_START),
        enabled_by_metadata=True,
        upgrades_tables=True,
        writes=Support.UNUSED,
    ),
]

_LOG = [
    Feature(name="domainMetadata", rebases=True),
    Feature(
        name="inCommitTimestamp",
        active=lambda table: table.properties.enable_in_commit_timestamps,
        enabled_by_metadata=True,
        upgrades_tables=True,
        rebases=True,
    ),
    Feature(
        name="v2Checkpoint",
        reader=True,
        active=lambda table: table.properties.checkpoint_policy == "v2",
        enabled_by_metadata=True,
        upgrades_tables=True,
        rebases=True,
    ),
    Feature(name="vacuumProtocolCheck", reader=True, rebases=True),
    Feature(name="checkpointProtection"),
]

_ROWS = [
    Feature(
        name="deletionVectors",
        reader=True,
        active=lambda table: table.properties.enable_deletion_vectors,
        enabled_by_metadata=True,
        upgrades_tables=True,
        rebases=True,
    ),
    Feature(
        name="rowTracking",
        requires=("domainMetadata",),
        active=lambda table: table.properties.enable_row_tracking,
        enabled_by_metadata=True,
        upgrades_tables=True,
        rebases=True,
    ),
    Feature(name="clustering", requires=("domainMetadata",)),
    Feature(
        name="materializePartitionColumns",
        active=lambda table: table.properties.enable_materialize_partition_columns is True,
        enabled_by_metadata=True,
        upgrades_tables=True,
    ),
    # delta-spark makes the user name this one; a new table with a default cannot do without it.
    Feature(
        name="allowColumnDefaults",
        active=column_has(CURRENT_DEFAULT),
        enabled_by_metadata=True,
        writes=Support.UNUSED,
    ),
]

_TYPES = [
    Feature(
        name="timestampNtz",
        reader=True,
        active=schema_has(TIMESTAMP_NTZ),
        enabled_by_metadata=True,
        rebases=True,
    ),
    Feature(
        name="typeWidening",
        reader=True,
        active=lambda table: table.properties.enable_type_widening,
        enabled_by_metadata=True,
        upgrades_tables=True,
        preview="typeWidening-preview",
        rebases=True,
    ),
    Feature(
        name="typeWidening-preview",
        reader=True,
        active=lambda table: table.properties.enable_type_widening,
        rebases=True,
    ),
    Feature(
        name="variantType",
        reader=True,
        active=schema_has(VARIANT),
        enabled_by_metadata=True,
        upgrades_tables=True,
        preview="variantType-preview",
        writes=Support.UNUSED,
    ),
    Feature(
        name="variantType-preview",
        reader=True,
        active=schema_has(VARIANT),
        writes=Support.UNUSED,
    ),
    # Files may be shredded although the property is off, so the protocol alone decides.
    Feature(
        name="variantShredding",
        reader=True,
        requires=("variantType",),
        active=lambda table: table.properties.enable_variant_shredding,
        enabled_by_metadata=True,
        upgrades_tables=True,
        preview="variantShredding-preview",
        reads=Support.NO,
        writes=Support.NO,
    ),
    Feature(
        name="variantShredding-preview",
        reader=True,
        active=lambda table: table.properties.enable_variant_shredding,
        reads=Support.NO,
        writes=Support.NO,
    ),
    Feature(
        name="geospatial",
        reader=True,
        active=_has_geospatial,
        enabled_by_metadata=True,
        upgrades_tables=True,
        preview="geospatial-dev",
        reads=Support.UNUSED,
        writes=Support.UNUSED,
    ),
    Feature(
        name="geospatial-dev",
        reader=True,
        active=_has_geospatial,
        reads=Support.UNUSED,
        writes=Support.UNUSED,
    ),
    Feature(
        name="collations",
        active=column_has(COLLATIONS),
        enabled_by_metadata=True,
        preview="collations-preview",
        writes=Support.UNUSED,
    ),
    Feature(
        name="collations-preview",
        active=column_has(COLLATIONS),
        writes=Support.UNUSED,
    ),
]

_ICEBERG = [
    Feature(
        name="icebergCompatV1",
        requires=("columnMapping",),
        active=lambda table: table.properties.enable_iceberg_compat_v1 is True,
        enabled_by_metadata=True,
        upgrades_tables=True,
        rebases=True,
    ),
    Feature(
        name="icebergCompatV2",
        requires=("columnMapping",),
        active=lambda table: table.properties.enable_iceberg_compat_v2 is True,
        enabled_by_metadata=True,
        upgrades_tables=True,
        rebases=True,
    ),
    Feature(
        name="icebergCompatV3",
        requires=("columnMapping", "rowTracking"),
        active=lambda table: table.properties.enable_iceberg_compat_v3 is True,
        enabled_by_metadata=True,
        upgrades_tables=True,
        rebases=True,
        writes=Support.UNUSED,
    ),
    Feature(
        name="icebergWriterCompatV1",
        requires=("icebergCompatV2",),
        active=lambda table: table.properties.enable_iceberg_writer_compat_v1 is True,
        enabled_by_metadata=True,
        writes=Support.UNUSED,
    ),
    Feature(
        name="icebergWriterCompatV3",
        requires=("icebergCompatV3",),
        active=lambda table: table.properties.enable_iceberg_writer_compat_v3 is True,
        enabled_by_metadata=True,
        writes=Support.UNUSED,
    ),
]

# A catalog or coordinator may hold commits that are not in the log: what the log shows is not
# the table.
_ELSEWHERE = [
    Feature(
        name="catalogManaged",
        reader=True,
        requires=("inCommitTimestamp", "vacuumProtocolCheck"),
        rebases=True,
        reads=Support.NO,
        writes=Support.NO,
    ),
    Feature(
        name="catalogOwned-preview",
        reader=True,
        requires=("inCommitTimestamp", "vacuumProtocolCheck"),
        reads=Support.NO,
        writes=Support.NO,
    ),
    Feature(
        name="coordinatedCommits-preview",
        requires=("inCommitTimestamp", "vacuumProtocolCheck"),
        active=lambda table: table.properties.commit_coordinator is not None,
        enabled_by_metadata=True,
        upgrades_tables=True,
        reads=Support.UNUSED,
        writes=Support.UNUSED,
    ),
    Feature(
        name="redirectReaderWriter-preview",
        reader=True,
        active=lambda table: table.properties.redirect_reader_writer is not None,
        enabled_by_metadata=True,
        upgrades_tables=True,
        reads=Support.UNUSED,
        writes=Support.UNUSED,
    ),
    Feature(
        name="redirectWriterOnly-preview",
        active=lambda table: table.properties.redirect_writer_only is not None,
        enabled_by_metadata=True,
        upgrades_tables=True,
        writes=Support.UNUSED,
    ),
    Feature(
        name="adaptiveMetadata-preview",
        reader=True,
        requires=(
            "catalogManaged",
            "rowTracking",
            "domainMetadata",
            "deletionVectors",
            "columnMapping",
        ),
        reads=Support.NO,
        writes=Support.NO,
    ),
]

FEATURES: Mapping[str, Feature] = {
    feature.name: feature
    for group in (_LEGACY, _LOG, _ROWS, _TYPES, _ICEBERG, _ELSEWHERE)
    for feature in group
}
