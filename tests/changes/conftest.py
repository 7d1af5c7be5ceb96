"""Modules of other folders that the tests of row changes use. The session is in tests/."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "spark"))
