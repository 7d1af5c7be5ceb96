from __future__ import annotations

import pytest

from lakebed.errors import LogCorruptedError, UnsupportedFeatureError
from lakebed.log.listing.log_names import checksum_path, classic_checkpoint_path, commit_path
from lakebed.log.maintenance.checkpoint_writer import Kind, write_checkpoint
from lakebed.log.maintenance.checksum_writer import write_checksum
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import (
    DeletionVector,
    DomainMetadata,
    Metadata,
    Protocol,
    Remove,
    Txn,
)
from lakebed.spec.schema import STRING, StructField, StructType
from lakebed.storage import Store
from testkit.faults import FaultStore
from testkit.tables.log_tables import (
    LEGACY,
    NOW,
    V2,
    append,
    create,
    file,
    forget_commits,
    grow,
    memory_store,
    metadata,
    names,
    write_commit,
    write_multi_part,
)


def test_a_snapshot_says_what_the_table_is(memory: Store) -> None:
    snapshot = create(
        memory, file(0), Txn("a", 1), partition_by=["day"], appendOnly="true", protocol=V2
    )
    assert snapshot.version == 0
    assert snapshot.protocol == V2
    assert snapshot.schema.names == ("id", "name", "at", "day")
    assert snapshot.partition_columns == ("day",)
    assert snapshot.properties.append_only
    assert snapshot.transactions == {"a": Txn("a", 1)}
    assert snapshot.commit_info is not None
    assert snapshot.commit_info.operation == "TEST"


@pytest.mark.parametrize("missing", ["protocol", "metaData"])
def test_a_log_without_protocol_or_metadata_is_an_error(memory: Store, missing: str) -> None:
    present = metadata() if missing == "protocol" else LEGACY
    write_commit(memory, 0, present, file(0))
    with pytest.raises(LogCorruptedError, match=f"no {missing} action"):
        _ = TableLog(memory).snapshot().metadata


def test_a_table_that_needs_an_unknown_feature_is_refused_when_it_is_opened(memory: Store) -> None:
    write_commit(memory, 0, Protocol(3, 7, ("fromTheFuture",), ("fromTheFuture",)), metadata())
    with pytest.raises(UnsupportedFeatureError, match="fromTheFuture"):
        TableLog(memory).snapshot()


def test_each_version_keeps_its_own_schema_and_protocol(memory: Store) -> None:
    create(memory)
    write_commit(memory, 1, Metadata("second", '{"type":"struct","fields":[]}'), Protocol(1, 4))
    log = TableLog(memory)
    assert (log.snapshot(0).metadata.id, log.snapshot(0).protocol) == ("f0e1d2c3", LEGACY)
    assert (log.snapshot(1).metadata.id, log.snapshot(1).protocol) == ("second", Protocol(1, 4))


def test_commit_info_is_that_of_the_version_even_behind_a_checkpoint(memory: Store) -> None:
    write_checkpoint(grow(memory, 3))
    found = TableLog(memory).snapshot().commit_info
    assert found is not None
    assert found.txn_id == "t3"
    forget_commits(memory, [3])
    memory.delete("_delta_log/_last_checkpoint")
    assert TableLog(memory).snapshot().commit_info is None


# --- what is read -------------------------------------------------------------------------------


def test_the_head_of_a_checkpoint_comes_without_its_files(memory: Store) -> None:
    write_checkpoint(grow(memory, 3, protocol=V2), "v2-json", 2, now_ms=NOW)
    store = FaultStore(memory)
    snapshot = TableLog(store).snapshot()
    assert snapshot.metadata.id == "f0e1d2c3"
    assert not [call for call in store.calls if "_sidecars" in call.path]
    assert len(names(snapshot)) == 4
    assert [call for call in store.calls if "_sidecars" in call.path]


def test_columns_are_read_once(memory: Store) -> None:
    write_checkpoint(grow(memory, 3))
    store = FaultStore(memory)
    snapshot = TableLog(store).snapshot()
    first = snapshot.files()
    calls = len(store.calls)
    assert snapshot.files(["path", "size"]).equals(first.select(["path", "size"]))
    assert len(store.calls) == calls


@pytest.mark.parametrize("kind", ["classic", "v2-parquet", "v2-json"])
def test_rows_keep_their_order_from_call_to_call(memory: Store, kind: Kind) -> None:
    sidecars = None if kind == "classic" else 3
    write_checkpoint(grow(memory, 8, protocol=V2), kind, sidecars, now_ms=NOW)
    snapshot = append(memory, 9, file(9, size=5), Remove.of(file(2), timestamp=NOW))
    paths = snapshot.files(["path"]).column("path").to_pylist()
    assert snapshot.files(["size", "path"]).column("path").to_pylist() == paths
    assert len(paths) == 9


