"""References to columns: of one DataFrame, as an expression names it, and as SQL writes names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from pyspark.sql import Column

from lakebed.errors import InvalidArgumentError


@dataclass(frozen=True)
class Reference:
    """A column of a DataFrame. `frame` is Spark's number of the DataFrame, if it is known.

    `column` is Spark's number of the column itself, which DataFrames share with those that they are
    derived from. Only a classic session has it; on Spark Connect `path` goes on to fields inside of
    the column, and may begin with the alias of the DataFrame.
    """

    path: tuple[str, ...]
    frame: int | None
    column: int | None = None


Translate: TypeAlias = Callable[[Reference], Column]


def split_name(name: str) -> list[str]:
    """The parts of a name such as a.`b.c`."""
    parts, part, quoted, place = [], "", False, 0
    while place < len(name):
        letter = name[place]
        if letter == "`" and quoted and name[place + 1 : place + 2] == "`":
            part, place = part + "`", place + 1
        elif letter == "`":
            quoted = not quoted
        elif letter == "." and not quoted:
            parts.append(part)
            part = ""
        else:
            part += letter
        place += 1
    if quoted:
        raise InvalidArgumentError(f"{name!r} has a backquote without its other half")
    return [*parts, part]
