"""`_last_vacuum_info`: up to which commit removed files are gone, for VACUUM LITE to start after.

The file and its one field are delta-spark's, which reads and writes it too.
"""

from __future__ import annotations

import logging

import orjson

from lakebed.errors import LakebedError, ObjectNotFoundError
from lakebed.log.listing.log_names import LOG_FOLDER
from lakebed.storage.store import Store

LAST_VACUUM = f"{LOG_FOLDER}/_last_vacuum_info"
_FIELD = "latestCommitVersionOutsideOfRetentionWindow"
_LOG = logging.getLogger("lakebed")


def last_vacuumed(store: Store) -> int | None:
    """None where nothing is known; then LITE looks at the whole log."""
    try:
        value = orjson.loads(store.get(LAST_VACUUM))
    except (ObjectNotFoundError, orjson.JSONDecodeError):
        return None
    version = value.get(_FIELD) if isinstance(value, dict) else None
    return version if isinstance(version, int) and not isinstance(version, bool) else None


def remember_vacuum(store: Store, version: int | None) -> None:
    """Never fails a VACUUM that is done: without the file the next LITE only has more to do."""
    try:
        store.put(LAST_VACUUM, orjson.dumps({} if version is None else {_FIELD: version}))
    except LakebedError as error:
        _LOG.warning("%s: %s was not written: %s", store.url, LAST_VACUUM, error)
