"""SHOW TABLE EXTENDED: what Spark's catalog says, with the kind and columns of now."""

from __future__ import annotations

import re

import pyarrow as pa
from pyspark.sql import DataFrame, Row

from lakebed.errors import TableNotFoundError
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spark.catalog_entry import TableEntry
from lakebed.spark.location import open_location
from lakebed.spark.projection import spark_type
from lakebed.spark.session_catalog import find
from lakebed.spec.column_mapping import strip
from lakebed.sql.context import SqlContext
from lakebed.sql.grammar.describe import ShowTablesExtended

_SCHEMA = "\nSchema: root"
_PARTITIONS = re.compile(r"\nPartition Columns: [^\n]*")
_TYPE = re.compile(r"^Type: .*$", re.MULTILINE)


def run_show_extended(context: SqlContext, statement: ShowTablesExtended) -> DataFrame | None:
    """None if there is no Delta table among them: Spark's answer is right."""
    del statement
    listed = context.session.sql(context.sql).collect()
    shown = [_information(context, row) for row in listed]
    if all(text is None for text in shown):
        return None
    return context.frame(
        pa.table(
            {
                "namespace": [row["namespace"] for row in listed],
                "tableName": [row["tableName"] for row in listed],
                "isTemporary": [row["isTemporary"] for row in listed],
                "information": [
                    row["information"] if text is None else text
                    for row, text in zip(listed, shown, strict=True)
                ],
            }
        )
    )


def _information(context: SqlContext, row: Row) -> str | None:
    if row["isTemporary"] or "\nprovider: delta\n" not in row["information"].lower():
        return None
    entry = find(context.session, (row["namespace"], row["tableName"]))
    if entry is None or not entry.is_delta:
        return None
    store, _ = open_location(context.session, entry.location or "", {})
    try:
        return _told(row["information"], entry, TableLog(store).snapshot())
    except TableNotFoundError:
        # Its files are gone: the catalog knows no better.
        return None


def _told(information: str, entry: TableEntry, snapshot: Snapshot) -> str:
    head = information.rpartition(_SCHEMA)[0] or information.rstrip("\n")
    head = _PARTITIONS.sub("", _TYPE.sub(f"Type: {entry.kind}", head, count=1))
    if snapshot.partition_columns:
        names = ", ".join(f"`{name}`" for name in snapshot.partition_columns)
        head += f"\nPartition Columns: [{names}]"
    tree = spark_type(strip(snapshot.schema)).treeString()
    return f"{head}\nSchema: {tree}\n"
