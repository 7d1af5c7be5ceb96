"""The same without Spark and Java: Delta tables in Python and Arrow alone.

.venv/bin/python examples/arrow_quickstart.py [FOLDER]
"""

from __future__ import annotations

import sys
import tempfile

import pyarrow as pa

import lakebed


def main(path: str) -> None:
    events = pa.table({"id": [1, 2, 3], "day": ["05", "05", "06"], "price": [12.5, 7.0, 30.0]})
    lakebed.write(path, events, partition_by=["day"])
    more = pa.table({"id": [4], "day": ["07"], "price": [11.0]})
    table = lakebed.write(path, more, mode="append")

    expensive = table.scan(columns=["id"], where="price > 10").to_arrow()
    print("over 10:", sorted(expensive["id"].to_pylist()))

    first = lakebed.open(path, version=0)
    print("first version:", first.to_arrow().num_rows, "rows")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else f"{tempfile.mkdtemp()}/events")
