"""The version that a query started with, for the case that its first batch has to be repeated.

A first batch that was planned has no offset before it in the checkpoint, and `latest` would be
another version now: rows would be left out. So the version goes into the folder of the source in
the checkpoint, before the batch can be planned. delta-spark pays no attention to the file.
"""

from __future__ import annotations

import orjson

from lakebed.errors import InvalidArgumentError, ObjectNotFoundError, StreamingError
from lakebed.storage.store import Store
from lakebed.streaming.source.stream_options import LATEST, StreamOptions


class StartRecord:
    """`store` is the folder of the source in the checkpoint; None if it cannot be reached."""

    def __init__(self, store: Store | None) -> None:
        self._store = store

    def write(self, version: int) -> None:
        if self._store is not None:
            self._store.put(_NAME, orjson.dumps({"version": version}))

    def read(self, options: StreamOptions) -> int | None:
        """The version that the planned batch starts with; None if the options still say it."""
        found = self._found()
        if found is None and options.starting_version == LATEST:
            raise InvalidArgumentError(
                "the first batch of the query has to be repeated, and startingVersion is latest: "
                "which version that was is not known any more",
                hint="give the query the number of the version as startingVersion, or a new "
                "checkpoint location",
            )
        return found

    def _found(self) -> int | None:
        if self._store is None:
            return None
        try:
            data = self._store.get(_NAME)
        except ObjectNotFoundError:
            return None
        try:
            return int(orjson.loads(data)["version"])
        except (ValueError, KeyError, TypeError) as error:
            raise StreamingError(
                f"{self._store.url}/{_NAME} does not have the version that the query started with",
                hint="give the query a new checkpoint location",
            ) from error


_NAME = "lakebed_starting_version"
