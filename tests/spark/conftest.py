"""One Spark session for all tests of the Spark plane; without pyspark they are skipped, visibly."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HAS_SPARK = importlib.util.find_spec("pyspark") is not None
collect_ignore_glob = [] if HAS_SPARK else ["test_*.py"]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    import lakebed

    session = lakebed.session(
        "lakebed-tests",
        master="local[2]",
        spark_ui_enabled=False,
        spark_sql_shuffle_partitions=2,
        spark_default_parallelism=2,
        spark_driver_host="127.0.0.1",
        spark_driver_memory="1g",
        **{"spark.sql.session.timeZone": "UTC"},
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
