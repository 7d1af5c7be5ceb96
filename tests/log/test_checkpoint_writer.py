from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakebed.errors import (
    InvalidArgumentError,
    LogCorruptedError,
    StorageError,
    UnsupportedFeatureError,
)
from lakebed.formats import last_checkpoint
from lakebed.log.listing.log_names import LAST_CHECKPOINT, classic_checkpoint_path
from lakebed.log.maintenance.checkpoint_writer import Kind, write_checkpoint
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import DeletionVector, DomainMetadata, Protocol, Remove, Txn
from lakebed.spec.schema import DOUBLE, LONG, STRING, StructField, StructType
from lakebed.storage import Store
from testkit.faults import Fault, FaultStore
from testkit.readers.other_readers import READERS, files_by_deltalake
from testkit.tables.log_tables import (
    DAY,
    LEGACY,
    NOW,
    SCHEMA,
    V2,
    append,
    create,
    file,
    forget_commits,
    grow,
    memory_store,
    metadata,
    names,
    parquet_rows,
    paths,
    write_commit,
)

KINDS: list[tuple[Kind, bool | int | None]] = [
    ("classic", None),
    ("v2-parquet", False),
    ("v2-parquet", True),
    ("v2-parquet", 3),
    ("v2-json", False),
    ("v2-json", True),
]
STATS = {
    "numRecords": 7,
    "minValues": {"id": 1, "name": "a", "at": "2024-01-01T00:00:00.000Z", "day": "2024-01-01"},
    "maxValues": {"id": 9, "name": "z", "at": "2024-12-31T00:00:00.000Z", "day": "2024-12-31"},
    "nullCount": {"id": 0, "name": 1, "at": 2, "day": 3},
}


def checkpoint_rows(store: Store, version: int = 0) -> list[dict[str, Any]]:
    return parquet_rows(store.get(classic_checkpoint_path(version)))


def the_add(store: Store) -> dict[str, Any]:
    (add,) = [row["add"] for row in checkpoint_rows(store) if row["add"] is not None]
    return add


# --- content ------------------------------------------------------------------------------------


def test_a_checkpoint_has_one_row_for_each_action_of_the_version(memory: Store) -> None:
    create(memory, file(0), file(1), Txn("app", 3, NOW), protocol=V2)
    removed = Remove.of(file(1), timestamp=NOW)
    snapshot = append(memory, 1, removed, DomainMetadata("mine", "{}"))
    write_checkpoint(snapshot, "classic", now_ms=NOW)
    rows = checkpoint_rows(memory, 1)
    kinds = [name for row in rows for name, value in row.items() if value is not None]
    assert sorted(kinds) == ["add", "domainMetadata", "metaData", "protocol", "remove", "txn"]
    assert len(rows) == 6


def test_checkpoint_rows_hold_every_field_of_their_actions(memory: Store) -> None:
    vector = DeletionVector("u", "ab^-aqEH.-t@S}K{vb[*k^", 40, 6, 4)
    add = file(
        "a%20b.parquet",
        tags={"INSERTION_TIME": "5", "none": None},
        deletion_vector=vector,
        base_row_id=10,
        default_row_commit_version=3,
        clustering_provider="liquid",
        stats={"numRecords": 7},
    )
    create(memory, add, Remove.of(file(1), timestamp=NOW), Txn("app", 3, 5), protocol=V2)
    write_checkpoint(TableLog(memory).snapshot(), "classic", now_ms=NOW)
    found = {name: value for row in checkpoint_rows(memory) for name, value in row.items() if value}
    parsed = found["add"].pop("stats_parsed")
    assert parsed["numRecords"] == 7
    assert found["add"] == {
        "path": "a%20b.parquet",
        "partitionValues": [],
        "size": 100,
        "modificationTime": NOW,
        "dataChange": False,
        "tags": [("INSERTION_TIME", "5"), ("none", None)],
        "deletionVector": vector.to_json(),
        "baseRowId": 10,
        "defaultRowCommitVersion": 3,
        "clusteringProvider": "liquid",
        "stats": '{"numRecords": 7}',
    }
    assert found["remove"] == {
        "path": "1.parquet",
        "deletionTimestamp": NOW,
        "dataChange": False,
        "extendedFileMetadata": True,
        "partitionValues": [],
        "size": 100,
        "deletionVector": None,
        "baseRowId": None,
        "defaultRowCommitVersion": None,
    }
    assert found["txn"] == {"appId": "app", "version": 3, "lastUpdated": 5}
    assert found["protocol"]["readerFeatures"] == list(V2.reader_features or ())
    assert found["metaData"]["format"] == {"provider": "parquet", "options": []}


