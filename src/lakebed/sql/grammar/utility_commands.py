"""Table utility commands: OPTIMIZE, VACUUM, DESCRIBE HISTORY and DETAIL, RESTORE, REORG, GENERATE,
FSCK REPAIR, CONVERT TO DELTA and UNDROP.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lakebed.expressions.parser.tokens import Kind
from lakebed.sql.cursor import Cursor
from lakebed.sql.grammar.column_refs import ColumnRef, column
from lakebed.sql.statement import AsOf, Slice, Statement


@dataclass(frozen=True, kw_only=True)
class OptimizeStatement(Statement):
    full: bool = False
    where: Slice | None = None
    zorder_by: tuple[ColumnRef, ...] = ()


@dataclass(frozen=True, kw_only=True)
class VacuumStatement(Statement):
    mode: str | None = None
    inventory: Slice | None = None
    retain_hours: float | None = None
    dry_run: bool = False


@dataclass(frozen=True, kw_only=True)
class RestoreStatement(Statement):
    as_of: AsOf


@dataclass(frozen=True, kw_only=True)
class ReorgStatement(Statement):
    """`iceberg` is the version of UPGRADE UNIFORM; None: PURGE."""

    where: Slice | None = None
    iceberg: int | None = None


@dataclass(frozen=True, kw_only=True)
class GenerateStatement(Statement):
    mode: str


@dataclass(frozen=True, kw_only=True)
class FsckStatement(Statement):
    dry_run: bool = False


@dataclass(frozen=True, kw_only=True)
class ConvertStatement(Statement):
    """`table` is parquet.`/data/orders`, or a name of the catalog."""

    statistics: bool = True
    partitions: Slice | None = None


@dataclass(frozen=True)
class UndropTable(Statement):
    pass


def parse_optimize(cursor: Cursor) -> Statement:
    cursor.expect("OPTIMIZE")
    table = cursor.table_or_path()
    full = cursor.accept("FULL")
    where = cursor.expression(("ZORDER", "BY")) if cursor.accept("WHERE") else None
    zorder: tuple[ColumnRef, ...] = ()
    if cursor.accept("ZORDER"):
        cursor.expect("BY")
        zorder = _columns(cursor)
    cursor.expect_end()
    return OptimizeStatement(table, True, full=full, where=where, zorder_by=zorder)


def _columns(cursor: Cursor) -> tuple[ColumnRef, ...]:
    enclosed = cursor.accept_symbol("(")
    found = [column(cursor)]
    while cursor.accept_symbol(","):
        found.append(column(cursor))
    if enclosed:
        cursor.expect_symbol(")")
    return tuple(found)


def parse_vacuum(cursor: Cursor) -> Statement:
    """The options may come in any order, as in delta-spark."""
    cursor.expect("VACUUM")
    table = cursor.table_or_path()
    mode, inventory, hours, dry_run = None, None, None, False
    while not cursor.is_at_end:
        if mode is None and (word := cursor.accept_any("FULL", "LITE")):
            mode = word.lower()
        elif inventory is None and cursor.accept("USING", "INVENTORY"):
            inventory = _inventory(cursor)
        elif hours is None and cursor.accept("RETAIN"):
            hours = _number(cursor)
            if not (cursor.accept("HOURS") or cursor.accept("HOUR")):
                cursor.expect("HOURS")
        elif not dry_run and cursor.accept("DRY", "RUN"):
            dry_run = True
        else:
            raise cursor.error(
                f"unexpected {cursor.token}",
                hint="VACUUM takes FULL or LITE, USING INVENTORY, RETAIN n HOURS and DRY RUN",
            )
    return VacuumStatement(
        table, True, mode=mode, inventory=inventory, retain_hours=hours, dry_run=dry_run
    )


def _inventory(cursor: Cursor) -> Slice:
    """A table, or a query in parentheses."""
    start = cursor.position
    if cursor.at_symbol("("):
        cursor.enclosed()
    else:
        cursor.parts("the name of a table")
    return Slice(cursor.sql[start : cursor.position].strip(), start)


_HOURS = re.compile(r"[0-9]{1,12}(?:\.[0-9]{0,12})?")


def _number(cursor: Cursor) -> float:
    if cursor.at_marker:
        return cursor.number("a number of hours")
    token = cursor.token
    if token.kind is not Kind.NUMBER or _HOURS.fullmatch(token.text) is None:
        raise cursor.error(f"expected a number of hours, found {token}")
    cursor.next()
    return float(token.text)


def parse_restore(cursor: Cursor) -> Statement:
    cursor.expect("RESTORE")
    cursor.accept("TABLE")
    table = cursor.table()
    cursor.accept("TO")
    as_of = cursor.as_of()
    if as_of is None:
        raise cursor.error(
            f"expected VERSION AS OF or TIMESTAMP AS OF, found {cursor.token}",
            hint="RESTORE TABLE t TO VERSION AS OF 3",
        )
    cursor.expect_end()
    return RestoreStatement(table, True, as_of=as_of)


def parse_reorg(cursor: Cursor) -> Statement:
    cursor.expect("REORG", "TABLE")
    table = cursor.table()
    where = cursor.expression("APPLY") if cursor.accept("WHERE") else None
    cursor.expect("APPLY")
    cursor.expect_symbol("(")
    iceberg = None
    if cursor.accept("UPGRADE"):
        cursor.expect("UNIFORM")
        cursor.expect_symbol("(")
        cursor.expect("ICEBERG_COMPAT_VERSION")
        cursor.expect_symbol("=")
        iceberg = cursor.integer("a version")
        cursor.expect_symbol(")")
    else:
        cursor.expect("PURGE")
    cursor.expect_symbol(")")
    cursor.expect_end()
    return ReorgStatement(table, True, where=where, iceberg=iceberg)


def parse_generate(cursor: Cursor) -> Statement:
    cursor.expect("GENERATE")
    is_string = cursor.token.kind is Kind.STRING or cursor.at_marker
    mode = cursor.string() if is_string else cursor.identifier("a mode")
    cursor.expect("FOR", "TABLE")
    table = cursor.table()
    cursor.expect_end()
    return GenerateStatement(table, True, mode=mode)


def parse_sync_metadata(cursor: Cursor) -> Statement | None:
    """MSCK REPAIR TABLE t SYNC METADATA; without the end it is about Hive's partitions."""
    cursor.expect("MSCK")
    if not cursor.accept("REPAIR", "TABLE"):
        return None
    table = cursor.table()
    if not cursor.accept("SYNC", "METADATA"):
        return None
    cursor.expect_end()
    return GenerateStatement(table, True, mode="iceberg")


