"""ALTER TABLE and COMMENT ON: the changes that Spark's catalog is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lakebed.catalog.entry import NewEntry
from lakebed.commands.alter.cluster_by import cluster_by
from lakebed.commands.alter.columns.add_columns import NewColumn, plan_add_columns
from lakebed.commands.alter.columns.alter_column import (
    ColumnChange,
    alter_column,
    plan_alter_column,
)
from lakebed.commands.alter.columns.drop_columns import drop_columns
from lakebed.commands.alter.columns.rename_column import rename_column
from lakebed.commands.alter.columns.replace_columns import replace_columns
from lakebed.commands.alter.table_properties import set_comment, set_properties, unset_properties
from lakebed.commands.target.column_names import to_position
from lakebed.commands.target.metadata_change import AlterTarget
from lakebed.errors import UnsupportedFeatureError
from lakebed.log.table_log import TableLog
from lakebed.sessions.native.catalog_changes import set_location
from lakebed.sessions.native.create_statements import field_of, type_of
from lakebed.sessions.native.question import Question
from lakebed.settings.setting_table import USER_METADATA
from lakebed.spark.catalog.mirrored_catalog import catalog_url
from lakebed.spark.catalog.session_catalog import replace_entry, resolve
from lakebed.spark.stores.location import open_location
from lakebed.spec.columns.column_mapping import strip
from lakebed.spec.schema import schema_to_json
from lakebed.tables.delta_table import DeltaTable

Change = Mapping[str, Any]


def alter(asked: Question) -> None:
    """Changes of one kind come together; Spark sends no statement that mixes kinds."""
    changes: Sequence[Change] = asked.request["changes"]
    store, _ = open_location(asked.session, asked.path, {})
    target = AlterTarget(TableLog(store), USER_METADATA.of(asked.session))
    kinds = {change["kind"] for change in changes}
    if kinds == {"drop_column", "add_column"}:
        replace_columns(target, [_field(each) for each in changes if each["kind"] == "add_column"])
        _tell_catalog(asked, target)
        return
    for kind in sorted(kinds):
        change = _CHANGES.get(kind)
        if change is None:
            raise UnsupportedFeatureError(f"a Delta table cannot be changed by {kind}")
        change(asked, target, [each for each in changes if each["kind"] == kind])
    if kinds & _OF_COLUMNS:
        _tell_catalog(asked, target)


def _tell_catalog(asked: Question, target: AlterTarget) -> None:
    """SHOW TABLE EXTENDED and other engines read the columns from the catalog."""
    if not asked.request["is_name"] or catalog_url(asked.session) is not None:
        return
    entry, snapshot = resolve(asked.session, asked.request["parts"]), target.log.snapshot()
    database, name = entry.parts
    replace_entry(
        asked.session,
        NewEntry(
            database,
            name,
            entry.location or "",
            entry.is_managed,
            schema_to_json(strip(snapshot.schema)),
            snapshot.metadata.partition_columns,
            entry.comment,
            entry.owner,
        ),
    )


def unset(asked: Question) -> None:
    store, _ = open_location(asked.session, asked.path, {})
    target = AlterTarget(TableLog(store), USER_METADATA.of(asked.session))
    keys: Sequence[str] = asked.request["keys"]
    unset_properties(target, keys, if_exists=bool(asked.request["if_exists"]))


def add_check(asked: Question) -> None:
    table = DeltaTable.forPath(asked.session, asked.path)
    table.addConstraint(asked.request["constraint"], asked.request["condition"])


def _set(asked: Question, target: AlterTarget, changes: Sequence[Change]) -> None:
    given = {each["key"]: each["value"] for each in changes}
    # Declarative Pipelines of Spark 4.1 and 4.2 set the format that the table has.
    if given.get("provider", "").lower() == "delta":
        del given["provider"]
    if "location" in given:
        set_location(
            asked.session, resolve(asked.session, asked.request["parts"]), given.pop("location")
        )
    if "comment" in given:
        set_comment(target, given.pop("comment"))
    if given:
        set_properties(target, given)


def _remove(asked: Question, target: AlterTarget, changes: Sequence[Change]) -> None:
    del asked
    keys = [each["key"] for each in changes]
    if "comment" in keys:
        set_comment(target, None)
        keys.remove("comment")
    if keys:
        # Spark itself refuses those that are not there, unless the statement says IF EXISTS.
        unset_properties(target, keys, if_exists=True)


def _add(asked: Question, target: AlterTarget, changes: Sequence[Change]) -> None:
    del asked
    new = [
        NewColumn(_field(each), tuple(each["path"][:-1]), _position(each["position"]))
        for each in changes
    ]
    target.apply(lambda snapshot: plan_add_columns(snapshot, new))


def _drop(asked: Question, target: AlterTarget, changes: Sequence[Change]) -> None:
    del asked
    drop_columns(target, [tuple(each["path"]) for each in changes])


def _rename(asked: Question, target: AlterTarget, changes: Sequence[Change]) -> None:
    del asked
    for each in changes:
        rename_column(target, tuple(each["path"]), each["new"])


def _cluster(asked: Question, target: AlterTarget, changes: Sequence[Change]) -> None:
    del asked
    columns = [tuple(path) for path in changes[-1]["columns"]]
    cluster_by(target, columns or None)


def _add_constraint(asked: Question, target: AlterTarget, changes: Sequence[Change]) -> None:
    del target
    for each in changes:
        if each["sql"] is None:
            raise UnsupportedFeatureError(
                "Delta tables have CHECK constraints alone", hint="write CHECK (condition)"
            )
        DeltaTable.forPath(asked.session, asked.path).addConstraint(each["name"], each["sql"])


def _drop_constraint(asked: Question, target: AlterTarget, changes: Sequence[Change]) -> None:
    del target
    for each in changes:
        table = DeltaTable.forPath(asked.session, asked.path)
        table.dropConstraint(each["name"], bool(each["if_exists"]))


def _alter(asked: Question, target: AlterTarget, changes: Sequence[Change]) -> None:
    """Several changes are several commits; none is made if one of them cannot be."""
    del asked
    snapshot = target.log.snapshot()
    for each in changes:
        plan_alter_column(snapshot, tuple(each["path"]), _planned(each))
    for each in changes:
        given = _planned(each)
        position = each.get("position")
        alter_column(
            target,
            tuple(each["path"]),
            type=given.data_type,
            nullable=given.nullable,
            comment=given.comment,
            default=given.default,
            drop_default=given.drop_default,
            first=position is not None and "after" not in position,
            after=None if position is None else position.get("after"),
        )


def _planned(change: Change) -> ColumnChange:
    kind = change["kind"]
    default = change.get("default")
    return ColumnChange(
        type_of(change) if kind == "column_type" else None,
        bool(change["nullable"]) if kind == "column_nullable" else None,
        (change["comment"] or "") if kind == "column_comment" else None,
        default or None,
        kind == "column_default" and not default,
        _position(change.get("position")),
    )


def _field(change: Change) -> Any:
    return field_of({**change, "name": change["path"][-1]})


def _position(given: Mapping[str, str] | None) -> Any:
    return to_position(given is not None and "after" not in given, (given or {}).get("after"))


_OF_COLUMNS = {"add_column", "drop_column", "rename_column", "column_type", "column_nullable"}
_CHANGES: dict[str, Callable[[Question, AlterTarget, Sequence[Change]], None]] = {
    "set_property": _set,
    "remove_property": _remove,
    "add_column": _add,
    "drop_column": _drop,
    "rename_column": _rename,
    "cluster_by": _cluster,
    "add_constraint": _add_constraint,
    "drop_constraint": _drop_constraint,
    "column_type": _alter,
    "column_nullable": _alter,
    "column_comment": _alter,
    "column_default": _alter,
    "column_position": _alter,
}
