"""Pins: versions that VACUUM and the clean-up of the log keep readable until they are unpinned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lakebed.commands.target.log_only import HANDLED_FEATURES, commit_log_only
from lakebed.errors import InvalidArgumentError, VersionNotFoundError
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.log.versions.readable import missing_files
from lakebed.spec.pins import PIN_PREFIX, pin_key, pins_of
from lakebed.transaction import Operation, Transaction

_SHOWN = 3


def pin_version(log: TableLog, name: str, version: int) -> Snapshot | None:
    """Pin a version that can be read; a pin of that name moves. The snapshot after it, if any.

    What is pinned is looked at before and after the commit: a VACUUM that was deleting when the
    pin came may have taken files of it.
    """
    key = pin_key(name)
    _check_readable(log, version)
    committed = commit_log_only(log, lambda snapshot: _setting(snapshot, key, version))
    try:
        _check_readable(log, version)
    except VersionNotFoundError:
        unpin_version(log, name)
        raise
    return None if committed is None else committed.snapshot


def unpin_version(log: TableLog, name: str) -> Snapshot | None:
    """Remove a pin; the snapshot after it."""
    key = pin_key(name)
    committed = commit_log_only(log, lambda snapshot: _unsetting(snapshot, key, name))
    return None if committed is None else committed.snapshot


def pinned_versions(log: TableLog) -> dict[str, int]:
    """Versions by the names of their pins, as they are in the newest version."""
    return pins_of(log.snapshot().metadata.configuration)


def _check_readable(log: TableLog, version: int) -> None:
    missing = missing_files(log.at_version(version))
    if missing:
        shown = ", ".join(missing[:_SHOWN]) + (", ..." if len(missing) > _SHOWN else "")
        raise VersionNotFoundError(
            f"version {version} cannot be pinned: {len(missing)} of its files are gone ({shown})",
            hint="pin a version that can be read; history(readable=True) shows which",
        )


def _setting(snapshot: Snapshot, key: str, version: int) -> Transaction | None:
    before = snapshot.metadata.configuration
    if before.get(key) == str(version):
        return None
    operation = Operation(
        "SET TBLPROPERTIES", {"properties": {key: str(version)}}, changes_data=False
    )
    return _changing(snapshot, operation, {**before, key: str(version)})


def _unsetting(snapshot: Snapshot, key: str, name: str) -> Transaction:
    before = snapshot.metadata.configuration
    if key not in before:
        known = sorted(each[len(PIN_PREFIX) :] for each in before if each.startswith(PIN_PREFIX))
        raise InvalidArgumentError(
            f"there is no pin {name!r}",
            hint=f"the pins are {', '.join(known)}" if known else "the table has no pins",
        )
    operation = Operation(
        "UNSET TBLPROPERTIES", {"properties": [key], "ifExists": False}, changes_data=False
    )
    return _changing(snapshot, operation, {k: v for k, v in before.items() if k != key})


def _changing(
    snapshot: Snapshot, operation: Operation, configuration: Mapping[str, str]
) -> Transaction:
    transaction = Transaction(snapshot, operation=operation, handles=HANDLED_FEATURES)
    transaction.stage(replace(snapshot.metadata, configuration=dict(configuration)))
    return transaction
