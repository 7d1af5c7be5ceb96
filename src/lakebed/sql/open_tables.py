"""The Delta table that a statement is about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import SparkSession

from lakebed.commands.target.metadata_change import AlterTarget
from lakebed.errors import InvalidArgumentError, TableNotFoundError
from lakebed.errors import excerpt as place_in
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spark.catalog.session_catalog import find, resolve
from lakebed.spark.stores.location import open_location
from lakebed.sql.context import SqlContext
from lakebed.sql.statement import Statement, TableRef
from lakebed.tables.delta_table import DeltaTable


@dataclass(frozen=True)
class OpenTable:
    """`location` is its folder as the user or the catalog names it, `root` as Hadoop does."""

    session: SparkSession
    location: str
    root: str
    log: TableLog

    @classmethod
    def at(cls, session: SparkSession, location: str) -> OpenTable:
        store, root = open_location(session, location, {})
        return cls(session, location, root, TableLog(store))

    @cached_property
    def snapshot(self) -> Snapshot:
        """The newest version when it was first asked for."""
        return self.log.snapshot()

    def delta(self, alias: str | None = None, name: str | None = None) -> DeltaTable:
        return DeltaTable(self.session, self.log, self.root, {}, alias, name=name)

    @property
    def alter(self) -> AlterTarget:
        return AlterTarget.of(self.session, self.log)


@dataclass(frozen=True)
class NamedTable(OpenTable):
    """`ref` is what a statement calls it."""

    ref: TableRef

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """What expressions may write before the name of a column, the longest first."""
        if self.ref.path is not None:
            return (self.ref.parts,)
        parts = self.ref.parts
        return tuple(parts[start:] for start in range(len(parts)))


def open_table(context: SqlContext, statement: Statement) -> NamedTable | None:
    """None if it is no Delta table, and another engine may know the statement."""
    ref = statement.table
    location = _location(context, statement)
    if location is None:
        return None
    store, root = open_location(context.session, location, {})
    found = NamedTable(context.session, location, root, TableLog(store), ref)
    try:
        _ = found.snapshot
    except TableNotFoundError as error:
        raise TableNotFoundError(_shown(context, ref, error.message), hint=error.hint) from error
    return found


def _location(context: SqlContext, statement: Statement) -> str | None:
    session, ref = context.session, statement.table
    found = find(session, ref.parts)
    if found is not None and found.is_delta:
        return found.location
    if not statement.is_ours:
        return None
    try:
        return resolve(session, ref.parts).location
    except (TableNotFoundError, InvalidArgumentError) as error:
        raise type(error)(_shown(context, ref, error.message), hint=error.hint) from error


def _shown(context: SqlContext, ref: TableRef, message: str) -> str:
    return f"{message}\n{place_in(context.sql, ref.position)}"
