from pathlib import Path

import pytest

from lakebed.storage import Store, open_store
from testkit.tables.small_tables import new_memory_url


@pytest.fixture(params=["local", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty place for a table, on each kind of store that needs no server."""
    return open_store(str(tmp_path / "table") if request.param == "local" else new_memory_url())


@pytest.fixture
def memory() -> Store:
    """For tests of rules, where the kind of store makes no difference."""
    return open_store(new_memory_url())
