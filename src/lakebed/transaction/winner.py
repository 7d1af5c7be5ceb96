"""A commit that came first, as the conflict rules see it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from lakebed.formats import commit_file as commit
from lakebed.formats.digest import has_digest
from lakebed.log.listing.log_names import commit_path
from lakebed.spec.actions import (
    Action,
    Add,
    CommitInfo,
    DomainMetadata,
    Metadata,
    Protocol,
    Remove,
    Txn,
)
from lakebed.transaction.read_set import paths_of

T = TypeVar("T")


@dataclass(frozen=True)
class Winner:
    version: int
    actions: tuple[Action, ...]
    has_digest: bool = False

    @classmethod
    def parse(cls, version: int, data: bytes) -> Winner:
        actions = commit.decode_actions(data, commit_path(version))
        return cls(version, tuple(actions), has_digest(data))

    @cached_property
    def info(self) -> CommitInfo | None:
        return _last(self.actions, CommitInfo)

    @property
    def txn_id(self) -> str | None:
        return None if self.info is None else self.info.txn_id

    @property
    def operation(self) -> str | None:
        return None if self.info is None else self.info.operation

    @cached_property
    def metadata(self) -> Metadata | None:
        return _last(self.actions, Metadata)

    @cached_property
    def protocol(self) -> Protocol | None:
        return _last(self.actions, Protocol)

    @cached_property
    def adds(self) -> tuple[Add, ...]:
        return tuple(action for action in self.actions if isinstance(action, Add))

    @cached_property
    def removes(self) -> tuple[Remove, ...]:
        return tuple(action for action in self.actions if isinstance(action, Remove))

    @cached_property
    def adds_by_path(self) -> Mapping[str, Add]:
        return dict(zip(paths_of(self.adds), self.adds, strict=True))

    @cached_property
    def removed_paths(self) -> frozenset[str]:
        """Also of files that are added again, with another deletion vector."""
        return frozenset(paths_of(remove.path for remove in self.removes))

    @cached_property
    def app_ids(self) -> frozenset[str]:
        return frozenset(action.app_id for action in self.actions if isinstance(action, Txn))

    @cached_property
    def domains(self) -> frozenset[str]:
        return frozenset(a.domain for a in self.actions if isinstance(a, DomainMetadata))

    @property
    def is_blind_append(self) -> bool:
        """Only if the commit says so: without `commitInfo` the worst is assumed."""
        return self.info is not None and self.info.values.get("isBlindAppend") is True

    @property
    def only_adds_new_files(self) -> bool:
        """Certain for Lakebed's own blind appends, whose digest says who wrote them."""
        fresh = all(add.data_change for add in self.adds)
        return self.has_digest and self.is_blind_append and fresh and not self.removes


def _last(actions: Iterable[Action], kind: type[T]) -> T | None:
    found: T | None = None
    for action in actions:
        if isinstance(action, kind):
            found = action
    return found
