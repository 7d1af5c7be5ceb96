import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import pytest
from log_tables import memory_store

from lakebed.storage import Store, open_store


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty place for a table: where the log is probed (local) and where it is listed."""
    return open_store(str(tmp_path / "table")) if request.param == "local" else memory_store()


@pytest.fixture
def local(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "table"))


@pytest.fixture
def memory() -> Store:
    """For tests of rules, where the kind of store makes no difference."""
    return memory_store()
