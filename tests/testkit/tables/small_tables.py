"""Tables of a few imaginary files in a line or two. No data file exists: commits never look."""

from __future__ import annotations

import json
import uuid
from typing import Any

from lakebed.log.snapshot import Snapshot
from lakebed.spec.actions import Action, Add, DeletionVector, Metadata, Protocol, Remove
from lakebed.storage import Store
from lakebed.transaction import Operation, Retries, Transaction

CREATE = Operation("CREATE TABLE")
WRITE = Operation("WRITE", {"mode": "Append", "partitionBy": []})
IMPATIENT = Retries(storage_delay=0.0, first_delay=0.0)

PLAIN = Protocol(1, 2)


def features(*names: str, reader: tuple[str, ...] = ()) -> Protocol:
    """A protocol with lists; what readers need too is named in `reader` as well."""
    writer = ("appendOnly", "invariants", *names)
    if not reader:
        return Protocol(1, 7, None, writer)
    return Protocol(3, 7, reader, writer)


def column(name: str, kind: str = "long", *, nullable: bool = True, **metadata: Any) -> dict:
    return {"name": name, "type": kind, "nullable": nullable, "metadata": metadata}


def metadata(*columns: dict, partition_by: tuple[str, ...] = (), **configuration: str) -> Metadata:
    """Properties are given without `delta.`, dots as two underscores."""
    fields = list(columns) or [column("p"), column("id")]
    return Metadata(
        id=str(uuid.uuid4()),
        schema_string=json.dumps({"type": "struct", "fields": fields}),
        partition_columns=partition_by,
        configuration={
            f"delta.{key.replace('__', '.')}": value for key, value in configuration.items()
        },
    )


def file(
    path: str,
    *,
    p: int | None = None,
    ids: tuple[int, int] | None = None,
    rows: int | None = 10,
    data_change: bool = True,
    **more: Any,
) -> Add:
    """`p` is its partition, `ids` the bounds of its column `id`."""
    stats: dict[str, Any] = {} if rows is None else {"numRecords": rows}
    if ids is not None:
        stats |= {"minValues": {"id": ids[0]}, "maxValues": {"id": ids[1]}, "nullCount": {"id": 0}}
    return Add(
        path=path,
        partition_values={} if p is None else {"p": str(p)},
        size=1000,
        modification_time=1,
        data_change=data_change,
        stats=json.dumps(stats) if stats else None,
        **more,
    )


def removal(add: Add, *, data_change: bool = True) -> Remove:
    return Remove.of(add, timestamp=1, data_change=data_change)


def vector(name: str = "0123456789abcdefghij") -> DeletionVector:
    return DeletionVector("u", name, size_in_bytes=34, cardinality=2, offset=1)


def create(store: Store, *actions: Action, operation: Operation = CREATE) -> Snapshot:
    """A table of version 0, unpartitioned and plain unless the actions say otherwise."""
    transaction = Transaction(None, store=store, operation=operation)
    if not any(isinstance(action, Protocol) for action in actions):
        transaction.stage(PLAIN)
    if not any(isinstance(action, Metadata) for action in actions):
        transaction.stage(metadata())
    transaction.stage(*actions)
    return transaction.commit().unwrap().snapshot


def append(snapshot: Snapshot, *actions: Action, operation: Operation = WRITE) -> Snapshot:
    transaction = Transaction(snapshot, operation=operation)
    transaction.stage(*actions)
    return transaction.commit().unwrap().snapshot


def new_memory_url() -> str:
    return f"memory://{uuid.uuid4().hex}/table"
