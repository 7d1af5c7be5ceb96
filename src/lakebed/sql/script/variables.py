"""Local variables of a script as variables of the session on the server.

The variable that can be seen under a name has that name on the server too, so that the server
resolves names as in any statement: columns go before variables. The value of a variable that is
shadowed waits under a hidden name. No value leaves the server, and types stay as they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from lakebed.errors import LakebedError
from lakebed.spark.sql_text import quoted
from lakebed.sql.plain import plain_sql
from lakebed.sql.script.scopes import Scope, Variable
from lakebed.sql.server_literals import server_literals

_KEPT = "lakebed_script_kept"


class Variables:
    """`show` makes the server see what a statement is to see; `restore` ends it all."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._numbers = itertools.count()
        self._active: dict[str, Variable] = {}
        self._hidden: set[str] = set()
        self._own: dict[str, Variable] = {}
        self._names: dict[str, str] = {}

    def new(self, name: str, default: str = "NULL") -> Variable:
        hidden = f"lakebed_script_{next(self._numbers)}"
        self._names[hidden] = name
        return Variable(name, hidden, default)

    def renamed(self, frame: DataFrame) -> DataFrame:
        """Columns with the names of variables, not with the hidden ones."""
        names = [self._names.get(each, each) for each in frame.columns]
        return frame if names == frame.columns else frame.toDF(*names)

    def declare(self, variable: Variable, kind: str, value: str) -> None:
        """What has the name so far, also of the session's own, is put aside."""
        shown, key = quoted(variable.name), variable.name.lower()
        text = f"VARIABLE {shown} {kind} DEFAULT {value}"
        if key in self._active:
            self._put_aside(self._active[key])
            self._run(f"DECLARE OR REPLACE {text}")
        else:
            try:
                self._run(f"DECLARE {text}")
            except AnalysisException as error:
                if error.getCondition() != "VARIABLE_ALREADY_EXISTS":
                    raise
                self._own[key] = self._of_session(variable.name)
                self._run(f"DECLARE OR REPLACE {text}")
        self._active[key] = variable

    def assign(self, variables: Sequence[Variable], row: DataFrame) -> None:
        """The values of a row, column by column."""
        names = ", ".join(self.place(each) for each in variables)
        text = names.replace("{", "{{").replace("}", "}}")
        plain_sql(self._session, f"SET VAR ({text}) = (SELECT * FROM {{row}})", frames={"row": row})

    def keep(self, row: DataFrame, kind: str) -> str:
        """A value for the statements that follow, until there is another; how they name it."""
        self._hidden.add(_KEPT)
        self._run(f"DECLARE OR REPLACE VARIABLE {_KEPT} {kind}")
        plain_sql(self._session, f"SET VAR {_KEPT} = (SELECT * FROM {{row}})", frames={"row": row})
        return f"system.session.{_KEPT}"

    def show(self, scopes: Sequence[Scope]) -> None:
        """Each name is that of the innermost variable, or of the session's own."""
        wanted = dict(self._own)
        for scope in scopes:
            wanted |= scope.variables
        for key in [*self._active, *(key for key in wanted if key not in self._active)]:
            self._activate(key, wanted.get(key))

    def place(self, variable: Variable) -> str:
        """How statements name a variable, whether or not it is shadowed."""
        is_active = self._active.get(variable.name.lower()) is variable
        return f"system.session.{quoted(variable.name if is_active else variable.hidden)}"

    def own(self, key: str) -> Variable | None:
        """What the session itself has under a name that a script has used too."""
        return self._own.get(key)

    def restore(self) -> None:
        self.show(())
        for key, variable in self._own.items():
            if variable.default:
                # A hidden variable, which goes away now, is no default for later.
                self._put_aside(variable)
                self._run(f"DECLARE OR REPLACE VARIABLE {quoted(key)} DEFAULT {variable.default}")
                self._run(f"SET VAR {quoted(key)} = {variable.hidden}")
        for name in self._hidden:
            self._run(f"DROP TEMPORARY VARIABLE IF EXISTS {name}")

    def _activate(self, key: str, variable: Variable | None) -> None:
        before = self._active.get(key)
        if before is variable:
            return
        if before is not None and before.is_alive:
            self._put_aside(before)
        if variable is None:
            self._run(f"DROP TEMPORARY VARIABLE IF EXISTS {quoted(key)}")
            del self._active[key]
            return
        self._run(f"DECLARE OR REPLACE VARIABLE {quoted(variable.name)} = {variable.hidden}")
        self._active[key] = variable

    def _put_aside(self, variable: Variable) -> None:
        self._hidden.add(variable.hidden)
        text = f"{variable.hidden} = system.session.{quoted(variable.name)}"
        self._run(f"DECLARE OR REPLACE VARIABLE {text}")

    def _of_session(self, name: str) -> Variable:
        """A variable that was there before the script, with its default as a literal.

        Only the server knows the text of the default; the value is what can be asked for.
        """
        found = self.new(name, default="")
        self._put_aside(found)
        try:
            self._run(f"SET VAR {quoted(name)} = DEFAULT")
            (found.default,) = server_literals(self._session, [quoted(name)])
        except (LakebedError, PySparkException):
            found.default = ""
        self._run(f"SET VAR {quoted(name)} = {found.hidden}")
        return found

    def _run(self, text: str) -> None:
        plain_sql(self._session, text)
