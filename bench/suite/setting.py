"""On what the figures were made: the machine, the versions, the settings of the peers."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

from suite.sizes import Sizes

SPARK, DELTA_SPARK = "4.2", "4.4.0"
"""The newest release of delta-spark with a JAR, and the newest Spark that it has one for."""


def peer_settings(name: str, options: argparse.Namespace) -> dict[str, str]:
    """The same for all on Spark; others know how many cores there are, and DuckDB its memory."""
    limits = {"cores": str(options.cores), "memory": options.memory.upper() + "B"}
    if name in ("deltalake", "duckdb", "polars"):
        return limits
    settings = {
        "cores": limits["cores"],
        "spark.master": f"local[{options.cores}]",
        "spark.driver.memory": options.memory,
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "8",
        "spark.databricks.delta.properties.defaults.enableDeletionVectors": "true",
    }
    if name == "delta-spark":
        package = f"io.delta:delta-spark_{options.spark}_2.13:{options.delta_spark}"
        settings["spark.jars.packages"] = package
    return settings


def peer_python(root: Path, spark: str) -> Path:
    """That of an environment with this Spark, made when it is missing."""
    sys.path.insert(0, str(root / "tools"))
    from environment import DEV, Environment

    environment = Environment(root, spark)
    environment.ensure(DEV)
    return environment.python


def limit_cores(count: int) -> None:
    """Of this process and its children, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, allowed[:count])


def machine(root: Path, sizes: Sizes, options: argparse.Namespace) -> dict[str, Any]:
    now = datetime.datetime.now(datetime.timezone.utc)
    return {
        "date": f"{now:%Y-%m-%d %H:%M} UTC",
        "mode": sizes.name,
        "commit": _commit(root),
        "cpu": _cpu(),
        "cores of the machine": os.cpu_count(),
        "memory of the machine": _memory(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "cores of each peer": options.cores,
        "memory of each Spark": options.memory,
        "load at the start": round(os.getloadavg()[0], 1),
        "settings": peer_settings("lakebed", options),
        "sizes": dataclasses.asdict(sizes),
    }


def _commit(root: Path) -> str:
    command = ["git", "-C", str(root), "describe", "--always", "--dirty"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def _cpu() -> str:
    file = Path("/proc/cpuinfo")
    lines = file.read_text().splitlines() if file.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GB"
