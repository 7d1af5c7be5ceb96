"""DROP, UNDROP, TRUNCATE, REFRESH and SHOW CREATE TABLE; DROP SCHEMA."""

from __future__ import annotations

from dataclasses import dataclass

from lakebed.sql.cursor import Cursor
from lakebed.sql.statement import Statement


@dataclass(frozen=True)
class DropTable(Statement):
    if_exists: bool = False
    purge: bool = False


@dataclass(frozen=True)
class DropSchema(Statement):
    """`table` is the name of the schema."""

    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True)
class CreateSchema(Statement):
    """`table` is the name of the schema."""

    if_not_exists: bool = False
    location: str | None = None
    comment: str | None = None


@dataclass(frozen=True)
class UndropTable(Statement):
    pass


@dataclass(frozen=True)
class TruncateTable(Statement):
    pass


@dataclass(frozen=True)
class ShowCreateTable(Statement):
    pass


@dataclass(frozen=True)
class RenameTable(Statement):
    new_name: tuple[str, ...] = ()


@dataclass(frozen=True)
class RefreshTable(Statement):
    pass


@dataclass(frozen=True)
class SetLocation(Statement):
    location: str = ""


def parse_drop(cursor: Cursor) -> Statement | None:
    cursor.expect("DROP")
    if cursor.accept_any("SCHEMA", "DATABASE"):
        return _schema(cursor)
    if not cursor.accept("TABLE"):
        return None
    if_exists = cursor.accept("IF", "EXISTS")
    table = cursor.table()
    purge = cursor.accept("PURGE")
    cursor.expect_end()
    return DropTable(table, if_exists=if_exists, purge=purge)


def parse_undrop(cursor: Cursor) -> Statement | None:
    cursor.expect("UNDROP")
    cursor.accept("TABLE")
    table = cursor.table()
    cursor.expect_end()
    return UndropTable(table, is_ours=True)


def parse_truncate(cursor: Cursor) -> Statement | None:
    if not cursor.accept("TRUNCATE", "TABLE"):
        return None
    table = cursor.table()
    if cursor.at_any("PARTITION"):
        return None
    cursor.expect_end()
    return TruncateTable(table)


def parse_refresh(cursor: Cursor) -> Statement | None:
    """REFRESH [TABLE] name. The other kinds are about paths and functions."""
    cursor.expect("REFRESH")
    cursor.accept("TABLE")
    if not cursor.at_name or cursor.at_any("FUNCTION"):
        return None
    table = cursor.table()
    return RefreshTable(table) if cursor.is_at_end else None


def parse_show_create(cursor: Cursor) -> Statement | None:
    if not cursor.accept("SHOW", "CREATE", "TABLE"):
        return None
    table = cursor.table()
    return ShowCreateTable(table) if cursor.is_at_end else None


def parse_rename(cursor: Cursor) -> Statement | None:
    """ALTER TABLE, where it is about the name in the catalog."""
    if not cursor.accept("ALTER", "TABLE"):
        return None
    table = cursor.table()
    if cursor.accept("SET", "LOCATION"):
        location = cursor.string("a location")
        cursor.expect_end()
        return SetLocation(table, location=location)
    if not cursor.accept("RENAME", "TO"):
        return None
    new_name = cursor.parts("the new name of the table")
    cursor.expect_end()
    return RenameTable(table, new_name=new_name)


def parse_create_schema(cursor: Cursor) -> Statement | None:
    if not (cursor.accept("CREATE", "SCHEMA") or cursor.accept("CREATE", "DATABASE")):
        return None
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    schema = cursor.table()
    location = comment = None
    while not cursor.is_at_end:
        if cursor.accept("LOCATION"):
            location = cursor.string("a location")
        elif cursor.accept("COMMENT"):
            comment = cursor.string("a comment")
        else:
            return None
    return CreateSchema(schema, if_not_exists=if_not_exists, location=location, comment=comment)


def _schema(cursor: Cursor) -> Statement:
    if_exists = cursor.accept("IF", "EXISTS")
    schema = cursor.table()
    cascade = cursor.accept("CASCADE")
    cursor.accept("RESTRICT")
    cursor.expect_end()
    return DropSchema(schema, if_exists=if_exists, cascade=cascade)
