"""Where batches of appended rows end, and the files in them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from source_streams import (
    batches,
    compaction,
    names,
    offset,
    open_stream,
    places,
    read,
    removed,
)

from lakebed.errors import SourceChangedError
from lakebed.spec.actions import Txn
from lakebed.storage import Store
from lakebed.streaming.source.admission import Limit
from testkit.tables.log_tables import create, file, memory_store, write_commit


@pytest.fixture
def store() -> Store:
    """Version 0 has the files 0 to 2, version 1 file 3, version 2 the files 4 and 5."""
    store = memory_store()
    create(store, file(0), file(1), file(2))
    write_commit(store, 1, file(3))
    write_commit(store, 2, file(4), file(5))
    return store


def test_all_files_of_the_table_come_first(store: Store) -> None:
    assert list(batches(open_stream(store))) == [(offset(3), ["0", "1", "2", "3", "4", "5"])]


def test_limits_split_the_initial_version(store: Store) -> None:
    found = list(batches(open_stream(store, maxFilesPerTrigger=2)))
    assert [some for _, some in found] == [["0", "1"], ["2", "3"], ["4", "5"]]
    assert places(found) == [(2, 1, True), (2, 3, True), (3, -1, False)]


def test_initial_files_are_sorted_by_time_then_path() -> None:
    store = memory_store()
    late, early = file("b", modification_time=2), file("c", modification_time=1)
    create(store, late, file("a", modification_time=2), early)
    assert read(open_stream(store)) == ["c", "a", "b"]


def test_initial_paths_are_sorted_as_the_log_has_them() -> None:
    store = memory_store()
    # "%3D" is "=", which would sort behind "0": an escape sorts as it is written.
    create(store, file("p%3D1/a"), file("p01/a"), file("p%20/a"), file("p!/a"))
    assert read(open_stream(store)) == ["p!/a", "p%20/a", "p%3D1/a", "p01/a"]


def test_a_commit_is_split_by_files(store: Store) -> None:
    found = list(batches(open_stream(store, startingVersion=1, maxFilesPerTrigger=2)))
    assert [some for _, some in found] == [["3", "4"], ["5"]]
    assert places(found) == [(2, 0, False), (3, -1, False)]


def test_the_file_that_exceeds_the_size_is_taken(store: Store) -> None:
    found = list(batches(open_stream(store, startingVersion=0, maxBytesPerTrigger=150)))
    assert [some for _, some in found] == [["0", "1"], ["2", "3"], ["4", "5"]]


def test_a_batch_takes_one_file_whatever_its_size(store: Store) -> None:
    found = list(batches(open_stream(store, startingVersion=1, maxBytesPerTrigger=1)))
    assert [some for _, some in found] == [["3"], ["4"], ["5"]]


def test_both_limits_hold(store: Store) -> None:
    both = open_stream(store, startingVersion=0, maxBytesPerTrigger=250, maxFilesPerTrigger=2)
    assert [some for _, some in batches(both)] == [["0", "1"], ["2", "3"], ["4", "5"]]
    both = open_stream(store, startingVersion=0, maxBytesPerTrigger=250, maxFilesPerTrigger=9)
    assert [some for _, some in batches(both)] == [["0", "1", "2"], ["3", "4", "5"]]


def test_without_a_limit_a_batch_takes_everything(store: Store) -> None:
    stream = open_stream(store, maxFilesPerTrigger=1)
    assert list(batches(stream, limit=None)) == [(offset(3), ["0", "1", "2", "3", "4", "5"])]


def test_a_size_alone_means_any_number_of_files() -> None:
    store = memory_store()
    create(store, *(file(number) for number in range(1200)))
    assert len(next(batches(open_stream(store)))[1]) == 1000
    assert len(next(batches(open_stream(store, maxBytesPerTrigger="1g")))[1]) == 1200


def test_commits_without_data_are_passed_in_the_same_batch(store: Store) -> None:
    for version in range(3, 6):
        write_commit(store, version, Txn("app", version))
    write_commit(store, 6, *compaction(0, 7))
    write_commit(store, 7, file(8))
    found = list(batches(open_stream(store, startingVersion=2, maxFilesPerTrigger=2)))
    assert found == [(offset(7), ["4", "5"]), (offset(8), ["8"])]


def test_commits_without_data_alone_are_a_batch_without_files(store: Store) -> None:
    stream = open_stream(store)
    write_commit(store, 3, Txn("app", 1))
    assert list(batches(stream, offset(3))) == [(offset(4), [])]


def test_nothing_new_is_the_offset_before(store: Store) -> None:
    assert open_stream(store).latest_offset(offset(3), Limit()) == offset(3)


def test_an_empty_table_is_passed() -> None:
    empty = memory_store()
    create(empty)
    assert list(batches(open_stream(empty))) == [(offset(1), [])]


def test_latest_has_no_offset_before_the_next_commit(store: Store) -> None:
    stream = open_stream(store, startingVersion="latest")
    assert stream.latest_offset(None, Limit()) is None
    write_commit(store, 3, file(6))
    assert list(batches(stream)) == [(offset(4), ["6"])]


def test_a_new_stream_may_plan_again_after_its_first_batch_was_lost(store: Store) -> None:
    """A query that died before its first batch ended goes on with that batch."""
    again = open_stream(store, maxFilesPerTrigger=2)
    assert names(again.batch(None, offset(2, 1, initial=True))) == ["0", "1"]
    assert names(again.batch(None, offset(3))) == ["0", "1", "2", "3", "4", "5"]
    later = open_stream(store, startingVersion=1)
    assert names(later.batch(None, offset(2, 0))) == ["3", "4"]


def test_the_initial_version_stays_the_same_after_a_restart(store: Store) -> None:
    write_commit(store, 3, file("a", modification_time=1))
    assert read(open_stream(store), offset(2, 3, initial=True)) == ["4", "5", "a"]


def test_available_now_ends_where_the_table_ended(store: Store) -> None:
    stream = open_stream(store, maxFilesPerTrigger=4)
    stream.prepare_available_now()
    found = []
    for end, some in batches(stream):
        found.append((end, some))
        newest = stream.snapshot.version + len(found)
        write_commit(store, newest, file(newest + 10))
    assert [some for _, some in found] == [["0", "1", "2", "3"], ["4", "5"]]
    assert found[-1][0] == offset(3)


def test_excluded_files_count_but_are_not_read(store: Store) -> None:
    found = list(batches(open_stream(store, excludeRegex="^[14]", maxFilesPerTrigger=2)))
    assert [some for _, some in found] == [["0"], ["2", "3"], ["5"]]
    assert places(found) == [(2, 1, True), (2, 3, True), (3, -1, False)]


@pytest.fixture
def changed(store: Store) -> Store:
    """Version 3 deletes, version 4 updates, version 5 appends."""
    write_commit(store, 3, removed(0))
    write_commit(store, 4, removed(1), file("1b"))
    write_commit(store, 5, file(6))
    return store


@pytest.mark.parametrize(
    ("options", "rest"),
    [
        ({"skipChangeCommits": True}, ["6"]),
        ({"ignoreChanges": True}, ["1b", "6"]),
        ({"ignoreFileDeletion": True}, ["1b", "6"]),
        ({"skipChangeCommits": True, "ignoreChanges": True}, ["6"]),
    ],
)
def test_options_allow_deletes_and_updates(
    changed: Store, options: dict[str, object], rest: list[str]
) -> None:
    assert read(open_stream(changed, **options), offset(3)) == rest


def test_ignored_deletes_are_passed_and_updates_are_not(changed: Store) -> None:
    stream = open_stream(changed, ignoreDeletes=True, maxFilesPerTrigger=1)
    with pytest.raises(SourceChangedError, match=r"version 4 .* updates rows") as caught:
        read(stream, offset(3))
    assert caught.value.version == 4
    assert "skipChangeCommits" in str(caught.value.hint)


def test_a_delete_is_an_error_that_names_the_options(changed: Store) -> None:
    with pytest.raises(SourceChangedError, match=r"version 3 .* deletes rows") as caught:
        read(open_stream(changed), offset(3))
    assert "ignoreDeletes" in str(caught.value.hint)


def test_changes_in_the_initial_version_do_not_matter(changed: Store) -> None:
    assert sorted(read(open_stream(changed))) == ["1b", "2", "3", "4", "5", "6"]


def test_the_last_version_is_the_end(store: Store) -> None:
    found = list(batches(open_stream(store, startingVersion=0, endingVersion=1)))
    assert found == [(offset(2), ["0", "1", "2", "3"])]
    assert list(batches(open_stream(store, endingVersion=1))) == found


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=6),
    st.lists(st.integers(0, 4), max_size=4),
    st.integers(1, 5),
    st.booleans(),
)
def test_every_file_comes_once_and_in_order(
    before: list[int], after: list[int], most: int, from_start: bool
) -> None:
    """Over any limits, and with a new run of the query for each batch."""
    store = memory_store()
    counts = before + after
    for version, count in enumerate(before):
        _commit(store, version, count)
    options = {"startingVersion": 0} if from_start else {}
    found: list[str] = []
    start = None
    for version in range(len(before), len(counts) + 1):
        while True:
            stream = open_stream(store, maxFilesPerTrigger=most, **options)
            end = stream.latest_offset(start, Limit())
            assert end is not None
            if end == start:
                break
            some = names(stream.batch(start, end))
            assert len(some) <= most
            found += some
            start = end
        if version < len(counts):
            _commit(store, version, counts[version])
    expected = [f"{v:03}-{n}" for v, count in enumerate(counts) for n in range(count)]
    assert found == expected
    assert start == offset(len(counts))


def _commit(store: Store, version: int, count: int) -> None:
    files = [file(f"{version:03}-{number}.parquet") for number in range(count)]
    if version == 0:
        create(store, *files)
    else:
        write_commit(store, version, *files)
