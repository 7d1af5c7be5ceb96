"""`lakebed.stream_progress`: how far a query has read its Delta tables, and how far they are ahead.

It reads the checkpoint and the logs of the tables; neither Spark nor the query has to run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from lakebed.errors import (
    InvalidArgumentError,
    SourceDataLossError,
    TableNotFoundError,
    VersionNotFoundError,
)
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.storage import open_store
from lakebed.streaming.backlog import Backlog, last_read
from lakebed.streaming.checkpoint import (
    QueryPosition,
    SourcePosition,
    position_of_query,
    read_checkpoint,
)

PROGRESS_SCHEMA = pa.schema(
    [
        ("query", pa.string()),
        ("batch", pa.int64()),
        ("source", pa.string()),
        ("table_id", pa.string()),
        ("table", pa.string()),
        ("version", pa.int64()),
        ("file", pa.int64()),
        ("is_initial", pa.bool_()),
        ("newest_version", pa.int64()),
        ("versions_behind", pa.int64()),
        ("files_behind", pa.int64()),
        ("bytes_behind", pa.int64()),
    ]
)


def stream_progress(
    query: Any,
    tables: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    *,
    storage_options: Mapping[str, Any] | None = None,
) -> pa.Table:
    """One row for each Delta table that a query reads: how far it is, and what is left.

    `query` is the checkpoint location of a query, or a `StreamingQuery` that runs. A checkpoint has
    the ids of the tables but not where they are: `tables` are their paths, and without them it is
    not known how far they are ahead.

    `version` is the newest version of which something was read, `file` the number of the last file
    of it that was read: null if all of it was read, -1 if none. With `is_initial` the files are
    those that the table had in that version when the stream began. `files_behind` and
    `bytes_behind` count appended files; null if the log no longer has them, so that the stream
    cannot go on.
    """
    position = _position(query, storage_options)
    snapshots = dict(_snapshots(_as_list(tables), storage_options))
    ids = {source.offset.table_id for source in position.sources}
    for table_id, snapshot in snapshots.items():
        if table_id not in ids and position.batch is not None:
            raise InvalidArgumentError(
                f"the query {position.query} does not read {snapshot.store.url}, whose id is "
                f"{table_id}",
                hint=f"it reads tables with the ids {', '.join(sorted(ids)) or '(none)'}; a table "
                "that was replaced has a new one",
            )
    rows = [
        _row(
            position,
            source,
            snapshots.get(source.offset.table_id) or _found(source, storage_options),
        )
        for source in position.sources
    ]
    return pa.Table.from_pylist(rows, schema=PROGRESS_SCHEMA)


def _position(query: Any, storage_options: Mapping[str, Any] | None) -> QueryPosition:
    if isinstance(query, str | os.PathLike):
        return read_checkpoint(open_store(query, storage_options))
    if hasattr(query, "lastProgress"):
        return position_of_query(query)
    raise InvalidArgumentError(
        f"{query!r} is neither the checkpoint location of a query nor a StreamingQuery",
        hint='give the folder, as in stream_progress("/checkpoints/orders")',
    )


def _as_list(tables: Any) -> list[str]:
    some = [tables] if isinstance(tables, str | os.PathLike) else tables
    return [os.fspath(each) for each in some]


def _snapshots(
    tables: Iterable[str], storage_options: Mapping[str, Any] | None
) -> Iterable[tuple[str, Snapshot]]:
    for table in tables:
        snapshot = TableLog(open_store(table, storage_options)).snapshot()
        yield snapshot.metadata.id, snapshot


def _found(source: SourcePosition, storage_options: Mapping[str, Any] | None) -> Snapshot | None:
    """The table that a query itself names, unless another one is there now."""
    if source.location is None:
        return None
    try:
        snapshot = TableLog(open_store(source.location, storage_options)).snapshot()
    except TableNotFoundError:
        return None
    return snapshot if snapshot.metadata.id == source.offset.table_id else None


def _row(
    position: QueryPosition, source: SourcePosition, newest: Snapshot | None
) -> dict[str, Any]:
    offset = source.offset
    version, file = last_read(offset)
    found = {
        "query": position.query,
        "batch": position.batch,
        "source": source.source,
        "table_id": offset.table_id,
        "version": version,
        "file": file,
        "is_initial": offset.is_initial,
    }
    if newest is None:
        return found
    backlog = Backlog(offset, newest)
    num_files: int | None
    num_bytes: int | None
    try:
        num_files, num_bytes = backlog.size()
    except (SourceDataLossError, VersionNotFoundError):
        num_files, num_bytes = None, None
    return found | {
        "table": newest.store.url,
        "newest_version": newest.version,
        "versions_behind": backlog.num_versions,
        "files_behind": num_files,
        "bytes_behind": num_bytes,
    }
