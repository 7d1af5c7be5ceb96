"""Runs one statement and shows what it gives."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakebed.cli.command_options import SqlOptions
from lakebed.cli.results import Result, show
from lakebed.errors import LakebedError, for_terminals


@dataclass
class Runner:
    """Runs statements and shows what they give, and errors on the other stream."""

    spark: SparkSession
    options: SqlOptions

    def run(self, statement: str) -> bool:
        """Whether it succeeded."""
        started = time.monotonic()
        try:
            count, has_rows = self._show(statement)
        except (LakebedError, PySparkException) as error:
            sys.stderr.write(f"{message_of(error)}\n")
            return False
        if self.options.timing:
            told = f"{count:,} {'row' if count == 1 else 'rows'}, " if has_rows else ""
            sys.stderr.write(f"{told}{time.monotonic() - started:.2f} s\n")
        return True

    def _show(self, statement: str) -> tuple[int, bool]:
        frame = self.spark.sql(statement)
        result = Result.of(frame, self.options.format)
        return show(result, self.options.format), bool(result.columns)


def message_of(error: Exception) -> str:
    """What happened, without the plan and the stack of the JVM."""
    if isinstance(error, LakebedError):
        return str(error)
    text = for_terminals(str(error)).strip().split("\n\nJVM stacktrace:")[0]
    lines = []
    for line in text.splitlines():
        if line.startswith(("'", "+-", "JVM stacktrace")):
            break
        lines.append(line)
    told = "\n".join(lines).rstrip(";\n ")
    # Lakebed adds it behind the plan.
    last = text.splitlines()[-1] if text else ""
    is_cut = last.startswith("did you mean") and not told.endswith(last)
    return f"{told}\n{last}" if is_cut else told
