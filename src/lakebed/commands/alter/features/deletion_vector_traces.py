"""Deletion vectors and what is left of them, before the feature is dropped."""

from __future__ import annotations

import time

from lakebed.commands.alter.features.rewrite_files import check_rewritable, rewritten
from lakebed.commands.alter.table_properties import plan_unset_properties
from lakebed.commands.target.metadata_change import AlterTarget, Change, operation
from lakebed.data_files.file_layout import FileLayout
from lakebed.formats.file_actions import removes_from_table
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Action, Add, AddCdc, Metadata, Remove
from lakebed.spec.properties import TableProperties
from lakebed.spec.vector_descriptors import log_path

_KEY = TableProperties.enable_deletion_vectors.key


def clean(target: AlterTarget) -> bool:
    """No new vectors, then no vectors, then signs that keep the files of old ones from VACUUM."""
    snapshot = target.log.snapshot()
    check_rewritable(snapshot, _with_vectors(snapshot))
    found = not is_clean(snapshot)
    if _KEY in snapshot.metadata.configuration:
        target.apply(lambda newest: plan_unset_properties(newest, [_KEY], if_exists=True))
    target.apply(_plan_purge)
    target.apply(_plan_tombstones)
    return found


def is_clean(snapshot: Snapshot) -> bool:
    return not snapshot.properties.enable_deletion_vectors and not _with_vectors(snapshot)


def used_by(action: Action) -> bool:
    if isinstance(action, Metadata):
        return TableProperties(action.configuration).enable_deletion_vectors
    if isinstance(action, Add | Remove):
        return action.deletion_vector is not None
    return isinstance(action, AddCdc) and "deletionVector" in action.extra


def _with_vectors(snapshot: Snapshot) -> set[str]:
    files = snapshot.files(["path", "deletionVector"])
    marked = files.filter(files.column("deletionVector").is_valid())
    return set(marked.column("path").to_pylist())


def _plan_purge(snapshot: Snapshot) -> Change | None:
    paths = _with_vectors(snapshot)
    if not paths:
        return None
    layout = FileLayout.of(snapshot.metadata, snapshot.protocol)
    done = operation("REORG", predicate=[], applyPurge=True)
    return Change(done, actions=rewritten(snapshot, paths, layout))


def _plan_tombstones(snapshot: Snapshot) -> Change | None:
    """Who does not know vectors would take their files for orphans, while older versions can still
    be read: tombstones name these files as any other.
    """
    now = int(time.time() * 1000)
    oldest = now - snapshot.properties.deleted_file_retention_ms
    removes = removes_from_table(snapshot.tombstones())
    known = {remove.path for remove in removes if remove.deletion_vector is None}
    recent = [remove for remove in removes if (remove.deletion_timestamp or 0) >= oldest]
    vectors = [remove.deletion_vector for remove in recent if remove.deletion_vector is not None]
    paths = dict.fromkeys(path for vector in vectors if (path := log_path(vector)) is not None)
    signs = [Remove(path, False, now) for path in paths if path not in known]
    if not signs:
        return None
    return Change(operation("Deletion Vector Tombstones"), actions=tuple(signs))
