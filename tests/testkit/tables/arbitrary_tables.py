"""Tables that `lakebed.write` alone cannot make: any schema, any file, any action."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import lakebed
from lakebed.data_files.file_layout import HANDLED_FEATURES
from lakebed.spec.actions import Action, Add, Metadata
from lakebed.spec.columns.column_mapping import assign_column_mapping
from lakebed.spec.features import protocol_for, without_protocol_properties
from lakebed.spec.schema import (
    StructField,
    StructType,
    parse_schema,
    schema_to_json,
)
from lakebed.storage import open_store
from lakebed.transaction import Operation, Transaction


def make_table(
    path: Path,
    *fields: StructField,
    partition_by: tuple[str, ...] = (),
    properties: Mapping[str, str] | None = None,
) -> lakebed.Table:
    """An empty table with these very columns, metadata and all."""
    schema = StructType(fields)
    configuration = dict(properties or {})
    protocol = protocol_for(schema, partition_by, configuration)
    schema, configuration = assign_column_mapping(
        schema, without_protocol_properties(configuration)
    )
    metadata = Metadata(
        id=str(uuid.uuid4()),
        schema_string=schema_to_json(schema),
        partition_columns=partition_by,
        configuration=configuration,
    )
    transaction = Transaction(
        None,
        store=open_store(str(path)),
        operation=Operation("CREATE TABLE"),
        handles=HANDLED_FEATURES,
    )
    transaction.stage(protocol, metadata)
    transaction.commit().unwrap()
    return lakebed.open(path)


def commit(path: Path | str, *actions: Action, handles: Any = HANDLED_FEATURES) -> lakebed.Table:
    snapshot = lakebed.open(path).snapshot
    transaction = Transaction(snapshot, operation=Operation("WRITE"), handles=handles)
    transaction.stage(*actions)
    transaction.commit().unwrap()
    return lakebed.open(path)


def add_file(
    path: Path,
    data: pa.Table,
    name: str = "by-hand.parquet",
    *,
    partition_values: Mapping[str, str | None] | None = None,
    logged_as: str | None = None,
    parquet: Mapping[str, Any] | None = None,
    copied: Path | None = None,
    **action: Any,
) -> Add:
    """Write a data file and commit it; `logged_as` is its path in the log.

    `copied` is a file to take instead, that has as many rows.
    """
    file = path / name
    file.parent.mkdir(parents=True, exist_ok=True)
    if copied is None:
        pq.write_table(data, file, **(parquet or {}))
    else:
        shutil.copy(copied, file)
    add = Add(
        path=logged_as or name,
        partition_values=partition_values or {},
        size=file.stat().st_size,
        modification_time=1,
        data_change=True,
        stats=json.dumps({"numRecords": data.num_rows}),
        **action,
    )
    commit(path, add)
    return add


def schema_of(path: Path) -> StructType:
    return parse_schema(lakebed.open(path).snapshot.metadata.schema_string)


def rows(table: Any) -> list[str]:
    """The rows in an order of their own, to be compared."""
    table = table.to_arrow() if hasattr(table, "to_arrow") else table
    return sorted(repr(sorted(row.items())) for row in table.to_pylist())
