"""Times in the text of a query."""

from __future__ import annotations

import datetime as dt

from pyspark.sql import SparkSession

from lakebed.sql.plain import plain_sql


def moment(session: SparkSession, expression: str) -> str:
    """A time as a text with its zone; what is no time stays as it is."""
    query = f"SELECT unix_millis(TRY_CAST(({expression}) AS TIMESTAMP))"
    millis = plain_sql(session, query).collect()[0][0]
    if millis is None:
        return expression
    return dt.datetime.fromtimestamp(millis / 1000, dt.timezone.utc).isoformat()
