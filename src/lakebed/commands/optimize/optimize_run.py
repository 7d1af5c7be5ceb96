"""OPTIMIZE: small files are put together, rows are arranged, deleted rows are left behind.

No row changes: commits say so (`dataChange` is false), so appends never conflict with them, and
changes of rows that come first only cost the batch that they touch. Batches are committed one after
the other: what a run has done stays done, and the next one goes on from there.
"""

from __future__ import annotations

import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Protocol

import orjson

from lakebed.commands.optimize import file_selection as files
from lakebed.commands.optimize.cube_stats import CubeStats
from lakebed.commands.optimize.curve_columns import checked_curve_columns
from lakebed.commands.optimize.file_selection import Bin, in_cube, to_cluster, with_dropped_columns
from lakebed.commands.optimize.optimize_request import (
    OptimizeRequest,
)
from lakebed.commands.target.clustering_columns import clustering_columns
from lakebed.commands.target.iceberg_files import files_to_upgrade
from lakebed.data_files.curves import Kind
from lakebed.data_files.file_layout import HANDLED_FEATURES
from lakebed.errors import ConflictError, InvalidArgumentError, JobFailedError
from lakebed.expressions import Expression, parse_predicate, references, to_sql
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.file_state import ADD_FIELDS
from lakebed.log.selection import select_files
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.settings.setting_table import ZORDER_CHECK_STATS
from lakebed.spec.actions import Add, Remove
from lakebed.spec.schema import render_path
from lakebed.transaction import Operation, Transaction
from lakebed.transaction.conflicts.conflict_errors import is_retryable
from lakebed.transaction.row_tracking import PRESERVED_TAG, physical_records

ATTEMPTS = 5


@dataclass
class Optimized:
    """What a run did."""

    version: int
    added: list[Add] = field(default_factory=list)
    removed: list[Add] = field(default_factory=list)
    num_considered: int = 0
    num_bins: int = 0
    num_batches: int = 0
    num_partitions: int = 0
    cubes: CubeStats | None = None
    """Only of a run along a curve."""
    is_clustered: bool = False
    columns: tuple[int, int] = (0, 0)
    """How many columns the table has, and how many of them with statistics."""
    started_ms: int = field(default_factory=lambda: int(time.time() * 1000))

    def then(self, other: Optimized) -> Optimized:
        """Both, one after the other."""
        return replace(
            self,
            version=other.version,
            added=[*self.added, *other.added],
            removed=[*self.removed, *other.removed],
            num_bins=self.num_bins + other.num_bins,
            num_batches=self.num_batches + other.num_batches,
        )


