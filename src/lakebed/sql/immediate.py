"""EXECUTE IMMEDIATE on Spark Connect: the client finds out what is to be run, and runs it.

The server would not know Lakebed's statements. But it computes the values, since it has the
variables; they come back as literals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from lakebed.errors import LakebedError, SqlError
from lakebed.expressions.tokens import Kind
from lakebed.spark.sql_text import quoted_parts
from lakebed.sql.concerns import concerns_delta
from lakebed.sql.cursor import Cursor
from lakebed.sql.nested import NestedStatements
from lakebed.sql.parameters import Arguments, bind
from lakebed.sql.parse import first_word, is_script, parse_statement
from lakebed.sql.plain import plain_sql
from lakebed.sql.server_literals import server_literals

Run = Callable[[str], DataFrame]


@dataclass(frozen=True)
class Immediate:
    """`text` and `values` are expressions; `names` are those of named parameters, or empty."""

    text: str
    targets: Sequence[tuple[str, ...]]
    values: Sequence[str]
    names: Sequence[str]
    is_string: bool


def run_immediate(session: SparkSession, sql: str, args: Arguments, run: Run) -> DataFrame | None:
    """None if the server is to run it: it is not about Delta tables, or it is a mistake."""
    bound = bind(sql, args)
    statement = parse_immediate(bound)
    if statement is None:
        return None
    text = _statement_text(session, statement)
    if text is None or is_script(text) or first_word(text) == "EXECUTE":
        return None
    text = _with_values(session, text, statement)
    if not concerns_delta(session, text):
        return None
    if not statement.targets:
        return run(text)
    if parse_statement(text) is not None:
        raise SqlError(
            "INTO takes the row of a query, and this statement is none",
            sql=bound,
            position=0,
            hint="leave INTO out",
        )
    targets = ", ".join(map(quoted_parts, statement.targets))
    query = f"SET VAR ({targets}) = (SELECT * FROM {{row}})"
    return plain_sql(session, query, frames={"row": run(text)})


def parse_immediate(sql: str) -> Immediate | None:
    """None if it is not written as it should be; Spark then says what is wrong."""
    try:
        cursor = Cursor(sql)
        cursor.expect("EXECUTE", "IMMEDIATE")
        first = cursor.mark()
        text = cursor.expression("INTO", "USING").text
        passed = cursor.passed(first)
        is_string = len(passed) == 1 and passed[0].kind is Kind.STRING
        targets = _targets(cursor) if cursor.accept("INTO") else []
        values, names = _values(cursor) if cursor.accept("USING") else ([], [])
        cursor.expect_end()
    except LakebedError:
        return None
    return Immediate(passed[0].text if is_string else text, targets, values, names, is_string)


def _targets(cursor: Cursor) -> list[tuple[str, ...]]:
    found = [cursor.parts("the name of a variable")]
    while cursor.accept_symbol(","):
        found.append(cursor.parts("the name of a variable"))
    return found


def _values(cursor: Cursor) -> tuple[list[str], list[str]]:
    """Maybe all of them in parentheses."""
    mark = cursor.mark()
    if cursor.at_symbol("("):
        inside = cursor.enclosed()
        if cursor.is_at_end:
            return _values(Cursor(inside.text))
        cursor.reset(mark)
    values, names = [], []
    while True:
        values.append(cursor.expression("AS", ",").text)
        names.append(cursor.identifier() if cursor.accept("AS") else _own_name(values[-1]))
        if not cursor.accept_symbol(","):
            return values, names


def _own_name(value: str) -> str:
    """A variable is a parameter under its own name too."""
    cursor = Cursor(value)
    name = cursor.parts()[-1] if cursor.at_name else ""
    return name if cursor.is_at_end else ""


def _statement_text(session: SparkSession, statement: Immediate) -> str | None:
    if statement.is_string:
        return statement.text
    found = plain_sql(session, f"SELECT {statement.text}").collect()[0][0]
    return found if isinstance(found, str) else None


def _with_values(session: SparkSession, text: str, statement: Immediate) -> str:
    if not statement.values:
        return text
    request = {
        "text": text,
        "values": server_literals(session, statement.values),
        "names": list(statement.names),
    }
    return NestedStatements().bind(request)