def test_tombstones_leave_the_checkpoint_when_their_retention_is_over(memory: Store) -> None:
    week = 7 * DAY
    stamps = {"kept": NOW - week + 1, "expired": NOW - week, "timeless": None}
    removes = [Remove(path, True, stamp) for path, stamp in stamps.items()]
    write_checkpoint(create(memory, *removes), now_ms=NOW)
    kept = [row["remove"]["path"] for row in checkpoint_rows(memory) if row["remove"]]
    assert kept == ["kept"]


def test_the_table_says_how_long_tombstones_are_kept(memory: Store) -> None:
    remove = Remove("old", True, NOW - 20 * DAY)
    snapshot = create(memory, remove, deletedFileRetentionDuration="interval 30 days")
    write_checkpoint(snapshot, now_ms=NOW)
    assert [row["remove"]["path"] for row in checkpoint_rows(memory) if row["remove"]] == ["old"]


def test_transactions_are_kept_for_ever_unless_the_table_says_otherwise(memory: Store) -> None:
    write_checkpoint(create(memory, Txn("old", 1, 0), Txn("timeless", 1)), now_ms=NOW)
    assert set(TableLog(memory).snapshot().transactions) == {"old", "timeless"}


def test_expired_transactions_leave_the_checkpoint(memory: Store) -> None:
    txns = [Txn("kept", 1, NOW - DAY + 1), Txn("expired", 1, NOW - DAY), Txn("timeless", 1)]
    snapshot = create(memory, *txns, setTransactionRetentionDuration="interval 1 day")
    write_checkpoint(snapshot, now_ms=NOW)
    assert set(TableLog(memory).snapshot().transactions) == {"kept"}


@pytest.mark.parametrize(
    ("as_json", "as_struct"), [(True, True), (True, False), (False, True), (False, False)]
)
def test_statistics_are_written_as_the_table_asks(
    memory: Store, as_json: bool, as_struct: bool
) -> None:
    wanted = {
        "checkpoint__writeStatsAsJson": str(as_json).lower(),
        "checkpoint__writeStatsAsStruct": str(as_struct).lower(),
    }
    write_checkpoint(create(memory, file(0, stats=STATS), **wanted))
    add = the_add(memory)
    assert ("stats" in add) == as_json
    assert ("stats_parsed" in add) == as_struct


def test_statistics_as_columns_have_the_types_of_the_table(memory: Store) -> None:
    write_checkpoint(create(memory, file(0, stats=STATS)))
    kind = pq.read_schema(pa.BufferReader(memory.get(classic_checkpoint_path(0)))).field("add").type
    parsed = kind.field("stats_parsed").type
    assert parsed.field("minValues").type == pa.struct(
        [
            ("id", pa.int64()),
            ("name", pa.string()),
            ("at", pa.timestamp("us", tz="UTC")),
            ("day", pa.date32()),
        ]
    )
    found = the_add(memory)["stats_parsed"]
    assert (found["numRecords"], found["minValues"]["id"], found["nullCount"]["day"]) == (7, 1, 3)


def test_partition_values_are_also_columns_of_their_types(memory: Store) -> None:
    add = file(0, partition_values={"id": "5", "day": None})
    write_checkpoint(create(memory, add, partition_by=["id", "day"]))
    assert the_add(memory)["partitionValues_parsed"] == {"id": 5, "day": None}
    assert the_add(memory)["partitionValues"] == [("id", "5"), ("day", None)]


