"""Fixtures over the golden tables."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import pytest
from golden_tables import COUNTS, GOLDEN


@pytest.fixture(scope="session")
def hashing() -> ModuleType:
    """The independent definition of a table's content that comes with the tables."""
    spec = importlib.util.spec_from_file_location("content_hash", GOLDEN / "content_hash.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if COUNTS:
        counted = ", ".join(f"{number} {name}" for name, number in sorted(COUNTS.items()))
        terminalreporter.write_line(f"golden tables: {counted}")
