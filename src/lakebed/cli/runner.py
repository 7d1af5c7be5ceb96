"""Runs a statement and shows its result: as a table, CSV, or a line of JSON for each row."""

from __future__ import annotations

import csv
import io
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import islice
from typing import IO, Any, cast

import orjson
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lakebed.cli.command_options import Format, SqlOptions
from lakebed.errors import LakebedError, for_terminals

MOST_ROWS = 1_000
"""A table shows at most this many rows; CSV and JSON have all of them."""


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
            rows = f"{count:,} {'row' if count == 1 else 'rows'}, " if has_rows else ""
            sys.stderr.write(f"{rows}{time.monotonic() - started:.2f} s\n")
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
    message = "\n".join(lines).rstrip(";\n ")
    # Lakebed adds it behind the plan.
    last = text.splitlines()[-1] if text else ""
    is_cut = last.startswith("did you mean") and not message.endswith(last)
    return f"{message}\n{last}" if is_cut else message


@dataclass(frozen=True)
class Result:
    columns: Sequence[str]
    rows: Iterable[Sequence[Any]]

    @classmethod
    def of(cls, frame: DataFrame, format: Format) -> Result:
        """Rows of a table are few enough to hold; others come one after the other."""
        if format == "table":
            return cls(frame.columns, frame.limit(MOST_ROWS + 1).collect())
        return cls(frame.columns, _stream(frame))


def _stream(frame: DataFrame) -> Iterator[Sequence[Any]]:
    yield from frame.toLocalIterator(prefetchPartitions=True)


def show(result: Result, format: Format, out: IO[str] | None = None) -> int:
    """Writes the result; the number of rows. A result without columns is nothing to show."""
    stream: IO[str] = sys.stdout if out is None else out
    if stream.isatty() and format != "table":
        stream = cast("IO[str]", _Terminal(stream))
    if not result.columns:
        return 0
    if format == "csv":
        return _csv(result, stream)
    if format == "json":
        return _json(result, stream)
    return _table(result, stream)


class _Terminal(io.TextIOBase):
    """Data goes to files and pipes as it is, but must not steer a terminal."""

    def __init__(self, terminal: IO[str]) -> None:
        self._terminal = terminal

    def write(self, text: str) -> int:
        return self._terminal.write(for_terminals(text))

    def flush(self) -> None:
        self._terminal.flush()


def _csv(result: Result, out: IO[str]) -> int:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(result.columns)
    count = 0
    for row in result.rows:
        writer.writerow(["" if value is None else text_of(value) for value in row])
        count += 1
    out.flush()
    return count


def _json(result: Result, out: IO[str]) -> int:
    count = 0
    for row in result.rows:
        pairs = dict(zip(result.columns, map(json_value, row), strict=True))
        out.write(orjson.dumps(pairs).decode() + "\n")
        count += 1
    out.flush()
    return count


def _table(result: Result, out: IO[str]) -> int:
    rows = list(islice(result.rows, MOST_ROWS + 1))
    shown = rows[:MOST_ROWS]
    table = Table(header_style="bold", pad_edge=False)
    for place, name in enumerate(result.columns):
        numbers = [_is_number(row[place]) for row in shown if row[place] is not None]
        right = bool(numbers) and all(numbers)
        table.add_column(
            Text(for_terminals(name)), justify="right" if right else "left", overflow="fold"
        )
    for row in shown:
        table.add_row(*[_cell(value) for value in row])
    console = Console(file=out, highlight=False, soft_wrap=False)
    console.print(table)
    if len(rows) > MOST_ROWS:
        console.print(f"... only the first {MOST_ROWS:,} rows; --format csv has them all")
    return len(shown)


def _cell(value: Any) -> Text:
    return Text("NULL", style="dim") if value is None else Text(for_terminals(text_of(value)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def text_of(value: Any) -> str:
    """A value as Spark would print it; what has parts as JSON."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat(" ")
    simple = json_value(value)
    return orjson.dumps(simple).decode() if isinstance(simple, dict | list) else str(simple)


def json_value(value: Any) -> Any:
    """A value as JSON knows it."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        # Beyond these JSON has no whole numbers that everybody reads.
        return value if -(2**63) <= value < 2**63 else str(value)
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal | timedelta):
        return str(value)
    if hasattr(value, "asDict"):
        return {name: json_value(each) for name, each in value.asDict().items()}
    if isinstance(value, dict):
        return {_key(key): json_value(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(each) for each in value]
    return str(value)


def _key(value: Any) -> str:
    return value if isinstance(value, str) else text_of(value)
