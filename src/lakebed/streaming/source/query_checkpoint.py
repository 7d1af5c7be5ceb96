"""What a source has to know of the checkpoint of its query.

When a query starts again, Spark asks for the last batch once more. If it was done, Spark throws the
answer away, and neither its commits nor its files need to be there any more. If it was not done and
was the first one, there is no offset before it in the checkpoint: the version that `latest` was
then goes into the folder of the source, before the batch can be planned. delta-spark pays no
attention to that file.
"""

from __future__ import annotations

import orjson

from lakebed.errors import InvalidArgumentError, ObjectNotFoundError, StreamingError
from lakebed.storage.store import Store
from lakebed.streaming.source.stream_options import LATEST, StreamOptions


class QueryCheckpoint:
    """`store` is the checkpoint location; None if Lakebed has no store for it, such as HDFS.

    `source` is the folder of the source in it.
    """

    def __init__(self, store: Store | None = None, source: str = "sources/0") -> None:
        self._store = store
        self._file = f"{source}/lakebed_starting_version"

    def has_done_last_batch(self) -> bool:
        """Whether the last batch that was planned was processed too."""
        planned = self._last("offsets")
        return planned is not None and planned == self._last("commits")

    def write_start(self, version: int) -> None:
        if self._store is not None:
            self._store.put(self._file, orjson.dumps({"version": version}))

    def read_start(self, options: StreamOptions) -> int | None:
        """The version that the planned batch starts with; None if the options still say it."""
        found = self._start()
        if found is None and options.starting_version == LATEST:
            raise InvalidArgumentError(
                "the first batch of the query has to be repeated, and startingVersion is latest: "
                "which version that was is not known any more",
                hint="give the query the number of the version as startingVersion, or a new "
                "checkpoint location",
            )
        return found

    def _start(self) -> int | None:
        if self._store is None:
            return None
        try:
            data = self._store.get(self._file)
        except ObjectNotFoundError:
            return None
        try:
            return int(orjson.loads(data)["version"])
        except (ValueError, KeyError, TypeError) as error:
            raise StreamingError(
                f"{self._store.url}/{self._file} does not have the version that the query started "
                "with",
                hint="give the query a new checkpoint location",
            ) from error

    def _last(self, folder: str) -> int | None:
        """The number of the last batch in a log of Spark's."""
        if self._store is None:
            return None
        names = (found.path.rpartition("/")[2] for found in self._store.list_from(f"{folder}/"))
        return max((int(name) for name in names if name.isascii() and name.isdigit()), default=None)
