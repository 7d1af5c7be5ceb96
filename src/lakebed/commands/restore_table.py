"""RESTORE: a new version of the table that is as an earlier one was, as in delta-spark.

Files that went come back and files that came go, each with its deletion vector; the metadata is
the earlier one. No data is read or written. Nothing is forgotten: the versions in between stay, and
can be restored in turn.

Followers of the change feed get what happened to the rows from the files that come and go, as for
any commit without change files (PROTOCOL: Change Data Files).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import pyarrow.compute as pc

from lakebed.commands.target.carried_metadata import (
    unclustered_if_partitioned,
    with_identity_marks,
    with_pins,
    with_row_id_names,
)
from lakebed.commands.target.clustering_columns import DOMAIN as CLUSTERING
from lakebed.commands.target.clustering_columns import FEATURE, clustering_domain
from lakebed.commands.target.live_files import missing, only_in, whole_files
from lakebed.commands.target.log_only import HANDLED_FEATURES
from lakebed.errors import DataFileError, InvalidArgumentError
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Action, Add, DomainMetadata, Metadata, Protocol, Remove
from lakebed.spec.columns.column_mapping import mapping_mode
from lakebed.spec.features import is_supported, supported_features, upgraded
from lakebed.transaction import Committed, IsolationLevel, Operation, Transaction

_NAMED = 100
Moment = str | datetime | int


@dataclass(frozen=True)
class RestoreOptions:
    """`ignore_missing_files` restores a version although some of its files are gone: reading it
    then fails, or leaves them out where the reader was told to. `allow_downgrade` lets the protocol
    go back too, after which newer versions may not be readable.
    """

    ignore_missing_files: bool = False
    allow_downgrade: bool = False
    user_metadata: str | None = None


@dataclass(frozen=True)
class Restored:
    """The table after it, and what was done under the names of delta-spark's metrics."""

    snapshot: Snapshot
    metrics: dict[str, int]


def restore_table(
    log: TableLog,
    version: int | None = None,
    timestamp: Moment | None = None,
    options: RestoreOptions | None = None,
    *,
    shown_timestamp: str | None = None,
) -> Restored:
    """Restore the version, or the one of the time. `shown_timestamp` is for the history."""
    options = options or RestoreOptions()
    if (version is None) == (timestamp is None):
        raise InvalidArgumentError(
            "restore needs a version or a timestamp, and one of them alone",
            hint="give for example version=3",
            condition="DELTA_ONEOF_IN_TIMETRAVEL",
        )
    latest = log.snapshot()
    wanted = log.snapshot(version, timestamp)
    if wanted.version >= latest.version:
        raise InvalidArgumentError(
            f"version {wanted.version} is the newest version: there is nothing to restore",
            hint="history() shows the versions that there are",
        )
    shown = None if timestamp is None else shown_timestamp or str(timestamp)
    return _Restore(latest, wanted, options).run({"version": version, "timestamp": shown})


class _Restore:
    def __init__(self, latest: Snapshot, wanted: Snapshot, options: RestoreOptions) -> None:
        self._latest = latest
        self._wanted = wanted
        self._options = options

    def run(self, parameters: dict[str, int | str | None]) -> Restored:
        before, after = whole_files(self._latest), whole_files(self._wanted)
        adds = [replace(add, data_change=True) for add in only_in(after, before)]
        gone = only_in(before, after)
        self._check_files(adds)
        now = int(time.time() * 1000)
        transaction = self._transaction(parameters)
        # Whatever another commit does meanwhile would be undone without anybody having seen it.
        transaction.read_whole_table()
        transaction.stage(*self._head(), *(Remove.of(add, timestamp=now) for add in gone), *adds)
        metrics = {
            "tableSizeAfterRestore": pc.sum(after.column("size")).as_py() or 0,
            "numOfFilesAfterRestore": after.num_rows,
            "numRemovedFiles": len(gone),
            "numRestoredFiles": len(adds),
            "removedFilesSize": _size(gone),
            "restoredFilesSize": _size(adds),
        }
        transaction.metrics(metrics)
        outcome = transaction.commit().unwrap()
        assert isinstance(outcome, Committed)
        return Restored(outcome.snapshot, metrics)

    def _transaction(self, parameters: dict[str, int | str | None]) -> Transaction:
        features = supported_features(self._latest.protocol)
        drops = not features <= supported_features(self._protocol())
        return Transaction(
            self._latest,
            operation=Operation("RESTORE", parameters, drops_features=drops),
            isolation=IsolationLevel.SERIALIZABLE,
            user_metadata=self._options.user_metadata,
            handles=HANDLED_FEATURES,
        )

    def _check_files(self, adds: Sequence[Add]) -> None:
        if self._options.ignore_missing_files:
            return
        gone = missing(self._latest.store, adds)
        if not gone:
            return
        more = f" and {len(gone) - _NAMED} more" if len(gone) > _NAMED else ""
        raise DataFileError(
            f"version {self._wanted.version} cannot be restored: {len(gone)} of its files "
            f"{'is' if len(gone) == 1 else 'are'} gone: {', '.join(gone[:_NAMED])}{more}",
            hint="VACUUM may have deleted them; restore a later version, or bring the files back",
        )

    def _head(self) -> list[Action]:
        """The metadata always, so that a change of it by another commit is a conflict."""
        protocol = self._protocol()
        actions: list[Action] = [self._metadata(protocol), *self._domains(protocol)]
        return actions if protocol == self._latest.protocol else [protocol, *actions]

    def _protocol(self) -> Protocol:
        if self._options.allow_downgrade:
            return self._wanted.protocol
        # Never down: versions in between may need the features to be read.
        protocol = upgraded(self._latest.protocol, supported_features(self._wanted.protocol))
        return unclustered_if_partitioned(protocol, self._wanted)

    def _metadata(self, protocol: Protocol) -> Metadata:
        metadata, current = self._wanted.metadata, self._latest.metadata.configuration
        configuration = with_pins(metadata.configuration, current)
        return replace(
            metadata,
            schema_string=with_identity_marks(metadata.schema_string, self._latest.schema),
            configuration=with_row_id_names(configuration, protocol, current),
        )

    def _domains(self, protocol: Protocol) -> list[DomainMetadata]:
        """Clustering columns are part of how the table was; other domains are left alone.

        As in delta-spark a version that was not clustered has no columns in the domain. One that
        is partitioned has no domain: no table is both.
        """
        before, after = (each.domains.get(CLUSTERING) for each in (self._latest, self._wanted))
        if before == after or not is_supported(protocol, "domainMetadata"):
            return []
        if after is not None:
            return [after]
        assert before is not None
        if not is_supported(protocol, FEATURE):
            return [replace(before, removed=True)]
        mode = mapping_mode(self._wanted.metadata.configuration)
        return [clustering_domain(self._wanted.schema, (), mode)]


def _size(adds: Sequence[Add]) -> int:
    return sum(add.size for add in adds)