def test_statistics_come_as_columns_where_there_are_some_and_as_text_for_the_rest(
    memory: Store,
) -> None:
    create(memory, file(0, stats={"numRecords": 5}))
    plain = TableLog(memory).snapshot().files_with_stats()
    assert "stats_parsed" not in plain.column_names
    write_checkpoint(TableLog(memory).snapshot())
    snapshot = append(memory, 1, file(1, stats={"numRecords": 6}))
    rows = {row["path"]: row for row in snapshot.files_with_stats().to_pylist()}
    assert rows["0.parquet"]["stats_parsed"]["numRecords"] == 5
    assert rows["1.parquet"]["stats_parsed"] is None
    assert rows["1.parquet"]["stats"] == '{"numRecords": 6}'
    assert rows["0.parquet"]["stats"] is None


def test_statistics_come_as_text_for_files_of_the_checkpoint_that_have_no_columns(
    memory: Store,
) -> None:
    create(memory, file(0, stats={"numRecords": 5}), file(1))
    write_checkpoint(TableLog(memory).snapshot())
    snapshot = append(
        memory, 1, file(2, stats={"numRecords": 6}), Remove.of(file(0), timestamp=NOW)
    )
    rows = {row["path"]: row for row in snapshot.files_with_stats().to_pylist()}
    assert rows["1.parquet"]["stats"] is None
    assert rows["1.parquet"]["stats_parsed"] is None
    assert rows["2.parquet"]["stats"] == '{"numRecords": 6}'
    assert rows.keys() == {"1.parquet", "2.parquet"}


# --- checkpoints of others ----------------------------------------------------------------------


def test_a_checkpoint_in_parts_with_a_tail(store: Store) -> None:
    write_multi_part(grow(store, 6), 3)
    forget_commits(store, range(6))
    snapshot = append(store, 7, Remove.of(file(3), timestamp=NOW), file(7))
    assert names(snapshot) == [f"{number}.parquet" for number in (0, 1, 2, 4, 5, 6, 7)]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (b"lakebed.crc32", "its bytes do not match"),
        (b"another.field", "says that it is of version 3"),
    ],
    ids=["with a digest", "of another writer"],
)
def test_a_checkpoint_of_another_version_under_this_name_is_an_error(
    key: bytes, message: str, memory: Store
) -> None:
    ref = write_checkpoint(grow(memory, 3, protocol=V2), "v2-parquet", False, now_ms=NOW)
    write_commit(memory, 4, file(4))
    data = memory.get(ref.files[0].path).replace(b"lakebed.crc32", key)
    memory.put(classic_checkpoint_path(4), data)
    memory.delete("_delta_log/_last_checkpoint")
    with pytest.raises(LogCorruptedError, match=rf"4\.checkpoint\.parquet: {message}"):
        TableLog(memory).snapshot()


def test_a_missing_sidecar_is_an_error_that_names_it(memory: Store) -> None:
    write_checkpoint(grow(memory, 3, protocol=V2), "v2-parquet", 1, now_ms=NOW)
    (sidecar,) = memory.list_from("_delta_log/_sidecars/")
    memory.delete(sidecar.path)
    with pytest.raises(LogCorruptedError, match="is missing") as caught:
        TableLog(memory).snapshot().files()
    assert caught.value.file == sidecar.path


# --- going on -----------------------------------------------------------------------------------


def test_the_next_version_needs_no_storage(memory: Store) -> None:
    store = FaultStore(memory)
    write_checksum(grow(memory, 3))
    snapshot = TableLog(store).snapshot()
    calls = len(store.calls)
    after = snapshot.after(4, [file(4), DomainMetadata("d", "x")], fresh=True)
    assert (after.version, after.domains["d"].configuration) == (4, "x")
    assert after.totals_if_known is not None
    assert after.totals_if_known.num_files == 5
    assert len(store.calls) == calls


def test_totals_are_not_carried_on_where_files_may_be_old(memory: Store) -> None:
    snapshot = grow(memory, 3)
    assert snapshot.totals.num_files == 4
    after = snapshot.after(4, [file(3)])
    assert after.totals_if_known is None
    assert after.totals.num_files == 4


