"""Temporary views of Spark Connect that follow their tables.

The server has such a view at the version that it was made with. So the client remembers its text
and reads the tables anew where a query names the view. What the server has under the name counts:
if that may be another view by now, the text is forgotten.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from lakebed.spark.session_catalog import catalog_of, find

_VIEWS = "_lakebed_views"
_NAMED = re.compile(
    r"\s*(?:CREATE|DROP|ALTER|CACHE|UNCACHE)\b.*?\b(?:VIEW|TABLE)\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?"
    r"`?(\w+)`?(?!\w|\s*\.)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True)
class RememberedView:
    """`created` is when, as the server tells it; names in the text are looked up in `database`."""

    text: str
    columns: Sequence[str]
    created: str | None
    database: str


def remember_view(session: SparkSession, name: str, text: str, columns: Sequence[str]) -> None:
    entry = find(session, (name,))
    if entry is None or not entry.is_temporary:
        return
    database = catalog_of(session).current_database()
    known = vars(session).setdefault(_VIEWS, {})
    known[name.lower()] = RememberedView(text, tuple(columns), entry.created, database)


def remembered_view(session: SparkSession, name: str, created: str | None) -> RememberedView | None:
    """None if there is no text, or if it is not certain that it still says what the view is."""
    found: RememberedView | None = vars(session).get(_VIEWS, {}).get(name.lower())
    if found is None or found.created is None or found.created != created:
        return None
    return found if catalog_of(session).current_database() == found.database else None


def forget_view(session: SparkSession, name: str) -> None:
    vars(session).get(_VIEWS, {}).pop(name.lower(), None)


def forget_named(session: SparkSession, text: str) -> None:
    """For statements that make, change or drop a view or table."""
    if vars(session).get(_VIEWS):
        found = _NAMED.match(text)
        if found is not None:
            forget_view(session, found[1])
