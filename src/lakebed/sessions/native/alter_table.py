"""ALTER TABLE and COMMENT ON: the changes that Spark's catalog is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pyspark.sql import SparkSession

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
from lakebed.commands.alter.constraints import drop_constraint
from lakebed.commands.alter.table_properties import set_comment, set_properties, unset_properties
from lakebed.commands.target.column_names import to_position
from lakebed.commands.target.metadata_change import AlterTarget
from lakebed.errors import UnsupportedFeatureError
from lakebed.sessions.native.catalog_changes import set_location
from lakebed.sessions.native.create_statements import field_of, type_of
from lakebed.sessions.native.question import Question
from lakebed.spark.catalog.mirrored_catalog import catalog_url
from lakebed.spark.catalog.session_catalog import replace_entry, resolve
from lakebed.spec.columns.column_mapping import strip
from lakebed.spec.schema import schema_to_json
from lakebed.sql.open_tables import OpenTable

Change = Mapping[str, Any]


def alter(asked: Question) -> None:
    """Changes of one kind come together; Spark sends no statement that mixes kinds."""
    changes: Sequence[Change] = asked.request["changes"]
    table = _AlteredTable(asked)
    kinds = {change["kind"] for change in changes}
    if kinds == {"drop_column", "add_column"}:
        added = [_field(each) for each in changes if each["kind"] == "add_column"]
        replace_columns(table.target, added)
        _update_catalog(table)
        return
    for kind in sorted(kinds):
        change = _CHANGES.get(kind)
        if change is None:
            raise UnsupportedFeatureError(f"a Delta table cannot be changed by {kind}")
        change(table, [each for each in changes if each["kind"] == kind])
    if kinds & _OF_COLUMNS:
        _update_catalog(table)


def _update_catalog(table: _AlteredTable) -> None:
    """SHOW TABLE EXTENDED and other engines read the columns from the catalog."""
    session, request = table.session, table.asked.request
    if not request["is_name"] or catalog_url(session) is not None:
        return
    entry, snapshot = resolve(session, request["parts"]), table.target.log.snapshot()
    database, name = entry.parts
    replace_entry(
        session,
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
    """As in delta-spark it is no error that a property is not there, with or without IF EXISTS."""
    unset_properties(_AlteredTable(asked).target, asked.request["keys"], if_exists=True)


def add_check(asked: Question) -> None:
    table = _AlteredTable(asked).open.delta()
    table.addConstraint(asked.request["constraint"], asked.request["condition"])


@dataclass(frozen=True)
class _AlteredTable:
    """The table that a statement is about, opened when a change needs it."""

    asked: Question

    @property
    def session(self) -> SparkSession:
        return self.asked.session

    @cached_property
    def open(self) -> OpenTable:
        return OpenTable.at(self.session, self.asked.path)

    @property
    def target(self) -> AlterTarget:
        return self.open.alter


def _set(table: _AlteredTable, changes: Sequence[Change]) -> None:
    given = {each["key"]: each["value"] for each in changes}
    # Declarative Pipelines of Spark 4.1 and 4.2 set the format that the table has.
    if given.get("provider", "").lower() == "delta":
        del given["provider"]
    if "location" in given:
        entry = resolve(table.session, table.asked.request["parts"])
        set_location(table.session, entry, given.pop("location"))
    if "comment" in given:
        set_comment(table.target, given.pop("comment"))
    if given:
        set_properties(table.target, given)


def _remove(table: _AlteredTable, changes: Sequence[Change]) -> None:
    keys = [each["key"] for each in changes]
    if "comment" in keys:
        set_comment(table.target, None)
        keys.remove("comment")
    if keys:
        # Spark itself refuses those that are not there, unless the statement says IF EXISTS.
        unset_properties(table.target, keys, if_exists=True)


def _add(table: _AlteredTable, changes: Sequence[Change]) -> None:
    new = [
        NewColumn(_field(each), tuple(each["path"][:-1]), _position(each["position"]))
        for each in changes
    ]
    table.target.apply(lambda snapshot: plan_add_columns(snapshot, new))


def _drop(table: _AlteredTable, changes: Sequence[Change]) -> None:
    drop_columns(table.target, [tuple(each["path"]) for each in changes])


def _rename(table: _AlteredTable, changes: Sequence[Change]) -> None:
    for each in changes:
        rename_column(table.target, tuple(each["path"]), each["new"])


def _cluster(table: _AlteredTable, changes: Sequence[Change]) -> None:
    columns = [tuple(path) for path in changes[-1]["columns"]]
    cluster_by(table.target, columns or None)


def _add_constraint(table: _AlteredTable, changes: Sequence[Change]) -> None:
    for each in changes:
        if each["sql"] is None:
            raise UnsupportedFeatureError(
                "Delta tables have CHECK constraints alone", hint="write CHECK (condition)"
            )
        table.open.delta().addConstraint(each["name"], each["sql"])


def _drop_constraint(table: _AlteredTable, changes: Sequence[Change]) -> None:
    for each in changes:
        drop_constraint(table.target, each["name"], if_exists=bool(each["if_exists"]))


def _alter(table: _AlteredTable, changes: Sequence[Change]) -> None:
    """Several changes are several commits; none is made if one of them cannot be."""
    snapshot = table.target.log.snapshot()
    for each in changes:
        plan_alter_column(snapshot, tuple(each["path"]), _planned(each))
    for each in changes:
        given = _planned(each)
        position = each.get("position")
        alter_column(
            table.target,
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
_CHANGES: dict[str, Callable[[_AlteredTable, Sequence[Change]], None]] = {
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