def test_a_remove_without_its_size_ends_the_counting(memory: Store) -> None:
    snapshot = grow(memory, 3)
    assert snapshot.totals.num_files == 4
    after = snapshot.after(4, [Remove("1.parquet", True, NOW)], fresh=True)
    assert after.totals_if_known is None
    assert after.totals.num_files == 3


def test_totals_are_cheap_while_a_few_commits_hold_all_files(memory: Store) -> None:
    snapshot = grow(memory, 3)
    assert snapshot.totals_if_known is None
    assert snapshot.totals_if_cheap is not None
    write_checkpoint(snapshot)
    assert TableLog(memory).snapshot().totals_if_cheap is None


def test_a_created_table_equals_the_one_that_is_read(memory: Store) -> None:
    actions = [V2, metadata(), file(0), Txn("a", 1), DomainMetadata("d", "{}")]
    write_commit(memory, 0, *actions)
    made, read = Snapshot.created(memory, actions), TableLog(memory).snapshot()
    assert (made.version, made.protocol, made.metadata) == (0, read.protocol, read.metadata)
    assert (made.transactions, made.domains) == (read.transactions, read.domains)
    assert made.files().equals(read.files())
    assert made.totals == read.totals


# --- checksums ----------------------------------------------------------------------------------


def test_files_that_do_not_agree_with_the_checksum_are_an_error(memory: Store) -> None:
    """Somebody replaced a commit after it was written, whole and well-formed."""
    write_checksum(grow(memory, 3))
    memory.delete(commit_path(2))
    write_commit(memory, 2, file(2), file(22))
    with pytest.raises(LogCorruptedError, match="has 5 files, but its checksum file says 4"):
        TableLog(memory).snapshot().files()


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"numFiles":1}'])
def test_a_damaged_checksum_file_counts_as_absent(memory: Store, body: bytes) -> None:
    grow(memory, 3)
    memory.put(checksum_path(3), body)
    snapshot = TableLog(memory).snapshot()
    assert snapshot.read_checksum() is None
    assert len(names(snapshot)) == 4


def test_a_checksum_of_another_writer_is_read_but_not_relied_on(memory: Store) -> None:
    grow(memory, 3)
    write_checksum(TableLog(memory).snapshot())
    sealed = memory.get(checksum_path(3))
    memory.put(checksum_path(3), sealed.replace(b'"lakebedCrc32":"', b'"foreignCrc32":"'))
    snapshot = TableLog(memory).snapshot()
    found = snapshot.read_checksum()
    assert found is not None
    assert not found.has_digest
    assert snapshot.totals_if_known is None


def test_totals_count_vectors_and_sizes() -> None:
    store = memory_store()
    vector = DeletionVector("u", "ab^-aqEH.-t@S}K{vb[*k^", 40, 12)
    adds = [file(0, size=0), file(1, size=8 * 1024), file(2, size=2**40, deletion_vector=vector)]
    totals = create(store, *adds, protocol=V2).totals
    assert (totals.num_files, totals.size_in_bytes) == (3, 2**40 + 8192)
    assert (totals.num_deletion_vectors, totals.num_deleted_records) == (1, 12)
    assert (totals.file_counts[0], totals.file_counts[1], totals.file_counts[-1]) == (1, 1, 1)
    assert totals.deleted_counts[:3] == (2, 0, 1)


# --- type widening -----------------------------------------------------------------------------


def _widened(store: Store, changes: list[dict[str, str]], *features: str) -> Snapshot:
    column = StructField("n", STRING, metadata={"delta.typeChanges": changes})
    protocol = Protocol(3, 7, features, features)
    return create(store, protocol=protocol, schema=StructType((column,)))


@pytest.mark.parametrize("feature", ["typeWidening", "typeWidening-preview"])
def test_a_recorded_type_change_that_is_no_widening_is_refused(memory: Store, feature: str) -> None:
    snapshot = _widened(memory, [{"fromType": "integer", "toType": "string"}], feature)
    with pytest.raises(UnsupportedFeatureError, match="from integer to string"):
        _ = snapshot.schema
    with pytest.raises(UnsupportedFeatureError):
        _ = TableLog(memory).snapshot().schema


def test_recorded_type_changes_mean_nothing_without_the_feature(memory: Store) -> None:
    snapshot = _widened(memory, [{"fromType": "integer", "toType": "string"}])
    assert snapshot.schema.names == ("n",)


def test_a_recorded_widening_is_read(memory: Store) -> None:
    snapshot = _widened(memory, [{"fromType": "char(3)", "toType": "string"}], "typeWidening")
    assert snapshot.schema.names == ("n",)
