"""What a transaction wants to commit, and on what it depends: frozen values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from lakebed.spec.actions import (
    Action,
    Add,
    AddCdc,
    DomainMetadata,
    Metadata,
    Protocol,
    Remove,
    Txn,
)
from lakebed.transaction.isolation import IsolationLevel
from lakebed.transaction.operation import Operation
from lakebed.transaction.read_set import MayMatch, Reads, paths_of
from lakebed.transaction.row_marks import Mark

T = TypeVar("T")


@dataclass(frozen=True)
class Proposal:
    """`txn_id` is unique and goes into the commit; `recommits` are the paths of files that are
    added although they are in the table already, to change what the log says about them. `marks`
    become actions when a version is drafted; without `row_level` they conflict as whole files.
    `may_match` looks into new files of others where their statistics do not tell enough.
    """

    operation: Operation
    actions: tuple[Action, ...]
    reads: Reads
    isolation: IsolationLevel
    read_version: int | None
    txn_id: str
    recommits: frozenset[str] = frozenset()
    handles: frozenset[str] = frozenset()
    marks: tuple[Mark, ...] = ()
    row_level: bool = True
    may_match: MayMatch | None = None

    @cached_property
    def metadata(self) -> Metadata | None:
        return next(iter(_of(self.actions, Metadata)), None)

    @cached_property
    def protocol(self) -> Protocol | None:
        return next(iter(_of(self.actions, Protocol)), None)

    @cached_property
    def adds(self) -> list[Add]:
        return _of(self.actions, Add)

    @cached_property
    def removes(self) -> list[Remove]:
        return _of(self.actions, Remove)

    @cached_property
    def marked_paths(self) -> frozenset[str]:
        return frozenset(mark.path for mark in self.marks)

    @cached_property
    def removed_paths(self) -> frozenset[str]:
        """Of the files that are this commit's own as a whole, to remove or to change."""
        staged = frozenset(paths_of(remove.path for remove in self.removes))
        return staged if self.row_level else staged | self.marked_paths

    @cached_property
    def app_ids(self) -> frozenset[str]:
        """Applications whose last version matters: it was read, or is about to be replaced."""
        return self.reads.app_ids.union(txn.app_id for txn in _of(self.actions, Txn))

    @cached_property
    def domains(self) -> frozenset[str]:
        return frozenset(domain.domain for domain in _of(self.actions, DomainMetadata))

    @cached_property
    def is_blind_append(self) -> bool:
        """Adds files without having looked at any, so that its place among the commits is free."""
        if not self.operation.appends or self.reads.any_files or self.recommits or self.marks:
            return False
        return not any(isinstance(action, Remove | AddCdc) for action in self.actions)


def _of(actions: Iterable[Action], kind: type[T]) -> list[T]:
    return [action for action in actions if isinstance(action, kind)]
