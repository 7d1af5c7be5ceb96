"""Writes the tables of settings and options in docs/spark.md: python tools/settings_tables.py

With `--check` nothing is written: the exit code says whether the page is up to date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from lakebed.settings.option_table import READ_OPTIONS, WRITE_OPTIONS
from lakebed.settings.setting import Option, Setting, SettingPrefix
from lakebed.settings.setting_table import SETTINGS

PAGE = Path(__file__).resolve().parent.parent / "docs" / "spark.md"
BLOCK = "<!-- {name}: python tools/settings_tables.py -->\n"
END = "<!-- end -->"


def main(arguments: Sequence[str]) -> int:
    before = PAGE.read_text(encoding="utf-8")
    after = before
    for name, lines in tables().items():
        after = replaced(after, name, lines)
    if "--check" in arguments:
        if after != before:
            print(f"{PAGE} is not up to date: run python tools/settings_tables.py")
        return int(after != before)
    PAGE.write_text(after, encoding="utf-8")
    return 0


def tables() -> dict[str, list[str]]:
    return {
        "write options": options(WRITE_OPTIONS.values()),
        "read options": options(READ_OPTIONS.values()),
        "settings": settings(SETTINGS.values()),
    }


def settings(records: Iterable[Setting[Any] | SettingPrefix]) -> list[str]:
    lines = ["| setting | default | what it does | the same for one table or write |"]
    lines.append("|---|---|---|---|")
    for each in records:
        if isinstance(each, SettingPrefix):
            lines.append(row(f"`{each.name}*`", "", each.does, ""))
        elif not each.internal:
            lines.append(row(f"`{each.name}`", default(each), each.does, others(each)))
    return lines


def options(records: Iterable[Option[Any]]) -> list[str]:
    lines = ["| option | default | what it does |", "|---|---|---|"]
    return lines + [row(f"`{each.name}`", default(each), each.does) for each in records]


def default(record: Setting[Any] | Option[Any]) -> str:
    if record.shown_default is not None:
        return record.shown_default
    if isinstance(record.default, bool):
        return f"`{str(record.default).lower()}`"
    return "" if record.default in (None, ()) else f"`{record.default}`"


def others(setting: Setting[Any]) -> str:
    """Other ways to say the same."""
    found = [
        ("option", setting.option),
        ("property", setting.table_property),
        ("environment variable", setting.environment),
    ]
    return ", ".join(f"{what} `{name}`" for what, name in found if name is not None)


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |".replace("|  |", "| |")


def replaced(page: str, name: str, lines: Sequence[str]) -> str:
    start = BLOCK.format(name=name)
    pattern = re.compile(re.escape(start) + r".*?" + re.escape(END), re.DOTALL)
    if not pattern.search(page):
        raise SystemExit(f"{PAGE} has no block {start.strip()}")
    block = start + "\n" + "\n".join(lines) + "\n\n" + END
    return pattern.sub(lambda _: block, page)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
