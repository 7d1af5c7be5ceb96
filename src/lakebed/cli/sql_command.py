"""`lakebed sql`: statements from the command line, a file or a shell."""

from __future__ import annotations

from lakebed.cli.command_options import SqlOptions
from lakebed.cli.runner import Runner
from lakebed.cli.spark_session import start
from lakebed.cli.statement_splitter import split


def run(options: SqlOptions) -> int:
    spark = start(options)
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
