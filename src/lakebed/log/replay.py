"""Replaying commits (PROTOCOL: Action Reconciliation).

Commits are read newest first, so that the first reference to a file, an application or a domain
is the one that counts and everything older about it can be dropped at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from lakebed.errors import LogCorruptedError
from lakebed.formats import commit_file as commit
from lakebed.formats.file_actions import ADD_SCHEMA, REMOVE_SCHEMA, FileTableBuilder
from lakebed.log.listing.file_keys import file_key
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

_NOT_STATE = frozenset({"cdc", "sidecar", "checkpointMetadata"})


@dataclass
class TableHead:
    """What a version says besides its files. `domains` may hold tombstones while replaying."""

    protocol: Protocol | None = None
    metadata: Metadata | None = None
    transactions: dict[str, Txn] = field(default_factory=dict)
    domains: dict[str, DomainMetadata] = field(default_factory=dict)
    info: CommitInfo | None = None

    def older(self, action: Action) -> None:
        """Take in an action that is older than everything seen."""
        if isinstance(action, Protocol):
            self.protocol = self.protocol or action
        elif isinstance(action, Metadata):
            self.metadata = self.metadata or action
        elif isinstance(action, Txn):
            self.transactions.setdefault(action.app_id, action)
        elif isinstance(action, DomainMetadata):
            self.domains.setdefault(action.domain, action)

    def newer(self, actions: Iterable[Action]) -> TableHead:
        """The head after one more commit."""
        head = TableHead(
            self.protocol, self.metadata, dict(self.transactions), dict(self.domains), None
        )
        for action in actions:
            if isinstance(action, Protocol):
                head.protocol = action
            elif isinstance(action, Metadata):
                head.metadata = action
            elif isinstance(action, Txn):
                head.transactions[action.app_id] = action
            elif isinstance(action, DomainMetadata):
                head.domains[action.domain] = action
            elif isinstance(action, CommitInfo):
                head.info = action
        return head.without_tombstones()

    def without_tombstones(self) -> TableHead:
        self.domains = {name: d for name, d in self.domains.items() if not d.removed}
        return self


@dataclass(frozen=True)
class TailFiles:
    """Files that commits after the base added and removed, and the keys that they touched."""

    adds: pa.Table
    removes: pa.Table
    keys: frozenset[str]
    paths: tuple[str, ...]


class Replay:
    """Feed it commits newest first, then take `head` and `files()`."""

    def __init__(self) -> None:
        self.head = TableHead()
        self._adds = FileTableBuilder(ADD_SCHEMA)
        self._removes = FileTableBuilder(REMOVE_SCHEMA)
        self._seen: set[str] = set()
        self._paths: list[str] = []

    def commit(self, data: bytes, file: str, *, newest: bool = False) -> None:
        """Lines are taken from the last to the first: where two name a file, the later counts."""
        for name, raw in reversed(list(commit.decode(data, file))):
            if name == "add":
                self._file(raw, file, _checked_add, self._adds)
            elif name == "remove":
                self._file(raw, file, _checked_remove, self._removes)
            elif name == "commitInfo":
                if newest:
                    self.head.info = CommitInfo.parse(raw)
            elif name not in _NOT_STATE and not self._is_settled(name):
                self.head.older(commit.parse(name, raw, file))

    def files(self) -> TailFiles:
        try:
            adds, removes = self._adds.finish(), self._removes.finish()
        except (pa.ArrowException, OverflowError) as error:
            raise LogCorruptedError(f"a file action has a value out of range: {error}") from error
        return TailFiles(adds, removes, frozenset(self._seen), tuple(self._paths))

    def _is_settled(self, name: str) -> bool:
        """A newer commit has said it: what older ones say, well-formed or not, is history."""
        settled = {"protocol": self.head.protocol, "metaData": self.head.metadata}
        return settled.get(name) is not None

    def _file(
        self,
        raw: dict[str, Any],
        file: str,
        check: Callable[[dict[str, Any]], dict[str, Any]],
        builder: FileTableBuilder,
    ) -> None:
        try:
            row = check(raw)
        except LogCorruptedError as error:
            raise LogCorruptedError(error.message, file=file) from error
        key = file_key(row["path"], row.get("deletionVector"))
        if key not in self._seen:
            self._seen.add(key)
            self._paths.append(row["path"])
            builder.append(row)


def head_of(actions: Iterable[Action]) -> TableHead:
    """The head that a checkpoint holds."""
    head = TableHead()
    for action in actions:
        head.older(action)
    return head.without_tombstones()


def _checked_add(raw: dict[str, Any]) -> dict[str, Any]:
    """Well-formed rows pass as they are; only the others are parsed field by field."""
    if len(raw) > _PLAIN_FIELDS:
        # Some writers name also what they leave out.
        raw = {name: value for name, value in raw.items() if value is not None}
    values = raw.get("partitionValues")
    if (
        type(raw.get("path")) is str
        and type(values) is dict
        and _small(raw.get("size"))
        and _small(raw.get("modificationTime"))
        and type(raw.get("dataChange")) is bool
        and type(raw.get("stats", "")) is str
        and len(raw) <= _PLAIN_FIELDS + ("tags" in raw and raw["tags"] is None)
        and all(type(value) is str for value in values.values())
    ):
        return raw
    return Add.parse(raw).to_json()


def _checked_remove(raw: dict[str, Any]) -> dict[str, Any]:
    return Remove.parse(raw).to_json()


_PLAIN_FIELDS = 6
"""Those that every added file has, and statistics."""


def _small(value: Any) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63
