"""Known differences from delta-spark, by the name of the comparison, each with its reason.

`on_purpose`: why Lakebed's answer is right. `gap`: Lakebed has to follow; the comparison is an
expected failure, and fails once both agree. Both name the aspects that differ.
"""

from __future__ import annotations

from comparing import Difference

DIFFERENCES: dict[str, Difference] = {}
