"""Writing version checksum files (PROTOCOL: Version Checksum File, Writer Requirements)."""

from __future__ import annotations

from contextlib import suppress

from lakebed.errors import ObjectExistsError
from lakebed.formats.checksum import VersionChecksum
from lakebed.log.listing.log_names import checksum_path
from lakebed.log.maintenance.checkpoint_hook import CheckpointHook
from lakebed.log.post_commit import PostCommit
from lakebed.log.snapshot import Snapshot
from lakebed.log.totals import Totals
from lakebed.spec.actions import DomainMetadata, Txn

# Checksum files are written with every commit and must stay small.
_MOST_ENTRIES = 1000


class ChecksumHook:
    """One small put after every commit, where the totals of the table are known."""

    name = "checksum"

    def is_due(self, _commit: PostCommit) -> bool:
        return True

    def run(self, commit: PostCommit) -> None:
        # A checkpoint reads all files, so counting them costs little then.
        write_checksum(commit.snapshot, count=CheckpointHook.name in commit.due)


def checksum_for(snapshot: Snapshot, totals: Totals | None = None) -> VersionChecksum:
    """The checksum of a version; counts its files if no one gives their totals."""
    totals = snapshot.totals if totals is None else totals
    info = snapshot.commit_info
    in_commit = snapshot.properties.enable_in_commit_timestamps and info is not None
    return VersionChecksum(
        table_size_bytes=totals.size_in_bytes,
        num_files=totals.num_files,
        metadata=snapshot.metadata,
        protocol=snapshot.protocol,
        txn_id=None if info is None else info.txn_id,
        in_commit_timestamp=info.in_commit_timestamp if in_commit and info is not None else None,
        transactions=_transactions(snapshot),
        domains=_domains(snapshot),
        file_size_histogram=totals.size_histogram,
        num_deleted_records=totals.num_deleted_records,
        num_deletion_vectors=totals.num_deletion_vectors,
        deleted_record_counts=totals.deleted_histogram,
    )


def write_checksum(snapshot: Snapshot, *, count: bool = False) -> bool:
    """Write the checksum file of a version whose commit is there; never replace one.

    The totals of a table go on from commit to commit. Where they are not known, a commit must not
    cost as much as the table is large: nothing is written then, unless a few commits hold all
    files, or `count` says that all files are being read anyway, as for a checkpoint. Says whether
    the file is there.
    """
    totals = snapshot.totals if count else snapshot.totals_if_cheap
    if totals is None:
        return False
    path = checksum_path(snapshot.version)
    data = checksum_for(snapshot, totals).encode(path)
    with suppress(ObjectExistsError):
        snapshot.store.put_if_absent(path, data)
    return True


def _transactions(snapshot: Snapshot) -> tuple[Txn, ...] | None:
    """None where there are many, or where it depends on the time which of them have expired."""
    if snapshot.properties.set_transaction_retention_ms is not None:
        return None
    found = tuple(snapshot.transactions.values())
    return found if len(found) <= _MOST_ENTRIES else None


def _domains(snapshot: Snapshot) -> tuple[DomainMetadata, ...] | None:
    found = tuple(snapshot.domains.values())
    return found if len(found) <= _MOST_ENTRIES else None
