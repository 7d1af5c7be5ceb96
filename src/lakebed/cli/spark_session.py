"""The Spark session of the command, which starts without a word."""

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
from lakebed.errors import JobFailedError
from lakebed.sessions.enable import session

_QUIET = {
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
}


def start(options: SqlOptions) -> SparkSession:
    # PySpark writes every failed statement to its log too, with the stack of the JVM.
    logging.getLogger("SQLQueryContextLogger").disabled = True
    logging.getLogger("DataFrameQueryContextLogger").disabled = True
    if options.remote is not None:
        settings: dict[str, Any] = dict(options.settings)
        try:
            return session("lakebed sql", remote=options.remote, **settings)
        except Exception as error:
            told = str(error).strip() or type(error).__name__
            raise JobFailedError(
                f"there is no session on {options.remote}: {told}",
                hint="--remote is the address of a server of Spark Connect, such as sc://host:15002",
            ) from error
    master = options.master or os.environ.get("SPARK_MASTER") or "local[*]"
    with _silent() as said:
        try:
            return session("lakebed sql", master=master, **{**_QUIET, **options.settings})
        except Exception as error:  # whatever Spark or Java says is for the user
            told = said.read_text(errors="replace").strip()[-2000:]
            raise JobFailedError(
                f"Spark does not start: {error}\n{told}", hint="is Java 17 or 21 installed?"
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