def parse_fsck(cursor: Cursor) -> Statement:
    cursor.expect("FSCK", "REPAIR", "TABLE")
    table = cursor.table()
    dry_run = cursor.accept("DRY", "RUN")
    cursor.expect_end()
    return FsckStatement(table, True, dry_run=dry_run)


def parse_convert(cursor: Cursor) -> Statement:
    cursor.expect("CONVERT", "TO", "DELTA")
    table = cursor.table()
    statistics, partitions = True, None
    while not cursor.is_at_end:
        if statistics and cursor.accept("NO", "STATISTICS"):
            statistics = False
        elif partitions is None and cursor.accept("PARTITIONED", "BY"):
            partitions = cursor.enclosed()
        else:
            raise cursor.error(
                f"unexpected {cursor.token}", hint="CONVERT takes NO STATISTICS and PARTITIONED BY"
            )
    return ConvertStatement(table, True, statistics=statistics, partitions=partitions)


def parse_undrop(cursor: Cursor) -> Statement:
    cursor.expect("UNDROP")
    cursor.accept("TABLE")
    table = cursor.table()
    cursor.expect_end()
    return UndropTable(table, is_ours=True)


@dataclass(frozen=True, kw_only=True)
class DescribeHistory(Statement):
    limit: int | None = None


@dataclass(frozen=True, kw_only=True)
class DescribeDetail(Statement):
    pass


def parse_describe(cursor: Cursor) -> Statement | None:
    """None for all that Spark parses."""
    if not cursor.accept("DESC"):
        cursor.expect("DESCRIBE")
    if not _goes_on(cursor):
        return None
    if cursor.accept("HISTORY"):
        return _history(cursor)
    if not cursor.accept("DETAIL"):
        return None
    table = cursor.table_or_path()
    cursor.expect_end()
    return DescribeDetail(table, True)


def _goes_on(cursor: Cursor) -> bool:
    """Whether the word here is not itself the name of a table."""
    following = cursor.peek()
    is_last = following.kind is Kind.END or following.is_symbol(";", ".")
    return not is_last


def _history(cursor: Cursor) -> Statement:
    table = cursor.table_or_path()
    limit = cursor.integer("a number of commits") if cursor.accept("LIMIT") else None
    cursor.expect_end()
    return DescribeHistory(table, True, limit=limit)
