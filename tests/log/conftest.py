from pathlib import Path

import pytest

from lakebed.storage import Store, open_store
from testkit.faults import FaultStore
from testkit.tables.log_tables import listed_store, memory_store


@pytest.fixture(params=["probed", "listed"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty place for a table: one where names are tried, one where the log is listed."""
    return open_store(str(tmp_path / "table")) if request.param == "probed" else listed_store()


@pytest.fixture
def local(tmp_path: Path) -> Store:
    return open_store(str(tmp_path / "table"))


@pytest.fixture
def listed() -> FaultStore:
    return listed_store()


@pytest.fixture
def memory() -> Store:
    """For tests of rules, where the kind of store makes no difference."""
    return memory_store()
