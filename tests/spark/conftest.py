"""Modules of other folders that the tests of the Spark plane use. The session is in tests/."""

from __future__ import annotations

import sys
from pathlib import Path

for _neighbour in ("arrow", "golden", "log"):
    sys.path.insert(0, str(Path(__file__).parents[1] / _neighbour))
