"""The interactive shell, with history and completion."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakebed.cli.runner import Runner
from lakebed.cli.statement_splitter import parts
from lakebed.errors import InvalidArgumentError, LakebedError

try:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document
    from prompt_toolkit.history import FileHistory
    from prompt_toolkit.lexers import PygmentsLexer
    from pygments.lexers.sql import SqlLexer
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
    """The same, with the time that each statement takes."""
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


class SqlCompleter(Completer):
    """`tables` and `columns` ask the session; names that they do not know are not completed.

    `before` are the earlier lines of the statement.
    """

    def __init__(
        self,
        tables: Callable[[], Sequence[str]],
        columns: Callable[[str], Sequence[str]],
        before: Callable[[], str] = str,
    ) -> None:
        self._tables = tables
        self._columns = columns
        self._before = before

    def get_completions(self, document: Document, event: CompleteEvent) -> Iterable[Completion]:  # noqa: ARG002
        found = _WORD.search(document.text_before_cursor)
        word = "" if found is None else found[0]
        if not word:
            return
        for text, kind in self._known(f"{self._before()}\n{document.text}", word):
            if text.lower().startswith(word.lower()) and text.lower() != word.lower():
                yield Completion(text, start_position=-len(word), display_meta=kind)

    def _known(self, text: str, word: str) -> Iterable[tuple[str, str]]:
        seen = list(dict.fromkeys(_NAME.findall(text)))
        if "." in word:
            table = word.rpartition(".")[0]
            yield from ((f"{table}.{name}", "column") for name in self._columns(table))
        for table in seen:
            yield from ((name, f"column of {table}") for name in self._columns(table))
        yield from ((name, "table") for name in self._tables())
        lower = word.islower()
        yield from ((each.lower() if lower else each, "") for each in KEYWORDS)


def history_file() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    folder = Path(state) / "lakebed"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / "sql_history"


_WORD = re.compile(r"[\w.`]*$")
_NAME = re.compile(
    r"\b(?:FROM|JOIN|INTO|UPDATE|TABLE|USING|DESCRIBE|OPTIMIZE|VACUUM)\s+([\w.]+)", re.IGNORECASE
)
KEYWORDS = (  # noqa: SIM905 - it is easier to read
    "ADD ALL ALTER AND AS ASC BETWEEN BY CASE CAST CHECK CLONE CLUSTER COLUMN COLUMNS COMMENT "
    "CONSTRAINT CONVERT COPY CREATE CROSS DATABASE DATABASES DEEP DEFAULT DELETE DELTA DESC "
    "DESCRIBE DETAIL DISTINCT DROP DRY ELSE END EXCEPT EXISTS EXPLAIN EXTENDED FALSE "
    "FILEFORMAT FROM FSCK FULL GENERATE GROUP HAVING HISTORY HOURS IF IN INNER INSERT "
    "INTERSECT INTO IS JOIN LEFT LIKE LIMIT MATCHED MERGE NOT NULL OF ON OPTIMIZE OR ORDER "
    "OUTER OVERWRITE PARTITION PARTITIONED PARTITIONS PURGE RENAME REORG REPAIR REPLACE "
    "RESTORE RETAIN RIGHT RUN SELECT SET SHALLOW SHOW TABLE TABLES TBLPROPERTIES THEN "
    "TIMESTAMP TO TRUE TRUNCATE UNDROP UNION UNSET UPDATE USE USING VACUUM VALUES VERSION "
    "VIEW WHEN WHERE WITH ZORDER"
).split()
