"""A table, and a query that copies its stream."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from stream_copies import Copy, append


@pytest.fixture
def source(spark: SparkSession, tmp_path: Path) -> str:
    """Versions 0 to 2, each with a file of two rows."""
    path = str(tmp_path / "source")
    for start in (0, 2, 4):
        append(spark, path, range(start, start + 2))
    return path


@pytest.fixture
def copy(spark: SparkSession, source: str, tmp_path: Path) -> Copy:
    return Copy(spark, source, tmp_path)
