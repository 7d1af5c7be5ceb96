"""How tables that Lakebed begins differ from those of delta-spark, by feature, with the reason."""

from __future__ import annotations

from comparing import Difference, gap

_ROW_IDS = "SQL does not show _metadata.row_id and _metadata.row_commit_version"

FEATURE_DIFFERENCES: dict[str, Difference] = {
    "row tracking": gap("queries", _ROW_IDS),
    "row tracking with deletion vectors": gap("queries", _ROW_IDS),
}
