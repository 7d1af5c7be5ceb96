"""Ids for existing rows, before row tracking is turned on; and removing them.

PROTOCOL: Row Tracking. Files are committed again, in batches, as delta-spark's backfill does: from
the moment that the protocol has the feature, every writer gives ids to the files it adds. A run
that was stopped is finished by the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.commands.target.metadata_change import HANDLED, AlterTarget, Change, operation
from lakebed.errors import ConflictError, InvalidCommitError
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Protocol
from lakebed.spec.features import upgraded
from lakebed.transaction import Transaction, is_retryable

FEATURE = "rowTracking"
FILES_PER_COMMIT = 100_000
"""As in delta-spark."""
_ATTEMPTS = 20


def give_row_ids(target: AlterTarget) -> Snapshot:
    """Afterwards every file has ids, and so has every file that comes."""
    target.apply(_plan_upgrade)
    return _recommit(target, "ROW TRACKING BACKFILL", pc.is_null)


def take_row_ids(target: AlterTarget) -> Snapshot:
    """Afterwards no file has ids. The table must have suspended row tracking."""
    return _recommit(target, "ROW TRACKING UNBACKFILL", pc.is_valid)


def check_all_rows_have_ids(snapshot: Snapshot) -> None:
    missing = snapshot.files(["path", "baseRowId"]).column("baseRowId").null_count
    if missing:
        raise InvalidCommitError(
            f"{missing} files came without row ids while row tracking was about to be turned on",
            hint="a writer that does not know row tracking is at work; stop it and try again",
        )


def protocol_json(protocol: Protocol) -> dict[str, object]:
    return {
        "minReaderVersion": protocol.min_reader_version,
        "minWriterVersion": protocol.min_writer_version,
        "readerFeatures": protocol.reader_features,
        "writerFeatures": protocol.writer_features,
    }


def _plan_upgrade(snapshot: Snapshot) -> Change | None:
    protocol = upgraded(snapshot.protocol, [FEATURE])
    if protocol == snapshot.protocol:
        return None
    done = operation("UPGRADE PROTOCOL", newProtocol=protocol_json(protocol))
    return Change(done, protocol=protocol)


def _recommit(
    target: AlterTarget, name: str, wanted: Callable[[pa.ChunkedArray], pa.ChunkedArray]
) -> Snapshot:
    failures = batch = 0
    while True:
        snapshot = target.log.snapshot()
        files = snapshot.files()
        chosen = files.filter(wanted(files.column("baseRowId"))).slice(0, FILES_PER_COMMIT)
        if not chosen.num_rows:
            return snapshot
        try:
            _commit_again(target, snapshot, chosen, name, batch)
            batch += 1
        except ConflictError as error:
            # Somebody removed one of the files: look again at what is there.
            failures += 1
            if not is_retryable(error) or failures == _ATTEMPTS:
                raise


def _commit_again(
    target: AlterTarget, snapshot: Snapshot, files: pa.Table, name: str, batch: int
) -> None:
    transaction = Transaction(
        snapshot,
        operation=operation(name, batchId=str(batch)),
        user_metadata=target.user_metadata,
        handles=HANDLED,
    )
    adds = [replace(add, data_change=False) for add in adds_from_table(files)]
    transaction.restage(*adds)
    transaction.commit().unwrap()
