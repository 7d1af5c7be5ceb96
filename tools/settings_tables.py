"""Writes the tables of settings and options in the docs: python tools/settings_tables.py

With `--check` nothing is written: the exit code says whether the pages are up to date.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from lakebed.settings.option_table import READ_OPTIONS, STREAM_OPTIONS, WRITE_OPTIONS
from lakebed.settings.setting import Option, Setting, SettingPrefix
from lakebed.settings.setting_table import SETTINGS

DOCS = Path(__file__).resolve().parent.parent / "docs"
BLOCK = "<!-- {name}: python tools/settings_tables.py -->\n"
END = "<!-- end -->"


def main(arguments: Sequence[str]) -> int:
    status = 0
    for page, blocks in tables().items():
        path = DOCS / page
        before = path.read_text(encoding="utf-8")
        after = before
        for name, lines in blocks.items():
            after = replaced(path, after, name, lines)
        if "--check" not in arguments:
            path.write_text(after, encoding="utf-8")
        elif after != before:
            print(f"{path} is not up to date: run python tools/settings_tables.py")
            status = 1
    return status


def tables() -> dict[str, dict[str, list[str]]]:
    """The tables of each page."""
    return {
        "spark.md": {
            "write options": options(WRITE_OPTIONS.values()),
            "read options": options(READ_OPTIONS.values()),
            "settings": settings(SETTINGS.values()),
        },
        "streaming.md": {"stream options": options(STREAM_OPTIONS.values())},
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


def replaced(path: Path, page: str, name: str, lines: Sequence[str]) -> str:
    start = BLOCK.format(name=name)
    pattern = re.compile(re.escape(start) + r".*?" + re.escape(END), re.DOTALL)
    if not pattern.search(page):
        raise SystemExit(f"{path} has no block {start.strip()}")
    block = start + "\n" + "\n".join(lines) + "\n\n" + END
    return pattern.sub(lambda _: block, page)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
