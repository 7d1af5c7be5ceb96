"""docs/spark.md lists the settings that the code honours, and no others."""

from __future__ import annotations

import re
from pathlib import Path

from lakebed.sessions.settings import HONOURED
from lakebed.spark.session.session_kind import ENABLED

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "spark.md"
SOURCE = ROOT / "src" / "lakebed"
ROW = re.compile(r"^\| `(spark\.[^`]+)` \| .+ \|$", re.MULTILINE)


OWN = re.compile(r"\"(spark\.lakebed\.[\w.]+)\"")


def test_the_page_lists_every_setting_that_other_writers_know_too() -> None:
    assert sorted(name for name in _listed() if ".lakebed." not in name) == sorted(HONOURED)


def test_the_page_lists_every_setting_of_lakebed_itself() -> None:
    sources = [file for file in SOURCE.rglob("*") if file.suffix in (".py", ".java")]
    named = {name for file in sources for name in OWN.findall(file.read_text(encoding="utf-8"))}
    assert {name for name in _listed() if ".lakebed." in name} == named - {ENABLED}


def _listed() -> list[str]:
    return ROW.findall(PAGE.read_text(encoding="utf-8"))
