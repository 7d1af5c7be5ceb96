"""The interactive shell, with history and completion."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakebed.cli.runner import Runner
from lakebed.cli.statement_splitter import parts
from lakebed.errors import InvalidArgumentError, LakebedError

try:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory
    from prompt_toolkit.lexers import PygmentsLexer
    from pygments.lexers.sql import SqlLexer

    from lakebed.cli.completion import SqlCompleter
except ImportError as _missing:
    raise InvalidArgumentError(
        f"the shell needs a library that is not installed: {_missing.name}",
        hint='pip install "lakebed[cli]"; -c and -f work without it',
    ) from _missing

_HELP = """\
Statements end with a semicolon and may have several lines.
  help;   this text
  exit;   leave, as do quit and Ctrl-D
Tab completes keywords, tables and columns; the arrows go through earlier statements; Ctrl-C drops
the statement at hand, or stops it while it runs.
"""


def run_shell(runner: Runner) -> int:
    shell = Shell(replace_timing(runner))
    session: PromptSession[str] = PromptSession(
        history=FileHistory(str(history_file())),
        completer=SqlCompleter(Tables(runner.spark), Columns(runner.spark), lambda: shell.pending),
        complete_while_typing=False,
        lexer=PygmentsLexer(SqlLexer),
        enable_history_search=True,
    )
    sys.stdout.write(f"Spark {runner.spark.version}. help; says more, exit; leaves.\n")
    while not shell.is_done:
        try:
            shell.take(session.prompt(shell.prompt))
        except KeyboardInterrupt:
            shell.clear()
        except EOFError:
            break
    return 0


def replace_timing(runner: Runner) -> Runner:
    """Whoever types wants to know how long it took."""
    return replace(runner, options=replace(runner.options, timing=True))


class Shell:
    """Collects lines to statements and runs them."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.pending = ""
        self.is_done = False

    @property
    def prompt(self) -> str:
        return "     ... " if self.pending else "lakebed> "

    def clear(self) -> None:
        self.pending = ""

    def take(self, line: str) -> None:
        if not self.pending and line.strip().rstrip(";").lower() in ("exit", "quit", "\\q"):
            self.is_done = True
            return
        if not self.pending and line.strip().rstrip(";").lower() in ("help", "\\h", "\\?"):
            sys.stdout.write(_HELP)
            return
        complete, self.pending = parts(f"{self.pending}\n{line}".strip())
        for statement in complete:
            if not self._runner.run(statement):
                self.clear()
                return


class Tables:
    """The tables of the current database, and all databases."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def __call__(self) -> Sequence[str]:
        try:
            catalog = self._spark.catalog
            tables = [table.name for table in catalog.listTables()]
            return [*tables, *(each.name for each in catalog.listDatabases())]
        except (LakebedError, PySparkException):
            return []


class Columns:
    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def __call__(self, table: str) -> Sequence[str]:
        try:
            return list(self._spark.table(table).columns)
        except (LakebedError, PySparkException):
            return []


def history_file() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    folder = Path(state) / "lakebed"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "sql_history"
