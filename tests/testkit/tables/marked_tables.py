"""Tables whose rows are marked, and which rows are gone by the log and the vectors' bytes alone.

The vectors are taken apart here by the protocol's text: nothing of Lakebed decodes them.
"""

from __future__ import annotations

import json
import struct
import uuid
import zlib
from collections.abc import Iterable
from typing import Any

from pyroaring import BitMap64

from lakebed.formats.deletion_vectors import RowIndexSet
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Action, Add, Metadata
from lakebed.storage import Store
from lakebed.transaction import Operation, Transaction
from testkit.tables.small_tables import create, features, file, metadata

PROTOCOL = features("deletionVectors", "domainMetadata", reader=("deletionVectors",))
TRACKED = features("deletionVectors", "domainMetadata", "rowTracking", reader=("deletionVectors",))
DELETE = Operation("DELETE")
ONE = file("one", ids=(0, 9))
TWO = file("two", ids=(10, 19))
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def marked_table(store: Store, *files: Add, table: Metadata | None = None) -> Snapshot:
    return create(store, PROTOCOL, table or metadata(), *(files or (ONE, TWO)))


def rows(*indexes: int) -> RowIndexSet:
    return RowIndexSet.from_indexes(indexes)


def live(snapshot: Snapshot, path: str) -> Add:
    return next(add for add in adds_from_table(snapshot.files()) if add.path == path)


def deletion(
    snapshot: Snapshot, marks: dict[str, Iterable[int]], *actions: Action, **options: Any
) -> Transaction:
    options.setdefault("operation", DELETE)
    transaction = Transaction(snapshot, **options)
    for path, indexes in marks.items():
        transaction.mark_rows(live(snapshot, path), rows(*indexes))
    transaction.stage(*actions)
    return transaction


def delete(
    snapshot: Snapshot, marks: dict[str, Iterable[int]], *actions: Action, **options: Any
) -> Snapshot:
    return deletion(snapshot, marks, *actions, **options).commit().unwrap().snapshot


def gone(store: Store) -> dict[str, set[int]]:
    """The deleted rows of each live file of the newest version."""
    rows = TableLog(store).snapshot().files(["path", "deletionVector"]).to_pylist()
    assert len({row["path"] for row in rows}) == len(rows), "a file is there twice"
    return {row["path"]: vector_rows(store, row["deletionVector"]) for row in rows}


def vector_rows(store: Store, vector: dict[str, Any] | None) -> set[int]:
    if vector is None:
        return set()
    assert vector["storageType"] == "u"
    data = store.get(vector_path(vector))
    assert data[0] == 1
    start, size = vector["offset"], vector["sizeInBytes"]
    body = data[start + 4 : start + 4 + size]
    assert struct.unpack_from(">i", data, start) == (size,)
    assert struct.unpack_from(">I", data, start + 4 + size) == (zlib.crc32(body),)
    assert struct.unpack_from("<i", body) == (1681511377,)
    found = set(BitMap64.deserialize(body[4:]))
    assert len(found) == vector["cardinality"]
    return found


def vector_path(vector: dict[str, Any]) -> str:
    name = vector["pathOrInlineDv"]
    prefix, text, data = name[:-20], name[-20:], b""
    for at in range(0, 20, 5):
        number = 0
        for character in text[at : at + 5]:
            number = number * 85 + _Z85.index(character)
        data += struct.pack(">I", number)
    file = f"deletion_vector_{uuid.UUID(bytes=data)}.bin"
    return f"{prefix}/{file}" if prefix else file


def actions_of(store: Store, version: int) -> list[dict[str, Any]]:
    """The lines of a commit without the first, which is the commitInfo."""
    text = store.get(f"_delta_log/{version:020}.json").decode()
    return [json.loads(line) for line in text.splitlines()][1:]


def vector_files(store: Store) -> list[str]:
    return sorted(each.path for each in store.list_all() if each.path.endswith(".bin"))
