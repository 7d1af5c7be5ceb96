"""A version of a table: protocol, metadata, files, transactions, domains.

PROTOCOL: Delta Table Specification, Action Reconciliation. What is asked for is read, no more:
the head of a table often comes from one checksum file, and files are columns read on demand.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa

from lakebed.errors import LogCorruptedError, ObjectNotFoundError
from lakebed.formats import checksum as checksum_format
from lakebed.formats.checksum import VersionChecksum
from lakebed.formats.digest import has_digest
from lakebed.log.checkpoint_reader import CheckpointReader
from lakebed.log.file_state import ADD_FIELDS, REMOVE_FIELDS, FileState, tail_of
from lakebed.log.listing.log_names import LogFile, checksum_path, commit_path
from lakebed.log.listing.segment import LogSegment
from lakebed.log.replay import Replay, TableHead
from lakebed.log.totals import Totals
from lakebed.spec.actions import Action, Add, CommitInfo, DomainMetadata, Metadata, Remove, Txn
from lakebed.spec.actions import Protocol as TableProtocol
from lakebed.spec.columns.schema_validation import refuse_user_types
from lakebed.spec.columns.type_widening import TYPE_CHANGES, check_type_changes
from lakebed.spec.features import check_readable, supported_features
from lakebed.spec.properties import TableProperties
from lakebed.spec.schema import StructType, parse_schema
from lakebed.storage.store import Store

T = TypeVar("T")

# The files of so few commits are counted in the blink of an eye.
_FEW_COMMITS = 100
_TYPE_WIDENING = {"typeWidening", "typeWidening-preview"}

if TYPE_CHECKING:
    from lakebed.formats.statistics.file_statistics import FileColumns


class Snapshot:
    """One version. Immutable; what it has read it remembers."""

    def __init__(
        self,
        store: Store,
        segment: LogSegment,
        *,
        head: TableHead | None = None,
        files: FileState | None = None,
        totals: Totals | None = None,
        unread: Unread | None = None,
    ) -> None:
        self.store = store
        self.segment = segment
        self.opened_at = time.time()
        self._known_totals = totals
        self._files = files
        self._unread = unread
        self.file_columns: dict[bool, FileColumns] = {}
        self._head = head or self._head_from_checksum() or self._replayed_head()
        self._verified = head is not None
        check_readable(self.protocol, self.metadata)

    @classmethod
    def created(cls, store: Store, actions: Sequence[Action]) -> Snapshot:
        """Version 0, from the commit that creates the table, without touching the store."""
        adds = [action for action in actions if isinstance(action, Add)]
        removes = [action for action in actions if isinstance(action, Remove)]
        files = FileState(None, tail_of(adds, removes))
        commits = (LogFile(commit_path(0), "commit", 0),)
        return cls(
            store,
            LogSegment(0, None, commits),
            head=TableHead().newer(actions),
            files=files,
            totals=Totals.of(files.live(["size", "deletionVector"])),
        )

    @property
    def version(self) -> int:
        return self.segment.version

    @property
    def protocol(self) -> TableProtocol:
        return self._require(self._head.protocol, "protocol")

    @property
    def metadata(self) -> Metadata:
        return self._require(self._head.metadata, "metaData")

    @property
    def transactions(self) -> Mapping[str, Txn]:
        return self._head.transactions

    def has_transaction(self, app_id: str, version: int) -> bool:
        """Whether an application has committed this version, or a later one of its own."""
        last = self.transactions.get(app_id)
        return last is not None and last.version >= version

    @property
    def domains(self) -> Mapping[str, DomainMetadata]:
        return self._head.domains

    @cached_property
    def commit_info(self) -> CommitInfo | None:
        """The commitInfo of this version, where its commit is still there."""
        if self._head.info is not None:
            return self._head.info
        from_commit = Replay()
        try:
            path = commit_path(self.version)
            from_commit.commit(self.store.get(path), path, newest=True)
        except ObjectNotFoundError:
            return None
        return from_commit.head.info

    @cached_property
    def schema(self) -> StructType:
        text = self.metadata.schema_string
        schema = parse_schema(text) if text else StructType(())
        if not self.store.trusted:
            refuse_user_types(schema)
        if TYPE_CHANGES in text and supported_features(self.protocol) & _TYPE_WIDENING:
            check_type_changes(schema)
        return schema

    @property
    def partition_columns(self) -> tuple[str, ...]:
        return self.metadata.partition_columns

    @cached_property
    def properties(self) -> TableProperties:
        return TableProperties(self.metadata.configuration)

    def files(self, columns: Sequence[str] = ADD_FIELDS) -> pa.Table:
        """The live files, with the columns named as in the log."""
        table = self._state.live(columns)
        self._verify(table.num_rows)
        return table

    def load_files(self, columns: Sequence[str], places: pa.Array | None = None) -> pa.Table:
        """The same for a reader that does not come again: nothing that is read is remembered.

        `places` are those of the wanted files among all; their order is the same in each call.
        """
        table = self._state.load(columns)
        self._verify(table.num_rows)
        return table if places is None else table.take(places)

    def files_with_stats(self, columns: Sequence[str] = ()) -> pa.Table:
        """Also `stats_parsed` where the checkpoint has it, and `stats` for the files without."""
        wanted = dict.fromkeys([*columns, "path", "partitionValues", "deletionVector"])
        if not self._state.has_parsed_stats():
            return self.files([*wanted, "stats"])
        table = self.files([*wanted, "stats_parsed"])
        parsed = table.column("stats_parsed")
        if parsed.null_count == 0:
            empty = pa.chunked_array([pa.nulls(table.num_rows, pa.string())])
            return table.append_column("stats", empty)
        texts = self._state.later_stats(parsed)
        if texts is None:
            texts = self.files(["stats"]).column("stats")
        return table.append_column("stats", texts)

    @property
    def has_parsed_stats(self) -> bool:
        """Whether a checkpoint gave some of the files statistics as columns."""
        return self._state.has_parsed_stats()

    def tombstones(self, columns: Sequence[str] = REMOVE_FIELDS) -> pa.Table:
        return self._state.tombstones(columns)

    @property
    def totals(self) -> Totals:
        """Counted once; afterwards carried along from commit to commit."""
        if self._known_totals is None:
            self._known_totals = Totals.of(self._state.live(["size", "deletionVector"]))
        return self._known_totals

    @property
    def totals_if_known(self) -> Totals | None:
        return self._known_totals

    @property
    def totals_if_cheap(self) -> Totals | None:
        """The totals if they are known, or if a few commits hold all files."""
        few = self.segment.checkpoint is None and len(self.segment.commits) <= _FEW_COMMITS
        return self.totals if few else self._known_totals

    def after(self, version: int, actions: Sequence[Action], *, fresh: bool = False) -> Snapshot:
        """The next version, from this one and its commit, without touching the store.

        `fresh` says that every added file is new to the table and every removed one was live,
        which lets the totals go on without counting.
        """
        adds = [action for action in actions if isinstance(action, Add)]
        removes = [action for action in actions if isinstance(action, Remove)]
        commits = (*self.segment.commits, LogFile(commit_path(version), "commit", version))
        known = self._known_totals
        totals = known.after(adds, removes) if known is not None and fresh else None
        files, unread = self._files, None
        if files is None:
            # Somebody who only appends never needs the files: they stay unread.
            unread = (self._unread or Unread(self)).then(adds, removes)
        return Snapshot(
            self.store,
            replace(self.segment, version=version, commits=commits, compactions=(), checksum=None),
            head=self._head.newer(actions),
            files=None if files is None else files.apply(adds, removes),
            totals=totals,
            unread=unread,
        )

    def rebased(self, segment: LogSegment, files: FileState | None = None) -> Snapshot:
        """The same version over a checkpoint that was just written: its tail is gone.

        `files` is what went into the checkpoint, if it is still at hand.
        """
        return Snapshot(
            self.store,
            segment,
            head=self._head,
            files=self._state.collapsed() if files is None else files,
            totals=self._known_totals,
        )

    @property
    def _state(self) -> FileState:
        if self._files is None and self._unread is not None:
            self._files = self._unread.read()
        elif self._files is None:
            self._files = FileState(self._base, self._tail.files())
        self._unread = None
        return self._files

    @cached_property
    def _tail(self) -> Replay:
        return self._read_tail()

    @cached_property
    def _base(self) -> CheckpointReader | None:
        ref = self.segment.checkpoint
        return None if ref is None else CheckpointReader(self.store, ref)

    def _replayed_head(self) -> TableHead:
        head = self._tail.head
        if self._base is not None:
            head = _over(head, self._base.head)
        return head.without_tombstones()

    def _read_tail(self) -> Replay:
        plan = self.segment.plan()
        bodies = self.store.get_many([file.path for file in plan])
        compacted = (
            file.end_version is not None and not has_digest(data)
            for file, data in zip(plan, bodies, strict=True)
        )
        if any(compacted):
            # Compactions of other writers are only a copy of the commits, and some are wrong.
            plan = list(self.segment.commits)
            bodies = self.store.get_many([file.path for file in plan])
        replay = Replay()
        for file, data in zip(reversed(plan), reversed(bodies), strict=True):
            replay.commit(data, file.path, newest=file.version == self.version)
        return replay

    def _head_from_checksum(self) -> TableHead | None:
        found = self.read_checksum()
        if found is None or not found.has_digest:
            return None
        self._known_totals = self._known_totals or Totals.of_checksum(found)
        if found.transactions is None or found.domains is None:
            return None
        return TableHead(
            protocol=found.protocol,
            metadata=found.metadata,
            transactions={txn.app_id: txn for txn in found.transactions},
            domains={domain.domain: domain for domain in found.domains},
        )

    def read_checksum(self) -> VersionChecksum | None:
        """The checksum file of this version; a damaged one counts as absent."""
        if self.segment.checksum is None:
            return None
        path = self.segment.checksum.path
        try:
            return checksum_format.decode(self.store.get(path), path)
        except (ObjectNotFoundError, LogCorruptedError):
            return None

    def recall_totals(self) -> None:
        """Take the totals from the checksum file of this version, if its writer left one."""
        if self._known_totals is not None:
            return
        file = LogFile(checksum_path(self.version), "checksum", self.version)
        self.segment = replace(self.segment, checksum=file)
        found = self.read_checksum()
        if found is not None and found.has_digest:
            self._known_totals = Totals.of_checksum(found)

    def _verify(self, num_files: int) -> None:
        """PROTOCOL: State Validation, against a checksum that Lakebed wrote."""
        if self._verified:
            return
        self._verified = True
        known = self._known_totals
        if known is not None and known.num_files != num_files:
            raise LogCorruptedError(
                f"version {self.version} has {num_files} files, but its checksum file says "
                f"{known.num_files}",
                file=commit_path(self.version),
                hint="a file of the log was changed after it was written; restore it",
            )

    def _require(self, value: T | None, name: str) -> T:
        if value is None:
            raise LogCorruptedError(
                f"no {name} action in the log up to version {self.version}",
                file=commit_path(self.version),
            )
        return value


@dataclass(frozen=True)
class Unread:
    """Files that no one has asked for yet: those of a version, and the commits since."""

    origin: Snapshot
    changes: tuple[tuple[list[Add], list[Remove]], ...] = ()

    def then(self, adds: list[Add], removes: list[Remove]) -> Unread:
        return Unread(self.origin, (*self.changes, (adds, removes)))

    def read(self) -> FileState:
        state = self.origin._state
        for adds, removes in self.changes:
            state = state.apply(adds, removes)
        return state


def _over(newer: TableHead, older: TableHead) -> TableHead:
    return TableHead(
        protocol=newer.protocol or older.protocol,
        metadata=newer.metadata or older.metadata,
        transactions={**older.transactions, **newer.transactions},
        domains={**older.domains, **newer.domains},
        info=newer.info,
    )
