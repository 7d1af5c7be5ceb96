"""COPY INTO: loading files, each of them once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from lakebed.errors import SqlError
from lakebed.expressions.parser.tokens import Kind, Token
from lakebed.sql.cursor import Cursor
from lakebed.sql.grammar.column_refs import ColumnRef, columns
from lakebed.sql.grammar.property_lists import properties
from lakebed.sql.statement import Slice, Statement

_CLAUSES = ("FILEFORMAT", "VALIDATE", "FILES", "PATTERN", "FORMAT_OPTIONS", "COPY_OPTIONS")


@dataclass(frozen=True, kw_only=True)
class CopyStatement(Statement):
    """`select` are the expressions of a SELECT over the files, `where` its condition.

    `validate`: only show what would be loaded, so many rows of it; -1 for all.
    """

    source: str
    file_format: str
    select: tuple[Slice, ...] | None = None
    where: Slice | None = None
    by_position: bool = False
    columns: tuple[ColumnRef, ...] | None = None
    files: tuple[str, ...] | None = None
    pattern: str | None = None
    format_options: Mapping[str, str] = field(default_factory=dict)
    copy_options: Mapping[str, str] = field(default_factory=dict)
    validate: int | None = None


def parse_copy(cursor: Cursor) -> Statement:
    cursor.expect("COPY", "INTO")
    table = cursor.table()
    by_position = cursor.accept("BY", "POSITION")
    names = None if by_position or not cursor.at_symbol("(") else columns(cursor)
    cursor.expect("FROM")
    source, select, where = _source(cursor)
    clauses = _clauses(cursor)
    file_format = clauses.pop("file_format", None)
    if file_format is None:
        raise cursor.error("it is not said what the files are", hint="add FILEFORMAT = PARQUET")
    return CopyStatement(
        table,
        True,
        source=source,
        file_format=file_format,
        select=select,
        where=where,
        by_position=by_position or names is not None,
        columns=names,
        **clauses,
    )


def _source(cursor: Cursor) -> tuple[str, tuple[Slice, ...] | None, Slice | None]:
    """A path in quotes, or (SELECT ... FROM 'path')."""
    if not cursor.accept_symbol("("):
        return _path(cursor), None, None
    cursor.expect("SELECT")
    select = [cursor.expression(",", "FROM")]
    while cursor.accept_symbol(","):
        select.append(cursor.expression(",", "FROM"))
    cursor.expect("FROM")
    path = _path(cursor)
    where = cursor.expression() if cursor.accept("WHERE") else None
    cursor.expect_symbol(")")
    return path, tuple(select), where


def _path(cursor: Cursor) -> str:
    token, path = cursor.token, cursor.string("the path of the files")
    if not path:
        raise cursor.error("the path of the files is empty", token)
    if cursor.at("WITH"):
        raise cursor.error(
            "credentials do not go into the statement",
            hint="set them in the session, as for reads of this store",
        )
    return path


# Values are of the types of the fields of `CopyStatement`.
def _clauses(cursor: Cursor) -> dict:  # type: ignore[type-arg]
    found: dict[str, object] = {}
    while not cursor.is_at_end:
        token = cursor.token
        word = cursor.accept_any(*_CLAUSES)
        if word is None:
            raise _unknown(cursor, token)
        name, value = _clause(cursor, word)
        if name in found:
            raise cursor.error(f"{word} is given twice", token)
        found[name] = value
    if "files" in found and "pattern" in found:
        raise cursor.error("give FILES or PATTERN, not both")
    return found


def _clause(cursor: Cursor, word: str) -> tuple[str, object]:
    if word == "FORMAT_OPTIONS":
        return "format_options", properties(cursor)
    if word == "COPY_OPTIONS":
        return "copy_options", properties(cursor)
    if word == "VALIDATE":
        is_counted = cursor.token.kind is Kind.NUMBER or cursor.at_marker
        if cursor.accept("ALL") or not is_counted:
            return "validate", -1
        count = cursor.integer("a number of rows")
        cursor.expect("ROWS")
        return "validate", count
    cursor.expect_symbol("=")
    if word == "FILEFORMAT":
        return "file_format", cursor.identifier("a format").lower()
    if word == "PATTERN":
        return "pattern", cursor.string("a pattern")
    return "files", _files(cursor)


def _files(cursor: Cursor) -> tuple[str, ...]:
    cursor.expect_symbol("(")
    found = [cursor.string("the name of a file")]
    while cursor.accept_symbol(","):
        found.append(cursor.string("the name of a file"))
    cursor.expect_symbol(")")
    return tuple(found)


def _unknown(cursor: Cursor, token: Token) -> SqlError:
    near = get_close_matches(token.text.upper(), _CLAUSES, n=1)
    hint = f"did you mean {near[0]}?" if near else f"clauses are {', '.join(_CLAUSES)}"
    return cursor.error(f"unexpected {token}", hint=hint)
