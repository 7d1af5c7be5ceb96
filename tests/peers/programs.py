"""DataFrame calls that both engines run, each as a function of the session and of what is given."""

from __future__ import annotations

from typing import Any


def append(spark: Any, path: str, query: str) -> None:
    spark.sql(query).write.format("delta").mode("append").save(path)
