"""Pinned versions: table properties that keep versions readable under VACUUM and log clean-up.

One property per pin, `lakebed.pin.<name>` = version, so that two pins never overwrite each other.
The protocol knows nothing of pins: other engines neither mind nor keep them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from lakebed.errors import InvalidArgumentError, TablePropertyError

PIN_PREFIX = "lakebed.pin."


def pins_of(configuration: Mapping[str, str]) -> dict[str, int]:
    """Versions by the names of their pins. A pin that says no version is an error, never ignored:
    somebody relies on it.
    """
    found: dict[str, int] = {}
    for key, value in configuration.items():
        if key.startswith(PIN_PREFIX):
            if not _VERSION.fullmatch(value):
                raise TablePropertyError(
                    f"The table property {key} is {value!r}, but it must be a version",
                    hint=f"Set {key} to a version such as '12', or remove it.",
                )
            found[key[len(PIN_PREFIX) :]] = int(value)
    return found


def pin_key(name: str) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidArgumentError(
            f"{name!r} is not a name for a pin",
            hint="use letters, digits, '_', '-' and '.', such as 'release-2026'",
        )
    return PIN_PREFIX + name


_NAME = re.compile(r"[\w.\-]+")
_VERSION = re.compile(r"[0-9]{1,18}", re.ASCII)