def test_files_with_other_partition_keys_still_find_their_values(memory: Store) -> None:
    adds = [file(0, partition_values={"id": "5", "day": "2024-01-01"})]
    adds += [file(1, partition_values={"day": "2024-01-02", "id": "6"}), file(2)]
    write_checkpoint(create(memory, *adds, partition_by=["id", "day"]))
    rows = [row["add"] for row in checkpoint_rows(memory) if row["add"]]
    found = {row["path"]: row["partitionValues_parsed"]["id"] for row in rows}
    assert found == {"0.parquet": 5, "1.parquet": 6, "2.parquet": None}


def test_columns_of_a_mapped_table_have_their_physical_names(memory: Store) -> None:
    def mapped(name: str, number: int) -> StructField:
        ids = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{name}"}
        return StructField(name, LONG, True, ids)

    schema = StructType((mapped("id", 1), mapped("part", 2)))
    protocol = Protocol(2, 5)
    stats = {"numRecords": 1, "minValues": {"col-id": 4}, "maxValues": {"col-id": 4}}
    add = file(0, partition_values={"col-part": "7"}, stats=stats)
    table = {"schema": schema, "partition_by": ["part"], "columnMapping__mode": "name"}
    write_checkpoint(create(memory, add, protocol=protocol, **table))
    found = the_add(memory)
    assert found["partitionValues_parsed"] == {"col-part": 7}
    assert found["stats_parsed"]["minValues"] == {"col-id": 4}


def test_legacy_protocols_have_no_feature_lists_and_new_ones_always_do(memory: Store) -> None:
    write_checkpoint(create(memory))
    (protocol,) = [row["protocol"] for row in checkpoint_rows(memory) if row["protocol"]]
    assert (protocol["readerFeatures"], protocol["writerFeatures"]) == (None, None)
    write_checkpoint(append(memory, 1, Protocol(3, 7, (), ())))
    (protocol,) = [row["protocol"] for row in checkpoint_rows(memory, 1) if row["protocol"]]
    assert (protocol["readerFeatures"], protocol["writerFeatures"]) == ([], [])


# --- statistics of older checkpoints ------------------------------------------------------------


def test_statistics_known_as_columns_only_become_json_again(memory: Store) -> None:
    struct_only = {"checkpoint__writeStatsAsJson": "false"}
    write_checkpoint(create(memory, file(0, stats=STATS), **struct_only))
    snapshot = append(memory, 1, metadata(), file(1, stats={"numRecords": 2}), file(2))
    write_checkpoint(snapshot)
    found = {row["add"]["path"]: row["add"] for row in checkpoint_rows(memory, 1) if row["add"]}
    assert json.loads(found["0.parquet"]["stats"]) == STATS
    assert json.loads(found["1.parquet"]["stats"]) == {"numRecords": 2}
    assert found["2.parquet"]["stats"] is None
    assert found["2.parquet"]["stats_parsed"] is None


def test_a_new_column_finds_its_statistics_in_the_json_of_older_files(memory: Store) -> None:
    few = StructType(SCHEMA.fields[:1])
    stats = {"numRecords": 1, "minValues": {"id": 1, "name": "a"}}
    write_checkpoint(create(memory, file(0, stats=stats), schema=few))
    write_checkpoint(append(memory, 1, metadata()))
    (add,) = [row["add"] for row in checkpoint_rows(memory, 1) if row["add"]]
    assert add["stats_parsed"]["minValues"]["name"] == "a"


