from __future__ import annotations

import json

import pytest

from lakebed.errors import LogCorruptedError, TableNotFoundError, VersionNotFoundError
from lakebed.formats.last_checkpoint import LastCheckpoint
from lakebed.log.listing.listing import (
    latest_segment,
    list_log,
    newer_commits,
    read_hint,
    segment_at,
)
from lakebed.log.listing.log_names import LAST_CHECKPOINT, classic_checkpoint_path, commit_path
from lakebed.log.maintenance.checkpoint_writer import Kind, write_checkpoint
from lakebed.log.table_log import TableLog
from lakebed.storage import Store
from testkit.faults import FaultStore
from testkit.tables.log_tables import (
    V2,
    append,
    create,
    file,
    forget_commits,
    grow,
    names,
    write_commit,
    write_multi_part,
)


def table(store: Store, until: int = 8, checkpoint: int | None = 5) -> None:
    grow(store, until)
    if checkpoint is not None:
        write_checkpoint(TableLog(store).snapshot(checkpoint))


def everything(version: int) -> list[str]:
    return sorted(f"{number}.parquet" for number in range(version + 1))


# --- with the hint ------------------------------------------------------------------------------


def test_the_hint_saves_the_listing_of_what_is_older(store: Store) -> None:
    table(store)
    watched = FaultStore(store)
    segment = latest_segment(watched)
    assert segment.version == 8
    assert segment.checkpoint is not None
    assert [file.version for file in segment.commits] == [6, 7, 8]
    listings = [call.path for call in watched.calls if call.method == "list_from"]
    assert listings == ([] if store.cheap_probes else ["_delta_log/00000000000000000005."])


def test_a_stale_hint_changes_no_answer(store: Store) -> None:
    table(store, checkpoint=2)
    old = store.get(LAST_CHECKPOINT)
    write_checkpoint(TableLog(store).snapshot(6))
    store.put(LAST_CHECKPOINT, old)
    assert names(TableLog(store).snapshot()) == everything(8)


def test_a_hint_to_a_checkpoint_that_was_deleted_changes_no_answer(store: Store) -> None:
    table(store, checkpoint=2)
    write_checkpoint(TableLog(store).snapshot(6))
    store.put(LAST_CHECKPOINT, LastCheckpoint(2, 1).encode())
    store.delete(classic_checkpoint_path(2))
    forget_commits(store, range(6))
    assert names(TableLog(store).snapshot()) == everything(8)


HINTS = {
    "empty": b"",
    "cut off": b'{"version":5,"si',
    "not JSON": b"\xff\xfe",
    "a list": b"[5]",
    "a number": b"5",
    "without version": b'{"size":3}',
    "of another type": b'{"version":"5","size":3}',
    "of a wrong checksum": b'{"version":5,"size":3,"checksum":"0"}',
    "with a key twice": b'{"version":5,"version":6,"size":3}',
    "beyond the end": b'{"version":99,"size":3}',
    "negative": b'{"version":-5,"size":3}',
    "huge": b'{"version":99999999999999999999,"size":3}',
    "of a version without checkpoint": b'{"version":3,"size":3}',
    "without parts": b'{"version":5,"size":3,"parts":0}',
    "with parts that are not there": b'{"version":5,"size":3,"parts":2}',
    "with too many parts": b'{"version":5,"size":3,"parts":2000000000}',
    "with parts below zero": b'{"version":5,"size":3,"parts":-1}',
    "to a V2 checkpoint that is not there": b'{"version":5,"size":3,"v2Checkpoint":{"path":"x"}}',
    "to a V2 checkpoint without a name": b'{"version":5,"size":3,"v2Checkpoint":{}}',
    "to another version's checkpoint": json.dumps(
        {"version": 4, "size": 3, "v2Checkpoint": {"path": classic_checkpoint_path(5)[11:]}}
    ).encode(),
}


@pytest.mark.parametrize("hint", HINTS.values(), ids=HINTS)
def test_a_hint_that_is_wrong_changes_no_answer(store: Store, hint: bytes) -> None:
    table(store)
    store.put(LAST_CHECKPOINT, hint)
    segment = latest_segment(store)
    assert segment.version == 8
    assert names(TableLog(store).snapshot()) == everything(8)


def test_a_hint_that_nobody_can_read_counts_as_none(memory: Store) -> None:
    assert read_hint(memory) is None
    memory.put(LAST_CHECKPOINT, HINTS["cut off"])
    assert read_hint(memory) is None


def test_a_hint_with_many_commits_after_it_leads_to_a_newer_checkpoint(local: Store) -> None:
    create(local, file(0))
    write_checkpoint(TableLog(local).snapshot())
    for version in range(1, 301):
        write_commit(local, version)
    hint = local.get(LAST_CHECKPOINT)
    write_checkpoint(TableLog(local).snapshot(290))
    local.put(LAST_CHECKPOINT, hint)
    segment = latest_segment(local)
    assert segment.version == 300
    assert segment.checkpoint is not None
    assert segment.checkpoint.version == 290


@pytest.mark.parametrize(
    ("kind", "sidecars"), [("classic", None), ("v2-parquet", 2), ("v2-json", False)]
)
def test_hints_to_every_kind_of_checkpoint_are_followed(
    store: Store, kind: Kind, sidecars: bool | int | None
) -> None:
    ref = write_checkpoint(grow(store, 4, protocol=V2), kind, sidecars)
    watched = FaultStore(store)
    segment = latest_segment(watched)
    assert segment.checkpoint is not None
    assert segment.checkpoint.files[0].path == ref.files[0].path
    assert "_delta_log/00000000000000000000." not in [call.path for call in watched.calls]


