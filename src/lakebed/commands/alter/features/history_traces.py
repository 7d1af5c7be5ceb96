"""Whether versions of a table that can still be read use a feature, and how to shorten the history.

PROTOCOL: Metadata Cleanup, Checkpoint Protection.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator

from lakebed.commands.target.metadata_change import AlterTarget, Change, operation
from lakebed.formats import commit_file as commit
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.checkpoint_reader import CheckpointReader
from lakebed.log.file_state import ADD_FIELDS
from lakebed.log.listing.listing import list_log
from lakebed.log.listing.log_names import LogFile
from lakebed.log.listing.segment import CheckpointRef, complete_checkpoints
from lakebed.log.maintenance.checkpoint_writer import write_checkpoint
from lakebed.log.maintenance.cleanup import clean_up
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Action, Add, AddCdc, Metadata, Remove
from lakebed.storage.store import Store

BARRIERS = 3
"""Checkpoints between the last use of a feature and its end: readers that find one damaged try the
one before, and must give up before they come to the time of the feature. As in delta-spark.
"""


def add_checkpoint(target: AlterTarget) -> Snapshot:
    """A commit of its own with a checkpoint, which then is free of what was cleaned before."""
    snapshot = target.commit(target.log.snapshot(), Change(operation("Empty Commit")))
    write_checkpoint(snapshot)
    return target.log.snapshot()


def shorten(target: AlterTarget, *, keep_ms: int | None) -> None:
    """Delete the log up to the newest checkpoint that is old enough; by the table's own retention
    unless `keep_ms` says otherwise.
    """
    snapshot, now = target.log.snapshot(), int(time.time() * 1000)
    until = None if keep_ms is None else now - keep_ms
    clean_up(snapshot.store, snapshot, now, until)


def oldest_commit(store: Store) -> int:
    return min(file.version for file in list_log(store) if file.kind == "commit")


def is_used_in_history(
    snapshot: Snapshot, used_by: Callable[[Action], bool], *, v2_checkpoints: bool = False
) -> bool:
    """Whether an action of any commit or checkpoint uses the feature."""
    files = list_log(snapshot.store)
    refs = list(_checkpoints(files))
    if v2_checkpoints and any(_is_v2(snapshot.store, ref) for ref in refs):
        return True
    commits = (file for file in files if file.kind == "commit")
    if any(used_by(action) for file in commits for action in _of_commit(snapshot.store, file)):
        return True
    # A checkpoint in the middle repeats what the commits before it say, all of which are there.
    return any(used_by(action) for ref in refs[:1] for action in _of_checkpoint(snapshot, ref))


def _of_commit(store: Store, file: LogFile) -> list[Action]:
    data = store.get(file.path)
    return commit.decode_actions(data, file.path, (Metadata, Add, Remove, AddCdc))


def _checkpoints(files: list[LogFile]) -> Iterator[CheckpointRef]:
    """Oldest first."""
    found: dict[int, list[LogFile]] = defaultdict(list)
    for file in files:
        if file.kind == "checkpoint":
            found[file.version].append(file)
    complete = complete_checkpoints(found)
    return (complete[version] for version in sorted(complete))


def _of_checkpoint(snapshot: Snapshot, ref: CheckpointRef) -> Iterator[Action]:
    """Without its tombstones: they are kept longer than the log, and no reader looks into them."""
    reader = CheckpointReader(snapshot.store, ref)
    if reader.head.metadata is not None:
        yield reader.head.metadata
    yield from adds_from_table(reader.columns("add", ADD_FIELDS))


def _is_v2(store: Store, ref: CheckpointRef) -> bool:
    if any(file.unique is not None for file in ref.files):
        return True
    return bool(CheckpointReader(store, ref).sidecars)
