"""What a command reads: one version of each table for all of its queries, and whether it reads the
table that it changes.

A DataFrame follows its tables from query to query. A command runs several queries, which must see
the same rows; and what it reads of its own table must still be there when it commits.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame

from lakebed.log.snapshot import Snapshot
from lakebed.spark.session.session_kind import is_connect
from lakebed.spark.workers.data_source import (
    FOLLOWS,
    TIMESTAMP,
    URL,
    VERSION,
    LakebedSource,
)
from lakebed.transaction import Transaction
from lakebed.transaction.read_set import OnRead


class CommandReads:
    """`target` is the version of the table that the command changes, None if it creates it.

    `on_read` learns what queries read of that version.
    """

    def __init__(self, target: Snapshot | None, on_read: OnRead) -> None:
        self._on_read = on_read
        self._target = target
        self._versions = {} if target is None else {target.store.url: target}
        self.reads_target = False
        """Whether a DataFrame that was pinned reads the table that the command changes."""

    @classmethod
    def of_write(cls, transaction: Transaction) -> CommandReads:
        """New rows depend on the rows that their query reads, and on there being no others."""
        return cls(transaction.snapshot, transaction.read_files)

    @classmethod
    def of_row_change(cls, transaction: Transaction) -> CommandReads:
        """Rows are judged by themselves, unless a subquery or a source reads the table too."""
        return cls(transaction.snapshot, lambda *_: transaction.read_whole_table())

    def pinned(self, frame: DataFrame, *, but: str | None = None) -> DataFrame:
        """The DataFrame over one version of each table, but for the one with this URL."""
        if is_connect(frame):
            self._look_at_plan(frame)
            return frame
        # Late, because a client of Spark Connect has no py4j.
        from lakebed.spark.internals.delta_scans import following, replaced
        from lakebed.spark.native.table_files import table_files_of

        indexes, pinned = [], []
        for index in following(frame):
            table = table_files_of(index)
            url = table.listing.snapshot.store.url
            if url == but:
                continue
            indexes.append(index)
            is_target = self._is_target(url)
            self.reads_target |= is_target
            fixed = table.pinned(self._versions.get(url), self._on_read if is_target else None)
            self._versions[url] = fixed.listing.snapshot
            pinned.append(fixed.to_java())
        return replaced(frame, indexes, pinned) if indexes else frame

    def _look_at_plan(self, frame: DataFrame) -> None:
        """A server reads the newest version, which is not older than the one of the command."""
        from lakebed.spark.internals.connect.connect_plans import sources_of

        if self._target is not None and any(map(self._may_be_target, sources_of(frame))):
            self.reads_target = True
            self._on_read(None, self._target.files(["path"]).column("path").to_pylist())

    def _may_be_target(self, source: tuple[str, Mapping[str, str]] | None) -> bool:
        if source is None:
            # A dependency too many makes a conflict more likely, one too few loses an update.
            return True
        name, options = source
        is_delta = name in ("delta", LakebedSource.name())
        is_pinned = VERSION.lower() in options or TIMESTAMP.lower() in options
        follows = FOLLOWS in options or not is_pinned
        url = options.get(URL)
        return is_delta and follows and (url is None or self._is_target(url))

    def _is_target(self, url: str) -> bool:
        return self._target is not None and self._target.store.url == url
