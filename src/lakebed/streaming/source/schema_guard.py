"""Whether what commits say about columns and protocol lets a stream go on.

A run of a query reads all files with the metadata that the table had when the run began.
"""

from __future__ import annotations

from lakebed.errors import SourceReplacedError, SourceSchemaChangedError
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Metadata, Protocol
from lakebed.spec.features import check_readable
from lakebed.streaming.source.source_log import SourceCommit


class SchemaGuard:
    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def check(self, commit: SourceCommit) -> None:
        for action in commit.actions:
            if isinstance(action, Metadata):
                self._check_metadata(action, commit.version)
            elif isinstance(action, Protocol):
                check_readable(action, self._snapshot.metadata)

    def _check_metadata(self, metadata: Metadata, version: int) -> None:
        now = self._snapshot.metadata
        if metadata.id != now.id:
            raise SourceReplacedError(
                f"version {version} of {self._snapshot.store.url} has the id {metadata.id} instead "
                f"of {now.id}: the table was replaced by another one",
                hint="start the query with a new checkpoint location",
            )
        if metadata.schema_string != now.schema_string:
            raise SourceSchemaChangedError(
                f"version {version} of {self._snapshot.store.url} changes the columns of the table",
                is_retryable=True,
                hint="start the query again",
            )