class OptimizeRun(ABC):
    """One run of OPTIMIZE or REORG. Subclasses know who writes the rows again."""

    def __init__(
        self,
        log: TableLog,
        request: OptimizeRequest,
        settings: Mapping[str, str],
        user_metadata: str | None,
    ) -> None:
        """`settings` are those of a session, if there is one."""
        self._log = log
        self._snapshot = log.snapshot()
        self._user_metadata = user_metadata
        if not request.is_auto:
            request = request.with_settings(settings, self._snapshot.properties)
        self._request = request
        self._settings = settings
        self._clustering = clustering_columns(self._snapshot) or ()
        self._check()
        self._predicate = self._where()
        checked = ZORDER_CHECK_STATS.read(settings)
        paths = self._clustering or request.zorder_by
        self._columns = checked_curve_columns(self._snapshot, paths, indexed=checked)
        num_columns = len(self._snapshot.schema)
        indexed = self._snapshot.properties.data_skipping_num_indexed_cols
        self._done = Optimized(
            self._snapshot.version,
            is_clustered=bool(self._clustering),
            columns=(num_columns, min(num_columns, indexed) if indexed >= 0 else num_columns),
        )
        self._share: Share

    def run(self) -> Optimized:
        found = self._bins(self._snapshot)
        batches = files.batches(found, self._request.batch_bytes)
        self._done.num_partitions = len({one.partition for one in found})
        with progress(self._operation().name, sum(one.size for one in found)) as shown:
            for batch in batches:
                self._share = Share(shown, sum(one.size for one in batch))
                self._run_batch(batch)
                self._share.finish()
        if self._done.cubes is not None:
            self._done.cubes = self._done.cubes.done(self._done.removed, self._done.num_bins)
        return self._done

    # --- what is asked ---

    def _check(self) -> None:
        request = self._request
        if self._clustering and (request.zorder_by or request.where is not None):
            names = ", ".join(map(render_path, self._clustering))
            raise InvalidArgumentError(
                f"the table is clustered by {names}: OPTIMIZE takes no ZORDER BY and no WHERE",
                hint="run OPTIMIZE alone, or change the columns with ALTER TABLE ... CLUSTER BY",
                condition="DELTA_CLUSTERING_WITH_ZORDER_BY",
            )
        if request.full and not self._clustering:
            raise InvalidArgumentError(
                "OPTIMIZE FULL is for clustered tables",
                hint="give the table clustering columns first, or leave FULL out",
                condition="DELTA_OPTIMIZE_FULL_NOT_SUPPORTED",
            )

    def _where(self) -> Expression | None:
        if self._request.where is None:
            return None
        request, schema = self._request, self._snapshot.schema
        found = parse_predicate(self._request.where, schema, request.where_values)
        partitions = {name.lower() for name in self._snapshot.partition_columns}
        others = [path for path in references(found) if path[0].lower() not in partitions]
        if others:
            raise InvalidArgumentError(
                f"Predicate references non-partition column '{render_path(others[0])}'. Only the "
                f"partition columns may be referenced: "
                f"[{', '.join(self._snapshot.partition_columns)}]",
                hint=f"use only {list(self._snapshot.partition_columns)}"
                if partitions
                else "the table has no partitions: leave WHERE out",
                condition="DELTA_NON_PARTITION_COLUMN_REFERENCE",
            )
        return found

    # --- what to do ---

    def _adds(self, snapshot: Snapshot) -> list[Add]:
        if self._predicate is None:
            return list(adds_from_table(snapshot.files(ADD_FIELDS)))
        return list(adds_from_table(select_files(snapshot, self._predicate, ADD_FIELDS).files))

    def _bins(self, snapshot: Snapshot) -> list[Bin]:
        request = self._request
        adds = self._adds(snapshot)
        self._done.num_considered = len(adds)
        if request.is_reorg:
            return files.packed(_to_rewrite(snapshot, adds, request), request.sizes.max_file)
        if self._columns:
            names = [render_path(path) for path in self._clustering or request.zorder_by]
            self._done.cubes = CubeStats.looked_at(adds, names)
        if self._clustering:
            return self._cube(adds)
        if self._columns:
            return files.by_partition(adds)
        small = files.worth_compacting(adds, request.sizes)
        if request.is_auto:
            small = files.crowded(small, request.min_files)
        found = files.packed(small, request.sizes.max_file)
        return [one for one in found if files.changes_something(one, request.sizes)]

    def _cube(self, adds: Sequence[Add]) -> list[Bin]:
        sizes, names = self._request.sizes, [render_path(path) for path in self._clustering]
        loose = [
            replace(add, clustering_provider=None, tags=None)
            if files.deleted_share(add) > sizes.max_deleted
            else add
            for add in adds
        ]
        chosen = {
            add.path for add in to_cluster(loose, names, sizes.max_file, full=self._request.full)
        }
        return files.by_partition([add for add in adds if add.path in chosen])

    # --- doing it ---

    def _run_batch(self, batch: Sequence[Bin]) -> None:
        """Once more without the bins that another commit came in the way of, if there is one."""
        for number in range(ATTEMPTS):
            snapshot = self._snapshot if number == 0 else self._log.snapshot()
            batch = self._still_there(batch, snapshot)
            if not batch:
                return
            try:
                self._commit(snapshot, batch, self._written(snapshot, batch))
            except ConflictError as error:
                if not is_retryable(error) or number + 1 == ATTEMPTS:
                    raise
            else:
                return

    def _still_there(self, batch: Sequence[Bin], snapshot: Snapshot) -> list[Bin]:
        if snapshot.version == self._snapshot.version:
            return list(batch)
        live = {_key(add) for add in adds_from_table(snapshot.files(ADD_FIELDS))}
        return [one for one in batch if all(_key(add) in live for add in one.adds)]

    def _written(self, snapshot: Snapshot, batch: Sequence[Bin]) -> list[Add]:
        kind: Kind = "hilbert" if self._clustering and len(self._columns) > 1 else "zorder"
        added = self._rewritten(snapshot, batch, kind)
        check_rows(batch, added)
        if self._clustering and not self._request.is_reorg:
            return in_cube(added, [render_path(path) for path in self._clustering])
        return added

    @abstractmethod
    def _rewritten(self, snapshot: Snapshot, batch: Sequence[Bin], kind: Kind) -> list[Add]:
        """The new files of a batch; `kind` is that of the curve, if rows are arranged."""

    @property
    def _is_arranged(self) -> bool:
        return bool(self._columns) and not self._request.is_reorg

    def _commit(self, snapshot: Snapshot, batch: Sequence[Bin], added: Sequence[Add]) -> None:
        removed = [add for one in batch for add in one.adds]
        tracked = bool(snapshot.properties.enable_row_tracking)
        operation = self._operation()
        if tracked:
            operation = replace(operation, tags={PRESERVED_TAG: "true"})
        transaction = Transaction(
            snapshot,
            store=snapshot.store,
            operation=operation,
            user_metadata=self._user_metadata,
            handles=HANDLED_FEATURES,
        )
        now = int(time.time() * 1000)
        transaction.read_paths(removed)
        transaction.stage(*[Remove.of(add, timestamp=now, data_change=False) for add in removed])
        transaction.stage(*added)
        transaction.metrics(_metrics(added, removed))
        committed = transaction.commit().unwrap()
        self._done.version = committed.version
        self._done.added += added
        self._done.removed += removed
        self._done.num_bins += len(batch)
        self._done.num_batches += 1

    def _shown(self, where: str) -> str:
        """The condition with the values of its parameters."""
        if self._predicate is None or not self._request.where_values:
            return where
        return to_sql(self._predicate)

    def _operation(self) -> Operation:
        request = self._request
        predicate = [] if request.where is None else [self._shown(request.where)]
        parameters: dict[str, object] = {"predicate": _json(predicate)}
        if request.is_reorg:
            return Operation("REORG", {**parameters, "applyPurge": True}, changes_data=False)
        parameters["zOrderBy"] = _json([render_path(path) for path in request.zorder_by])
        parameters["clusterBy"] = _json([render_path(path) for path in self._clustering])
        parameters["auto"] = request.is_auto
        if self._clustering:
            parameters["isFull"] = request.full
        return Operation("OPTIMIZE", parameters, changes_data=False)