def test_a_hint_to_a_checkpoint_in_parts_is_followed(store: Store) -> None:
    write_multi_part(grow(store, 6), 3)
    store.put(LAST_CHECKPOINT, LastCheckpoint(6, 9, parts=3).encode())
    forget_commits(store, range(6))
    found = TableLog(store).snapshot()
    assert found.segment.checkpoint is not None
    assert len(found.segment.checkpoint.files) == 3
    assert names(found) == everything(6)


# --- without the hint ---------------------------------------------------------------------------


def test_without_a_hint_the_whole_log_is_listed(store: Store) -> None:
    table(store)
    store.delete(LAST_CHECKPOINT)
    segment = latest_segment(store)
    assert segment.version == 8
    assert segment.checkpoint is not None
    assert segment.checkpoint.version == 5


@pytest.mark.parametrize("parts", [2, 5])
def test_checkpoints_in_parts_are_read(store: Store, parts: int) -> None:
    write_multi_part(grow(store, 6), parts)
    forget_commits(store, range(6))
    assert names(TableLog(store).snapshot()) == everything(6)


def test_a_folder_without_log_is_no_table(store: Store) -> None:
    store.put("data.parquet", b"")
    with pytest.raises(TableNotFoundError, match="is not a Delta table") as caught:
        TableLog(store).snapshot()
    assert store.url in str(caught.value)
    assert not TableLog(store).exists()


def test_files_of_others_in_the_log_do_not_matter(store: Store) -> None:
    table(store)
    for name in ["_commits/x.json", ".part-1.tmp", "00000000000000000009.json.tmp"]:
        store.put(f"_delta_log/{name}", b"x")
    assert names(TableLog(store).snapshot()) == everything(8)


def test_time_travel_finds_the_checkpoint_before_the_version(store: Store) -> None:
    table(store)
    for version in range(9):
        segment = segment_at(store, version)
        assert (segment.checkpoint is not None) == (version >= 5)
        assert names(TableLog(store).snapshot(version)) == everything(version)
    with pytest.raises(VersionNotFoundError):
        segment_at(store, 9)


# --- holes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", [0, 3])
def test_a_missing_commit_is_an_error(store: Store, missing: int) -> None:
    table(store, checkpoint=None)
    forget_commits(store, [missing])
    with pytest.raises(LogCorruptedError, match=rf"missing commit\(s\) \[{missing}\]") as caught:
        TableLog(store).snapshot()
    assert caught.value.file is not None
    assert caught.value.file.endswith("_delta_log")
    assert caught.value.hint is not None


@pytest.mark.parametrize("missing", [6, 7])
def test_a_missing_commit_after_the_hinted_checkpoint_is_an_error(
    store: Store, missing: int
) -> None:
    table(store)
    forget_commits(store, [missing])
    with pytest.raises(LogCorruptedError, match=rf"missing commit\(s\) \[{missing}\]"):
        TableLog(store).snapshot()


def test_a_missing_commit_below_a_newer_checkpoint_does_not_matter(store: Store) -> None:
    table(store)
    hint = store.get(LAST_CHECKPOINT)
    write_checkpoint(TableLog(store).snapshot(7))
    store.put(LAST_CHECKPOINT, hint)
    forget_commits(store, [6])
    assert names(TableLog(store).snapshot()) == everything(8)


def test_a_commit_that_shows_before_the_one_below_it_is_no_hole(listed: FaultStore) -> None:
    """A listing runs for a while: it may have passed a name just before it was taken."""
    table(listed, checkpoint=None)
    body = listed.get(commit_path(7))
    listed.delete(commit_path(7))

    class Racing(FaultStore):
        def list_from(self, start: str) -> list:
            found = super().list_from(start)
            if not self.inner.exists(commit_path(7)):
                self.inner.put(commit_path(7), body)
            return found

    racing = Racing(listed)
    racing.cheap_probes = False
    assert latest_segment(racing).version == 8


# --- what came since ----------------------------------------------------------------------------


def test_newer_commits_are_those_after_a_version(store: Store) -> None:
    table(store)
    assert [file.version for file in newer_commits(store, 5)] == [6, 7, 8]
    assert newer_commits(store, 8) == []


def test_newer_commits_with_a_hole_are_an_error(store: Store) -> None:
    table(store)
    forget_commits(store, [7])
    with pytest.raises(LogCorruptedError, match=r"missing commit\(s\) \[7\]"):
        newer_commits(store, 5)


def test_a_snapshot_goes_on_to_the_newest_version(store: Store) -> None:
    snapshot = create(store, file(0))
    for version in (1, 2):
        write_commit(store, version, file(version))
    assert names(TableLog(store).newer(snapshot)) == everything(2)
    assert TableLog(store).newer(append(store, 3)).version == 3


def test_a_listing_is_in_order_and_knows_sizes_and_times(store: Store) -> None:
    table(store)
    found = list_log(store, 4)
    assert [file.path for file in found] == sorted(file.path for file in found)
    assert {file.version for file in found} == {4, 5, 6, 7, 8}
    assert all(file.size > 0 and file.modified_ms > 0 for file in found)
