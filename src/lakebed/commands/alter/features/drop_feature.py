"""DROP FEATURE: a table that older readers and writers can use again.

First what the feature left in the table goes (`feature_cleanup`). Features for writers alone are
then dropped at once. Those that readers must know are needed by versions in the history too, and
there are two ways, as in delta-spark:

- fast, the default: checkpoints are put between these versions and the new protocol, and the
  feature `checkpointProtection` keeps other writers from taking them away.
- with `truncate_history`: the feature goes once the versions that use it have left the history. The
  first run cleans and says to come back; a later one, when the versions have expired, drops it.

Every step can be repeated: a run that was stopped is finished by the next one.
PROTOCOL: Metadata Cleanup, Checkpoint Protection.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace

from lakebed.commands.alter.features.feature_cleanup import (
    CLEANUPS,
    PROTECTED_BEFORE,
    FeatureCleanup,
    needs_history,
)
from lakebed.commands.alter.table_properties import plan_unset_properties
from lakebed.commands.target.metadata_change import AlterTarget, Change, operation
from lakebed.errors import (
    ArgumentValueError,
    FeatureDropPendingError,
    InvalidArgumentError,
    ProtocolChangedError,
    UnsupportedFeatureError,
)
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
from lakebed.spec.features import (
    dependent_features,
    feature_name,
    is_supported,
    supported_features,
    upgraded,
    without_feature,
)
from lakebed.storage.store import Store
from lakebed.transaction import Operation

_PROTECTION = "checkpointProtection"


def drop_feature(target: AlterTarget, name: str, *, truncate_history: bool = False) -> Snapshot:
    if not isinstance(name, str):
        raise ArgumentValueError(f"featureName needs to be a string but got '{type(name)}'")
    feature = _dropped_name(name)
    _check(target.log.snapshot(), feature, truncate_history)
    cleanup = CLEANUPS[feature]
    if feature == _PROTECTION:
        _end_protection(target)
        return _drop(target, feature, cleanup, truncate_history=True)
    changed = cleanup.clean(target)
    if not needs_history(feature):
        return _drop(target, feature, cleanup, truncate_history)
    if truncate_history:
        _leave_history(target, feature, cleanup, changed)
        return _drop(target, feature, cleanup, truncate_history)
    for _ in range(BARRIERS):
        add_checkpoint(target)
    snapshot = _drop(target, feature, cleanup, truncate_history, protected=True)
    write_checkpoint(snapshot)
    return snapshot


def _dropped_name(name: str) -> str:
    try:
        return feature_name(name)
    except UnsupportedFeatureError as error:
        raise UnsupportedFeatureError(
            error.message,
            features=error.features,
            hint=error.hint,
            condition="DELTA_FEATURE_DROP_UNSUPPORTED_CLIENT_FEATURE",
            parameters={"feature": name},
        ) from error


def _check(snapshot: Snapshot, feature: str, truncate_history: bool) -> None:
    if not is_supported(snapshot.protocol, feature):
        raise InvalidArgumentError(
            f"the table does not have the feature {feature}",
            hint=f"it has {', '.join(sorted(supported_features(snapshot.protocol))) or 'none'}",
            condition="DELTA_FEATURE_DROP_FEATURE_NOT_PRESENT",
            parameters={"feature": feature},
        )
    if feature not in CLEANUPS:
        raise UnsupportedFeatureError(
            f"the feature {feature} cannot be dropped",
            features=[feature],
            hint=f"these can: {', '.join(sorted(CLEANUPS))}; or write the rows to a new table",
            condition="DELTA_FEATURE_DROP_NONREMOVABLE_FEATURE",
            parameters={"feature": feature},
        )
    others = dependent_features(snapshot.protocol, feature)
    if others:
        raise InvalidArgumentError(
            f"the feature {feature} cannot be dropped: {', '.join(others)} needs it",
            hint="drop what needs it first",
            condition="DELTA_FEATURE_DROP_DEPENDENT_FEATURE",
            parameters={"feature": feature, "dependentFeatures": ", ".join(others)},
        )
    if truncate_history and feature != _PROTECTION and not needs_history(feature):
        raise InvalidArgumentError(
            f"the feature {feature} is for writers alone: no history needs to go for it",
            hint="leave truncate_history out",
            condition="DELTA_FEATURE_DROP_HISTORY_TRUNCATION_NOT_ALLOWED",
        )
    if feature == _PROTECTION and not truncate_history:
        raise InvalidArgumentError(
            f"{feature} protects versions that use other features, which must go with it",
            hint="give truncate_history=True",
            condition="DELTA_FEATURE_CAN_ONLY_DROP_CHECKPOINT_PROTECTION_WITH_HISTORY_TRUNCATION",
        )


def _drop(
    target: AlterTarget,
    feature: str,
    cleanup: FeatureCleanup,
    truncate_history: bool,
    *,
    protected: bool = False,
) -> Snapshot:
    snapshot = target.log.snapshot()
    if not cleanup.is_clean(snapshot):
        raise ProtocolChangedError(
            f"somebody uses the feature {feature} again, so it was not dropped",
            version=snapshot.version,
            hint="repeat the operation",
        )
    parameters = {"featureName": feature, "truncateHistory": truncate_history}
    done = Operation("DROP FEATURE", parameters, changes_data=False, drops_features=True)
    metadata = _without(snapshot.metadata, cleanup.properties)
    protocol = without_feature(snapshot.protocol, feature)
    if protected:
        protocol = upgraded(protocol, [_PROTECTION])
        version = str(snapshot.version + 1)
        configuration = {**metadata.configuration, PROTECTED_BEFORE: version}
        metadata = replace(metadata, configuration=configuration)
    change = Change(done, metadata, protocol, cleanup.actions(snapshot))
    return target.commit(snapshot, change)


def _without(metadata: Metadata, keys: tuple[str, ...]) -> Metadata:
    kept = {key: value for key, value in metadata.configuration.items() if key not in keys}
    return replace(metadata, configuration=kept)


def _leave_history(
    target: AlterTarget, feature: str, cleanup: FeatureCleanup, changed: bool
) -> None:
    """Raises until no version that can be read uses the feature."""
    snapshot = add_checkpoint(target)
    if changed:
        raise _pending(snapshot, feature, "the table has just stopped using it")
    shorten(target, keep_ms=snapshot.properties.drop_feature_retention_ms)
    v2 = feature == "v2Checkpoint"
    if is_used_in_history(target.log.snapshot(), cleanup.used_by, v2_checkpoints=v2):
        raise _pending(snapshot, feature, "versions in its history use it")


def _end_protection(target: AlterTarget) -> None:
    snapshot = target.log.snapshot()
    before = snapshot.properties.require_checkpoint_protection_before_version
    if oldest_commit(snapshot.store) < before:
        add_checkpoint(target)
        shorten(target, keep_ms=snapshot.properties.drop_feature_retention_ms)
        if oldest_commit(snapshot.store) < before:
            raise _pending(snapshot, _PROTECTION, f"versions before {before} are in its history")
    if PROTECTED_BEFORE in snapshot.metadata.configuration:
        keys = [PROTECTED_BEFORE]
        target.apply(lambda newest: plan_unset_properties(newest, keys, if_exists=True))


def _pending(snapshot: Snapshot, feature: str, why: str) -> FeatureDropPendingError:
    hours = snapshot.properties.drop_feature_retention_ms / 3_600_000
    return FeatureDropPendingError(
        f"the feature {feature} is not dropped yet: {why}",
        hint=f"try again in {hours:g} hours (delta.dropFeatureTruncateHistory.retentionDuration), "
        "or without truncate_history",
    )


# --- the history ----------------------------------------------------------------------------------

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
