import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# The contract of the planes, which runs here on real servers.
sys.path.insert(0, str(Path(__file__).parents[1] / "spark" / "plane"))

from real_servers import SERVERS, RealServer


@pytest.fixture(scope="session", params=list(SERVERS))
def real_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealServer]:
    with SERVERS[request.param](tmp_path_factory.mktemp(request.param)) as server:
        yield server
