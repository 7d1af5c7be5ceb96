"""docs/limits.md lists the limits of `spec/limits.py`, and no others."""

from __future__ import annotations

import re
from pathlib import Path

from lakebed.spec import limits

PAGE = Path(__file__).resolve().parents[2] / "docs" / "limits.md"
ROW = re.compile(r"^\| `([A-Z_]+)` \| ([\d,]+) \| .+ \|$", re.MULTILINE)


def test_the_page_lists_every_limit_with_its_number() -> None:
    listed = [
        (name, int(number.replace(",", ""))) for name, number in ROW.findall(PAGE.read_text())
    ]
    assert listed == [(name, value) for name, value in vars(limits).items() if name.isupper()]
