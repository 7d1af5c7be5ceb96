"""Changes of a table's metadata that a commit prepared before them can live with.

delta-spark lets a commit go on when a feature was turned on meanwhile that asks nothing of the
files it has written: what the feature asks of the commit itself (row ids, a timestamp) is added
when the commit is rebased. High-water marks of identity columns concern only those who draw values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from lakebed.spec.actions import Metadata, Protocol
from lakebed.spec.columns.column_mapping import MAX_COLUMN_ID, METADATA_KEYS, MODE, mapping_mode
from lakebed.spec.columns.column_metadata import IDENTITY_HIGH_WATER_MARK
from lakebed.spec.features import is_supported
from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import StructField, parse_schema


def is_harmless(old: Metadata, new: Metadata, protocol: Protocol) -> bool:
    """`protocol` is the one after the change."""
    if replace(new, configuration=old.configuration, schema_string=old.schema_string) != old:
        return False
    return _harmless_properties(old, new, protocol) and _harmless_schema(old, new)


def moves_high_water_marks_only(old: Metadata, new: Metadata) -> bool:
    """Whether the change is nothing but values that identity columns have given out."""
    if old == new or replace(new, schema_string=old.schema_string) != old:
        return False
    before, after = parse_schema(old.schema_string), parse_schema(new.schema_string)
    if before.names != after.names or before == after:
        return False
    ignored = {IDENTITY_HIGH_WATER_MARK}
    pairs = zip(before.fields, after.fields, strict=True)
    return all(_without(one, ignored) == _without(other, ignored) for one, other in pairs)


# What a property may change to while a commit is under way: (before, after, whole change) -> bool.
_Check = Callable[[str | None, str, "_Change"], bool]


class _Change:
    def __init__(self, old: Metadata, new: Metadata, protocol: Protocol) -> None:
        self.old, self.new, self.protocol = old, new, protocol
        self.properties = TableProperties(new.configuration)


def _harmless_properties(old: Metadata, new: Metadata, protocol: Protocol) -> bool:
    before, after = old.configuration, new.configuration
    if before == after:
        return True
    if before.keys() - after.keys():
        return False
    change = _Change(old, new, protocol)
    changed = [key for key in after if before.get(key) != after[key]]
    return all(
        key in _CHECKS and _CHECKS[key](before.get(key), after[key], change) for key in changed
    )


def _turned_on(feature: str, _: str | None, after: str, change: _Change) -> bool:
    return after.lower() == "true" and is_supported(change.protocol, feature)


def _v2_checkpoints(_: str | None, after: str, change: _Change) -> bool:
    return after.lower() == "v2" and is_supported(change.protocol, "v2Checkpoint")


def _with_row_tracking(_: str | None, __: str, change: _Change) -> bool:
    return change.properties.enable_row_tracking


def _is_new(before: str | None, _: str, __: _Change) -> bool:
    return before is None


def _mapped_by_name(_: str | None, __: str, change: _Change) -> bool:
    return _turns_on_mapping(change.old, change.new) and is_supported(
        change.protocol, "columnMapping"
    )


def _always(_: str | None, __: str, ___: _Change) -> bool:
    return True


_CHECKS: Mapping[str, _Check] = {
    TableProperties.enable_row_tracking.key: partial(_turned_on, "rowTracking"),
    TableProperties.materialized_row_id_column.key: _with_row_tracking,
    TableProperties.materialized_row_commit_version_column.key: _with_row_tracking,
    TableProperties.enable_deletion_vectors.key: partial(_turned_on, "deletionVectors"),
    TableProperties.checkpoint_policy.key: _v2_checkpoints,
    TableProperties.enable_in_commit_timestamps.key: partial(_turned_on, "inCommitTimestamp"),
    TableProperties.in_commit_timestamp_enablement_version.key: _is_new,
    TableProperties.in_commit_timestamp_enablement_timestamp.key: _is_new,
    MODE: _mapped_by_name,
    MAX_COLUMN_ID: _always,
}


def _harmless_schema(old: Metadata, new: Metadata) -> bool:
    if old.schema_string == new.schema_string:
        return True
    before, after = parse_schema(old.schema_string), parse_schema(new.schema_string)
    if len(before.fields) != len(after.fields):
        return False
    ignored = {IDENTITY_HIGH_WATER_MARK}
    if _turns_on_mapping(old, new):
        # Columns of a table that has files keep their names as physical names.
        ignored.update(METADATA_KEYS)
    pairs = zip(before.fields, after.fields, strict=True)
    return all(_without(one, ignored) == _without(other, ignored) for one, other in pairs)


def _turns_on_mapping(old: Metadata, new: Metadata) -> bool:
    return mapping_mode(old.configuration) == "none" and mapping_mode(new.configuration) == "name"


def _without(field: StructField, keys: set[str]) -> StructField:
    return replace(field, metadata={k: v for k, v in field.metadata.items() if k not in keys})
