"""At intervals after a commit: a checkpoint, its hint and, once a day, a clean-up of the log."""

from __future__ import annotations

from lakebed.formats.last_checkpoint import LastCheckpoint
from lakebed.log.listing.checkpoint_hint import cleaned_up_to, publish_hint
from lakebed.log.listing.listing import read_hint
from lakebed.log.listing.segment import LogSegment
from lakebed.log.maintenance.checkpoint_content import content_of
from lakebed.log.maintenance.checkpoint_writer import store_checkpoint
from lakebed.log.maintenance.cleanup import clean_up, cut_off, may_clean_up
from lakebed.log.post_commit import PostCommit
from lakebed.log.snapshot import Snapshot


class CheckpointHook:
    """Due where the version is a multiple of the table's interval; never for a new table."""

    name = "checkpoint"

    def is_due(self, commit: PostCommit) -> bool:
        version = commit.snapshot.version
        if commit.previous is None or version == 0:
            return False
        return version % checkpoint_interval(commit.snapshot) == 0

    def run(self, commit: PostCommit) -> None:
        """One put for the checkpoint and one for the hint; a clean-up lists the log."""
        snapshot, now = commit.snapshot, commit.now_ms
        content = content_of(snapshot, now)
        stored = store_checkpoint(snapshot, content, now_ms=now)
        segment = LogSegment(snapshot.version, stored.ref, ())
        commit.snapshot = snapshot.rebased(segment, content.file_state())
        cleaned = commit.attempt(
            "clean-up", lambda: _clean_up(snapshot, read_hint(snapshot.store), now)
        )
        commit.attempt("hint", lambda: publish_hint(snapshot.store, stored.hint, cleaned))


def checkpoint_interval(snapshot: Snapshot) -> int:
    """The table's `delta.checkpointInterval`; where it is not set, more for large tables.

    A checkpoint costs as much as the table has files. Every tenth commit of a large table would
    spend most of its time on it. See docs/decisions/0008-checkpoint-interval.md.
    """
    properties, totals = snapshot.properties, snapshot.totals_if_known
    default = properties.checkpoint_interval
    if CHECKPOINT_INTERVAL in snapshot.metadata.configuration or totals is None:
        return default
    return next(
        (default * factor for limit, factor in _GROWTH if totals.num_files < limit),
        default * _GROWTH_LIMIT,
    )


CHECKPOINT_INTERVAL = "delta.checkpointInterval"
_GROWTH = ((1_000, 1), (2_500, 2), (5_000, 5))
_GROWTH_LIMIT = 10


def _clean_up(snapshot: Snapshot, hint: LastCheckpoint | None, now_ms: int) -> int | None:
    """Once per cut-off time: the time is a midnight, so looking again that day finds nothing."""
    if not may_clean_up(snapshot):
        return None
    until = cut_off(snapshot, now_ms)
    if cleaned_up_to(hint) != until:
        clean_up(snapshot.store, snapshot, now_ms)
    return until
