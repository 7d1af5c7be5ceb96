"""Names of columns as SQL writes them."""

from __future__ import annotations

from lakebed.errors import InvalidArgumentError


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
