"""Tables whose files readers of Iceberg can use (PROTOCOL: Iceberg Compatibility V1 and V2).

One record for each version. The rules say what a table must be like while a version is on; that
its metadata is published for such readers is another matter (`delta.universalFormat`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lakebed.errors import SchemaError, TablePropertyError
from lakebed.spec.actions import Add, Metadata, Protocol
from lakebed.spec.columns.column_mapping import (
    MODE,
    column_id,
    mapping_mode,
    missing_nested_ids,
)
from lakebed.spec.columns.type_widening import can_widen, can_widen_under_iceberg, type_changes
from lakebed.spec.features import is_active, is_supported
from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructType,
    parse_schema,
    render_path,
    walk,
    walk_types,
)

TAG = "ICEBERG_COMPAT_VERSION"
"""The tag of files that are as a version wants them."""
FORMATS = TableProperties.universal_formats.key
VECTORS = TableProperties.enable_deletion_vectors.key
ICEBERG = "iceberg"


@dataclass(frozen=True)
class IcebergCompat:
    """`nested_ids`: elements of arrays and entries of maps are allowed, with ids of their own.
    `tags`: files say that they are as they should be."""

    version: int
    nested_ids: bool
    tags: bool

    @property
    def feature(self) -> str:
        return f"icebergCompatV{self.version}"

    @property
    def key(self) -> str:
        return f"delta.enableIcebergCompatV{self.version}"

    @property
    def reorg(self) -> str:
        """The command that makes any table fit."""
        return f"REORG TABLE ... APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION = {self.version}))"

    @property
    def file_tags(self) -> Mapping[str, str]:
        return {TAG: str(self.version)} if self.tags else {}

    def has_tag(self, add: Add) -> bool:
        return self.tags and (add.tags or {}).get(TAG) == str(self.version)

    def is_on(self, configuration: Mapping[str, str]) -> bool:
        return configuration.get(self.key, "false").lower() == "true"


COMPATS: Mapping[int, IcebergCompat] = {
    1: IcebergCompat(1, nested_ids=False, tags=False),
    2: IcebergCompat(2, nested_ids=True, tags=True),
}
"""By version. The third, which is not written, is known to exclude these."""

_THIRD = IcebergCompat(3, nested_ids=True, tags=True)
_ALL = (*COMPATS.values(), _THIRD)


def enabled_compat(configuration: Mapping[str, str]) -> IcebergCompat | None:
    """The version that the properties turn on."""
    return next((each for each in COMPATS.values() if each.is_on(configuration)), None)


def active_compat(protocol: Protocol, metadata: Metadata) -> IcebergCompat | None:
    """The version that the table supports and has on."""
    found = enabled_compat(metadata.configuration)
    return found if found is not None and is_active(protocol, metadata, found.feature) else None


def publishes(configuration: Mapping[str, str]) -> bool:
    """Whether the table promises metadata to readers of Iceberg."""
    return ICEBERG in TableProperties(configuration).universal_formats


# --- properties ---------------------------------------------------------------------------------


def for_new_table(defaults: Mapping[str, str], asked: Mapping[str, str]) -> dict[str, str]:
    """The properties of a new table, with the column mapping that a version needs.

    Deletion vectors that only a default turns on are left out, as in delta-spark.
    """
    both = {**defaults, **asked}
    if not any(each.is_on(both) for each in _ALL):
        return both
    if VECTORS not in asked and not _THIRD.is_on(both):
        both.pop(VECTORS, None)
    return {MODE: "name", **both}


def without_promise(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str]:
    """The properties after a change: whoever turns the version off ends the promise to readers of
    Iceberg too, as in delta-spark."""
    was_on = any(each.is_on(before) for each in _ALL)
    if not was_on or any(each.is_on(after) for each in _ALL):
        return dict(after)
    return _without_iceberg(after)


def _without_iceberg(configuration: Mapping[str, str]) -> dict[str, str]:
    formats = TableProperties(configuration).universal_formats
    others = [each for each in formats if each != ICEBERG]
    kept = {key: value for key, value in configuration.items() if key != FORMATS}
    return {**kept, FORMATS: ",".join(others)} if others else kept


# --- what a table must be like ------------------------------------------------------------------


def check_compat(protocol: Protocol, metadata: Metadata, before: Metadata | None) -> None:
    """Refuses metadata that the version it turns on does not allow; `before` is the old one."""
    configuration = metadata.configuration
    on = [each for each in _ALL if each.is_on(configuration)]
    if publishes(configuration) and not on:
        raise TablePropertyError(
            f"{FORMATS} has {ICEBERG}, which needs files that Iceberg can read",
            hint=f"run {COMPATS[2].reorg}; a new table can set {COMPATS[2].key} = true as well",
        )
    if len(on) > 1:
        raise TablePropertyError(
            f"{' and '.join(each.key for each in on)} are both true",
            hint=f"one excludes the other; {on[-1].reorg} changes from one to the other",
        )
    compat = enabled_compat(configuration)
    if compat is None:
        return
    was_on = before is not None and compat.is_on(before.configuration)
    _check_mapping(compat, configuration)
    _check_vectors(compat, protocol, configuration, was_on=was_on)
    schema = parse_schema(metadata.schema_string)
    _check_types(compat, schema)
    _check_ids(compat, schema)
    _check_widening(compat, protocol, schema)
    if before is not None:
        _check_partitions(compat, before, metadata)


def _check_mapping(compat: IcebergCompat, configuration: Mapping[str, str]) -> None:
    if mapping_mode(configuration) == "none":
        raise TablePropertyError(
            f"{compat.key} needs {MODE} = name or id",
            hint=f"run {compat.reorg}, which turns it on and gives the files their ids",
        )


def _check_vectors(
    compat: IcebergCompat, protocol: Protocol, configuration: Mapping[str, str], *, was_on: bool
) -> None:
    if TableProperties(configuration).enable_deletion_vectors:
        raise TablePropertyError(
            f"{compat.key} and {VECTORS} are both true",
            hint=f"readers of Iceberg do not know deletion vectors; {compat.reorg} turns them off "
            "and rewrites the files that have them",
        )
    if compat.version == 1 and not was_on and is_supported(protocol, "deletionVectors"):
        raise TablePropertyError(
            f"{compat.key} cannot be turned on: the table has the feature deletionVectors",
            hint=f"drop the feature deletionVectors first, or run {COMPATS[2].reorg}",
        )


def _check_types(compat: IcebergCompat, schema: StructType) -> None:
    for path, field in walk(schema):
        for each in walk_types(field.data_type):
            if not _is_allowed(compat, each):
                raise SchemaError(
                    f"column {render_path(path)} has the type {each}, which tables with "
                    f"{compat.feature} cannot have",
                    hint=f"{COMPATS[2].feature} allows arrays and maps"
                    if isinstance(each, ArrayType | MapType)
                    else "give the column another type, or leave it out",
                )


def _is_allowed(compat: IcebergCompat, data_type: DataType) -> bool:
    if isinstance(data_type, ArrayType | MapType):
        return compat.nested_ids
    return isinstance(data_type, StructType | DecimalType) or data_type in _PRIMITIVES


_NUMBERS = (BYTE, SHORT, INTEGER, LONG, FLOAT, DOUBLE)
_PRIMITIVES = (*_NUMBERS, BOOLEAN, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ)


def _check_ids(compat: IcebergCompat, schema: StructType) -> None:
    for path, field in walk(schema):
        lacks_id = column_id(field) is None
        if lacks_id or (compat.nested_ids and missing_nested_ids(field)):
            raise SchemaError(
                f"column {render_path(path)} has no id{'' if lacks_id else ' for what is in it'}, "
                f"which {compat.feature} needs",
                hint=f"run {compat.reorg}",
            )


def _check_widening(compat: IcebergCompat, protocol: Protocol, schema: StructType) -> None:
    """Of changes that Delta does not know at all others speak."""
    if not any(is_supported(protocol, f"typeWidening{end}") for end in ("", "-preview")):
        return
    for path, field in walk(schema):
        for change in type_changes(field):
            wide = can_widen(change.from_type, change.to_type)
            if wide and not can_widen_under_iceberg(change.from_type, change.to_type):
                raise SchemaError(
                    f"column {render_path((*path, *change.field_path))} went from "
                    f"{change.from_type} to {change.to_type}, which Iceberg does not know and "
                    f"{compat.feature} does not allow",
                    hint="drop the feature typeWidening, which rewrites such files, or turn "
                    f"{compat.key} off",
                )


def _check_partitions(compat: IcebergCompat, before: Metadata, after: Metadata) -> None:
    old, new = before.partition_columns, after.partition_columns
    if old and old != new:
        raise SchemaError(
            f"the table is partitioned by {list(old)} and cannot become partitioned by "
            f"{list(new)} while it has {compat.feature}",
            hint=f"set {compat.key} to false first, or make another table",
        )
