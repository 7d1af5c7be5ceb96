"""REORG ... APPLY (UPGRADE UNIFORM ...): a table that readers of Iceberg can use too.

PROTOCOL: Iceberg Compatibility V1 and V2. Three steps, as in delta-spark, each a commit or more:

1. The version and column mapping are turned on, deletion vectors off. Whoever writes from then on
   writes files that fit; writes that began before find a conflict.
2. The files that do not fit are rewritten, batch by batch. No row changes.
3. When all files fit, `delta.universalFormat.enabledFormats` gets `iceberg`: the promise to readers
   of Iceberg comes last.

A run that was stopped leaves a table with the same rows that everybody can read; the next run goes
on from there, since each step looks at what the table is like.
"""

from __future__ import annotations

from dataclasses import replace

from lakebed.commands.alter.table_properties import with_mapping
from lakebed.commands.optimize.optimize import optimize
from lakebed.commands.optimize.optimize_request import OptimizeRequest
from lakebed.commands.optimize.optimize_run import Optimized
from lakebed.commands.target.iceberg_files import files_to_upgrade
from lakebed.commands.target.metadata_change import AlterTarget, Change, operation
from lakebed.commands.target.row_target import RowTarget
from lakebed.errors import ConcurrentWriteError, ConflictError, TablePropertyError
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.file_state import ADD_FIELDS
from lakebed.log.snapshot import Snapshot
from lakebed.spec.columns.column_mapping import MODE, mapping_mode
from lakebed.spec.features import upgraded_for
from lakebed.spec.iceberg_compat import (
    COMPATS,
    FORMATS,
    ICEBERG,
    VECTORS,
    IcebergCompat,
    publishes,
)

ATTEMPTS = 5


def upgrade_uniform(target: RowTarget, compat: IcebergCompat) -> Optimized:
    alter = AlterTarget(target.log, target.user_metadata)
    _turn_on(alter, compat)
    done: Optimized | None = None
    for _ in range(ATTEMPTS):
        run = optimize(target, OptimizeRequest(iceberg=compat))
        done = run if done is None else done.then(run)
        version = _promise(alter, compat)
        if version is not None:
            return replace(done, version=version)
    raise ConcurrentWriteError(
        f"gave up after {ATTEMPTS} attempts: other writers kept changing the files of the table",
        hint="no row has changed; run the command again when the table is less busy",
    )


def _turn_on(alter: AlterTarget, compat: IcebergCompat) -> None:
    for number in range(ATTEMPTS):
        try:
            alter.apply(lambda snapshot: _plan(snapshot, compat))
        except ConflictError:
            if number + 1 == ATTEMPTS:
                raise
        else:
            return


def _plan(snapshot: Snapshot, compat: IcebergCompat) -> Change | None:
    before = snapshot.metadata
    changes = {compat.key: "true"}
    if mapping_mode(before.configuration) == "none":
        changes[MODE] = "name"
    for other in COMPATS.values():
        if other != compat and other.is_on(before.configuration):
            changes[other.key] = "false"
    if snapshot.properties.enable_deletion_vectors:
        changes[VECTORS] = "false"
    if compat.is_on(before.configuration) and len(changes) == 1:
        return None
    metadata = replace(before, configuration={**before.configuration, **changes})
    metadata = with_mapping(snapshot, metadata)
    done = operation("REORG TABLE UPGRADE UNIFORM", properties=changes)
    return Change(done, metadata, upgraded_for(snapshot.protocol, metadata))


def _promise(alter: AlterTarget, compat: IcebergCompat) -> int | None:
    """The version in which the table tells readers of Iceberg to come; None if files do not fit.

    A file that comes between the look at all of them and the commit is a conflict.
    """
    snapshot = alter.log.snapshot()
    before = snapshot.metadata
    if not compat.is_on(before.configuration):
        raise TablePropertyError(
            f"somebody has turned {compat.key} off meanwhile",
            hint="no row has changed; find out who did, and run the command again",
        )
    if files_to_upgrade(snapshot, compat, list(adds_from_table(snapshot.files(ADD_FIELDS)))):
        return None
    if publishes(before.configuration):
        return snapshot.version
    changes = {FORMATS: ",".join([*snapshot.properties.universal_formats, ICEBERG])}
    metadata = replace(before, configuration={**before.configuration, **changes})
    done = operation("SET TBLPROPERTIES", properties=changes)
    try:
        return alter.commit(snapshot, Change(done, metadata, reads_rows=True)).version
    except ConflictError:
        return None
