"""ALTER TABLE: properties, columns, constraints, clustering, features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from lakebed.sql.cursor import Cursor
from lakebed.sql.grammar.column_definitions import (
    ColumnDefinition,
    column_definitions,
    data_type,
    defined,
)
from lakebed.sql.grammar.column_names import ColumnRef, column, columns
from lakebed.sql.grammar.properties import properties, property_keys
from lakebed.sql.statement import Slice, Statement, TableRef


@dataclass(frozen=True, kw_only=True)
class SetProperties(Statement):
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class UnsetProperties(Statement):
    keys: tuple[str, ...] = ()
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class AddColumns(Statement):
    columns: tuple[ColumnDefinition, ...] = ()
    if_not_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class ReplaceColumns(Statement):
    columns: tuple[ColumnDefinition, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SyncIdentity(Statement):
    column: ColumnRef


@dataclass(frozen=True, kw_only=True)
class RefusedChange(Statement):
    """What Spark knows, and Delta tables cannot do."""

    message: str
    hint: str


@dataclass(frozen=True, kw_only=True)
class RenameColumn(Statement):
    column: ColumnRef
    new_name: str


@dataclass(frozen=True, kw_only=True)
class DropColumns(Statement):
    columns: tuple[ColumnRef, ...] = ()
    if_exists: bool = False


@dataclass(frozen=True)
class ColumnChange:
    column: ColumnRef
    data_type: Slice | None = None
    nullable: bool | None = None
    comment: str | None = None
    default: Slice | None = None
    drop_default: bool = False
    first: bool = False
    after: str | None = None


@dataclass(frozen=True, kw_only=True)
class AlterColumns(Statement):
    changes: tuple[ColumnChange, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AddConstraint(Statement):
    name: str
    condition: Slice


@dataclass(frozen=True, kw_only=True)
class DropConstraint(Statement):
    name: str
    if_exists: bool = False


@dataclass(frozen=True, kw_only=True)
class ClusterBy(Statement):
    """No columns at all: CLUSTER BY NONE."""

    columns: tuple[ColumnRef, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DropFeature(Statement):
    name: str
    truncate_history: bool = False


def parse_alter(cursor: Cursor) -> Statement | None:
    """None for what is not about tables, and for new names of tables."""
    cursor.expect("ALTER")
    if not cursor.accept("TABLE"):
        return None
    table = cursor.table()
    for words, parse in _ACTIONS.items():
        if cursor.accept(*words):
            found = parse(cursor, table)
            cursor.expect_end()
            return found
    return None


def _set_properties(cursor: Cursor, table: TableRef) -> Statement:
    return SetProperties(table, properties=properties(cursor))


def _unset_properties(cursor: Cursor, table: TableRef) -> Statement:
    if_exists = cursor.accept("IF", "EXISTS")
    return UnsetProperties(table, keys=property_keys(cursor), if_exists=if_exists)


def _add_columns(cursor: Cursor, table: TableRef) -> Statement:
    absent = cursor.accept("IF", "NOT", "EXISTS")
    return AddColumns(table, columns=column_definitions(cursor), if_not_exists=absent)


def _replace_columns(cursor: Cursor, table: TableRef) -> Statement:
    return ReplaceColumns(table, columns=column_definitions(cursor))


def _refused(message: str, hint: str) -> Callable[[Cursor, TableRef], Statement]:
    def parse(cursor: Cursor, table: TableRef) -> Statement:
        cursor.rest()
        return RefusedChange(table, message=message, hint=hint)

    return parse


_PARTITIONS = _refused(
    "partitions of a Delta table come and go with its rows",
    "INSERT adds a partition, DELETE FROM ... WHERE takes one away",
)


def _rename_column(cursor: Cursor, table: TableRef) -> Statement:
    old = column(cursor)
    cursor.expect("TO")
    return RenameColumn(table, column=old, new_name=cursor.identifier("a new name"))


def _drop_columns(cursor: Cursor, table: TableRef) -> Statement:
    if_exists = cursor.accept("IF", "EXISTS")
    if cursor.at_symbol("("):
        return DropColumns(table, columns=columns(cursor), if_exists=if_exists)
    found = [column(cursor)]
    while cursor.accept_symbol(","):
        found.append(column(cursor))
    return DropColumns(table, columns=tuple(found), if_exists=if_exists)


def _alter_column(cursor: Cursor, table: TableRef) -> Statement:
    mark, name = cursor.mark(), column(cursor)
    if cursor.accept("SYNC", "IDENTITY"):
        return SyncIdentity(table, column=name)
    cursor.reset(mark)
    found = [_change(cursor)]
    while cursor.accept_symbol(","):
        found.append(_change(cursor))
    return AlterColumns(table, changes=tuple(found))


def _change(cursor: Cursor) -> ColumnChange:
    change = ColumnChange(column(cursor))
    if cursor.accept("TYPE"):
        return replace(change, data_type=data_type(cursor))
    if cursor.accept("COMMENT"):
        return replace(change, comment=cursor.string("a comment"))
    if cursor.accept("FIRST"):
        return replace(change, first=True)
    if cursor.accept("AFTER"):
        return replace(change, after=cursor.identifier("the name of a column"))
    if cursor.accept("SET", "DEFAULT"):
        return replace(change, default=cursor.expression(","))
    if cursor.accept("DROP", "DEFAULT"):
        return replace(change, drop_default=True)
    if cursor.accept("SET", "NOT", "NULL"):
        return replace(change, nullable=False)
    if cursor.accept("DROP", "NOT", "NULL"):
        return replace(change, nullable=True)
    raise cursor.error(
        f"expected what is to change of {change.column}, found {cursor.token}",
        hint="TYPE, COMMENT, SET or DROP NOT NULL, SET or DROP DEFAULT, FIRST, AFTER",
    )


def _change_column(cursor: Cursor, table: TableRef) -> Statement:
    """CHANGE COLUMN old new type ..., Hive's way; new is the same name."""
    mark, old = cursor.mark(), column(cursor)
    if not cursor.at_name or cursor.at_any(*_CHANGES):
        cursor.reset(mark)
        return _alter_column(cursor, table)
    token, new = cursor.token, cursor.identifier()
    if new.lower() != old.parts[-1].lower():
        raise cursor.error(
            f"CHANGE COLUMN cannot give {old} another name",
            token,
            hint="use ALTER TABLE ... RENAME COLUMN ... TO ...",
        )
    cursor.accept_symbol(":")
    found = defined(cursor, old, data_type(cursor))
    change = ColumnChange(
        old,
        found.data_type,
        None if found.nullable else False,
        found.comment,
        found.default,
        first=found.first,
        after=found.after,
    )
    return AlterColumns(table, changes=(change,))


