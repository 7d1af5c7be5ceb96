from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import InvalidArgumentError, LogCorruptedError, VersionNotFoundError
from lakebed.log.listing.commit_times import CommitTimes, to_millis, utc_text
from lakebed.log.listing.log_names import LogFile, commit_path
from lakebed.log.maintenance.checkpoint_writer import write_checkpoint
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import CommitInfo, Protocol
from lakebed.spec.properties import TableProperties
from testkit.tables.log_tables import file, grow, listed_store, memory_store, metadata, write_commit
from testkit.timed_store import TimedStore

ICT = Protocol(1, 7, None, ("inCommitTimestamp", "appendOnly", "invariants"))


def files(*times: int, first: int = 0) -> list[LogFile]:
    return [
        LogFile(commit_path(version), "commit", version, 1, time)
        for version, time in enumerate(times, first)
    ]


def times(*stamps: int, first: int = 0) -> CommitTimes:
    return CommitTimes(memory_store(), files(*stamps, first=first), TableProperties({}))


# --- file times ---------------------------------------------------------------------------------


def test_the_time_of_a_commit_is_that_of_its_file() -> None:
    found = times(100, 200, 300)
    assert [found.time_of(version) for version in range(3)] == [100, 200, 300]


def test_clocks_that_went_back_are_moved_forward() -> None:
    found = times(100, 50, 60, 101, 500)
    assert [found.time_of(version) for version in range(5)] == [100, 101, 102, 103, 500]


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20), st.integers(0, 5))
def test_times_grow_with_versions_and_are_never_earlier_than_their_files(
    stamps: list[int], first: int
) -> None:
    found = times(*stamps, first=first)
    adjusted = [found.time_of(first + number) for number in range(len(stamps))]
    assert adjusted == sorted(set(adjusted))
    assert all(mine >= given for mine, given in zip(adjusted, stamps, strict=True))


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20), st.integers(-5, 80))
def test_the_version_at_a_time_is_the_newest_not_after_it(stamps: list[int], moment: int) -> None:
    found = times(*stamps, first=3)
    known = {version: found.time_of(version) for version in range(3, 3 + len(stamps))}
    before = [version for version, time in known.items() if time <= moment]
    assert found.newest_until(moment) == max(before, default=None)
    if not before or moment > max(known.values()):
        with pytest.raises(VersionNotFoundError):
            found.version_at(moment)
    else:
        assert found.version_at(moment) == max(before)


def test_times_outside_the_log_say_where_it_begins_and_ends() -> None:
    found = times(1_700_000_000_000, 1_700_000_001_000)
    with pytest.raises(
        VersionNotFoundError, match=r"before the oldest.*2023-11-14 22:13:20.000 UTC"
    ):
        found.version_at(1_600_000_000_000)
    with pytest.raises(
        VersionNotFoundError, match=r"after the newest.*2023-11-14 22:13:21.000 UTC"
    ):
        found.version_at(1_700_000_001_001)
    assert found.version_at(1_700_000_001_000) == 1


# --- in-commit timestamps -----------------------------------------------------------------------


def stamped_log(stamps: dict[int, int], clock: dict[int, int], **settings: str) -> TimedStore:
    store = TimedStore(memory_store(), clock.__getitem__)
    for version in clock:
        stamp = {"inCommitTimestamp": stamps[version]} if version in stamps else {}
        actions = [CommitInfo({"operation": "X", **stamp}), file(version)]
        if version == 0:
            actions += [ICT, metadata(**settings)]
        write_commit(store, version, *actions, info=False)
    return store


def test_in_commit_timestamps_are_the_times_where_the_table_has_them() -> None:
    stamps = {version: 1000 + version for version in range(5)}
    store = stamped_log(stamps, dict.fromkeys(range(5), 9999), enableInCommitTimestamps="true")
    log = TableLog(store)
    assert log.history().column("timestamp").cast("int64").to_pylist() == [
        1004,
        1003,
        1002,
        1001,
        1000,
    ]
    assert log.version_at(1002) == 2
    assert log.snapshot(timestamp=1003).version == 3


def test_before_they_were_enabled_the_times_of_files_count() -> None:
    """Versions 0 to 2 by file, with a clock that ran ahead; 3 and later by their own stamps."""
    clock = {0: 100, 1: 200, 2: 5000, 3: 9999, 4: 9999, 5: 9999}
    store = stamped_log(
        {3: 1000, 4: 1100, 5: 1200},
        clock,
        enableInCommitTimestamps="true",
        inCommitTimestampEnablementVersion="3",
        inCommitTimestampEnablementTimestamp="1000",
    )
    log = TableLog(store)
    found = {moment: log.version_at(moment) for moment in (100, 250, 999, 1000, 1150, 1200)}
    assert found == {100: 0, 250: 1, 999: 1, 1000: 3, 1150: 4, 1200: 5}
    with pytest.raises(VersionNotFoundError, match="after the newest"):
        log.version_at(1201)
    with pytest.raises(VersionNotFoundError, match="before the oldest"):
        log.version_at(99)


