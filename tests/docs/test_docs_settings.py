"""docs/spark.md lists the settings that the code honours, and no others."""

from __future__ import annotations

import re
from pathlib import Path

from lakebed.sessions.settings import HONOURED
from lakebed.spark.planes import SETTING

PAGE = Path(__file__).resolve().parents[2] / "docs" / "spark.md"
ROW = re.compile(r"^\| `(spark\.[^`]+)` \| .+ \|$", re.MULTILINE)


def test_the_page_lists_every_setting_of_the_code_once() -> None:
    listed = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert sorted(listed) == sorted([SETTING, *HONOURED])