_CHANGES = ("TYPE", "COMMENT", "SET", "DROP", "FIRST", "AFTER")


def _add_constraint(cursor: Cursor, table: TableRef) -> Statement:
    name = cursor.identifier("the name of the constraint")
    if not cursor.accept("CHECK"):
        raise cursor.error(
            f"expected CHECK, found {cursor.token}", hint="constraints are CHECK (condition)"
        )
    condition = cursor.enclosed()
    cursor.accept("ENFORCED")
    return AddConstraint(table, name=name, condition=condition)


def _drop_constraint(cursor: Cursor, table: TableRef) -> Statement:
    if_exists = cursor.accept("IF", "EXISTS")
    name = cursor.identifier("the name of the constraint")
    return DropConstraint(table, name=name, if_exists=if_exists)


def _cluster_by(cursor: Cursor, table: TableRef) -> Statement:
    if cursor.accept("NONE"):
        return ClusterBy(table)
    if cursor.at("AUTO"):
        raise cursor.error("clustering columns cannot be chosen for you", hint="name the columns")
    return ClusterBy(table, columns=columns(cursor))


def _drop_feature(cursor: Cursor, table: TableRef) -> Statement:
    name = cursor.string() if not cursor.at_name else cursor.identifier("the name of a feature")
    return DropFeature(table, name=name, truncate_history=cursor.accept("TRUNCATE", "HISTORY"))


_ACTIONS: Mapping[tuple[str, ...], Callable[[Cursor, TableRef], Statement]] = {
    ("SET", "TBLPROPERTIES"): _set_properties,
    ("UNSET", "TBLPROPERTIES"): _unset_properties,
    ("ADD", "COLUMN"): _add_columns,
    ("ADD", "COLUMNS"): _add_columns,
    ("RENAME", "COLUMN"): _rename_column,
    ("DROP", "COLUMN"): _drop_columns,
    ("DROP", "COLUMNS"): _drop_columns,
    ("ALTER", "COLUMN"): _alter_column,
    ("ALTER",): _alter_column,
    ("CHANGE", "COLUMN"): _change_column,
    ("CHANGE",): _change_column,
    ("ADD", "CONSTRAINT"): _add_constraint,
    ("DROP", "CONSTRAINT"): _drop_constraint,
    ("CLUSTER", "BY"): _cluster_by,
    ("DROP", "FEATURE"): _drop_feature,
    ("REPLACE", "COLUMNS"): _replace_columns,
    ("ADD", "PARTITION"): _PARTITIONS,
    ("ADD", "IF", "NOT", "EXISTS", "PARTITION"): _PARTITIONS,
    ("DROP", "PARTITION"): _PARTITIONS,
    ("DROP", "IF", "EXISTS", "PARTITION"): _PARTITIONS,
    ("PARTITION",): _PARTITIONS,
    ("RECOVER", "PARTITIONS"): _PARTITIONS,
    ("SET", "SERDE"): _refused("Delta tables have no SERDE", "leave it out"),
    ("SET", "SERDEPROPERTIES"): _refused("Delta tables have no SERDE", "leave it out"),
}
