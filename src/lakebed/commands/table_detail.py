"""DESCRIBE DETAIL: one row about a table, with delta-spark's columns and types."""

from __future__ import annotations

import pyarrow as pa

from lakebed.commands.target.clustering_columns import clustering_columns
from lakebed.errors import ObjectNotFoundError
from lakebed.log.listing.log_names import commit_path
from lakebed.log.snapshot import Snapshot
from lakebed.spec.features import supported_features
from lakebed.spec.schema import render_path

_MOMENT = pa.timestamp("ms", tz="UTC")
DETAIL_SCHEMA = pa.schema(
    [
        ("format", pa.string()),
        ("id", pa.string()),
        ("name", pa.string()),
        ("description", pa.string()),
        ("location", pa.string()),
        ("createdAt", _MOMENT),
        ("lastModified", _MOMENT),
        ("partitionColumns", pa.list_(pa.string())),
        ("clusteringColumns", pa.list_(pa.string())),
        ("numFiles", pa.int64()),
        ("sizeInBytes", pa.int64()),
        ("properties", pa.map_(pa.string(), pa.string())),
        ("minReaderVersion", pa.int32()),
        ("minWriterVersion", pa.int32()),
        ("tableFeatures", pa.list_(pa.string())),
    ]
)


def table_detail(
    snapshot: Snapshot, location: str | None = None, name: str | None = None
) -> pa.Table:
    """`location` is where the table is as its user names it, else the URL of its store. `name` is
    what a catalog calls it.
    """
    metadata, protocol, totals = snapshot.metadata, snapshot.protocol, snapshot.totals
    row = {
        "format": "delta",
        "id": metadata.id,
        "name": name or metadata.name,
        "description": metadata.description,
        "location": location or snapshot.store.url,
        "createdAt": metadata.created_time,
        "lastModified": _last_modified(snapshot),
        "partitionColumns": list(metadata.partition_columns),
        "clusteringColumns": [render_path(path) for path in clustering_columns(snapshot) or ()],
        "numFiles": totals.num_files,
        "sizeInBytes": totals.size_in_bytes,
        "properties": sorted(metadata.configuration.items()),
        "minReaderVersion": protocol.min_reader_version,
        "minWriterVersion": protocol.min_writer_version,
        "tableFeatures": sorted(supported_features(protocol)),
    }
    return pa.Table.from_pylist([row], schema=DETAIL_SCHEMA)


def _last_modified(snapshot: Snapshot) -> int | None:
    """The time of the commit's file, as in delta-spark; None where only a checkpoint is left."""
    try:
        return snapshot.store.head(commit_path(snapshot.version)).modified_ms
    except ObjectNotFoundError:
        return None
