"""Delta tables on a Spark Connect server that does not know them.

Spark itself says that it finds no table or data source, or that it cannot parse the statement. Its
error becomes one that says what to do.
"""

from __future__ import annotations

from pyspark.errors import PySparkException

from lakebed.errors import UnsupportedFeatureError
from lakebed.spec.columns.column_names import split_name

_STATEMENTS = frozenset(
    {"CONVERT", "COPY", "FSCK", "GENERATE", "OPTIMIZE", "REORG", "RESTORE", "UNDROP", "VACUUM"}
)
"""First words of statements that Spark's parser does not know."""
_DESCRIBED = ("HISTORY", "DETAIL")
"""Spark takes them for names of tables: DESCRIBE HISTORY orders."""


def needs_server(what: str) -> UnsupportedFeatureError:
    return UnsupportedFeatureError(
        f"{what} needs a Spark Connect server that knows Delta tables, and this one does not",
        hint="start the server with `lakebed server` and set spark.remote to its address; on this "
        "one use paths: spark.read.format('delta').load, df.write.format('delta').save and "
        "DeltaTable.forPath",
    )


def server_error(error: PySparkException) -> UnsupportedFeatureError | None:
    """None for errors that have nothing to do with Delta tables."""
    condition = error.getCondition() or ""
    parameters = error.getMessageParameters() or {}
    found = _subject(condition.strip(), parameters)
    return None if found is None else needs_server(found)


def _subject(condition: str, parameters: dict[str, str]) -> str | None:
    if condition in _SOURCES:
        is_delta = parameters.get(_SOURCES[condition], "").lower() == "delta"
        return "this use of the format delta" if is_delta else None
    if condition == "TABLE_OR_VIEW_NOT_FOUND":
        return _relation(split_name(parameters.get("relationName", "")))
    if condition == "PARSE_SYNTAX_ERROR":
        word = parameters.get("error", "").strip("'").upper()
        return word if word in _STATEMENTS else None
    return None


_SOURCES = {
    "DATA_SOURCE_NOT_FOUND": "provider",
    "UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY": "dataSourceType",
}
"""Conditions, and their parameters that say which format."""


def _relation(parts: list[str]) -> str | None:
    if len(parts) == 1 and parts[0].upper() in _DESCRIBED:
        return f"DESCRIBE {parts[0].upper()}"
    is_path = len(parts) == 2 and parts[0].lower() == "delta" and "/" in parts[1]
    return f"delta.`{parts[1]}` in SQL" if is_path else None
