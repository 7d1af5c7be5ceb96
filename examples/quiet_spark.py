"""A local Spark that prints nothing of its own."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import SparkSession

import lakebed


def quiet_session(name: str, warehouse: Path) -> SparkSession:
    """Two threads on this machine; Delta tables are enabled."""
    with _errors_kept_back():
        spark = lakebed.session(
            name,
            master="local[2]",
            spark_ui_enabled=False,
            spark_sql_shuffle_partitions=4,
            spark_driver_host="127.0.0.1",
            **{
                "spark.ui.showConsoleProgress": "false",
                "spark.sql.session.timeZone": "UTC",
                "spark.sql.warehouse.dir": str(warehouse),
            },
        )
        spark.sparkContext.setLogLevel("OFF")
    return spark


@contextlib.contextmanager
def _errors_kept_back() -> Iterator[None]:
    """The JVM that starts in here prints its greetings and warnings into a file.

    If it does not start, they are shown: they say why.
    """
    with tempfile.TemporaryFile() as kept:
        sys.stderr.flush()
        real = os.dup(2)
        os.dup2(kept.fileno(), 2)
        try:
            yield
        except BaseException:
            kept.seek(0)
            os.write(real, kept.read())
            raise
        finally:
            os.dup2(real, 2)
            os.close(real)
