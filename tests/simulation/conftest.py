"""What all histories run with."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pyarrow as pa
import pytest


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Hundreds of faults after commits are logged, as they should be; files have a row or two."""
    log, threads = logging.getLogger("lakebed"), pa.cpu_count()
    before = log.level
    log.setLevel(logging.CRITICAL)
    pa.set_cpu_count(1)
    yield
    log.setLevel(before)
    pa.set_cpu_count(threads)
