"""Ids and commit versions of rows in `_metadata` (PROTOCOL: Row Tracking, Reader Requirements).

A row has the id that its file keeps for it, or else that of the first row of the file plus its
index. The file's part of that travels to the tasks in hidden partition columns, as bitmaps of
deletion vectors do, so every file is listed apart. Spark computes the rest.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from lakebed.log.snapshot import Snapshot
from lakebed.spark.columns.projection import quote
from lakebed.spark.columns.spark_types import type_json
from lakebed.spark.internals.classic_columns import java_columns
from lakebed.spark.internals.jvm import ROW_INDEX, JavaObject, Jvm
from lakebed.spark.internals.startup.rules import ROW_IDS, compiled
from lakebed.spec.schema import LONG, StructField, StructType

OF_FILES = (
    StructField("__lakebed_base_row_id", LONG),
    StructField("__lakebed_default_row_commit_version", LONG),
)
"""The hidden partition columns."""
_IN_LOG = ("baseRowId", "defaultRowCommitVersion")


def row_id_columns(snapshot: Snapshot) -> tuple[str, str] | None:
    """The columns in which files keep ids and versions of rows; None without row tracking."""
    properties = snapshot.properties
    row_id = properties.materialized_row_id_column
    version = properties.materialized_row_commit_version_column
    if not properties.enable_row_tracking or row_id is None or version is None:
        return None
    return row_id, version


def values_of_files(
    snapshot: Snapshot, places: pa.Int64Array
) -> list[tuple[StructField, pa.Array]]:
    """The values of the hidden columns of some files."""
    files = snapshot.files(_IN_LOG)
    found = [files.column(name).take(places).combine_chunks() for name in _IN_LOG]
    return list(zip(OF_FILES, found, strict=True))


def row_ids(jvm: Jvm, snapshot: Snapshot) -> JavaObject:
    """How Spark computes them; the snapshot has row tracking."""
    names = row_id_columns(snapshot)
    assert names is not None
    base, default = (F.col(field.name) for field in OF_FILES)
    kept_id, kept_version = (F.col(quote(name)) for name in names)
    values: dict[str, Column] = {
        "row_id": F.coalesce(kept_id, base + F.col(ROW_INDEX)),
        "base_row_id": base,
        "default_row_commit_version": default,
        "row_commit_version": F.coalesce(kept_version, default),
    }
    stored = StructType(tuple(StructField(name, LONG) for name in names))
    index = StructType((StructField(ROW_INDEX, LONG),))
    return compiled(jvm.session, ROW_IDS).of(
        *(jvm.data_type(type_json(each)) for each in (index, stored, StructType(OF_FILES))),
        java_columns(values),
    )
