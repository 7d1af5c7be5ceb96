"""What a transaction has read: the preconditions under which its changes are right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from lakebed.expressions.tree import Expression
from lakebed.log.listing.file_keys import canonical_path
from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Add, Remove

Files: TypeAlias = "pa.Table | Iterable[Add] | Iterable[Remove] | Iterable[str]"
MayMatch: TypeAlias = "Callable[[Snapshot, Sequence[Add], Expression], bool]"
"""Whether one of some files may have a row that satisfies a predicate, by a look into them."""
OnRead: TypeAlias = "Callable[[Expression | None, Sequence[str]], None]"
"""Learns which rows a query asks for, None for all, and in which files they may be."""


@dataclass(frozen=True)
class Reads:
    """`predicates`: every row that satisfies one of them was seen; None is satisfied by all rows.

    `paths` are of the files whose contents were seen, `app_ids` of the applications whose last
    version was.
    """

    whole_table: bool = False
    predicates: tuple[Expression | None, ...] = ()
    paths: frozenset[str] = frozenset()
    app_ids: frozenset[str] = frozenset()

    @property
    def any_files(self) -> bool:
        return self.whole_table or bool(self.predicates) or bool(self.paths)


class ReadRecorder:
    """Collects while an operation runs; `freeze` gives the value."""

    def __init__(self) -> None:
        self._whole_table = False
        self._predicates: list[Expression | None] = []
        self._paths: set[str] = set()
        self._app_ids: set[str] = set()

    def whole_table(self) -> None:
        self._whole_table = True

    def predicate(self, predicate: Expression | None) -> None:
        if predicate not in self._predicates:
            self._predicates.append(predicate)

    def files(self, files: Files) -> None:
        self._paths.update(paths_of(files))

    def app(self, app_id: str) -> None:
        self._app_ids.add(app_id)

    def freeze(self) -> Reads:
        return Reads(
            self._whole_table,
            tuple(self._predicates),
            frozenset(self._paths),
            frozenset(self._app_ids),
        )


def paths_of(files: Files) -> list[str]:
    """The paths as conflict rules compare them: one spelling for each file."""
    if isinstance(files, pa.Table):
        paths = files.column("path").to_pylist()
    else:
        paths = [file if isinstance(file, str) else file.path for file in files]
    return [path if path[:1] != "/" and ":" not in path else canonical_path(path) for path in paths]


def already_committed(snapshot: Snapshot | None, app_id: str, version: int) -> bool:
    """Whether an application's `version`, or a later one, is in the table.

    PROTOCOL: Transaction Identifiers. A writer that repeats its work after a crash asks this
    first, and stages a `Txn` with every commit.
    """
    last = None if snapshot is None else snapshot.transactions.get(app_id)
    return last is not None and last.version >= version