def test_widened_types_keep_statistics_that_are_columns_only(memory: Store) -> None:
    narrow, wide = StructType((StructField("id", LONG),)), StructType((StructField("id", DOUBLE),))
    struct_only = {"checkpoint__writeStatsAsJson": "false"}
    stats = {"numRecords": 1, "minValues": {"id": 1}, "maxValues": {"id": 4}}
    write_checkpoint(create(memory, file(0, stats=stats), schema=narrow, **struct_only))
    write_checkpoint(append(memory, 1, metadata(schema=wide, **struct_only)))
    (add,) = [row["add"] for row in checkpoint_rows(memory, 1) if row["add"]]
    assert add["stats_parsed"]["maxValues"] == {"id": 4.0}


def test_a_table_without_indexed_columns_still_counts_its_records(memory: Store) -> None:
    schema = StructType((StructField("name", STRING),))
    settings = {"dataSkippingNumIndexedCols": "0"}
    write_checkpoint(create(memory, file(0, stats={"numRecords": 4}), schema=schema, **settings))
    assert the_add(memory)["stats_parsed"] == {"numRecords": 4}


# --- kinds and names ----------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "sidecars"), KINDS)
def test_every_kind_of_checkpoint_gives_back_the_version_without_its_commits(
    store: Store, kind: Kind, sidecars: bool | int | None
) -> None:
    snapshot = grow(store, 5, protocol=V2)
    ref = write_checkpoint(snapshot, kind, sidecars, now_ms=NOW)
    forget_commits(store, range(5))
    found = TableLog(store).snapshot()
    assert found.segment.checkpoint is not None
    assert found.segment.checkpoint.files[0].path == ref.files[0].path
    assert names(found) == [f"{number}.parquet" for number in range(6)]
    assert (found.protocol, found.metadata) == (snapshot.protocol, snapshot.metadata)


@pytest.mark.parametrize(("kind", "sidecars"), KINDS)
def test_listing_finds_every_kind_of_checkpoint_without_the_hint(
    store: Store, kind: Kind, sidecars: bool | int | None
) -> None:
    ref = write_checkpoint(grow(store, 2, protocol=V2), kind, sidecars, now_ms=NOW)
    forget_commits(store, range(2))
    store.delete(LAST_CHECKPOINT)
    found = TableLog(store).snapshot()
    assert found.segment.checkpoint is not None
    assert found.segment.checkpoint.files[0].path == ref.files[0].path
    assert len(names(found)) == 3


def test_v2_checkpoints_have_unique_names_and_their_metadata(memory: Store) -> None:
    snapshot = grow(memory, 3, protocol=V2)
    one = write_checkpoint(snapshot, "v2-parquet", 2, now_ms=NOW)
    other = write_checkpoint(snapshot, "v2-parquet", 2, now_ms=NOW)
    assert one.files[0].path != other.files[0].path
    rows = parquet_rows(memory.get(one.files[0].path))
    (about,) = [row["checkpointMetadata"] for row in rows if row["checkpointMetadata"]]
    sidecars = [row["sidecar"] for row in rows if row["sidecar"]]
    assert about["version"] == 3
    assert dict(about["tags"]) == {
        "numOfAddFiles": "4",
        "sidecarNumActions": "4",
        "sidecarSizeInBytes": str(sum(sidecar["sizeInBytes"] for sidecar in sidecars)),
    }
    assert len(sidecars) == 2
    for sidecar in sidecars:
        assert len(memory.get(f"_delta_log/_sidecars/{sidecar['path']}")) == sidecar["sizeInBytes"]


def test_files_are_all_in_sidecars_or_all_in_the_checkpoint(memory: Store) -> None:
    snapshot = grow(memory, 3, protocol=V2)
    with_sidecars = write_checkpoint(snapshot, "v2-parquet", True, now_ms=NOW)
    rows = parquet_rows(memory.get(with_sidecars.files[0].path))
    assert not [row for row in rows if row["add"] or row["remove"]]
    without = write_checkpoint(snapshot, "v2-parquet", False, now_ms=NOW)
    rows = parquet_rows(memory.get(without.files[0].path))
    assert len([row for row in rows if row["add"]]) == 4
    assert not [row for row in rows if row["sidecar"]]


