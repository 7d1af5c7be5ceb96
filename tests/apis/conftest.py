"""One `lakebed server` for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from server_process import Server, serving


@pytest.fixture(scope="session")
def server(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:  # noqa: ARG001
    warehouse: Path = tmp_path_factory.mktemp("served")
    with serving(warehouse) as address:
        yield Server(address, warehouse)
