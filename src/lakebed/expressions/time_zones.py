"""Which expressions mean something else in another time zone. Lakebed's own are in UTC."""

from __future__ import annotations

from lakebed.expressions.tree import Expression
from lakebed.spec.schema import TIMESTAMP


def is_utc(zone: str | None) -> bool:
    return zone in ("UTC", "Etc/UTC", "GMT", "Etc/GMT", "Z", "+00:00")


def depends_on_zone(expression: Expression) -> bool:
    """Whether a value in it is a timestamp, whose string and day differ between zones."""
    here = expression.data_type == TIMESTAMP
    return here or any(depends_on_zone(child) for child in expression.children)
