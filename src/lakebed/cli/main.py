"""`lakebed`: what its arguments mean."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from lakebed.cli.command_options import RunOptions, ServerOptions, SqlOptions
from lakebed.errors import LakebedError
from lakebed.settings.setting_table import CATALOG

USAGE_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0, 1 if a statement or program failed, 2 if the arguments are wrong."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.command is None:
        parser.print_help()
        return USAGE_ERROR
    try:
        start = _START[given.command](given)
    except OSError as error:
        parser.exit(USAGE_ERROR, f"lakebed: {error}\n")
    try:
        return start()
    except LakebedError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except KeyboardInterrupt:
        return 130


# Late imports: Spark takes a second, and --help should not.
def _sql(options: SqlOptions) -> Callable[[], int]:
    from lakebed.cli.sql_command import run

    return lambda: run(options)


def _run(options: RunOptions) -> Callable[[], int]:
    from lakebed.cli.run_command import run

    return lambda: run(options)


def _server(options: ServerOptions) -> Callable[[], int]:
    from lakebed.cli.server_command import run

    return lambda: run(options)


def _classpath(spark_home: str | None) -> Callable[[], int]:
    from lakebed.spark.internals.startup.classes import class_path

    def run() -> int:
        """Prints the entries. They are compiled first if no cache has them."""
        entries = class_path(spark_home)
        sys.stdout.write(os.pathsep.join(str(each) for each in entries) + "\n")
        return 0

    return run


_START: dict[str, Callable[[argparse.Namespace], Callable[[], int]]] = {
    "classpath": lambda given: _classpath(given.spark_home),
    "run": lambda given: _run(_run_options(given)),
    "server": lambda given: _server(
        ServerOptions(given.host, given.port, given.master, _settings(given.conf))
    ),
    "sql": lambda given: _sql(_options(given)),
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lakebed", description="Delta Lake for PySpark.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    sql = commands.add_parser(
        "sql",
        help="run SQL, or start a shell for it",
        description="Runs the statements of -c, of -f or of the input; else it starts a shell.",
    )
    what = sql.add_mutually_exclusive_group()
    what.add_argument("-c", "--command", dest="text", metavar="SQL", help="statements; ';' divides")
    what.add_argument("-f", "--file", metavar="FILE", help="a file of statements")
    sql.add_argument("--format", choices=("table", "csv", "json"), help="of results; else table")
    sql.add_argument("--master", help="the master of Spark; else local[*]")
    sql.add_argument("--remote", help="a server of Spark Connect, such as sc://host")
    sql.add_argument("--catalog", metavar="URL", help="the catalog of names: sqlite:///names.db")
    sql.add_argument(
        "--conf", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark"
    )
    sql.add_argument("--timing", action="store_true", help="say how long statements take")
    server = commands.add_parser(
        "server",
        help="start a Spark Connect server for Delta tables",
        description="Starts a Spark Connect server. Its clients read and write Delta tables, in "
        "any language and without Lakebed.",
    )
    server.add_argument("--host", default="127.0.0.1", help="the address; else 127.0.0.1")
    server.add_argument("--port", type=int, default=15002, help="the port; else 15002")
    server.add_argument("--master", help="the master of Spark; else local[*]")
    server.add_argument(
        "--conf", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark"
    )
    classpath = commands.add_parser(
        "classpath",
        help="print the class path for spark-shell, spark-sql and the Thrift server",
        description="Prints the class path that makes Spark know Delta tables: "
        "--driver-class-path with it, --conf spark.sql.extensions=lakebed.DeltaExtensions",
    )
    classpath.add_argument(
        "--spark-home", metavar="FOLDER", help="the Spark to start; else SPARK_HOME or PySpark's"
    )
    run = commands.add_parser(
        "run",
        usage="lakebed run [-h] [--conf KEY=VALUE] (-m MODULE | FILE) [ARGUMENT ...]",
        help="run a program written for delta-spark",
        description="Runs a Python program in which `import delta` is Lakebed, and every Spark "
        "session reads and writes Delta tables.",
    )
    run.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of Spark that the program does not make",
    )
    run.add_argument("-m", dest="is_module", action="store_true", help="a module, not a file")
    run.add_argument("program", metavar="FILE", help="the program")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="the arguments of the program")
    return parser


def _settings(given: Sequence[str]) -> dict[str, str]:
    settings = {}
    for each in given:
        key, equals, value = each.partition("=")
        if not equals or not key:
            raise OSError(f"--conf {each}: write it as KEY=VALUE")
        settings[key.strip()] = value
    return settings


def _run_options(given: argparse.Namespace) -> RunOptions:
    settings = _settings(given.conf)
    if not given.is_module and not Path(given.program).exists():
        raise FileNotFoundError(f"can't open file {given.program!r}: there is none")
    return RunOptions(given.program, tuple(given.arguments), given.is_module, settings)


def _options(given: argparse.Namespace) -> SqlOptions:
    settings = _settings(given.conf)
    if given.catalog is not None:
        settings[CATALOG.name] = given.catalog
    text = given.text
    if given.file is not None:
        text = Path(given.file).read_text(encoding="utf-8")
    elif text is None and not sys.stdin.isatty():
        text = sys.stdin.read()
    return SqlOptions(
        text, given.format or "table", given.master, given.remote, settings, given.timing
    )
