"""Sessions of Spark Connect whose server is Lakebed's: `lakebed server`."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from lakebed.settings.setting_table import SERVER
from lakebed.spark.session.session_kind import is_connect


def is_served(session: Any) -> bool:
    """Whether the server of a session knows Delta tables by itself. Asked once for a session."""
    if not is_connect(session):
        return False
    found = _known.get(session)
    if found is None:
        found = SERVER.of(session) is not None
        _known[session] = found
    return found


_known: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
