"""The checkpoint of a query, as Spark writes it: how far its sources have been read.

`metadata` has the id of the query, `offsets/<n>` where batch n ends in each source, and
`commits/<n>` is there once the sink has it. Only a batch with a commit counts as read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

from lakebed.errors import InvalidArgumentError, ObjectNotFoundError, StreamOffsetError
from lakebed.storage.store import Store
from lakebed.streaming.source.offset import SourceOffset, decode_offset

_NONE_YET = "-"


@dataclass(frozen=True)
class SourcePosition:
    """`source` is the number of a source in its query, or its name where it has one."""

    source: str
    offset: SourceOffset
    location: str | None = None


@dataclass(frozen=True)
class QueryPosition:
    """`batch` is the last one that the sink has; None before the first. Only Delta sources."""

    query: str
    batch: int | None
    sources: tuple[SourcePosition, ...] = ()


def read_checkpoint(store: Store) -> QueryPosition:
    """`store` is the folder of the checkpoint."""
    query = _query_id(store)
    batch = _last(store, "commits")
    if batch is None:
        return QueryPosition(query, None)
    try:
        text = store.get(f"offsets/{batch}").decode()
    except ObjectNotFoundError as error:
        raise _broken(
            store, f"offsets/{batch} is missing, although commits/{batch} is there"
        ) from error
    return QueryPosition(query, batch, tuple(_positions(store, batch, text)))


def _query_id(store: Store) -> str:
    try:
        raw = orjson.loads(store.get("metadata"))
    except ObjectNotFoundError as error:
        raise InvalidArgumentError(
            f"{store.url} is not the checkpoint of a query: it has no file metadata",
            hint="give the folder that the query has as its checkpointLocation",
        ) from error
    except orjson.JSONDecodeError as error:
        raise _broken(store, "the file metadata is not JSON") from error
    found = raw.get("id") if isinstance(raw, dict) else None
    if not isinstance(found, str):
        raise _broken(store, "the file metadata has no id")
    return found


def _last(store: Store, folder: str) -> int | None:
    names = (found.path.rpartition("/")[2] for found in store.list_from(f"{folder}/"))
    return max((int(name) for name in names if name.isdecimal()), default=None)


def _positions(store: Store, batch: int, text: str) -> Iterator[SourcePosition]:
    head, *lines = text.splitlines() or [""]
    if head not in ("v1", "v2") or not lines:
        raise _broken(store, f"offsets/{batch} begins with {head!r} and not with v1 or v2")
    # The first line is about the batch as a whole.
    for number, line in enumerate(lines[1:]):
        name, offset = str(number), line
        if head == "v2":
            name, _, offset = line.partition(":")
        if offset != _NONE_YET and _is_delta(offset):
            yield SourcePosition(name, decode_offset(offset))


def _is_delta(offset: str) -> bool:
    """Each kind of source has offsets of its own; that of a table has the table's id."""
    try:
        raw = orjson.loads(offset)
    except orjson.JSONDecodeError:
        return False
    return isinstance(raw, dict) and "reservoirId" in raw


def position_of_query(query: Any) -> QueryPosition:
    """Of a `StreamingQuery`, by its own report about its last batch."""
    progress = query.lastProgress
    if progress is None:
        return QueryPosition(str(query.id), None)
    raw = orjson.loads(progress.json) if hasattr(progress, "json") else dict(progress)
    sources = [
        SourcePosition(str(number), decode_offset(offset), _location(source["description"]))
        for number, source in enumerate(raw["sources"])
        if (offset := _as_text(source.get("endOffset"))) is not None and _is_delta(offset)
    ]
    return QueryPosition(str(query.id), int(raw["batchId"]), tuple(sources))


def _as_text(offset: Any) -> str | None:
    if offset is None or isinstance(offset, str):
        return offset
    return orjson.dumps(offset).decode()


def _location(description: str) -> str | None:
    name, _, rest = description.partition("[")
    return rest.removesuffix("]") if name == "DeltaSource" else None


def _broken(store: Store, what: str) -> StreamOffsetError:
    return StreamOffsetError(
        f"the checkpoint {store.url} cannot be read: {what}",
        hint="give the folder that the query has as its checkpointLocation",
    )
