"""What a Lakebed table does.

./run demo              a small lakehouse on local Spark, in a temporary folder, which is kept
./run demo FOLDER       the same in a folder of yours
./run demo --no-spark   a table in Python and Arrow alone; needs no Java
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="./run demo", description="What a Lakebed table does.")
    parser.add_argument("folder", nargs="?", type=Path, help="where the tables go")
    parser.add_argument("--no-spark", action="store_true", help="in Python and Arrow alone")
    chosen = parser.parse_args(arguments)
    folder = (chosen.folder or Path(tempfile.mkdtemp(prefix="lakebed-demo-"))).resolve()
    if (folder / "orders").exists():
        sys.exit(f"{folder / 'orders'} is there already: name a folder that has none.")
    # Only one of the two needs pyspark.
    if chosen.no_spark:
        import demo_arrow

        demo_arrow.main(folder)
    else:
        import demo_spark

        demo_spark.main(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
