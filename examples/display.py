"""How the demos print: titles and aligned columns."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from datetime import datetime


def title(text: str) -> None:
    print(f"\n\033[1m{text}\033[0m\n" if sys.stdout.isatty() else f"\n== {text}\n", flush=True)


def show(rows: Iterable[Mapping[str, object]]) -> None:
    """Aligned columns; numbers to the right."""
    rows = list(rows)
    columns = {name: [_text(row[name]) for row in rows] for name in rows[0]}
    widths = {name: max(len(name), *map(len, texts)) for name, texts in columns.items()}
    _print_line([name.ljust(width) for name, width in widths.items()])
    _print_line(["-" * width for width in widths.values()])
    for row in rows:
        _print_line([_cell(row[name], width) for name, width in widths.items()])


def _cell(value: object, width: int) -> str:
    text = _text(value)
    return text.rjust(width) if isinstance(value, int | float) else text.ljust(width)


def _text(value: object) -> str:
    match value:
        case datetime():
            return f"{value:%Y-%m-%d %H:%M:%S}"
        case bool() | None:
            return str(value)
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.2f}"
    return str(value)


def _print_line(cells: list[str]) -> None:
    print("  ".join(cells).rstrip(), flush=True)
