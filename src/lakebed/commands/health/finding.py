"""What was found about one side of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum


class Severity(Enum):
    """From harmless to bad. `INFO` costs little; `WARNING` is felt; `PROBLEM` wants mending now."""

    OK = "ok"
    INFO = "info"
    WARNING = "warning"
    PROBLEM = "problem"

    @property
    def rank(self) -> int:
        return list(Severity).index(self)


@dataclass(frozen=True)
class Finding:
    """`topic` never changes; `mend` is what to call or to set; `numbers` are for programs."""

    topic: str
    severity: Severity
    message: str
    mend: str | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)


def graded(value: float, limits: Sequence[float]) -> Severity:
    """The severity of a value, by the limits from which it is info, a warning, a problem."""
    reached = sum(value >= limit for limit in limits)
    return list(Severity)[reached]


def size_text(size: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def counted(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def percent(share: float) -> str:
    return "less than 1%" if 0 < share < 0.01 else f"{share:.0%}"