def test_a_commit_without_its_timestamp_is_an_error() -> None:
    store = stamped_log({0: 1}, {0: 1, 1: 2}, enableInCommitTimestamps="true")
    with pytest.raises(LogCorruptedError, match="the commit has none") as caught:
        TableLog(store).version_at(1)
    assert caught.value.file == commit_path(1)


@pytest.mark.parametrize("stamp", [2**62, -(2**62), "now", 1.5])
def test_a_timestamp_that_is_no_time_is_an_error(stamp: object) -> None:
    store = stamped_log({0: stamp}, {0: 1}, enableInCommitTimestamps="true")  # type: ignore[dict-item]
    with pytest.raises(LogCorruptedError, match=r"000\.json: .*imestamp"):
        TableLog(store).history()


def test_a_time_beyond_the_calendar_is_not_found() -> None:
    store = stamped_log({0: 1}, {0: 1}, enableInCommitTimestamps="true")
    for moment in (2**62, -(2**62)):
        with pytest.raises(VersionNotFoundError, match="ms after 1970"):
            TableLog(store).version_at(moment)


# --- tables -------------------------------------------------------------------------------------


def test_time_travel_reads_the_version_of_the_time() -> None:
    store = TimedStore(memory_store(), lambda version: 1_700_000_000_000 + version * 1000)
    grow(store, 5)
    log = TableLog(store)
    for moment in (
        "2023-11-14 22:13:22",
        "2023-11-14T22:13:22.500Z",
        "2023-11-14T23:13:22+01:00",
        datetime(2023, 11, 14, 22, 13, 22),
        datetime(2023, 11, 15, 0, 13, 22, tzinfo=timezone(timedelta(hours=2))),
        1_700_000_002_999,
    ):
        assert log.snapshot(timestamp=moment).version == 2


def test_versions_that_cannot_be_rebuilt_are_not_found_by_time() -> None:
    """Commits 3 and 4 are there, but their beginning is not: the log starts at checkpoint 5."""
    store = TimedStore(memory_store(), lambda version: 1000 + version)
    grow(store, 8)
    write_checkpoint(TableLog(store).snapshot(5))
    for version in range(3):
        store.delete(commit_path(version))
    log = TableLog(store)
    assert log.version_at(1006) == 6
    with pytest.raises(VersionNotFoundError, match="before the oldest version"):
        log.version_at(1004)


def test_version_and_time_are_not_given_together() -> None:
    with pytest.raises(InvalidArgumentError, match="not both"):
        TableLog(memory_store()).snapshot(version=1, timestamp=1)


@pytest.mark.parametrize("version", [-1, True, "1", 1.0])
def test_a_version_is_a_whole_number(version: object) -> None:
    with pytest.raises(InvalidArgumentError, match="is not a version"):
        TableLog(listed_store()).at_version(version)  # type: ignore[arg-type]


def test_the_time_of_a_snapshot_is_that_of_its_commit() -> None:
    store = TimedStore(memory_store(), lambda version: 1000 + version)
    snapshot = grow(store, 3)
    log = TableLog(store)
    assert log.time_of(snapshot) == datetime.fromtimestamp(1.003, timezone.utc)
    write_checkpoint(snapshot)
    store.delete(commit_path(3))
    with pytest.raises(VersionNotFoundError, match="its commit is gone"):
        log.time_of(snapshot)


# --- words for times ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("1970-01-01", 0),
        ("1970-01-02 00:00:00", 86_400_000),
        ("1970-01-01T00:00:00.001Z", 1),
        (" 1970-01-01T01:00:00+01:00 ", 0),
        ("1969-12-31T23:59:59Z", -1000),
    ],
)
def test_times_are_read_as_utc_unless_they_say_otherwise(text: str, millis: int) -> None:
    assert to_millis(text) == millis


@pytest.mark.parametrize("text", ["", "yesterday", "2024-13-01", "12:00"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match="is not a time"):
        to_millis(text)


@given(st.integers(0, 4_000_000_000_000))
def test_a_time_that_is_shown_is_read_again(millis: int) -> None:
    assert to_millis(utc_text(millis).replace(" UTC", "Z")) == millis
