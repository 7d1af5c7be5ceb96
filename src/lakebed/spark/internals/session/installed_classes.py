"""Lakebed's Java classes for a Spark that is not running yet: what its class path needs.

Tests are in `test_spark_commands`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.find_spark_home import _find_spark_home
from pyspark.java_gateway import launch_gateway

from lakebed.errors import UnsupportedSparkError
from lakebed.spark.internals.session.classes import cached_folder, class_folder, interpreter_folder
from lakebed.spark.internals.session.versions import explained_start

_CORE = re.compile(r"spark-core_[\d.]+-(\d.*)\.jar")


def class_path(spark_home: str | None = None) -> list[Path]:
    """The folders: the classes for a Spark, and one that tells the JVM which Python has Lakebed."""
    home = Path(spark_home or _find_spark_home())
    version = _version(home)
    with_connect = any((home / "jars").glob("spark-connect_*.jar"))
    folder, is_ready = cached_folder(version, with_connect=with_connect)
    if not is_ready:
        with _jvm(home) as gateway:
            folder = class_folder(gateway, version)
    return [folder, interpreter_folder()]


def _version(home: Path) -> str:
    names = sorted(each.name for each in (home / "jars").glob("spark-core_*.jar"))
    found = [match[1] for match in map(_CORE.fullmatch, names) if match]
    if len(found) != 1:
        raise UnsupportedSparkError(
            f"there is no Spark in {home}",
            hint="--spark-home is the folder with bin and jars of a Spark",
        )
    return found[0]


@contextmanager
def _jvm(home: Path) -> Iterator[Any]:
    """A JVM with Spark's JARs, without a SparkContext."""
    before = os.environ.get("SPARK_HOME")
    os.environ["SPARK_HOME"] = str(home)
    try:
        # What Java writes is not part of the command's output.
        with explained_start():
            gateway = launch_gateway(popen_kwargs={"stdout": sys.stderr})
    finally:
        if before is None:
            del os.environ["SPARK_HOME"]
        else:
            os.environ["SPARK_HOME"] = before
    process: subprocess.Popen[bytes] = gateway.proc
    try:
        yield gateway
    finally:
        gateway.shutdown()
        if process.stdin is not None:
            process.stdin.close()
        process.wait()
