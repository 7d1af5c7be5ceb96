import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

for _neighbour in (".", "transaction"):
    sys.path.insert(0, str(Path(__file__).parents[1] / _neighbour))


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
