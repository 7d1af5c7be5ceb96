"""CREATE TABLE and its family: with columns, AS a query, LIKE another table, CLONE of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lakebed.commands.named_modes import CREATE, IF_NOT_EXISTS, OR_REPLACE, REPLACE
from lakebed.errors import SqlError
from lakebed.expressions.tokens import Kind
from lakebed.sql.cursor import Cursor
from lakebed.sql.grammar.column_definitions import data_type
from lakebed.sql.grammar.properties import properties
from lakebed.sql.statement import AsOf, Slice, Statement, TableRef


@dataclass(frozen=True)
class IdentityDefinition:
    always: bool
    start: int = 1
    step: int = 1


@dataclass(frozen=True)
class ColumnText:
    """A column as CREATE TABLE has it."""

    name: str
    data_type: Slice
    position: int
    nullable: bool = True
    comment: str | None = None
    default: Slice | None = None
    generated: Slice | None = None
    identity: IdentityDefinition | None = None


@dataclass(frozen=True)
class TableText:
    """What may stand behind the columns. `provider` is the format, in small letters."""

    provider: str | None = None
    partition_by: tuple[str, ...] = ()
    cluster_by: tuple[str, ...] = ()
    location: str | None = None
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class CreateTable(Statement):
    mode: str = CREATE
    columns: tuple[ColumnText, ...] = ()
    checks: Mapping[str, Slice] = field(default_factory=dict)
    text: TableText = field(default_factory=TableText)
    query: Slice | None = None


@dataclass(frozen=True)
class CreateLike(Statement):
    mode: str = CREATE
    source: TableRef = field(default=TableRef((), 0))
    text: TableText = field(default_factory=TableText)


@dataclass(frozen=True)
class CloneTable(Statement):
    mode: str = CREATE
    source: TableRef = field(default=TableRef((), 0))
    as_of: AsOf | None = None
    is_shallow: bool = False
    text: TableText = field(default_factory=TableText)


def parse_create(cursor: Cursor) -> Statement | None:
    """Statements of other formats, and what is not about tables, are None."""
    mode = _mode(cursor)
    if mode is None:
        return None
    try:
        return _statement(cursor, mode)
    except SqlError:
        # What Spark knows and this does not is no error unless it is about Delta.
        if _says_delta(cursor):
            raise
        return None


def _mode(cursor: Cursor) -> str | None:
    if cursor.accept("REPLACE", "TABLE"):
        return REPLACE
    if cursor.accept("CREATE", "OR", "REPLACE", "TABLE"):
        return OR_REPLACE
    if not cursor.accept("CREATE", "TABLE"):
        return None
    return IF_NOT_EXISTS if cursor.accept("IF", "NOT", "EXISTS") else CREATE


def _statement(cursor: Cursor, mode: str) -> Statement:
    table = cursor.table()
    if cursor.at_any("SHALLOW", "DEEP", "CLONE"):
        return _clone(cursor, table, mode)
    if cursor.accept("LIKE"):
        source = cursor.table()
        text = _text(cursor, ())
        cursor.expect_end()
        return CreateLike(table, mode=mode, source=source, text=text)
    columns, checks = _columns(cursor) if cursor.at_symbol("(") else ([], {})
    text = _text(cursor, columns)
    query = _query(cursor)
    if query is not None and columns:
        raise cursor.error(
            "a table that is made of a query has the columns of the query",
            hint="leave the columns out, and CAST in the query",
        )
    cursor.expect_end()
    return CreateTable(
        table, mode=mode, columns=tuple(columns), checks=checks, text=text, query=query
    )


def _clone(cursor: Cursor, table: TableRef, mode: str) -> CloneTable:
    kind = cursor.accept_any("SHALLOW", "DEEP")
    cursor.expect("CLONE")
    source = cursor.table()
    as_of = _as_of(cursor)
    text = _text(cursor, ())
    cursor.expect_end()
    return CloneTable(
        table,
        is_ours=True,
        mode=mode,
        source=source,
        as_of=as_of,
        is_shallow=kind == "SHALLOW",
        text=text,
    )


def _as_of(cursor: Cursor) -> AsOf | None:
    """A time ends where the clauses of the new table begin."""
    mark = cursor.mark()
    cursor.accept("FOR")
    if not (cursor.accept("TIMESTAMP", "AS", "OF") or cursor.accept("SYSTEM_TIME", "AS", "OF")):
        cursor.reset(mark)
        return cursor.as_of()
    return AsOf(timestamp=cursor.expression("TBLPROPERTIES", "LOCATION", "COMMENT"))


def _columns(cursor: Cursor) -> tuple[list[ColumnText], dict[str, Slice]]:
    columns: list[ColumnText] = []
    checks: dict[str, Slice] = {}
    cursor.expect_symbol("(")
    while not cursor.accept_symbol(")"):
        if _at_constraint(cursor):
            name, check = _constraint(cursor)
            checks[name] = check
        else:
            columns.append(_column(cursor))
        if not cursor.at_symbol(")"):
            cursor.expect_symbol(",")
    return columns, checks


def _at_constraint(cursor: Cursor) -> bool:
    """A column may have such a name too, but is followed by a type."""
    named = cursor.at_any("CONSTRAINT") and cursor.peek(2).is_word("CHECK", "PRIMARY", "FOREIGN")
    keys = cursor.at("PRIMARY", "KEY") or cursor.at("FOREIGN", "KEY")
    return named or keys or (cursor.at_any("CHECK") and cursor.peek().is_symbol("("))


def _constraint(cursor: Cursor) -> tuple[str, Slice]:
    name = None
    if cursor.accept("CONSTRAINT"):
        name = cursor.identifier("the name of a constraint")
    if not cursor.accept("CHECK"):
        raise cursor.error(
            "Delta tables have no primary and foreign keys",
            hint="leave the constraint out; CHECK constraints are there",
        )
    if name is None:
        raise cursor.error("a CHECK constraint needs a name", hint="write CONSTRAINT name CHECK")
    condition = cursor.enclosed()
    cursor.accept("ENFORCED")
    return name, condition


def _column(cursor: Cursor) -> ColumnText:
    position = cursor.position
    name = cursor.identifier("the name of a column")
    cursor.accept_symbol(":")
    kind = data_type(cursor)
    found = ColumnText(name, kind, position)
    values = dict(vars(found))
    while not cursor.at_symbol(",", ")"):
        key, value = _attribute(cursor)
        values[key] = value
    return ColumnText(**values)


def _attribute(cursor: Cursor) -> tuple[str, object]:
    if cursor.accept("NOT", "NULL"):
        return "nullable", False
    if cursor.accept("COMMENT"):
        return "comment", cursor.string("a comment")
    if cursor.accept("DEFAULT"):
        return "default", cursor.expression(",", ("NOT", "NULL"), "COMMENT", "GENERATED")
    if cursor.accept("GENERATED", "BY", "DEFAULT", "AS", "IDENTITY"):
        return "identity", _identity(cursor, always=False)
    if cursor.accept("GENERATED", "ALWAYS", "AS", "IDENTITY"):
        return "identity", _identity(cursor, always=True)
    if cursor.accept("GENERATED", "ALWAYS", "AS"):
        return "generated", cursor.enclosed()
    raise cursor.error(
        f"expected ',' or ')' after a column, found {cursor.token}",
        hint="a column may have NOT NULL, COMMENT, DEFAULT and GENERATED ALWAYS AS",
    )


def _identity(cursor: Cursor, *, always: bool) -> IdentityDefinition:
    start = step = 1
    if not cursor.accept_symbol("("):
        return IdentityDefinition(always)
    while not cursor.accept_symbol(")"):
        if cursor.accept("START", "WITH"):
            start = _signed(cursor)
        elif cursor.accept("INCREMENT", "BY"):
            step = _signed(cursor)
        else:
            raise cursor.error(f"expected START WITH or INCREMENT BY, found {cursor.token}")
        cursor.accept_symbol(",")
    return IdentityDefinition(always, start, step)


def _signed(cursor: Cursor) -> int:
    sign = -1 if cursor.accept_symbol("-") else 1
    return sign * cursor.integer()


def _text(cursor: Cursor, columns: object) -> TableText:
    """The clauses, in any order, each once."""
    values: dict[str, object] = {}
    while (found := _clause(cursor, columns)) is not None:
        key, value = found
        if key in values:
            raise cursor.error("this is said twice")
        values[key] = value
    return TableText(**values)  # type: ignore[arg-type]


def _clause(cursor: Cursor, columns: object) -> tuple[str, object] | None:
    if cursor.accept("USING"):
        return "provider", ".".join(cursor.parts("a format")).lower()
    if cursor.accept("PARTITIONED", "BY"):
        return "partition_by", _partition_columns(cursor, columns)
    if cursor.accept("CLUSTER", "BY"):
        return "cluster_by", () if cursor.accept("NONE") else _paths(cursor)
    if cursor.accept("LOCATION"):
        return "location", cursor.string("a location")
    if cursor.accept("COMMENT"):
        return "comment", cursor.string("a comment")
    if cursor.accept("TBLPROPERTIES"):
        return "properties", properties(cursor)
    if cursor.at("OPTIONS"):
        return _options(cursor)
    return None


def _options(cursor: Cursor) -> tuple[str, object]:
    """`path` is another way to say LOCATION."""
    token = cursor.next()
    found = {key.lower(): value for key, value in properties(cursor).items()}
    if list(found) != ["path"]:
        raise cursor.error(
            "a Delta table has no option but 'path'", token, hint="properties go to TBLPROPERTIES"
        )
    return "location", found["path"]


def _partition_columns(cursor: Cursor, columns: object) -> tuple[str, ...]:
    """Names, or columns with their types, which then come behind the others."""
    found = []
    cursor.expect_symbol("(")
    while True:
        name = cursor.identifier("the name of a column")
        if cursor.at_symbol("("):
            raise cursor.error(
                f"a Delta table cannot be partitioned by {name}(...)",
                hint="make a column GENERATED ALWAYS AS the expression, and partition by that",
            )
        if not cursor.at_symbol(",", ")"):
            cursor.reset(cursor.mark() - 1)
            assert isinstance(columns, list)
            columns.append(_column(cursor))
        found.append(name)
        if not cursor.accept_symbol(","):
            break
    cursor.expect_symbol(")")
    return tuple(found)


def _paths(cursor: Cursor) -> tuple[str, ...]:
    """Columns, or fields in them, as text that names them."""
    found = []
    cursor.expect_symbol("(")
    while True:
        parts = cursor.parts("the name of a column")
        found.append(".".join(f"`{part.replace('`', '``')}`" for part in parts))
        if not cursor.accept_symbol(","):
            break
    cursor.expect_symbol(")")
    return tuple(found)


def _query(cursor: Cursor) -> Slice | None:
    said = cursor.accept("AS")
    begins = cursor.at_any("SELECT", "WITH", "VALUES", "TABLE", "FROM") or cursor.at_symbol("(")
    if not said and not begins:
        return None
    if cursor.is_at_end:
        raise cursor.error("expected a query, found the end")
    return cursor.rest()


def _says_delta(cursor: Cursor) -> bool:
    """Whether USING delta, a path of Delta or CLONE stands anywhere in it."""
    cursor.reset(0)
    while cursor.token.kind is not Kind.END:
        if cursor.accept("USING", "DELTA") or cursor.at_any("CLONE"):
            return True
        if cursor.token.is_word("DELTA") and cursor.peek().is_symbol("."):
            return True
        cursor.next()
    return False
