"""Which sessions have their tables on `lakebed server`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from lakebed.spark.session.session_kind import is_served


def served_class(session: Any) -> Any | None:
    """The `DeltaTable` of a session of `lakebed server`; None for other sessions.

    Imported by name and late: it is made of the class that asks, and needs gRPC.
    """
    if not is_served(session):
        return None
    return import_module("lakebed.tables.served_table").ServedTable
