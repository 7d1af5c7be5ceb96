"""`detail()` against what deltalake says about the same table, and delta-spark's columns."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable

import lakebed
from lakebed.spec.actions import DomainMetadata
from lakebed.spec.columns.column_mapping import physical_name
from testkit.tables.arbitrary_tables import commit
from testkit.tables.numbered_tables import make, numbers

COLUMNS = {
    "format": pa.string(),
    "id": pa.string(),
    "name": pa.string(),
    "description": pa.string(),
    "location": pa.string(),
    "createdAt": pa.timestamp("ms", "UTC"),
    "lastModified": pa.timestamp("ms", "UTC"),
    "partitionColumns": pa.list_(pa.string()),
    "clusteringColumns": pa.list_(pa.string()),
    "numFiles": pa.int64(),
    "sizeInBytes": pa.int64(),
    "properties": pa.map_(pa.string(), pa.string()),
    "minReaderVersion": pa.int32(),
    "minWriterVersion": pa.int32(),
    "tableFeatures": pa.list_(pa.string()),
}


def test_the_detail_of_a_table_is_what_others_say_about_it(tmp_path: Path) -> None:
    path = tmp_path / "table"
    options = {"partition_by": "day", "name": "shop", "description": "all of it"}
    make(path, properties={"delta.enableDeletionVectors": "true", "mine": "1"}, **options)
    detail = lakebed.open(path).detail()
    assert dict(zip(detail.column_names, detail.schema.types, strict=True)) == COLUMNS
    row = detail.to_pylist()[0]
    other = DeltaTable(str(path))
    metadata = other.metadata()
    sizes = pa.table(other.get_add_actions(flatten=True))["size_bytes"].to_pylist()
    assert (row["format"], row["id"], row["name"]) == ("delta", metadata.id, "shop")
    assert (row["description"], row["location"]) == ("all of it", path.as_uri())
    assert (row["numFiles"], row["sizeInBytes"]) == (len(sizes), sum(sizes))
    assert row["partitionColumns"] == metadata.partition_columns == ["day"]
    assert dict(row["properties"]) == metadata.configuration
    assert row["createdAt"] == dt.datetime.fromtimestamp(
        metadata.created_time / 1000, dt.timezone.utc
    )
    stamp = (path / "_delta_log" / f"{1:020}.json").stat().st_mtime_ns // 1_000_000
    assert row["lastModified"].timestamp() * 1000 == stamp
    protocol = other.protocol()
    assert row["minReaderVersion"] == protocol.min_reader_version
    assert row["minWriterVersion"] == protocol.min_writer_version
    assert row["tableFeatures"] == sorted(protocol.writer_features or [])
    assert row["clusteringColumns"] == []


def test_features_that_versions_imply_are_listed(tmp_path: Path) -> None:
    lakebed.write(tmp_path / "t", numbers(0, 1))
    row = lakebed.open(tmp_path / "t").detail().to_pylist()[0]
    assert row["tableFeatures"] == ["appendOnly", "invariants"]


def test_clustering_columns_have_the_names_that_users_know(tmp_path: Path) -> None:
    path = tmp_path / "t"
    data = pa.table({"id": [1], "s": [{"a.b": 1}]})
    mapped = {"delta.columnMapping.mode": "name", "delta.feature.clustering": "supported"}
    table = lakebed.write(path, data, properties=mapped)
    struct = table.schema.field("s")
    inner = struct.data_type.fields[0]  # type: ignore[attr-defined]
    names = [
        [physical_name(struct), physical_name(inner)],
        [physical_name(table.schema.field("id"))],
    ]
    text = str({"clusteringColumns": names}).replace("'", '"')
    commit(path, DomainMetadata("delta.clustering", text))
    row = lakebed.open(path).detail().to_pylist()[0]
    assert row["clusteringColumns"] == ["s.`a.b`", "id"]
