"""How tables that Lakebed begins differ from those of delta-spark, by feature, with the reason."""

from __future__ import annotations

from comparing import Difference, on_purpose

_TEXT = "the text of a constraint is kept as it was written; delta-spark puts blanks into it"

_CONVERSION = "delta-spark notes in a property that it can convert the table to Iceberg in a commit"

FEATURE_DIFFERENCES: dict[str, Difference] = {
    "IcebergCompatV1": on_purpose("properties", _CONVERSION),
    "CHECK constraints": on_purpose("properties", _TEXT),
}