def _to_rewrite(snapshot: Snapshot, adds: Sequence[Add], request: OptimizeRequest) -> list[Add]:
    """Files with deleted rows, and those that still have what DROP COLUMN took from the table; or
    those that readers of Iceberg cannot use."""
    if request.iceberg is not None:
        return files_to_upgrade(snapshot, request.iceberg, adds)
    deleted = files.with_deleted_rows(adds)
    known = {add.path for add in deleted}
    rest = [add for add in adds if add.path not in known]
    return [*deleted, *with_dropped_columns(snapshot, rest)]


def check_rows(batch: Sequence[Bin], written: Sequence[Add]) -> None:
    """Nothing is committed that has other rows than before."""
    before = [(physical_records(add), add.deletion_vector) for one in batch for add in one.adds]
    if any(count is None for count, _ in before):
        return
    expected = sum(
        (count or 0) - (0 if vector is None else vector.cardinality) for count, vector in before
    )
    found = sum(physical_records(add) or 0 for add in written)
    if found != expected:
        raise JobFailedError(
            f"{expected} rows were read, but {found} were written; nothing was committed",
            hint="a file may not have the rows that the log says",
        )


def _key(add: Add) -> tuple[str, str | None]:
    return add.path, None if add.deletion_vector is None else add.deletion_vector.unique_id


def _metrics(added: Sequence[Add], removed: Sequence[Add]) -> dict[str, int]:
    sizes = sorted(add.size for add in added) or [0]
    return {
        "numRemovedFiles": len(removed),
        "numRemovedBytes": sum(add.size for add in removed),
        "numAddedFiles": len(added),
        "numAddedBytes": sum(add.size for add in added),
        "minFileSize": sizes[0],
        "p25FileSize": sizes[len(sizes) // 4],
        "p50FileSize": sizes[len(sizes) // 2],
        "p75FileSize": sizes[len(sizes) * 3 // 4],
        "maxFileSize": sizes[-1],
        "numDeletionVectorsRemoved": sum(1 for add in removed if add.deletion_vector is not None),
    }


def _json(values: Sequence[str]) -> str:
    return orjson.dumps(list(values)).decode()


class Progress(Protocol):
    def done(self, num_bytes: int) -> None: ...


@contextmanager
def progress(what: str, total_bytes: int) -> Iterator[Progress]:
    """A bar over the bytes to do, on standard error if it is a terminal."""
    if not total_bytes or not sys.stderr.isatty():
        yield _Silent()
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        yield _Shown(bar, bar.add_task(what, total=total_bytes))


class Share:
    """One batch's share of a bar. Its parts report when they are done, in whatever thread.

    Never more than the share is shown, though a batch that is done again reports twice.
    """

    def __init__(self, shown: Progress, num_bytes: int) -> None:
        self._shown = shown
        self._left = num_bytes
        self._lock = Lock()

    def done(self, num_bytes: int) -> None:
        with self._lock:
            part = min(num_bytes, self._left)
            self._left -= part
            self._shown.done(part)

    def finish(self) -> None:
        self.done(self._left)


class _Silent:
    def done(self, num_bytes: int) -> None:
        pass


class _Shown:
    def __init__(self, bar: object, task: object) -> None:
        self._bar = bar
        self._task = task

    def done(self, num_bytes: int) -> None:
        self._bar.advance(self._task, num_bytes)  # type: ignore[attr-defined]
