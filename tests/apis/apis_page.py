"""Writes `docs/apis.md` from the cases: python tests/apis/apis_page.py"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from all_cases import CASES
from api_case import KINDS, Case

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "apis.md"

HEAD = """\
# Every way to a table

What Spark 4 offers to read, write and change a table, and works with Delta tables in an enabled
session. Each line is a test: it starts with a table that deltalake wrote, and DuckDB reads what the
table has afterwards. `tests/apis/test_apis.py` runs all of them, on every Spark that Lakebed
supports. This page is written by `python tests/apis/apis_page.py`, and a test checks that it is up
to date.

"Since" is the first Spark that has the API, if that is not 4.0. Lines with "Connect" are also run
by a client of Spark Connect that has no Lakebed installed, at `lakebed server`.

The programs of the last table take longer. CI runs them on the newest Spark; on another,
`./run test --spark 4.0 tests/apis tests/sessions/test_spark_commands.py` does.

"Refused" is what Spark has and a Delta table has not.
"""


class Program(NamedTuple):
    """A way in whose process the test starts; `test` is a file under `tests` and a function."""

    name: str
    kinds: str
    test: str
    since: str = ""


_COMMANDS = "sessions/test_spark_commands.py"
PROGRAMS = [
    Program(
        "Spark Connect: a client without Lakebed, and 8 at once, at `lakebed server`",
        "reads writes changes",
        "apis/test_connect.py::test_plain_clients_read_write_and_stream",
    ),
    Program(
        "Spark Connect: `DeltaTable` at `lakebed server`",
        "reads writes changes",
        "connect/lakebed_server/test_served_tables.py::test_merge_with_all_clauses",
    ),
    Program(
        "`spark-sql`",
        "reads writes changes",
        f"{_COMMANDS}::test_spark_sql_creates_merges_and_reads",
    ),
    Program(
        "`spark-shell` (Scala)",
        "reads writes changes",
        f"{_COMMANDS}::test_spark_shell_starts_python_again_if_it_was_killed",
    ),
    Program(
        "JDBC through the Thrift server (`beeline`)",
        "reads writes changes",
        f"{_COMMANDS}::test_jdbc_clients_of_the_thrift_server_change_tables",
    ),
    Program(
        "`lakebed run`: programs for delta-spark",
        "reads writes changes",
        "cli/test_cli_run.py::test_a_textbook_program_for_delta_spark_runs_unchanged",
    ),
    Program(
        "Declarative Pipelines: `spark-pipelines run`",
        "reads writes",
        "apis/test_pipelines.py::test_bronze_silver_and_gold_take_what_arrives",
        "4.1",
    ),
    Program(
        "Declarative Pipelines: AUTO CDC, SCD 1 (SCD 2 since 4.3)",
        "reads writes changes",
        "apis/test_pipelines.py::test_auto_cdc_keeps_customers_and_their_history",
        "4.2",
    ),
]


def page() -> str:
    parts = [HEAD]
    for group, cases in groupby(CASES, key=lambda case: case.group):
        rows = [
            _row(_code(case.name), case.kind, "x" if case.connect else "", _since(case))
            for case in cases
        ]
        parts.append(_table(group, "Connect | since", rows))
    rows = [_row(each.name, each.kinds, each.since, f"`{each.test}`") for each in PROGRAMS]
    parts.append(_table("Other programs", "since | test", rows))
    return "\n".join(parts)


def _table(title: str, more: str, rows: list[str]) -> str:
    columns = f"| | {' | '.join(KINDS)} | {more} |"
    line = "|---" * (columns.count("|") - 1) + "|"
    return "\n".join([f"## {title}", "", columns, line, *rows, ""])


def _row(name: str, kinds: str, *more: str) -> str:
    ticks = ["x" if kind in kinds.split() else "" for kind in KINDS]
    return f"| {' | '.join([name, *ticks, *more])} |"


def _code(text: str) -> str:
    escaped = text.replace("|", r"\|")
    return f"`` {escaped} ``" if "`" in text else f"`{escaped}`"


def _since(case: Case) -> str:
    return "" if case.since == (4, 0) else ".".join(map(str, case.since))


if __name__ == "__main__":
    PAGE.write_text(page())
