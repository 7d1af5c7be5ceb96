"""A Delta table from its first row to time travel, in Python and Arrow alone.

./run demo            in a temporary folder, which is kept
./run demo FOLDER     in a folder of yours
"""

from __future__ import annotations

import importlib.resources
import importlib.util
import sys
import tempfile
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

import lakebed

REGIONS = ("north", "south", "west")
FIRST_DAY = date(2026, 1, 1)
WHERE = "region = 'south' AND amount > 8500"


def main(path: str) -> None:
    title("Create a table, partitioned by region, and append to it twice")
    lakebed.write(path, orders(0, 300), partition_by=["region"])
    lakebed.write(path, orders(300, 300), mode="append")
    table = lakebed.write(path, orders(600, 300), mode="append")
    print(f"{path}\nversion {table.version}, {table.to_arrow().num_rows} rows\n")
    show({"column": field.name, "type": str(field.data_type)} for field in table.schema)

    title(f"Read only what is needed: {WHERE}")
    needed = table.files(where=WHERE)
    print(f"reads {needed.num_rows} of {table.files().num_rows} files\n")
    rows = table.scan(columns=["id", "ordered_on", "amount"], where=WHERE).to_arrow()
    show(rows.sort_by("id").slice(0, 5).to_pylist())
    print(f"... {rows.num_rows} rows")

    title("Replace everything, and still read what was there before")
    table = table.write(orders(0, 5), mode="overwrite")
    show(
        {"version": version, "rows": lakebed.open(path, version=version).to_arrow().num_rows}
        for version in range(table.version + 1)
    )

    title("History")
    show(map(history_line, table.history().to_pylist()))

    title("Every reader sees the same table")
    show({"reader": name, "orders": rows, "sum": total} for name, rows, total in readers(path))

    print(f"\nThe table stays in {path}")


def orders(start: int, count: int) -> pa.Table:
    """Amounts grow with the order's number, so that every file holds a range of its own."""
    numbers = range(start, start + count)
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "region": [REGIONS[number % 3] for number in numbers],
            "ordered_on": [FIRST_DAY + timedelta(days=number // 10) for number in numbers],
            "amount": pa.array([10 * number for number in numbers], pa.int64()),
        }
    )


def history_line(commit: dict[str, Any]) -> dict[str, object]:
    return {
        "version": commit["version"],
        "time": commit["timestamp"],
        "operation": commit["operation"],
        "mode": dict(commit["operationParameters"])["mode"],
        "rows": int(dict(commit["operationMetrics"])["numOutputRows"]),
    }


def readers(path: str) -> Iterator[tuple[str, int, int]]:
    """Rows and sum of the amounts, as Lakebed and other implementations of Delta see them."""
    amounts = lakebed.open(path).to_arrow()["amount"]
    yield "Lakebed", len(amounts), pc.sum(amounts).as_py()
    if importlib.util.find_spec("deltalake"):
        from deltalake import DeltaTable

        amounts = pa.chunked_array(pa.table(DeltaTable(path).to_pyarrow_table())["amount"])
        yield "delta-rs", len(amounts), pc.sum(amounts).as_py()
    if importlib.util.find_spec("duckdb_extension_delta"):
        yield ("DuckDB", *duckdb_answer(path))


def duckdb_answer(path: str) -> tuple[int, int]:
    import duckdb

    package = importlib.resources.files("duckdb_extension_delta")
    extension = package / "extensions" / f"v{duckdb.__version__}" / "delta.duckdb_extension"
    with duckdb.connect() as connection:
        connection.load_extension(str(extension))
        query = "SELECT count(*), sum(amount) FROM delta_scan(?)"
        count, total = connection.execute(query, [path]).fetchall()[0]
    return count, total


def title(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m\n" if sys.stdout.isatty() else f"\n== {text}\n")


def show(rows: Iterable[dict[str, object]]) -> None:
    """Aligned columns; numbers to the right."""
    rows = list(rows)
    columns = {name: [_text(row[name]) for row in rows] for name in rows[0]}
    widths = {name: max(len(name), *map(len, texts)) for name, texts in columns.items()}
    _print_line([name.ljust(width) for name, width in widths.items()])
    _print_line(["-" * width for width in widths.values()])
    for row in rows:
        _print_line([_cell(row[name], width) for name, width in widths.items()])


def _cell(value: object, width: int) -> str:
    text = _text(value)
    return text.rjust(width) if isinstance(value, int | float) else text.ljust(width)


def _text(value: object) -> str:
    return f"{value:%Y-%m-%d %H:%M:%S}" if isinstance(value, datetime) else str(value)


def _print_line(cells: list[str]) -> None:
    print("  ".join(cells).rstrip())


def _place(arguments: list[str]) -> Path:
    folder = Path(arguments[0]) if arguments else Path(tempfile.mkdtemp(prefix="lakebed-demo-"))
    path = folder.resolve() / "orders"
    if path.exists():
        sys.exit(f"{path} is there already: name a folder that has none.")
    return path


if __name__ == "__main__":
    main(str(_place(sys.argv[1:])))