def test_the_policy_of_the_table_chooses_the_kind(memory: Store) -> None:
    classic = write_checkpoint(create(memory, protocol=V2))
    assert classic.files[0].unique is None
    v2 = write_checkpoint(append(memory, 1, metadata(checkpointPolicy="v2")))
    assert v2.files[0].unique is not None
    downgraded = write_checkpoint(append(memory, 2, LEGACY))
    assert downgraded.files[0].unique is None


def test_large_tables_get_sidecars_by_themselves(
    memory: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakebed.log.maintenance.checkpoint_writer.FILES_PER_SIDECAR", 2)
    write_checkpoint(grow(memory, 4, protocol=V2, checkpointPolicy="v2"))
    assert len([path for path in paths(memory) if path.startswith("_sidecars/")]) == 3
    forget_commits(memory, range(4))
    assert len(names(TableLog(memory).snapshot())) == 5


def test_the_head_of_a_large_checkpoint_has_a_row_group_of_its_own(
    memory: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lakebed.formats.checkpoint_encoder.FILES_WITH_THE_REST", 3)
    write_checkpoint(grow(memory, 3))
    meta = pq.ParquetFile(pa.BufferReader(memory.get(classic_checkpoint_path(3)))).metadata
    assert [meta.row_group(number).num_rows for number in range(meta.num_row_groups)] == [2, 4]


def test_parquet_types_are_named_as_spark_expects(memory: Store) -> None:
    write_checkpoint(create(memory))
    text = str(pq.ParquetFile(pa.BufferReader(memory.get(classic_checkpoint_path(0)))).schema)
    assert "repeated group field_id=-1 key_value {" in text
    assert "repeated group field_id=-1 list {" in text
    assert "optional binary field_id=-1 element (String);" in text


def test_the_codec_is_snappy_unless_the_table_names_one(memory: Store) -> None:
    def codec(version: int) -> str:
        data = memory.get(classic_checkpoint_path(version))
        return str(
            pq.ParquetFile(pa.BufferReader(data)).metadata.row_group(0).column(0).compression
        )

    write_checkpoint(create(memory))
    write_checkpoint(append(memory, 1, metadata(parquet__compression__codec="zstd")))
    assert (codec(0), codec(1)) == ("SNAPPY", "ZSTD")


@pytest.mark.parametrize(
    "codec", ["uncompressed", "none", "snappy", "gzip", "lz4", "lz4_raw", "zstd", "ZSTD"]
)
def test_every_codec_that_a_table_may_have_makes_a_checkpoint(memory: Store, codec: str) -> None:
    create(memory, file("a"), parquet__compression__codec=codec)
    write_checkpoint(TableLog(memory).snapshot())
    forget_commits(memory, [0])
    opened = TableLog(memory).snapshot()
    assert names(opened) == ["a"]


def test_a_changed_byte_in_a_checkpoint_is_found(memory: Store) -> None:
    write_checkpoint(grow(memory, 3))
    path = classic_checkpoint_path(3)
    data = bytearray(memory.get(path))
    data[len(data) // 3] ^= 1
    memory.put(path, data)
    with pytest.raises(LogCorruptedError) as caught:
        TableLog(memory).snapshot().files()
    assert caught.value.file == path


# --- refusals -----------------------------------------------------------------------------------


def test_a_version_without_commit_gets_no_checkpoint(memory: Store) -> None:
    snapshot = create(memory)
    with pytest.raises(InvalidArgumentError, match="version 1 has no commit"):
        write_checkpoint(snapshot.after(1, [file(1)]))
    assert paths(memory) == ["00000000000000000000.json"]


def test_a_table_without_the_feature_gets_no_v2_checkpoint(memory: Store) -> None:
    with pytest.raises(InvalidArgumentError, match="does not have V2 checkpoints"):
        write_checkpoint(create(memory), "v2-parquet")


def test_a_classic_checkpoint_has_no_sidecars(memory: Store) -> None:
    with pytest.raises(InvalidArgumentError, match="no sidecars"):
        write_checkpoint(create(memory, protocol=V2), "classic", True)


def test_a_table_with_unknown_features_for_writers_gets_no_checkpoint(memory: Store) -> None:
    snapshot = create(memory, protocol=Protocol(1, 7, None, ("fromTheFuture",)))
    with pytest.raises(UnsupportedFeatureError, match="fromTheFuture"):
        write_checkpoint(snapshot)


def test_a_table_with_generated_columns_gets_its_checkpoint(memory: Store) -> None:
    generated = StructField("b", LONG, True, {"delta.generationExpression": "id + 1"})
    schema = StructType((StructField("id", LONG), generated))
    write_checkpoint(create(memory, schema=schema, protocol=Protocol(1, 4)))
    assert classic_checkpoint_path(0) in [found.path for found in memory.list_all()]


# --- races and the hint -------------------------------------------------------------------------


def test_a_classic_checkpoint_that_is_there_is_not_replaced(memory: Store) -> None:
    snapshot = grow(memory, 2)
    write_checkpoint(snapshot, now_ms=NOW)
    before = memory.get(classic_checkpoint_path(2))
    write_checkpoint(snapshot, now_ms=NOW + 100 * DAY)
    assert memory.get(classic_checkpoint_path(2)) == before


def test_the_hint_says_what_the_checkpoint_is(memory: Store) -> None:
    ref = write_checkpoint(grow(memory, 2))
    hint = last_checkpoint.decode(memory.get(LAST_CHECKPOINT), LAST_CHECKPOINT)
    assert (hint.version, hint.size, hint.num_of_add_files) == (2, 5, 3)
    assert hint.size_in_bytes == ref.files[0].size == len(memory.get(ref.files[0].path))
    assert "checksum" in json.loads(memory.get(LAST_CHECKPOINT))


def test_the_hint_of_a_v2_checkpoint_repeats_its_small_actions(memory: Store) -> None:
    ref = write_checkpoint(grow(memory, 2, protocol=V2), "v2-json", 2, now_ms=NOW)
    hint = json.loads(memory.get(LAST_CHECKPOINT))["v2Checkpoint"]
    assert hint["path"] == ref.files[0].path.removeprefix("_delta_log/")
    assert hint["sizeInBytes"] == ref.files[0].size
    kinds = [next(iter(action)) for action in hint["nonFileActions"]]
    assert kinds == ["checkpointMetadata", "protocol", "metaData"]
    assert len(hint["sidecarFiles"]) == 2


def test_a_hint_with_too_many_actions_leaves_them_out(memory: Store) -> None:
    txns = [Txn(f"app{number}", 1) for number in range(40)]
    write_checkpoint(create(memory, *txns, protocol=V2), "v2-parquet", 40)
    hint = json.loads(memory.get(LAST_CHECKPOINT))
    assert "nonFileActions" not in hint["v2Checkpoint"]
    assert "sidecarFiles" not in hint["v2Checkpoint"]
    assert TableLog(memory).snapshot().transactions.keys() == {txn.app_id for txn in txns}


def test_the_hint_never_moves_back(memory: Store) -> None:
    old = grow(memory, 2)
    write_commit(memory, 3, file(3))
    write_checkpoint(TableLog(memory).snapshot())
    before = memory.get(LAST_CHECKPOINT)
    write_checkpoint(old)
    assert memory.get(LAST_CHECKPOINT) == before
    assert classic_checkpoint_path(2) in [found.path for found in memory.list_all()]


@pytest.mark.parametrize("hint", [b"", b"{", b'{"version":99,"size":1}'])
def test_a_broken_hint_or_one_beyond_the_log_gives_way(memory: Store, hint: bytes) -> None:
    memory.put(LAST_CHECKPOINT, hint)
    write_checkpoint(grow(memory, 2))
    assert last_checkpoint.decode(memory.get(LAST_CHECKPOINT), "hint").version == 2


@pytest.mark.parametrize("kind", ["classic", "v2-parquet", "v2-json"])
def test_a_checkpoint_that_fails_at_any_call_leaves_the_table_as_it_was(kind: Kind) -> None:
    def prepared(*faults: Fault) -> tuple[FaultStore, Snapshot]:
        store = FaultStore(memory_store(), *faults)
        snapshot = grow(store, 3, protocol=V2)
        snapshot.files()
        snapshot.tombstones()
        return store, snapshot

    sidecars = None if kind == "classic" else 2
    store, snapshot = prepared()
    before = len(store.calls)
    write_checkpoint(snapshot, kind, sidecars)
    for number in range(before + 1, len(store.calls) + 1):
        for mode in ("before", "after"):
            store, snapshot = prepared(Fault(None, number, mode))
            with suppress(StorageError):
                write_checkpoint(snapshot, kind, sidecars)
            assert store.raised
            assert names(TableLog(store.inner).snapshot()) == [f"{n}.parquet" for n in range(4)]


# --- other readers ------------------------------------------------------------------------------


def real_table(store: Store, folder: Path, kind: Kind) -> Snapshot:
    """Three data files, one of them removed; the rows are 0 to 9 without 4 to 6."""
    schema = StructType((StructField("id", LONG), StructField("part", STRING)))
    adds = []
    for number, values in enumerate([range(4), range(4, 7), range(7, 10)]):
        name = f"part={number}/{number}.parquet"
        (folder / f"part={number}").mkdir(parents=True)
        data = pa.table({"id": pa.array(values, pa.int64())})
        pq.write_table(data, folder / name)
        bounds = {"id": values[0]}, {"id": values[-1]}
        stats = {"numRecords": len(values), "minValues": bounds[0], "maxValues": bounds[1]}
        adds.append(
            file(
                name,
                size=(folder / name).stat().st_size,
                stats={**stats, "nullCount": {"id": 0}},
                partition_values={"part": str(number)},
            )
        )
    v2 = ("v2Checkpoint",)
    protocol = LEGACY if kind == "classic" else Protocol(3, 7, v2, v2)
    create(store, *adds, protocol=protocol, schema=schema, partition_by=["part"])
    return append(store, 1, Remove.of(adds[1], timestamp=NOW))


@pytest.mark.parametrize(
    ("reader", "kind", "sidecars"),
    [
        pytest.param(read, kind, sidecars, id=f"{name}-{kind}-{sidecars}")
        for name, read in READERS.items()
        for kind, sidecars in KINDS
        # Polars reads no table that has the feature, whatever its checkpoints are.
        if name != "polars" or kind == "classic"
    ],
)
def test_other_readers_get_the_rows_from_the_checkpoint(
    local: Store,
    tmp_path: Path,
    reader: Callable[[Path], list[tuple[object, ...]]],
    kind: Kind,
    sidecars: bool | int | None,
) -> None:
    folder = tmp_path / "table"
    write_checkpoint(real_table(local, folder, kind), kind, sidecars, now_ms=NOW)
    forget_commits(local, [0, 1])
    expected = [
        (id, str(part)) for part, ids in {0: range(4), 2: range(7, 10)}.items() for id in ids
    ]
    assert reader(folder) == expected


@pytest.mark.parametrize(("kind", "sidecars"), KINDS)
def test_deltalake_finds_the_same_files_and_statistics_in_the_checkpoint(
    local: Store, tmp_path: Path, kind: Kind, sidecars: bool | int | None
) -> None:
    folder = tmp_path / "table"
    snapshot = real_table(local, folder, kind)
    before = files_by_deltalake(folder)
    write_checkpoint(snapshot, kind, sidecars, now_ms=NOW)
    forget_commits(local, [0, 1])
    assert files_by_deltalake(folder) == before
    assert [(row["path"], row["num_records"], row["min.id"]) for row in before] == [
        ("part=0/0.parquet", 4, 0),
        ("part=2/2.parquet", 3, 7),
    ]
