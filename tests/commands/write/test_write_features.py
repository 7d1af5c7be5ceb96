"""Writing to tables with every feature, and refusing those that ask for more than is here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lakebed
from lakebed.errors import AppendOnlyError, UnsupportedFeatureError
from lakebed.spec.actions import DomainMetadata, Protocol
from lakebed.spec.columns.column_mapping import physical_name
from lakebed.spec.features import supported_features
from lakebed.spec.schema import VARIANT, walk
from testkit.readers.log_json import data_files, log_files
from testkit.readers.other_readers import read_elsewhere
from testkit.schemas import column
from testkit.tables.arbitrary_tables import commit, make_table, rows, schema_of

DATA = pa.table({"id": [1, 2], "s": pa.array([{"x": "a"}, None])})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


def actions(path: Path, kind: str) -> list[dict[str, Any]]:
    """All actions of a kind in the log, in order."""
    lines = [
        json.loads(line)
        for name in log_files(path)
        for line in (path / "_delta_log" / name).read_text().splitlines()
    ]
    return [line[kind] for line in lines if kind in line]


# --- features that a write keeps ----------------------------------------------------------------

FEATURES = {
    "deletionVectors": {"delta.enableDeletionVectors": "true"},
    "changeDataFeed": {"delta.enableChangeDataFeed": "true"},
    "rowTracking": {"delta.enableRowTracking": "true"},
    "inCommitTimestamp": {"delta.enableInCommitTimestamps": "true"},
    "v2Checkpoint": {"delta.checkpointPolicy": "v2"},
    "typeWidening": {"delta.enableTypeWidening": "true"},
    "columnMapping": {"delta.columnMapping.mode": "id"},
    "checkConstraints": {"delta.constraints.c": "id > 0"},
    "domainMetadata": {"delta.feature.domainMetadata": "supported"},
    "vacuumProtocolCheck": {"delta.feature.vacuumProtocolCheck": "supported"},
    "clustering": {"delta.feature.clustering": "supported"},
    "appendOnly": {"delta.appendOnly": "true"},
}
_DELTALAKE_LACKS = ("typeWidening", "vacuumProtocolCheck")


@pytest.mark.parametrize("feature", FEATURES)
def test_tables_with_a_feature_are_created_appended_to_and_overwritten(
    path: Path, feature: str
) -> None:
    created = lakebed.write(path, DATA, properties=FEATURES[feature])
    assert feature in supported_features(created.protocol)
    lakebed.write(path, DATA)
    lakebed.open(path).checkpoint()
    expected = pa.concat_tables([DATA, DATA])
    assert rows(lakebed.open(path)) == rows(expected)
    if feature != "appendOnly":
        expected = DATA
        lakebed.write(path, DATA, mode="overwrite")
        assert rows(lakebed.open(path)) == rows(expected)
    if feature not in _DELTALAKE_LACKS:
        assert rows(read_elsewhere(path)) == rows(expected)


def test_an_append_only_table_is_not_overwritten_nor_its_folder_filled(path: Path) -> None:
    lakebed.write(path, DATA, properties={"delta.appendOnly": "true"})
    with pytest.raises(AppendOnlyError, match="append-only"):
        lakebed.write(path, DATA, mode="overwrite")
    assert (len(log_files(path)), len(data_files(path))) == (1, 1)


def test_rows_of_a_table_with_row_tracking_get_ids_in_the_log(path: Path) -> None:
    lakebed.write(path, DATA, properties={"delta.enableRowTracking": "true"})
    lakebed.write(path, DATA)
    adds = actions(path, "add")
    assert [(add["baseRowId"], add["defaultRowCommitVersion"]) for add in adds] == [(0, 0), (2, 1)]
    marks = [json.loads(domain["configuration"]) for domain in actions(path, "domainMetadata")]
    assert [mark["rowIdHighWaterMark"] for mark in marks] == [1, 3]
    properties = lakebed.open(path).properties
    names = {
        properties["delta.rowTracking.materializedRowIdColumnName"],
        properties["delta.rowTracking.materializedRowCommitVersionColumnName"],
    }
    assert len(names) == 2


def test_commits_of_a_table_with_in_commit_timestamps_carry_them(path: Path) -> None:
    lakebed.write(path, DATA, properties={"delta.enableInCommitTimestamps": "true"})
    lakebed.write(path, DATA)
    stamps = [info["inCommitTimestamp"] for info in actions(path, "commitInfo")]
    assert stamps[0] < stamps[1]
    assert int(lakebed.open(path).timestamp.timestamp() * 1000) == stamps[1]


def test_a_write_leaves_domains_alone(path: Path) -> None:
    lakebed.write(path, DATA, properties={"delta.feature.domainMetadata": "supported"})
    commit(path, DomainMetadata("app.setting", '{"a": 1}', removed=False))
    lakebed.write(path, DATA, mode="overwrite")
    assert lakebed.open(path).snapshot.domains["app.setting"].configuration == '{"a": 1}'


def test_no_change_files_are_needed_for_appends_and_overwrites(path: Path) -> None:
    lakebed.write(path, DATA, properties={"delta.enableChangeDataFeed": "true"})
    lakebed.write(path, DATA, mode="overwrite")
    assert actions(path, "cdc") == []


# --- column mapping -----------------------------------------------------------------------------

ODD = pa.table(
    {
        "a b,;{}()=": [1, 2],
        "dotted.name": ["x", None],
        "`tick`": [{"in ner": 1, "l": [{"d.e": "y"}]}, None],
        "map": pa.array(
            [[("k", {"v v": 1})], []], pa.map_(pa.string(), pa.struct([("v v", pa.int64())]))
        ),
        "ünïcode ✓": [True, False],
    }
)


@pytest.mark.parametrize("mode", ["name", "id"])
@pytest.mark.parametrize("partition", [None, "dotted.name"])
def test_mapped_columns_have_any_name(path: Path, mode: str, partition: str | None) -> None:
    properties = {"delta.columnMapping.mode": mode}
    lakebed.write(path, ODD, properties=properties, partition_by=partition)
    lakebed.write(path, ODD)
    expected = pa.concat_tables([ODD, ODD])
    assert rows(lakebed.open(path)) == rows(read_elsewhere(path)) == rows(expected)
    assert lakebed.open(path).to_arrow(where="`dotted.name` = 'x'").num_rows == 2


@pytest.mark.parametrize("mode", ["name", "id"])
def test_files_of_mapped_tables_have_physical_names_and_ids_at_every_depth(
    path: Path, mode: str
) -> None:
    lakebed.write(path, ODD, properties={"delta.columnMapping.mode": mode})
    fields = dict(walk(schema_of(path)))
    found = pq.ParquetFile(path / data_files(path)[0]).schema_arrow
    top = [field for where, field in fields.items() if len(where) == 1]
    assert found.names == [physical_name(field) for field in top]
    inner = found.field(2).type
    names = [physical_name(fields["`tick`", name]) for name in ("in ner", "l")]
    assert [inner.field(i).name for i in range(2)] == names
    numbers = [int(field.metadata[b"PARQUET:field_id"]) for field in found]
    assert numbers == [field.metadata["delta.columnMapping.id"] for field in top]


def test_columns_added_to_a_mapped_table_get_new_ids(path: Path) -> None:
    lakebed.write(path, DATA, properties={"delta.columnMapping.mode": "name"})
    more = pa.table({"id": [3], "s": [{"x": "c", "y y": 1}], "new col": [2.5]})
    lakebed.write(path, more, merge_schema=True)
    ids = [field.metadata["delta.columnMapping.id"] for _, field in walk(schema_of(path))]
    assert sorted(ids) == [1, 2, 3, 4, 5]
    assert lakebed.open(path).properties["delta.columnMapping.maxColumnId"] == "5"
    assert rows(lakebed.open(path)) == rows(read_elsewhere(path))


# --- variants -----------------------------------------------------------------------------------

VARIANTS = pa.array(
    [{"metadata": b"\x01\x00\x00", "value": b"\x0c\x05"}, None],
    pa.struct([("metadata", pa.binary()), ("value", pa.binary())]),
)


def test_variants_are_written_and_read_as_metadata_and_value(path: Path) -> None:
    make_table(path, column("id"), column("v", VARIANT))
    lakebed.write(path, pa.table({"id": [1, 2], "v": VARIANTS}))
    found = lakebed.open(path).to_arrow()
    assert found["v"].to_pylist() == VARIANTS.to_pylist()
    stats = json.loads(actions(path, "add")[0]["stats"])
    assert stats["nullCount"] == {"id": 0, "v": 1}
    assert "v" not in stats["minValues"]


def test_a_struct_that_is_no_variant_is_refused(path: Path) -> None:
    make_table(path, column("v", VARIANT))
    with pytest.raises(lakebed.LakebedError, match="v: the table has variant"):
        lakebed.write(path, pa.table({"v": [{"metadata": b"x"}]}))


# --- refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "properties",
    [
        {"delta.columnMapping.mode": "name", "delta.enableIcebergCompatV3": "true"},
        {"delta.enableVariantShredding": "true"},
        {"delta.feature.catalogManaged": "supported"},
    ],
    ids=str,
)
def test_a_table_with_features_that_are_not_here_is_not_created(
    path: Path, properties: dict[str, str]
) -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"cannot (read|write)"):
        lakebed.write(path, DATA, properties=properties)
    assert not path.exists()


@pytest.mark.parametrize("feature", ["icebergCompatV3", "someNewFeature"])
def test_a_table_with_features_that_are_not_here_is_not_written(path: Path, feature: str) -> None:
    lakebed.write(path, DATA)
    log = path / "_delta_log" / f"{1:020d}.json"
    protocol = Protocol(1, 7, None, (feature, "columnMapping"))
    lines = [{"protocol": protocol.to_json()}]
    if feature == "icebergCompatV3":
        metadata = actions(path, "metaData")[0]
        metadata["configuration"] = {"delta.enableIcebergCompatV3": "true"}
        lines.append({"metaData": metadata})
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(UnsupportedFeatureError, match=feature):
        lakebed.write(path, DATA)
    assert (len(log_files(path)), len(data_files(path))) == (2, 1)
    assert rows(lakebed.open(path)) == rows(DATA)
