"""A line about the golden tables at the end of a run."""

from __future__ import annotations

import pytest

from testkit.tables.golden_tables import COUNTS


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if COUNTS:
        counted = ", ".join(f"{number} {name}" for name, number in sorted(COUNTS.items()))
        terminalreporter.write_line(f"golden tables: {counted}")
