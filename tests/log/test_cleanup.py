from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.errors import LakebedError, LogCorruptedError, VersionNotFoundError
from lakebed.log.listing.listing import list_log
from lakebed.log.listing.log_names import (
    SIDECAR_FOLDER,
    LogFile,
    checksum_path,
    classic_checkpoint_path,
    commit_path,
    compaction_path,
    parse_name,
)
from lakebed.log.listing.segment import build_segment
from lakebed.log.maintenance.checkpoint_writer import Kind, write_checkpoint
from lakebed.log.maintenance.cleanup import clean_up, cut_off
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import CommitInfo, Protocol
from lakebed.storage import Store
from testkit.faults import Fault
from testkit.tables.compactions import compact
from testkit.tables.log_tables import (
    DAY,
    V2,
    create,
    file,
    grow,
    memory_store,
    metadata,
    names,
    paths,
    write_commit,
)
from testkit.timed_store import TimedStore

# A midnight.
MIDNIGHT = 20_000 * DAY
SOME_VERSIONS = (0, 3, 4, 5, 6, 9, 10, 19, 20)


def daily(version: int) -> int:
    """Version N was made at noon of day N."""
    return MIDNIGHT + version * DAY + DAY // 2


def table(
    until: int = 20,
    checkpoints: Sequence[int] = (5, 10, 15, 20),
    kind: Kind = "classic",
    clock: Callable[[int], int] = daily,
    **settings: str,
) -> TimedStore:
    """Versions 0 to `until`, one file each, kept for 10 days."""
    store = TimedStore(memory_store(), clock)
    grow(store, until, protocol=V2, logRetentionDuration="interval 10 days", **settings)
    for version in checkpoints:
        sidecars = None if kind == "classic" else True
        write_checkpoint(TableLog(store).snapshot(version), kind, sidecars)
    return store


def clean(store: Store, now_ms: int = daily(20)) -> list[str]:
    return clean_up(store, TableLog(store).snapshot(), now_ms)


def expected(version: int) -> list[str]:
    return sorted(f"{number}.parquet" for number in range(version + 1))


def left(store: Store) -> list[int]:
    return [file.version for file in list_log(store) if file.kind == "commit"]


# --- what goes ----------------------------------------------------------------------------------


def test_everything_before_the_newest_checkpoint_that_has_expired_goes() -> None:
    """Kept from day 10 on; midnight of that day falls after version 9, so checkpoint 5 counts."""
    store = table()
    for version in (3, 4, 5):
        store.put(checksum_path(version), b"{}")
    deleted = clean(store)
    assert left(store) == list(range(5, 21))
    assert deleted == [
        *(commit_path(version) for version in range(3)),
        checksum_path(3),
        commit_path(3),
        checksum_path(4),
        commit_path(4),
    ]
    assert store.exists(checksum_path(5))


def test_every_kept_version_reads_as_before_and_older_ones_say_that_they_are_gone() -> None:
    store = table()
    clean(store)
    for version in range(5, 21):
        assert names(TableLog(store).snapshot(version)) == expected(version)
    for version in range(5):
        with pytest.raises(VersionNotFoundError, match="can no longer be rebuilt"):
            TableLog(store).snapshot(version)


def test_a_commit_at_midnight_is_old_enough() -> None:
    """The cut-off commit may be exactly at midnight: then its own checkpoint is the boundary."""
    at_midnight = table(clock=lambda version: MIDNIGHT + version * DAY)
    assert clean(at_midnight, MIDNIGHT + 20 * DAY)
    assert left(at_midnight) == list(range(10, 21))
    just_after = table(clock=lambda version: MIDNIGHT + version * DAY + 1)
    assert clean(just_after, MIDNIGHT + 20 * DAY + 1)
    assert left(just_after) == list(range(5, 21))


