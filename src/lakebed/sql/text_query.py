"""Queries by their text: tables in it are replaced by views over DataFrames of Delta tables.

For sessions of Spark Connect, whose parser is out of reach, and for a Spark whose internals are not
as Lakebed knows them. What tokens do not tell is left as it is, and Spark says what it makes of it.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lakebed.errors import UnsupportedFeatureError
from lakebed.expressions.tokens import Kind, Token, tokenize
from lakebed.spark.catalog_entry import TableEntry
from lakebed.spark.enabled import is_enabled
from lakebed.spark.functions import is_connect
from lakebed.spark.names import split_name
from lakebed.spark.session_catalog import find
from lakebed.spark.sql_text import quoted, quoted_parts
from lakebed.sql.cursor import Cursor
from lakebed.sql.definitions import is_definition, run_definition
from lakebed.sql.delta_reads import DeltaRead
from lakebed.sql.moments import moment
from lakebed.sql.parameters import Arguments, bind, with_names
from lakebed.sql.plain import plain_sql
from lakebed.sql.remembered_views import remember_view, remembered_view
from lakebed.sql.table_positions import TablePosition, table_positions, without_version

_IN_NAMES = "identifier"
_MOST_VIEWS = 20
"""Views over views are followed so far."""


def delta_query(session: SparkSession, text: str, args: Arguments) -> DataFrame | None:
    """What `spark.sql` gives; None if the text names no Delta table, and nothing is done."""
    seen = with_names(bind(text, args) if args and _IN_NAMES in text.lower() else text)
    if not table_positions(seen) or not is_enabled(session):
        return None
    bound = with_names(bind(text, args))
    view = _temporary_view(bound)
    if view is not None:
        return view.run(session)
    if is_definition(bound) and is_connect(session):
        return run_definition(session, bound)
    return _Query(session).frame(bound)


def any_query(session: SparkSession, text: str) -> DataFrame | None:
    return delta_query(session, text, None)


def delta_table(session: SparkSession, name: str, options: Mapping[str, str]) -> DataFrame | None:
    parts = tuple(split_name(name))
    whole = TablePosition(parts, 0, len(name), True, options=dict(options))
    return _Query(session).table(name, whole)


@dataclass(frozen=True)
class _Query:
    """`namespace` is where names without a database are looked up; the current one if empty."""

    session: SparkSession
    namespace: tuple[str, ...] = ()
    depth: int = 0

    def frame(self, text: str) -> DataFrame | None:
        places: list[tuple[TablePosition, str]] = []
        names: dict[str, str] = {}
        frames: dict[str, DataFrame] = {}
        for place in table_positions(text):
            key = repr((place.parts, place.version, place.timestamp, place.options))
            key += repr(place.arguments)
            if key not in names:
                found = self.table(text, place)
                if found is None:
                    continue
                names[key] = f"lakebed_{len(frames)}"
                frames[names[key]] = found
            places.append((place, names[key]))
        if not frames:
            return None
        _refuse_definitions(text)
        return plain_sql(self.session, _rewritten(text, places), frames=frames)

    def table(self, text: str, place: TablePosition) -> DataFrame | None:
        """A Delta table, or a view over some; None for others."""
        if place.arguments is not None:
            return self._changes(text, place)
        parts, version, timestamp = without_version(place.parts)
        entry = self._entry(place.parts)
        options = dict(place.options)
        if entry is None and parts != place.parts:
            entry = self._entry(parts)
            options |= {"versionAsOf": version} if version else {"timestampAsOf": timestamp or ""}
        if entry is None:
            return None
        if entry.is_view and entry.is_temporary:
            return self._remembered(entry)
        if entry.is_view:
            return self._view(entry)
        if not entry.is_delta:
            return None
        travel = None if place.timestamp is None else moment(self.session, place.timestamp)
        path = entry.location if entry.is_path else None
        read = DeltaRead(parts, entry.location, path, place.version, travel, options)
        return read.frame(self.session, text, place.start)

    def _entry(self, parts: tuple[str, ...]) -> TableEntry | None:
        if len(parts) == 1 and self.namespace:
            parts = (*self.namespace, *parts)
        return find(self.session, parts)

    def _changes(self, text: str, place: TablePosition) -> DataFrame:
        values = [self._value(each) for each in place.arguments or ()]
        name = str(values[0]) if values else ""
        if place.parts[0].lower() == "table_changes_by_path":
            read = DeltaRead(["delta", name], path=name, changes=values[1:])
        else:
            parts = tuple(split_name(name))
            entry = self._entry(parts)
            location = None if entry is None or not entry.is_delta else entry.location
            path = name if location is None and "/" in name else None
            read = DeltaRead(parts, location, path, changes=values[1:])
        return read.frame(self.session, text, place.start)

    def _view(self, entry: TableEntry) -> DataFrame | None:
        """The text of a view with the Delta tables in it; None if it has none."""
        if self.depth >= _MOST_VIEWS:
            return None
        shown = plain_sql(self.session, f"DESCRIBE TABLE EXTENDED {quoted_parts(entry.parts)}")
        rows = [(str(row[0]), str(row[1])) for row in shown.collect()]
        names = [name for name, _ in rows]
        start = names.index("# Detailed Table Information")
        facts = dict(rows[start:])
        columns = [name for name in names[:start] if name]
        namespace = tuple(split_name(facts.get("View Catalog and Namespace", "")))
        inner = _Query(self.session, tuple(filter(None, namespace)), self.depth + 1)
        found = inner.frame(facts.get("View Text", ""))
        return None if found is None else found.toDF(*columns)

    def _remembered(self, entry: TableEntry) -> DataFrame | None:
        """A temporary view as it is by now; None leaves it as it was made."""
        view = remembered_view(self.session, entry.parts[-1], entry.created)
        if view is None or self.depth >= _MOST_VIEWS:
            return None
        found = _Query(self.session, depth=self.depth + 1).frame(view.text)
        if found is None or found.columns == list(view.columns):
            return found
        return found.select(*[quoted(name) for name in view.columns])

    def _value(self, expression: str) -> Any:
        value = plain_sql(self.session, f"SELECT {expression}").collect()[0][0]
        return moment(self.session, expression) if isinstance(value, dt.date) else value


@dataclass(frozen=True)
class _TemporaryView:
    """CREATE TEMPORARY VIEW over Delta tables: one of a DataFrame takes its place."""

    name: str
    query: str
    is_global: bool
    replaces: bool

    def run(self, session: SparkSession) -> DataFrame | None:
        frame = _Query(session).frame(self.query)
        if frame is None:
            return None
        kind = "GlobalTempView" if self.is_global else "TempView"
        verb = "createOrReplace" if self.replaces else "create"
        getattr(frame, verb + kind)(self.name)
        if not self.is_global:
            remember_view(session, self.name, self.query, frame.columns)
        return session.createDataFrame([], "")


def _temporary_view(text: str) -> _TemporaryView | None:
    cursor = Cursor(text)
    if not cursor.accept("CREATE"):
        return None
    replaces = cursor.accept("OR", "REPLACE")
    is_global = cursor.accept("GLOBAL")
    is_temporary = cursor.accept_any("TEMP", "TEMPORARY") is not None
    if not is_temporary or not cursor.accept("VIEW"):
        return None
    name = cursor.identifier()
    if not cursor.accept("AS"):
        return None
    return _TemporaryView(name, cursor.rest().text, is_global, replaces)


def _refuse_definitions(text: str) -> None:
    if _VIEW.match(text):
        raise UnsupportedFeatureError(
            "a view over Delta tables cannot be made here",
            hint="make a temporary view, without names of columns, or use a classic session",
        )
    if _FUNCTION.match(text):
        # They would go on reading the version that is the newest now.
        raise UnsupportedFeatureError(
            "functions of SQL cannot name Delta tables here",
            hint="run the statements one by one, or use a classic session",
        )


_VIEW = re.compile(r"\s*CREATE\s+(OR\s+REPLACE\s+)?((GLOBAL\s+)?TEMP\w*\s+)?VIEW\b", re.IGNORECASE)
_FUNCTION = re.compile(r"\s*CREATE\s+(OR\s+REPLACE\s+)?(TEMP\w*\s+)?FUNCTION\b", re.IGNORECASE)


def _rewritten(text: str, places: list[tuple[TablePosition, str]]) -> str:
    """Fields in braces where the tables were; other braces are doubled, as formats want it."""
    edits = []
    for place, name in places:
        shown = without_version(place.parts)[0][-1]
        is_named = place.has_alias or place.arguments is not None
        alias = "" if is_named or "/" in shown else f" AS {quoted(shown)}"
        edits.append((place.start, place.end, f"{{{name}}}{alias}"))
        edits += _qualifiers(text, place)
    parts, last = [], 0
    for start, end, new in sorted(set(edits)):
        parts += [_escaped(text[last:start]), new]
        last = end
    return "".join([*parts, _escaped(text[last:])])


def _qualifiers(text: str, place: TablePosition) -> Iterator[tuple[int, int, str]]:
    """The database before a table before a column, which an alias does not have."""
    wanted = [part.lower() for part in place.parts]
    if len(wanted) < 2 or place.has_alias:
        return
    tokens = [each for each in tokenize(text) if not place.start <= each.position < place.end]
    width = 2 * len(wanted)
    for at in range(len(tokens) - width):
        window = tokens[at : at + width]
        is_free = at == 0 or not tokens[at - 1].is_symbol(".")
        if is_free and _is_qualifier(window, wanted) and not _is_behind_from(tokens, at):
            yield window[0].position, window[-2].position, ""


def _is_qualifier(window: list[Token], wanted: list[str]) -> bool:
    names, dots = window[::2], window[1::2]
    is_name = all(each.kind in (Kind.WORD, Kind.QUOTED) for each in names)
    return (
        is_name
        and [each.text.lower() for each in names] == wanted
        and all(each.is_symbol(".") for each in dots)
    )


def _is_behind_from(tokens: list[Token], at: int) -> bool:
    return at > 0 and tokens[at - 1].is_word("FROM", "JOIN")


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
