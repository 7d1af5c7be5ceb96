"""Timestamps that users write as strings."""

from __future__ import annotations

from pyspark.sql import SparkSession

from lakebed.errors import InvalidArgumentError


def millis_of(session: SparkSession, timestamp: str) -> int:
    """The milliseconds since 1970. Without a time zone, that of the session counts, as in Spark."""
    query = "SELECT unix_millis(TRY_CAST(:text AS TIMESTAMP))"
    found = session.sql(query, args={"text": timestamp}).head()
    if found is None or found[0] is None:
        raise InvalidArgumentError(
            f"The provided timestamp ({timestamp!r}) cannot be converted to a valid timestamp",
            condition="DELTA_TIMESTAMP_INVALID",
            parameters={"expr": timestamp},
            hint="write it as 2026-01-31, 2026-01-31 12:00:00 or 2026-01-31T12:00:00+01:00",
        )
    return int(found[0])