def test_the_cut_off_is_a_midnight_so_a_day_cleans_up_once() -> None:
    store = table()
    snapshot = TableLog(store).snapshot()
    assert cut_off(snapshot, daily(20)) == MIDNIGHT + 10 * DAY
    assert cut_off(snapshot, daily(20) + DAY // 2 - 1) == MIDNIGHT + 10 * DAY
    assert clean(store)
    assert clean(store, daily(20) + DAY // 2 - 1) == []


def test_without_an_expired_checkpoint_nothing_goes() -> None:
    assert clean(table(checkpoints=())) == []
    assert clean(table(checkpoints=(12, 20))) == []


def test_when_all_has_expired_the_newest_checkpoint_stays() -> None:
    store = table()
    clean(store, daily(500))
    assert left(store) == [20]
    assert names(TableLog(store).snapshot()) == expected(20)


def test_the_table_can_turn_the_clean_up_off() -> None:
    store = table(enableExpiredLogCleanup="false")
    assert clean(store, daily(500)) == []
    assert left(store) == list(range(21))


def test_compactions_that_begin_before_the_boundary_or_at_it_go() -> None:
    store = table()
    for start, end in [(2, 4), (5, 7), (6, 8), (4, 12)]:
        compact(store, start, end)
    clean(store)
    compactions = [file.path for file in list_log(store) if file.kind == "compaction"]
    assert compactions == [compaction_path(6, 8)]
    assert names(TableLog(store).snapshot(9)) == expected(9)


def test_parts_of_an_incomplete_checkpoint_are_no_boundary() -> None:
    store = table(checkpoints=(5,))
    lonely = "_delta_log/00000000000000000009.checkpoint.0000000001.0000000002.parquet"
    store.put(lonely, store.get(classic_checkpoint_path(5)))
    clean(store)
    assert left(store) == list(range(5, 21))
    assert store.exists(lonely)


def test_files_that_are_not_of_the_log_stay() -> None:
    store = table()
    strangers = ["_delta_log/_commits/x", "_delta_log/00000000000000000001.tmp", "data.parquet"]
    for path in strangers:
        store.put(path, b"")
    clean(store)
    assert all(store.exists(path) for path in strangers)


# --- when commits were made ---------------------------------------------------------------------


def test_clocks_that_went_back_do_not_make_a_commit_older_than_the_one_before() -> None:
    """Versions 8 and later look ten days older than they are, but came after version 7."""
    store = table(clock=lambda version: daily(version) - (10 * DAY if version >= 8 else 0))
    clean(store, daily(17))
    assert left(store) == list(range(5, 21))


def test_in_commit_timestamps_count_and_file_times_do_not() -> None:
    store = TimedStore(memory_store(), lambda _: daily(1000))
    settings = {"enableInCommitTimestamps": "true", "logRetentionDuration": "interval 10 days"}
    protocol = Protocol(1, 7, None, ("inCommitTimestamp", "appendOnly", "invariants"))
    first = [protocol, metadata(**settings)]
    for version in range(21):
        info = CommitInfo({"inCommitTimestamp": daily(version)})
        write_commit(
            store, version, info, *(first if version == 0 else [file(version)]), info=False
        )
        if version % 5 == 0:
            write_checkpoint(TableLog(store).snapshot())
    clean(store)
    assert left(store) == list(range(5, 21))


# --- what protects the log ----------------------------------------------------------------------


PROTECTED = Protocol(1, 7, None, ("checkpointProtection", "appendOnly", "invariants"))


@pytest.mark.parametrize(("before", "cleaned"), [("5", True), ("6", False), ("0", True)])
def test_protected_history_goes_as_a_whole_or_stays(before: str, cleaned: bool) -> None:
    settings = {"requireCheckpointProtectionBeforeVersion": before}
    store = TimedStore(memory_store(), daily)
    retention = {"logRetentionDuration": "interval 10 days"}
    grow(store, 20, protocol=PROTECTED, **retention, **settings)
    for version in (5, 20):
        write_checkpoint(TableLog(store).snapshot(version))
    assert bool(clean(store)) == cleaned


def test_a_damaged_boundary_stops_the_clean_up_before_it_begins() -> None:
    store = table()
    data = bytearray(store.get(classic_checkpoint_path(5)))
    data[len(data) // 2] ^= 1
    store.put(classic_checkpoint_path(5), data)
    with pytest.raises(LogCorruptedError):
        clean(store)
    assert left(store) == list(range(21))
    assert names(TableLog(store).snapshot(4)) == expected(4)


def test_a_boundary_without_its_sidecars_stops_the_clean_up() -> None:
    store = table(kind="v2-parquet")
    for found in store.list_from(f"{SIDECAR_FOLDER}/"):
        if found.path.startswith(f"{SIDECAR_FOLDER}/{5:020d}"):
            store.delete(found.path)
    with pytest.raises(LogCorruptedError, match="sidecar"):
        clean(store)
    assert left(store) == list(range(21))


def test_a_hole_in_the_log_is_not_crossed() -> None:
    store = table(checkpoints=(5, 20))
    store.delete(commit_path(7))
    assert clean(store) == []
    assert store.exists(classic_checkpoint_path(5))


# --- sidecars -----------------------------------------------------------------------------------


def sidecars(store: Store) -> set[int]:
    """The versions whose sidecars are there."""
    found = store.list_from(f"{SIDECAR_FOLDER}/")
    return {int(each.path.removeprefix(f"{SIDECAR_FOLDER}/")[:20]) for each in found}


def age(store: TimedStore, moment: int) -> None:
    for found in store.list_from(f"{SIDECAR_FOLDER}/"):
        store.ages[found.path] = moment


@pytest.mark.parametrize("kind", ["v2-parquet", "v2-json"])
def test_sidecars_of_deleted_checkpoints_go_and_others_stay(kind: Kind) -> None:
    store = table(checkpoints=(2, 5, 10, 20), kind=kind)
    age(store, MIDNIGHT)
    deleted = clean(store)
    assert sidecars(store) == {5, 10, 20}
    assert deleted[-1].startswith(f"{SIDECAR_FOLDER}/{2:020d}")
    for version in range(5, 21):
        assert names(TableLog(store).snapshot(version)) == expected(version)


def test_young_sidecars_may_belong_to_a_checkpoint_that_is_being_written() -> None:
    now = daily(20)
    store = table(checkpoints=(2, 5, 20), kind="v2-parquet")
    orphans = {f"{SIDECAR_FOLDER}/young.parquet": 0, f"{SIDECAR_FOLDER}/old.parquet": 1}
    for path in orphans:
        store.put(path, b"x")
    age(store, MIDNIGHT)
    yesterday = now // DAY * DAY - DAY
    store.ages |= {path: yesterday - old for path, old in orphans.items()}
    clean(store, now)
    assert store.exists(f"{SIDECAR_FOLDER}/young.parquet")
    assert not store.exists(f"{SIDECAR_FOLDER}/old.parquet")


def test_sidecars_stay_when_a_checkpoint_cannot_say_what_it_needs() -> None:
    store = table(checkpoints=(2, 5, 20), kind="v2-parquet")
    age(store, MIDNIGHT)
    (newest,) = [f for f in list_log(store) if f.kind == "checkpoint" and f.version == 20]
    store.put(newest.path, b"not a checkpoint")
    before = sidecars(store)
    with pytest.raises(LogCorruptedError):
        clean_up(store, TableLog(store).snapshot(19), daily(20))
    assert sidecars(store) == before


def test_readers_without_v2_checkpoints_find_a_classic_one_at_the_boundary() -> None:
    store = table(kind="v2-parquet")
    clean(store)
    assert store.exists(classic_checkpoint_path(5))
    assert names(TableLog(store).snapshot(6)) == expected(6)


def test_no_checkpoint_is_made_where_checkpoints_are_protected() -> None:
    store = TimedStore(memory_store(), daily)
    features = ("v2Checkpoint", "checkpointProtection")
    protocol = Protocol(3, 7, features[:1], features)
    grow(store, 20, protocol=protocol, logRetentionDuration="interval 10 days")
    write_checkpoint(TableLog(store).snapshot(5), "v2-parquet", True)
    assert clean(store)
    assert not store.exists(classic_checkpoint_path(5))


# --- in the middle ------------------------------------------------------------------------------


class Killed(Exception):
    pass


@pytest.mark.parametrize("kind", ["classic", "v2-parquet"])
def test_a_clean_up_killed_at_any_call_leaves_every_kept_version_readable(kind: Kind) -> None:
    original = table(checkpoints=(2, 5, 10, 20), kind=kind)
    number = 0
    while True:
        number += 1
        store = copied(original)
        age(store, MIDNIGHT)
        snapshot = TableLog(store).snapshot()
        store.faults = [Fault(None, len(store.calls) + number, "before", Killed())]
        with suppress(Killed):
            clean_up(store, snapshot, daily(20))
        killed, store.faults = bool(store.raised), []
        check_all(store)
        clean(store)
        assert left(store) == list(range(5, 21))
        if not killed:
            break
    assert number > 8


def test_a_reader_with_an_old_listing_gets_right_rows_or_an_error() -> None:
    """Whatever was listed before some file was deleted, and read after all of them were."""
    store = table()
    compact(store, 2, 4)
    twin = copied(store)
    listings = [list_log(store)]
    for path in clean(twin):
        store.delete(path)
        listings.append(list_log(store))
    assert paths(twin) == paths(store)
    outcomes = {
        read(partial(from_listing, store, listing, version), version)
        for listing in listings
        for version in SOME_VERSIONS
    }
    assert outcomes == {"right", "error"}


def test_a_reader_whose_listing_runs_beside_the_clean_up_gets_right_rows_or_an_error() -> None:
    """Both go by name: the listing may show some first files that are gone by its end."""
    store = table()
    before = list_log(store)
    clean(store)
    after = list_log(store)
    for split in range(len(before) + 1):
        seen = [file for number, file in enumerate(before) if number < split or file in after]
        for version in SOME_VERSIONS:
            outcome = read(partial(from_listing, store, seen, version), version)
            assert version < 5 or outcome == "right"


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 3 * DAY), min_size=2, max_size=14),
    st.sets(st.integers(0, 13)),
    st.integers(0, 20),
    st.integers(0, 40 * DAY),
)
def test_no_retained_version_becomes_unreadable(
    pauses: list[int], checkpoints: set[int], keep_days: int, later: int
) -> None:
    times = [MIDNIGHT + sum(pauses[: version + 1]) + version for version in range(len(pauses))]
    store = TimedStore(memory_store(), lambda version: times[version])
    last = len(times) - 1
    grow(store, last, logRetentionDuration=f"interval {keep_days} days")
    for version in sorted(checkpoints):
        if version <= last:
            write_checkpoint(TableLog(store).snapshot(version))
    now = times[-1] + later
    kept_from = (now - keep_days * DAY) // DAY * DAY
    clean(store, now)
    expired = [version for version, time in enumerate(times) if time <= kept_from]
    oldest = max(expired, default=0)
    for version in range(oldest, last + 1):
        assert names(TableLog(store).snapshot(version)) == expected(version)
    assert clean(store, now) == []


def copied(store: TimedStore) -> TimedStore:
    copy = TimedStore(memory_store(), store.clock)
    for found in store.list_all():
        copy.put(found.path, store.get(found.path))
    return copy


def check_all(store: Store) -> None:
    for version in SOME_VERSIONS:
        outcome = read(partial(TableLog(store).snapshot, version), version)
        assert version < 5 or outcome == "right"
    assert names(TableLog(store).snapshot()) == expected(20)


def from_listing(store: Store, listing: list[LogFile], version: int) -> Snapshot:
    return Snapshot(store, build_segment(listing, version))


def read(open_snapshot: Callable[[], Snapshot], version: int) -> str:
    try:
        found = names(open_snapshot())
    except LakebedError:
        return "error"
    assert found == expected(version)
    return "right"


def test_the_log_of_a_table_that_was_just_created_is_left_alone() -> None:
    store = TimedStore(memory_store(), daily)
    snapshot = create(store, file(0))
    assert clean_up(store, snapshot, daily(500)) == []
    assert parse_name(commit_path(0)) is not None
    assert store.exists(commit_path(0))
