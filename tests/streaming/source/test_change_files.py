"""Where batches of a change feed end, and the commits in them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from source_streams import offset, open_stream, places, removed

from lakebed.errors import InvalidArgumentError
from lakebed.spec.actions import Add, AddCdc, CommitInfo, DeletionVector, Remove
from lakebed.storage import Store
from lakebed.streaming.source.admission import Limit
from lakebed.streaming.source.table_stream import SourceBatch, TableStream
from testkit.tables.log_tables import create, file, memory_store, metadata, write_commit

VECTOR = DeletionVector("u", "ab^-aqEH.-t@S}K{vb[*k^", 34, 1, 4)


def cdc(name: str) -> AddCdc:
    return AddCdc(f"_change_data/{name}", {}, 100)


@pytest.fixture
def store() -> Store:
    """Files 0 and 1; a commit with change files; a delete with a vector; an append of 3 files."""
    store = memory_store()
    create(store, file(0), file(1), enableChangeDataFeed="true")
    write_commit(store, 1, removed(0), file("0b"), cdc("a"), cdc("b"), cdc("c"))
    write_commit(store, 2, removed(1), file(1, deletion_vector=VECTOR))
    write_commit(store, 3, file(2), file(3), file(4))
    return store


def changes(stream: TableStream, start: str | None = None) -> Iterator[tuple[str, list[str]]]:
    while True:
        end = stream.latest_offset(start, Limit())
        if end is None or end == start:
            return
        yield end, shown(stream.batch(start, end))
        stream.commit(end)
        start = end


def shown(batch: SourceBatch) -> list[str]:
    """`+` for added files, `-` for removed ones, `~` for change files."""
    signs = {Add: "+", Remove: "-", AddCdc: "~"}
    return [
        f"{commit.version}{signs[type(each)]}{each.path.rpartition('/')[2].split('.')[0]}"  # type: ignore[index,union-attr]
        for commit in batch.changes or ()
        for each in commit.actions
    ]


ALL = ["1~a", "1~b", "1~c", "2-1", "2+1", "3+2", "3+3", "3+4"]


def test_without_a_limit_the_last_offset_is_the_start_of_the_next_version(store: Store) -> None:
    stream = open_stream(store, readChangeFeed=True, startingVersion=1)
    end = stream.latest_offset(None, None)
    assert end == offset(4)
    assert shown(stream.batch(None, end)) == ALL


def test_change_files_of_a_commit_are_taken_whole(store: Store) -> None:
    stream = open_stream(store, readChangeFeed=True, startingVersion=1, maxFilesPerTrigger=1)
    found = list(changes(stream))
    assert [some for _, some in found] == [ALL[:3], ALL[3:5], ["3+2"], ["3+3"], ["3+4"]]
    # Behind change files there is no marker that ends the version, as in delta-spark.
    assert places(found)[:2] == [(1, 2, False), (3, -1, False)]


def test_a_commit_that_does_not_fit_whole_waits(store: Store) -> None:
    stream = open_stream(store, readChangeFeed=True, startingVersion=1, maxFilesPerTrigger=5)
    found = [some for _, some in changes(stream)]
    # The files of version 2 and its two markers count as four.
    assert found == [ALL[:3], [*ALL[3:5], "3+2"], ["3+3", "3+4"]]


def test_the_initial_version_comes_as_inserts(store: Store) -> None:
    stream = open_stream(store, readChangeFeed=True, maxFilesPerTrigger=3)
    found = list(changes(stream))
    assert [some for _, some in found] == [["3+0b", "3+1", "3+2"], ["3+3", "3+4"]]
    assert places(found) == [(3, 2, True), (4, -1, False)]


def test_change_files_are_read_in_place_of_the_others(store: Store) -> None:
    write_commit(store, 4, file("x", data_change=False), removed(2, data_change=False), file(5))
    stream = open_stream(store, readChangeFeed=True)
    assert [some for _, some in changes(stream, offset(4))] == [["4+5"]]


def test_a_merge_that_changed_no_row_has_no_files(store: Store) -> None:
    metrics = dict.fromkeys(
        ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted"), "0"
    )
    info = CommitInfo({"operation": "MERGE", "operationMetrics": metrics})
    write_commit(store, 4, info, removed(2), file("2b"), info=False)
    write_commit(store, 5, file(5))
    stream = open_stream(store, readChangeFeed=True)
    assert list(changes(stream, offset(4))) == [(offset(6), ["5+5"])]


def test_excluded_files_end_no_batch(store: Store) -> None:
    options = {"readChangeFeed": True, "startingVersion": 1, "excludeRegex": "/(b|c)|^4"}
    stream = open_stream(store, **options, maxFilesPerTrigger=1)
    found = list(changes(stream))
    assert [some for _, some in found] == [["1~a"], ["2-1", "2+1"], ["3+2"], ["3+3"]]
    assert places(found)[0] == (1, 0, False)
    assert found[-1][0] == offset(4)


def test_versions_without_the_feed_are_refused(store: Store) -> None:
    write_commit(store, 4, metadata(enableChangeDataFeed="false"))
    stream = open_stream(store, readChangeFeed=True, startingVersion=1)
    with pytest.raises(InvalidArgumentError, match=r"version 4 .* not recorded"):
        stream.latest_offset(None, None)


def test_a_start_before_the_feed_was_on_is_refused() -> None:
    store = memory_store()
    create(store, file(0))
    write_commit(store, 1, file(1))
    write_commit(store, 2, metadata(enableChangeDataFeed="true"))
    stream = open_stream(store, readChangeFeed=True, startingVersion=1)
    with pytest.raises(InvalidArgumentError, match=r"version 1 .* not recorded"):
        stream.latest_offset(None, None)
