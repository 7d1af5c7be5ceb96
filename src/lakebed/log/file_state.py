"""The files of a version as Arrow columns: a base that no one rewrites, and a tail over it.

The base is a checkpoint, read column by column when asked, or columns already in memory. The
tail is what commits after it added and removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol as Interface

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.formats.file_actions import (
    ADD_SCHEMA,
    REMOVE_SCHEMA,
    adds_to_table,
    removes_to_table,
)
from lakebed.log.listing.file_keys import file_key, spellings
from lakebed.log.replay import TailFiles
from lakebed.spec.actions import Add, Remove

_MAX_DEPTH = 16
ADD_FIELDS = tuple(ADD_SCHEMA.names)
REMOVE_FIELDS = tuple(REMOVE_SCHEMA.names)


class FileSource(Interface):
    """Something that has file actions as columns. Rows keep their order from call to call."""

    def columns(self, kind: str, fields: Sequence[str]) -> pa.Table: ...

    def has(self, kind: str, field: str) -> bool: ...


class MemoryFiles:
    """Columns that are already there."""

    def __init__(self, adds: pa.Table, removes: pa.Table) -> None:
        self._tables = {"add": adds, "remove": removes}

    def columns(self, kind: str, fields: Sequence[str]) -> pa.Table:
        return _with_fields(self._tables[kind], fields)

    def has(self, kind: str, field: str) -> bool:
        return field in self._tables[kind].column_names


class FileState:
    """The live files and the tombstones of one version. Immutable but for what it remembers."""

    def __init__(self, base: FileSource | None, tail: TailFiles, depth: int = 0) -> None:
        self._base = base
        self._tail = tail
        self._depth = depth
        self._kept: dict[str, pa.Array | None] = {}
        self._cache: dict[str, dict[str, pa.ChunkedArray]] = {"add": {}, "remove": {}}

    def live(self, fields: Sequence[str] = ADD_FIELDS) -> pa.Table:
        return self._table("add", fields)

    def load(self, fields: Sequence[str]) -> pa.Table:
        """The live files again, without remembering the columns."""
        return self._load("add", fields)

    def tombstones(self, fields: Sequence[str] = REMOVE_FIELDS) -> pa.Table:
        return self._table("remove", fields)

    def has_parsed_stats(self) -> bool:
        return self._base is not None and self._base.has("add", "stats_parsed")

    def later_stats(self, parsed: pa.ChunkedArray) -> pa.ChunkedArray | None:
        """The JSON texts of the files since the base, if all others have parsed statistics.

        `parsed` are those of all files. Texts are most of a checkpoint, and would not be needed.
        """
        tail = self._tail.adds
        count = len(parsed) - tail.num_rows
        if self._base is None or parsed.slice(0, count).null_count:
            return None
        return pa.chunked_array([pa.nulls(count, pa.string()), *tail.column("stats").chunks])

    def columns(self, kind: str, fields: Sequence[str]) -> pa.Table:
        return self._table(kind, fields)

    def has(self, kind: str, field: str) -> bool:
        return self._base is not None and self._base.has(kind, field)

    def apply(self, adds: Sequence[Add], removes: Sequence[Remove]) -> FileState:
        """The state after one more commit."""
        if not adds and not removes:
            return self
        tail = tail_of(adds, removes)
        # Columns that were loaded once serve the next versions too, as their base.
        if self._cache["add"] and self._depth < _MAX_DEPTH:
            return FileState(self, tail, self._depth + 1)
        return FileState(self._base, _stack(self._tail, tail), self._depth)

    def collapsed(self) -> FileState:
        """The same state with everything in memory and no tail, for a writer that goes on."""
        extra = ("stats_parsed",) if self.has_parsed_stats() else ()
        live = self.live(ADD_FIELDS + extra)
        memory = MemoryFiles(live, self.tombstones())
        return FileState(memory, empty_tail())

    def _table(self, kind: str, fields: Sequence[str]) -> pa.Table:
        cache = self._cache[kind]
        absent = [field for field in fields if field not in cache]
        if absent:
            loaded = self._load(kind, absent)
            cache.update(zip(absent, loaded.columns, strict=True))
        return pa.table([cache[field] for field in fields], names=list(fields))

    def _load(self, kind: str, fields: Sequence[str]) -> pa.Table:
        tail = self._tail.adds if kind == "add" else self._tail.removes
        if self._base is None:
            return _with_fields(tail, fields)
        base = self._base.columns(kind, fields)
        kept = self._kept_rows(kind)
        if kept is not None:
            base = base.take(kept)
        if not tail.num_rows:
            return base
        return pa.concat_tables([base, _with_fields(tail, fields, base.schema)])

    def _kept_rows(self, kind: str) -> pa.Array | None:
        """Positions in the base that the tail says nothing about; None means all of them."""
        if kind not in self._kept:
            self._kept[kind] = self._find_kept_rows(kind)
        return self._kept[kind]

    def _find_kept_rows(self, kind: str) -> pa.Array | None:
        if self._base is None or not self._tail.keys:
            return None
        names = [name for path in self._tail.paths for name in spellings(path)]
        paths = self._base.columns(kind, ["path"]).column("path")
        if not len(paths):  # pyarrow before 26 crashes on the indices of a column without chunks
            return None
        touched = pc.is_in(paths, value_set=pa.array(names, pa.string()))
        candidates = pc.indices_nonzero(touched)
        if not len(candidates):
            return None
        rows = self._base.columns(kind, ["path", "deletionVector"]).take(candidates).to_pylist()
        dead = [
            position
            for position, row in zip(candidates.to_pylist(), rows, strict=True)
            if file_key(row["path"], row["deletionVector"]) in self._tail.keys
        ]
        if not dead:
            return None
        everything = pc.indices_nonzero(paths.is_valid())
        return everything.filter(pc.invert(pc.is_in(everything, pa.array(dead, pa.uint64()))))


def empty_tail() -> TailFiles:
    return TailFiles(ADD_SCHEMA.empty_table(), REMOVE_SCHEMA.empty_table(), frozenset(), ())


def tail_of(adds: Sequence[Add], removes: Sequence[Remove]) -> TailFiles:
    actions: list[Add | Remove] = [*adds, *removes]
    keys = [file_key(*_parts(action)) for action in actions]
    paths = tuple(action.path for action in actions)
    return TailFiles(adds_to_table(adds), removes_to_table(removes), frozenset(keys), paths)


def _parts(action: Add | Remove) -> tuple[str, dict[str, object] | None]:
    vector = action.deletion_vector
    return action.path, None if vector is None else vector.to_json()


def _stack(old: TailFiles, new: TailFiles) -> TailFiles:
    """One tail for both; what the new one touches replaces what the old one says."""
    if not old.keys:
        return new
    fresh = old.keys.isdisjoint(new.keys)
    adds = old.adds if fresh else _without(old.adds, new.keys)
    removes = old.removes if fresh else _without(old.removes, new.keys)
    return TailFiles(
        pa.concat_tables([adds, new.adds]),
        pa.concat_tables([removes, new.removes]),
        old.keys | new.keys,
        old.paths + new.paths,
    )


def _without(table: pa.Table, keys: frozenset[str]) -> pa.Table:
    if not table.num_rows:
        return table
    rows = table.select(["path", "deletionVector"]).to_pylist()
    keep = [file_key(row["path"], row["deletionVector"]) not in keys for row in rows]
    return table if all(keep) else table.filter(pa.array(keep))


def _with_fields(
    table: pa.Table, fields: Sequence[str], schema: pa.Schema | None = None
) -> pa.Table:
    """The asked columns; those that commits never have, such as parsed statistics, are null."""
    arrays = []
    for name in fields:
        if name in table.column_names:
            arrays.append(table.column(name))
        else:
            kind = pa.null() if schema is None else schema.field(name).type
            arrays.append(pa.chunked_array([pa.nulls(table.num_rows, kind)]))
    return pa.table(arrays, names=list(fields))
