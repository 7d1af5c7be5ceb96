"""A Delta table from its first row to time travel, in Python and Arrow alone.

./run demo --no-spark [FOLDER]
"""

from __future__ import annotations

import sys
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
from display import show, title
from readers import readers

import lakebed

REGIONS = ("north", "south", "west")
FIRST_DAY = date(2026, 1, 1)
WHERE = "region = 'south' AND amount > 8500"


def main(folder: Path) -> None:
    path = str(folder / "orders")

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

    title("Every reader sees the same table")
    show(readers(path, "amount"))

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


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
