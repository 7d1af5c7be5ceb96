"""Options and settings that are true or false."""

from __future__ import annotations

from lakebed.errors import InvalidArgumentError


def parse_flag(name: str, text: str) -> bool:
    lowered = text.strip().lower()
    if lowered not in ("true", "false"):
        raise InvalidArgumentError(f"{name} is {text!r}", hint="set it to true or false")
    return lowered == "true"
