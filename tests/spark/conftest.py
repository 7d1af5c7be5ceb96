"""Modules of other folders that the tests of the Spark plane use. The session is in tests/."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

for _neighbour in ("arrow", "golden", "log"):
    sys.path.insert(0, str(Path(__file__).parents[1] / _neighbour))


@pytest.fixture(scope="session")
def connect_server(java: None) -> Iterator[str]:  # noqa: ARG001
    """The address of one server for all tests of Spark Connect; each file has its own database."""
    from connect_server import running_connect_server

    with running_connect_server() as address:
        yield address
