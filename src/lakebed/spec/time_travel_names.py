"""Names of tables that end with a version or a time: `orders@v3`, `orders@20260131120000000`.

As in delta-spark. `DeltaCatalogBase.java` has the same pattern for names in Spark's catalog.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

PATTERN = "(.+)@(?:[vV]([0-9]+)|([0-9]{17}))"
_NAME = re.compile(PATTERN, re.DOTALL)


@dataclass(frozen=True)
class TimeTravelName:
    """`table` without its suffix, and the version or the timestamp of the suffix."""

    table: str
    version: str | None
    timestamp: str | None


def parse_time_travel(name: str) -> TimeTravelName | None:
    """None for a name without such a suffix. A table may still have the whole as its name."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    digits = match[3]
    return TimeTravelName(match[1], match[2], None if digits is None else _timestamp(digits))


def _timestamp(digits: str) -> str:
    """yyyyMMddHHmmssSSS as a timestamp that Spark reads."""
    day = f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}"
    return f"{day} {digits[8:10]}:{digits[10:12]}:{digits[12:14]}.{digits[14:]}"
