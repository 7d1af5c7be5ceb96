"""How tables that Lakebed begins differ from those of delta-spark, by feature, with the reason."""

from __future__ import annotations

from comparing import Difference

FEATURE_DIFFERENCES: dict[str, Difference] = {}
