"""The tables and the questions of TPC-H."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
from pathlib import Path

TABLES = ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem")
QUERIES = tuple(range(1, 23))


def query_text(number: int) -> str:
    return _texts()[number]


def generate(folder: Path, scale: float) -> Path:
    """The tables as Parquet files, one each, by `tpchgen-cli`."""
    target = folder / f"tpch-{scale:g}"
    program = Path(sys.executable).with_name("tpchgen-cli")
    command = [str(program), "parquet", "-s", f"{scale:g}", f"--output-dir={target}"]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return target


@functools.cache
def _texts() -> dict[int, str]:
    text = Path(__file__).with_name("tpch_queries.sql").read_text(encoding="utf-8")
    parts = re.split(r"^-- query (\d+)$", text, flags=re.MULTILINE)[1:]
    return {int(n): body.strip() for n, body in zip(parts[::2], parts[1::2], strict=True)}
