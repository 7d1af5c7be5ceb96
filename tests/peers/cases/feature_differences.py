"""How tables that Lakebed begins differ from those of delta-spark, by feature, with the reason."""

from __future__ import annotations

from comparing import Difference, gap, on_purpose

_ROW_IDS = "SQL does not show _metadata.row_id and _metadata.row_commit_version"

_TEXT = "the text of a constraint is kept as it was written; delta-spark puts blanks into it"

FEATURE_DIFFERENCES: dict[str, Difference] = {
    "CHECK constraints": on_purpose("properties", _TEXT),
    "row tracking": gap("queries", _ROW_IDS),
    "row tracking with deletion vectors": gap("queries", _ROW_IDS),
}
