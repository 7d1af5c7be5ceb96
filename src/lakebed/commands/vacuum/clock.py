"""What time it is, for comparing it with the ages that a store gives."""

from __future__ import annotations

import time
import uuid

from lakebed.storage.store import Store


def own_clock() -> int:
    return time.time_ns() // 1_000_000


def safe_clock(store: Store) -> int:
    """The earlier of this machine's time and the store's, in milliseconds.

    Files are as old as the store says. A machine whose clock is ahead of it would take what was
    written a moment ago for older than it is. The store tells its time by an object that is made
    for that; one that a killed VACUUM leaves is below the table and goes with a later VACUUM.
    """
    path = f"vacuum-clock-{uuid.uuid4()}"
    before = own_clock()
    store.put(path, b"")
    try:
        return min(before, store.head(path).modified_ms)
    finally:
        store.delete(path)
