"""Moving the hint `_last_checkpoint` forward (PROTOCOL: Last Checkpoint File)."""

from __future__ import annotations

from dataclasses import replace

from lakebed.formats.last_checkpoint import LastCheckpoint
from lakebed.log.listing.listing import read_hint
from lakebed.log.listing.log_names import LAST_CHECKPOINT, commit_path
from lakebed.storage.store import Store

_CLEANED = "lakebed.logCleanedUpTo"


def publish_hint(store: Store, hint: LastCheckpoint, cleaned: int | None = None) -> bool:
    """Point to a newer checkpoint; False where the hint already points further.

    `cleaned` notes up to which time the log was cleaned up, so that no one looks again that day.
    A hint beyond the end of the log is wrong and gives way.
    """
    old = read_hint(store)
    if old is not None and old.version > hint.version and store.exists(commit_path(old.version)):
        return False
    noted = cleaned_up_to(old) if cleaned is None else cleaned
    if noted is not None:
        hint = replace(hint, tags={**(hint.tags or {}), _CLEANED: str(noted)})
    store.put(LAST_CHECKPOINT, hint.encode())
    return True


def cleaned_up_to(hint: LastCheckpoint | None) -> int | None:
    """The cut-off time of the last clean-up of the log, if the hint remembers one."""
    text = ((hint.tags if hint is not None else None) or {}).get(_CLEANED)
    return int(text) if text is not None and text.isdecimal() else None
