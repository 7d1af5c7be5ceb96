"""Statements of a script on the server: each with the variables that can be seen at its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame, SparkSession

from lakebed.sql.script.assignments import with_defaults
from lakebed.sql.script.references import Places, with_places
from lakebed.sql.script.rows import Rows, read_rows, type_text
from lakebed.sql.script.scopes import Scope
from lakebed.sql.script.server import (
    gives_rows,
    is_true,
    refuse_declaration,
    refuse_drop,
    refuse_second,
)
from lakebed.sql.script.tree import Declare
from lakebed.sql.script.variables import Variables

Run = Callable[[str], DataFrame]
Visible = Sequence[Scope]
"""From the outermost on."""


class Statements:
    """`run` is how a statement is run: by the front end, or by Spark."""

    def __init__(self, session: SparkSession, run: Run) -> None:
        self._session = session
        self._run = run
        self._variables = Variables(session)
        self._result: Rows | None = None

    def result(self) -> DataFrame:
        """That of the last query. Without one, a DataFrame without columns."""
        if self._result is None:
            return self._session.createDataFrame([], "")
        return self._result.frame()

    def restore(self) -> None:
        """Variables of the session as they were before the script."""
        self._variables.restore()

    def run(self, visible: Visible, text: str) -> None:
        ready = self._ready(visible, text)
        refuse_drop(self._session, ready)
        is_query = gives_rows(self._session, ready)
        frame = self._run(ready)
        if is_query:
            self._result = self._read(frame)

    def set(self, visible: Visible, text: str) -> None:
        defaults: dict[str, str] = {}
        for scope in visible:
            defaults |= {key: each.default for key, each in scope.variables.items()}
        self._run(self._ready(visible, f"SET VAR {with_defaults(text, defaults)}"))

    def declare(self, visible: Visible, declare: Declare) -> None:
        refuse_declaration(self._session, declare)
        kind = "" if declare.kind is None else declare.kind.text
        for (name,) in declare.names:
            default = None if declare.default is None else declare.default.text
            self._declare(visible, name, kind, default)

    def assign(self, visible: Visible, rows: Rows, row: DataFrame) -> None:
        """A row of FOR: each column has a variable, which the first row declares."""
        known = visible[-1].variables
        for field in () if known else rows.schema.fields:
            self._declare(visible, field.name, type_text(field.dataType), None)
        self._variables.show(visible)
        self._variables.assign(list(known.values()), row)

    def rows(self, visible: Visible, query: str) -> Rows:
        return self._read(self._run(self._ready(visible, query)))

    def kept(self, visible: Visible, value: str) -> str:
        """The value of an expression, computed once: how statements name it."""
        rows = self.rows(visible, f"SELECT ({value}) AS subject")
        return self._variables.keep(rows.frame(), type_text(rows.schema[0].dataType))

    def is_true(self, visible: Visible, condition: str) -> bool:
        ready = self._ready(visible, condition)
        return is_true(self._session, self._run(f"SELECT ({ready}) AS condition"), ready)

    def _declare(self, visible: Visible, name: str, kind: str, default: str | None) -> None:
        known = visible[-1].variables
        if name.lower() in known:
            refuse_second(self._session, name)
        value = self._ready(visible, "NULL" if default is None else default)
        variable = self._variables.new(name, "NULL" if default is None else default)
        self._variables.declare(variable, kind, value)
        known[name.lower()] = variable

    def _read(self, frame: DataFrame) -> Rows:
        return read_rows(self._session, self._variables.renamed(frame))

    def _ready(self, visible: Visible, text: str) -> str:
        """A statement as the server is to see it, which has the variables in sight then."""
        self._variables.show(visible)
        return with_places(text, self._places(visible))

    def _places(self, visible: Visible) -> Places:
        found: dict[tuple[str, ...], str] = {}
        for scope in visible:
            for key, variable in scope.variables.items():
                own = self._variables.own(key)
                # Without one of the session's own there is no such variable.
                nothing = f"session.`{variable.hidden} {key}`"
                place = nothing if own is None else self._variables.place(own)
                found["session", key] = found["system", "session", key] = place
                if scope.label is not None:
                    found[scope.label, key] = self._variables.place(variable)
        return found
