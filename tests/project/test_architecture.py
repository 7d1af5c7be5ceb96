"""`docs/architecture.md` beside the source: its rooms, and the hops of its walks."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "lakebed"
JAVA = PACKAGE / "spark" / "java" / "all_versions" / "lakebed"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
MOST_HOPS = 8
WALKS = re.findall(r"^### (.+?)\n(.*?)(?=^##)", PAGE, re.DOTALL | re.MULTILINE)


def test_the_rooms_of_the_page_are_the_folders_of_the_source() -> None:
    found = [
        init.parent.relative_to(PACKAGE).as_posix()
        for init in PACKAGE.rglob("__init__.py")
        if init.parent != PACKAGE
    ]
    table = PAGE.split("| room | what is in it |")[1].split("\n\n")[0]
    cells = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
    assert [name for name, count in Counter(named).items() if count > 1] == []
    assert sorted(named) == sorted(found)


def test_there_are_four_walks() -> None:
    assert [name for name, _ in WALKS] == ["A read without Spark", "SELECT", "An append", "MERGE"]


@pytest.mark.parametrize(("name", "text"), WALKS, ids=[name for name, _ in WALKS])
def test_each_hop_of_a_walk_is_there(name: str, text: str) -> None:
    hops = re.findall(r"^\d+\. `([\w/]+\.(?:py|java))`, `(\w+)`: .+$", text, re.MULTILINE)
    assert len(hops) == len(re.findall(r"^\d+\. ", text, re.MULTILINE)), name
    assert 1 < len(hops) <= MOST_HOPS
    for file, function in hops:
        source = (JAVA if file.endswith(".java") else PACKAGE) / file
        defined = rf"\b(?:def|class) {function}\b|^  public .*\b{function}\("
        assert re.search(defined, source.read_text(encoding="utf-8"), re.MULTILINE), (
            file,
            function,
        )
