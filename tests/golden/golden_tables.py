"""The golden tables: real Delta tables of other implementations, beside the repository."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).resolve().parents[3] / "shared" / "golden"
COUNTS: Counter[str] = Counter()


def golden_entries() -> list[dict[str, Any]]:
    if not GOLDEN.exists():
        return []
    return list(json.loads((GOLDEN / "expected.json").read_text())["tables"])
