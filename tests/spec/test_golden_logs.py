"""The rules of `spec` on the logs of real tables: paths, values, properties, protocols."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakebed.errors import UnsupportedFeatureError
from lakebed.spec.actions import Metadata, Protocol
from lakebed.spec.feature_table import FEATURES
from lakebed.spec.features import check_readable, check_writable
from lakebed.spec.partition_values import parse_column, serialize_column
from lakebed.spec.paths import decode_path, encode_path, is_absolute
from lakebed.spec.properties import PROPERTIES, normalized_key
from lakebed.spec.schema import DataType, StructField, parse_schema
from testkit.tables.golden_tables import GOLDEN, golden_entries, needs_golden

pytestmark = needs_golden


@dataclass
class Log:
    """The actions of a table's whole history, in no particular order."""

    root: Path
    protocols: list[Protocol] = field(default_factory=list)
    metadata: list[Metadata] = field(default_factory=list)
    files: list[dict[str, Any]] = field(default_factory=list)


def golden_tables() -> list[dict[str, Any]]:
    return [table for table in golden_entries() if table["kind"] in ("ok", "log-only")]


@dataclass
class Golden:
    """What the oracle says about a table, and its log."""

    expected: dict[str, Any]
    log: Log


@pytest.fixture(
    scope="module", params=golden_tables(), ids=lambda table: f"{table['source']}/{table['name']}"
)
def table(request: pytest.FixtureRequest) -> Golden:
    return Golden(request.param, read_log(GOLDEN / request.param["path"]))


def read_log(root: Path) -> Log:
    log = Log(root)
    for raw in actions(root / "_delta_log"):
        if raw.get("protocol"):
            log.protocols.append(Protocol.parse(raw["protocol"]))
        # Some tables were made for tests of the log alone and have no schema.
        if raw.get("metaData", {}).get("schemaString"):
            log.metadata.append(Metadata.parse(raw["metaData"]))
        log.files.extend(raw[name] for name in ("add", "remove", "cdc") if raw.get(name))
    return log


def actions(folder: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(folder.rglob("[!._]*.json")):
        yield from map(json.loads, filter(str.strip, file.read_text().splitlines()))
    for file in sorted(folder.rglob("[!._]*.parquet")):
        names = set(pq.read_schema(file).names) & {"add", "remove", "protocol", "metaData"}
        for row in pq.read_table(file, columns=sorted(names)).to_pylist(maps_as_pydicts="strict"):
            yield {name: compact(value) for name, value in row.items() if value}


def compact(value: dict[str, Any]) -> dict[str, Any]:
    return {name: part for name, part in value.items() if part is not None}


def partition_types(log: Log) -> dict[str, DataType]:
    """Physical and logical names of the partition columns of every version."""
    types: dict[str, DataType] = {}
    for metadata in log.metadata:
        schema = parse_schema(metadata.schema_string)
        for name in metadata.partition_columns:
            column: StructField = schema.field(name)
            physical = column.metadata.get("delta.columnMapping.physicalName", column.name)
            types[physical] = types[column.name] = column.data_type
    return types


def test_partition_values_parse_with_the_type_of_their_column(table: Golden) -> None:
    types = partition_types(table.log)
    texts: dict[str, list[str | None]] = {}
    for file in table.log.files:
        for name, text in (file.get("partitionValues") or {}).items():
            texts.setdefault(name, []).append(text)
    # Two tables have a made-up `cdc` action with a column that the table does not have.
    assert set(texts) - set(types) <= {"partition_foo"}
    for name in set(texts) & set(types):
        typed = parse_column(pa.array(texts[name]), types[name], column=name)
        again = parse_column(serialize_column(typed, types[name]), types[name])
        assert again.equals(typed)


def test_paths_decode_to_the_files_of_the_table(table: Golden) -> None:
    texts = {file["path"] for file in table.log.files if not is_absolute(file["path"])}
    decoded = {decode_path(text) for text in texts}
    assert all(decode_path(encode_path(path)) == path for path in decoded)
    if table.expected["kind"] == "ok":
        present = [path for path in decoded if (table.log.root / path).is_file()]
        # Files that were removed from the table may be gone.
        assert len(present) >= table.expected["snapshot"]["active_files"]


def test_properties_are_known_and_valid(table: Golden) -> None:
    for metadata in table.log.metadata:
        for key in metadata.configuration:
            if key.startswith("delta.") and not key.startswith("delta.constraints."):
                PROPERTIES[key].read(metadata.configuration)
                assert normalized_key(key.upper()) == key


def test_protocols_are_readable_where_a_reader_with_the_features_reads(table: Golden) -> None:
    for protocol in table.log.protocols:
        assert set(protocol.writer_features or ()) <= set(FEATURES)
        if "geospatial" in table.expected["requires"]:
            with pytest.raises(UnsupportedFeatureError, match="geospatial"):
                check_readable(protocol)
        else:
            check_readable(protocol)


def test_tables_are_writable_or_refused_for_a_feature_in_use(table: Golden) -> None:
    refused = {
        "checkpoint-v2-table": "identityColumns",
        "collations-preview-table": "collations-preview",
        "spark-variant-checkpoint": "variantType-preview",
        "spark-variant-stable-feature-checkpoint": "variantType",
        "table-with-geo": "geospatial",
    }
    protocol = table.log.protocols[-1]
    for metadata in table.log.metadata[-1:]:
        if table.expected["name"] in refused:
            with pytest.raises(UnsupportedFeatureError) as caught:
                check_writable(protocol, metadata)
            assert caught.value.features == (refused[table.expected["name"]],)
        else:
            check_writable(protocol, metadata)


def test_an_unknown_protocol_version_is_refused() -> None:
    log = read_log(GOLDEN / "tables/delta/deltalog-invalid-protocol-version")
    with pytest.raises(UnsupportedFeatureError, match="reader version 99"):
        check_readable(log.protocols[-1])
