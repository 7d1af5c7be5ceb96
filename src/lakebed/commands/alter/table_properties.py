"""SET and UNSET TBLPROPERTIES, and the comment of a table (PROTOCOL: Table Properties).

Properties that turn a feature on upgrade the protocol in the same commit. Row tracking first needs
ids for the rows that are there: `row_ids` gives them in commits of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lakebed.commands.alter.row_tracking_ids import check_all_rows_have_ids, give_row_ids
from lakebed.commands.target.iceberg_files import check_files
from lakebed.commands.target.metadata_change import AlterTarget, Change, operation
from lakebed.commands.target.write_target import row_tracking_columns
from lakebed.errors import InvalidArgumentError, SchemaError, TablePropertyError
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Metadata, Protocol
from lakebed.spec.columns.column_mapping import (
    MODE,
    assign_column_mapping,
    check_mode_change,
    mapping_mode,
)
from lakebed.spec.features import (
    upgraded_for,
    upgraded_for_properties,
    without_protocol_properties,
)
from lakebed.spec.iceberg_compat import (
    check_compat,
    enabled_compat,
    publishes,
    without_promise,
)
from lakebed.spec.properties import (
    CONSTRAINT_PREFIX,
    FEATURE_PREFIX,
    PROPERTIES,
    TableProperties,
    check_together,
    normalized_key,
    validated,
)
from lakebed.spec.schema import find_path, parse_schema, render_path, schema_to_json

COMMENT = "comment"
_ROW_TRACKING = TableProperties.enable_row_tracking.key
_ENABLEMENT_TAG = "rowTrackingEnablementOnly"
_CHANGE_COLUMNS = ("_change_type", "_commit_version", "_commit_timestamp")
_ELSEWHERE = {
    "location": "a table stays where it is; clone it to another place",
    "provider": "the files of a Delta table are always Parquet",
    f"{FEATURE_PREFIX}clustering": "name the columns: cluster_by",
}


def set_properties(target: AlterTarget, properties: Mapping[str, str]) -> Snapshot:
    """Sets properties; `comment` is the comment of the table."""
    changes = _checked(properties)
    if changes.get(_ROW_TRACKING, "").lower() == "true":
        # Refused now, if at all, rather than after ids were given out.
        plan_set_properties(target.log.snapshot(), changes, needs_ids=False)
        give_row_ids(target)
    return target.apply(lambda snapshot: plan_set_properties(snapshot, changes))


def set_comment(target: AlterTarget, comment: str | None) -> Snapshot:
    """The comment of the table; None takes it away."""
    if comment is None:
        return unset_properties(target, [COMMENT], if_exists=True)
    return set_properties(target, {COMMENT: comment})


def unset_properties(
    target: AlterTarget, keys: Sequence[str], *, if_exists: bool = False
) -> Snapshot:
    if isinstance(keys, str) or not all(isinstance(key, str) for key in keys) or not keys:
        raise InvalidArgumentError(
            f"{keys!r} are not names of properties", hint="give a list of names"
        )
    spelled = [normalized_key(key) for key in keys]
    return target.apply(lambda snapshot: plan_unset_properties(snapshot, spelled, if_exists))


def plan_set_properties(
    snapshot: Snapshot, changes: Mapping[str, str], *, needs_ids: bool = True
) -> Change:
    stored = {k: v for k, v in without_protocol_properties(changes).items() if k != COMMENT}
    before = snapshot.metadata
    metadata = replace(
        before,
        description=changes.get(COMMENT, before.description),
        configuration=without_promise(before.configuration, {**before.configuration, **stored}),
    )
    check_together(metadata.configuration)
    metadata = with_mapping(snapshot, metadata)
    metadata = _with_row_tracking(snapshot, metadata, needs_ids)
    _check_columns(metadata)
    protocol = upgraded_for_properties(snapshot.protocol, changes)
    done = operation("SET TBLPROPERTIES", properties=dict(changes))
    if needs_ids and list(changes) == [_ROW_TRACKING] and changes[_ROW_TRACKING].lower() == "true":
        done = replace(done, tags={_ENABLEMENT_TAG: "true"})
    protocol = upgraded_for(protocol, metadata)
    reads = _reads_files_for_iceberg(snapshot, metadata, protocol)
    return Change(done, metadata, protocol, reads_rows=reads)


def plan_unset_properties(
    snapshot: Snapshot, keys: Sequence[str], if_exists: bool = False
) -> Change:
    before = snapshot.metadata
    there = {*before.configuration, *([COMMENT] if before.description is not None else [])}
    missing = [key for key in keys if key not in there]
    if missing and not if_exists:
        raise TablePropertyError(
            f"the table has no property {', '.join(missing)}",
            hint="give if_exists=True to leave out those that are not there",
            condition="DELTA_UNSET_NON_EXISTENT_PROPERTY",
        )
    kept = {key: value for key, value in before.configuration.items() if key not in keys}
    kept = without_promise(before.configuration, kept)
    _check_removable(keys, before)
    description = None if COMMENT in keys else before.description
    metadata = replace(before, configuration=kept, description=description)
    check_together(kept)
    done = operation("UNSET TBLPROPERTIES", properties=list(keys), ifExists=if_exists)
    return Change(done, metadata, upgraded_for(snapshot.protocol, metadata))


def _checked(properties: Any) -> dict[str, str]:
    if not isinstance(properties, Mapping) or not properties:
        raise InvalidArgumentError(
            f"{properties!r} are not properties",
            hint='give a mapping, such as {"delta.appendOnly": "true"}',
        )
    changes = validated(properties)
    for key in changes:
        if key.startswith(CONSTRAINT_PREFIX):
            raise TablePropertyError(
                f"{key} is a constraint, not a property to set",
                hint="use add_constraint: it checks the rows that are there",
                condition="DELTA_ADD_CONSTRAINTS",
            )
        if key in _ELSEWHERE:
            raise TablePropertyError(
                f"{key} is not a property to set",
                hint=_ELSEWHERE[key],
                condition="DELTA_CANNOT_MODIFY_TABLE_PROPERTY",
            )
    return changes


def _check_removable(keys: Sequence[str], before: Metadata) -> None:
    for key in keys:
        known = PROPERTIES.get(key)
        if known is not None and not known.settable and key in before.configuration:
            raise TablePropertyError(
                f"{key} belongs to the table's writers and cannot be taken away",
                condition="DELTA_CANNOT_MODIFY_TABLE_PROPERTY",
            )
    if MODE in keys and mapping_mode(before.configuration) != "none":
        raise _mapping_stays()


def with_mapping(snapshot: Snapshot, metadata: Metadata) -> Metadata:
    """The change from names to mapped names: columns go on under the names that files have.

    A version of Iceberg compatibility may ask for more ids than columns have.
    """
    before = mapping_mode(snapshot.metadata.configuration)
    after = mapping_mode(metadata.configuration)
    compat = enabled_compat(metadata.configuration)
    if before == after and (compat is None or compat.is_on(snapshot.metadata.configuration)):
        return metadata
    if before != after:
        if after == "none":
            raise _mapping_stays()
        check_mode_change(before, after)
    schema, configuration = assign_column_mapping(
        snapshot.schema, metadata.configuration, keep_names=True
    )
    return replace(metadata, schema_string=schema_to_json(schema), configuration=configuration)


def _reads_files_for_iceberg(snapshot: Snapshot, metadata: Metadata, protocol: Protocol) -> bool:
    """Refuses to turn on Iceberg compatibility, or its promise to readers, for files that are not
    made for it; True if it looked at them."""
    before = snapshot.metadata
    check_compat(protocol, metadata, before)
    compat = enabled_compat(metadata.configuration)
    if compat is None:
        return False
    promised = publishes(before.configuration) or not publishes(metadata.configuration)
    if compat.is_on(before.configuration) and promised:
        return False
    check_files(snapshot, metadata, compat)
    return True


def _mapping_stays() -> SchemaError:
    return SchemaError(
        "columns cannot go back to the names in the files by changing a property",
        hint="drop the feature columnMapping, which writes the files anew (drop_feature)",
        condition="DELTA_UNSUPPORTED_COLUMN_MAPPING_MODE_CHANGE",
    )


def _with_row_tracking(snapshot: Snapshot, metadata: Metadata, needs_ids: bool) -> Metadata:
    """PROTOCOL: Row Tracking. It may be turned on once every row has an id."""
    properties = TableProperties(metadata.configuration)
    if not properties.enable_row_tracking or snapshot.properties.enable_row_tracking:
        return metadata
    if needs_ids:
        check_all_rows_have_ids(snapshot)
    if properties.materialized_row_id_column is not None:
        return metadata
    names = {**metadata.configuration, **row_tracking_columns()}
    return replace(metadata, configuration=names)


def _check_columns(metadata: Metadata) -> None:
    """Properties that speak of columns, against those that the table has."""
    schema, properties = (
        parse_schema(metadata.schema_string),
        TableProperties(metadata.configuration),
    )
    for path in properties.data_skipping_stats_columns or ():
        if find_path(schema, path) is None:
            raise TablePropertyError(
                f"delta.dataSkippingStatsColumns names {render_path(path)}, which is no column",
                hint=f"the columns are: {schema}",
                condition="DELTA_COLUMN_NOT_FOUND_IN_SCHEMA",
            )
    taken = [name for name in _CHANGE_COLUMNS if name in schema]
    if properties.enable_change_data_feed and taken:
        raise SchemaError(
            f"the change data feed has columns {', '.join(_CHANGE_COLUMNS)} of its own, and the "
            f"table has {', '.join(taken)}",
            hint="rename the column first",
            condition="DELTA_TABLE_ALREADY_CONTAINS_CDC_COLUMNS",
        )
