"""Files of SQL with what each statement gives.

    INSERT INTO t VALUES (1, 'a'), (2, NULL);

    SELECT * FROM t;
    -- columns: id, name
    -- | 1 | a
    -- | 2 | NULL
    -- spark: t

A statement ends with a semicolon at the end of a line. The lines of comment right behind it say
what is expected; without any the statement only has to succeed.

- `-- | ` is a row. Rows come in any order, unless there is `-- ordered`. `*` is any value.
- `-- columns: a, b` are the names of the columns; `-- no rows` is an empty result.
- `-- error: CODE some words`: it fails, with this code (or one that begins so) and with these words
  in the message.
- `-- spark: t, u`: plain Spark gives the same rows for this text, where t and u are what the
  standalone reader reads of these tables.
- `-- table: t`: the rows that follow are those that the standalone reader finds in the table.

`${folder}` is a folder of the file's own. Each file has a database of its own, which is current.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import Any

_DIRECTIVE = re.compile(r"--\s*(columns|error|spark|table):\s*(.*)")
ANY = "*"


@dataclass
class Entry:
    """A statement and what is expected of it. `rows` None: anything."""

    line: int
    sql: str
    columns: list[str] | None = None
    rows: list[str] | None = None
    is_ordered: bool = False
    error: tuple[str, str] | None = None
    twins: list[str] = field(default_factory=list)
    tables: dict[str, list[str]] = field(default_factory=dict)

    def read(self, line: str) -> None:
        """One line of what is expected; an ordinary comment says nothing."""
        found = _DIRECTIVE.match(line)
        if line.startswith("-- |"):
            self._target().append(line[4:].strip())
        elif line.strip() == "-- ordered":
            self.is_ordered = True
        elif line.strip() == "-- no rows":
            self._target()
        elif found is not None:
            self._set(found[1], found[2].strip())

    def _set(self, name: str, value: str) -> None:
        if name == "columns":
            self.columns = names(value)
        elif name == "error":
            code, _, words = value.partition(" ")
            self.error = (code, words.strip())
        elif name == "spark":
            self.twins = names(value)
        else:
            self.tables[value] = []

    def _target(self) -> list[str]:
        if self.tables:
            return list(self.tables.values())[-1]
        if self.rows is None:
            self.rows = []
        return self.rows


def read_corpus(path: Path) -> list[Entry]:
    entries: list[Entry] = []
    pending: list[str] = []
    for number, line in enumerate(path.read_text().splitlines(), start=1):
        if not pending and (line.startswith("--") or not line.strip()):
            if line.startswith("--") and entries:
                entries[-1].read(line)
            continue
        pending.append(line)
        if line.rstrip().endswith(";"):
            entries.append(Entry(number, "\n".join(pending).rstrip().rstrip(";")))
            pending = []
    assert not pending, f"{path.name}: the last statement has no semicolon"
    return entries


def names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def shown(row: Iterable[Any]) -> str:
    return " | ".join(map(_value, row))


def is_same(found: str, expected: str) -> bool:
    cells = found.rstrip().split(" | "), expected.split(" | ")
    return len(cells[0]) == len(cells[1]) and all(
        want in (ANY, have) for have, want in zip(*cells, strict=True)
    )


def _value(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    if isinstance(value, datetime):
        return value.replace(tzinfo=None).isoformat(" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        pairs = sorted((_value(key), _value(each)) for key, each in value.items())
        return "{" + ", ".join(f"{key}: {each}" for key, each in pairs) + "}"
    if hasattr(value, "asDict"):
        return _value(value.asDict())
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return str(value)
