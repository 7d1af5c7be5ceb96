"""`lakebed sql`: statements from the command line, a file or a shell."""

from __future__ import annotations

import logging
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from lakebed.cli.command_options import SqlOptions
from lakebed.cli.runner import Runner
from lakebed.cli.statement_splitter import split
from lakebed.errors import JobFailedError
from lakebed.sessions.enable import session


def run(options: SqlOptions) -> int:
    spark = _start(options)
    try:
        if options.text is not None:
            return run_text(Runner(spark, options), options.text)
        # Late: it needs more than scripts do.
        from lakebed.cli.shell import run_shell

        return run_shell(Runner(spark, options))
    finally:
        spark.stop()


def run_text(runner: Runner, text: str) -> int:
    """Statement after statement; the first that fails is the last."""
    for statement in split(text):
        if not runner.run(statement):
            return 1
    return 0


def _start(options: SqlOptions) -> SparkSession:
    """A session of Spark, which starts without a word."""
    # PySpark writes every failed statement to its log too, with the stack of the JVM.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    logging.getLogger("DataFrameQueryContextLogger").disabled = True
    if options.remote is not None:
        settings: dict[str, Any] = dict(options.settings)
        try:
            return session("lakebed sql", remote=options.remote, **settings)
        except Exception as error:
            message = str(error).strip() or type(error).__name__
            raise JobFailedError(
                f"there is no session on {options.remote}: {message}",
                hint="--remote is the address of a server of Spark Connect, such as sc://host:15002",
            ) from error
    master = options.master or os.environ.get("SPARK_MASTER") or "local[*]"
    with _silent() as log:
        try:
            return session("lakebed sql", master=master, **{**_QUIET, **options.settings})
        except Exception as error:  # whatever Spark or Java says is for the user
            message = log.read_text(errors="replace").strip()[-2000:]
            raise JobFailedError(
                f"Spark does not start: {error}\n{message}", hint="is Java 17 or 21 installed?"
            ) from error


@contextmanager
def _silent() -> Iterator[Path]:
    """Java gets a file for its messages, and keeps it; this process gets its own output back."""
    handle, name = tempfile.mkstemp(prefix="lakebed-", suffix=".log")
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(handle, 2)
    try:
        yield Path(name)
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
        os.close(handle)
        Path(name).unlink(missing_ok=True)


_QUIET = {
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
}
