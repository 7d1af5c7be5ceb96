"""`spark-pipelines run` of the pipelines under `examples`, as far as each Spark has them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest
from server_process import Server

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "pipelines"
SPARK = tuple(int(part) for part in pyspark.__version__.split(".")[:2])


def copied(name: str, folder: Path) -> Path:
    """The example with its paths in a folder of the test."""
    shutil.copytree(EXAMPLES / name, folder / name)
    spec = folder / name / "spark-pipeline.yml"
    spec.write_text(spec.read_text().replace("/tmp/lakebed-pipelines", str(folder)))
    return folder / name


def run(pipeline: Path, server: Server, *options: str) -> None:
    command = Path(sys.executable).with_name("spark-pipelines")
    spec = str(pipeline / "spark-pipeline.yml")
    ran = subprocess.run(
        [str(command), "run", "--remote", server.address, "--spec", spec, *options],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-5000:]
    assert "Run is COMPLETED" in ran.stdout


def arrive(file: Path, landing: Path) -> None:
    landing.mkdir(exist_ok=True)
    shutil.copy(file, landing)


@pytest.mark.skipif(SPARK < (4, 1), reason="Spark 4.0 has no Declarative Pipelines")
def test_bronze_silver_and_gold_take_what_arrives(server: Server, tmp_path: Path) -> None:
    pipeline = copied("medallion", tmp_path)
    arrive(pipeline / "orders" / "1.json", tmp_path / "orders")
    run(pipeline, server)
    silver = ("id", "region", "cents")
    assert server.rows("bronze_orders", "id") == [(1,), (2,), (3,)]
    assert server.rows("silver_orders", *silver) == [(1, "north", 150), (3, "south", 225)]
    assert server.rows("gold_revenue") == [("north", 150, 1), ("south", 225, 1)]
    arrive(pipeline / "orders" / "2.json", tmp_path / "orders")
    run(pipeline, server)
    assert server.rows("bronze_orders", "id") == [(1,), (2,), (3,), (4,), (5,)]
    after = [(1, "north", 150), (3, "south", 225), (4, "south", 400), (5, "west", 1000)]
    assert server.rows("silver_orders", *silver) == after
    gold = [("north", 150, 1), ("south", 625, 2), ("west", 1000, 1)]
    assert server.rows("gold_revenue") == gold
    run(pipeline, server, "--full-refresh-all")
    assert server.rows("silver_orders", *silver) == after
    assert server.rows("gold_revenue") == gold


@pytest.mark.skipif(SPARK < (4, 2), reason="AUTO CDC came with Spark 4.2")
def test_auto_cdc_keeps_customers_and_their_history(server: Server, tmp_path: Path) -> None:
    pipeline = copied("cdc", tmp_path)
    has_history = SPARK >= (4, 3)
    if not has_history:
        (pipeline / "transformations" / "customers_history.py").unlink()
    now = ("id", "name")
    history = ("id", "name", "__START_AT", "__END_AT")
    arrive(pipeline / "changes" / "1.json", tmp_path / "changes")
    run(pipeline, server)
    assert server.rows("customers", *now) == [(1, "Ada"), (2, "Bob")]
    if has_history:
        first = [(1, "Ada", 1, None), (2, "Bob", 1, None)]
        assert server.rows("customers_history", *history) == first
    arrive(pipeline / "changes" / "2.json", tmp_path / "changes")
    run(pipeline, server)
    assert server.rows("customers", *now) == [(1, "Lady Ada"), (3, "Cy")]
    if has_history:
        assert server.rows("customers_history", *history) == [
            (1, "Ada L.", 2, 3),
            (1, "Ada", 1, 2),
            (1, "Lady Ada", 3, None),
            (2, "Bob", 1, 2),
            (3, "Cy", 1, None),
        ]
