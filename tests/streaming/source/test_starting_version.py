"""Where streams start and end, by versions and by times, and when a first batch is repeated."""

from __future__ import annotations

import pytest
from source_streams import names, offset, open_stream, read

from lakebed.errors import InvalidArgumentError, StreamingError, VersionNotFoundError
from lakebed.log.maintenance.checkpoint_writer import write_checkpoint
from lakebed.log.table_log import TableLog
from lakebed.storage import Store
from lakebed.streaming.source.admission import Limit
from lakebed.streaming.source.query_checkpoint import QueryCheckpoint
from lakebed.streaming.source.stream_options import StreamOptions
from lakebed.streaming.source.table_stream import TableStream
from testkit.tables.log_tables import NOW, file, forget_commits, grow, memory_store, write_commit
from testkit.timed_store import TimedStore

HOUR = 3_600_000


@pytest.fixture
def store() -> Store:
    """Versions 0 to 4, one each hour from `NOW` on, each with the file of its number."""
    store = TimedStore(memory_store(), lambda version: NOW + version * HOUR)
    store.cheap_probes = False
    grow(store, 4)
    return store


def at(store: Store, **options: int | str) -> TableStream:
    """Times are in hours after `NOW`."""
    given = {name: str(value) for name, value in options.items()}
    asked = StreamOptions.of(given, lambda text: NOW + int(float(text) * HOUR))
    return TableStream(TableLog(store).snapshot(), asked)


@pytest.mark.parametrize(("hours", "first"), [(-1, 0), (0, 0), (1.5, 2), (2, 2), (4, 4)])
def test_a_time_is_the_first_version_that_is_not_older(
    store: Store, hours: float, first: int
) -> None:
    found = read(at(store, startingTimestamp=str(hours)))
    assert found == [str(version) for version in range(first, 5)]


def test_a_time_after_the_newest_version_is_refused(store: Store) -> None:
    with pytest.raises(VersionNotFoundError, match="after the newest version"):
        at(store, startingTimestamp=5).latest_offset(None, Limit())


@pytest.mark.parametrize(("hours", "last"), [(0, 0), (1.5, 1), (4, 4), (9, 4)])
def test_a_time_is_the_last_version_that_is_not_newer(
    store: Store, hours: float, last: int
) -> None:
    found = read(at(store, startingVersion=0, endingTimestamp=str(hours)))
    assert found == [str(version) for version in range(last + 1)]


def test_a_stream_with_an_end_reads_no_later_commits(store: Store) -> None:
    stream = at(store, startingVersion=1, endingVersion=6)
    assert read(stream) == ["1", "2", "3", "4"]
    for version in (5, 6, 7):
        write_commit(store, version, file(version))
    assert read(stream, offset(5)) == ["5", "6"]
    assert stream.latest_offset(offset(7), None) == offset(7)


def test_an_end_before_the_start_is_refused(store: Store) -> None:
    with pytest.raises(InvalidArgumentError, match="after its end"):
        at(store, startingVersion=3, endingVersion=2).latest_offset(None, Limit())
    with pytest.raises(VersionNotFoundError, match="before the oldest"):
        at(store, endingTimestamp=-1).latest_offset(None, Limit())


def test_a_first_batch_is_repeated_from_where_it_started(store: Store) -> None:
    """`latest` would be another version after a restart, and the rows in between be lost."""
    places = memory_store()

    def run() -> TableStream:
        options = StreamOptions.of({"startingVersion": "latest"}, int)
        snapshot = TableLog(store).snapshot()
        return TableStream(snapshot, options, checkpoint=QueryCheckpoint(places))

    stream = run()
    assert stream.latest_offset(None, Limit()) is None
    write_commit(store, 5, file(5))
    end = stream.latest_offset(None, Limit())
    assert end == offset(6)
    write_commit(store, 6, file(6))
    assert names(run().batch(None, end)) == ["5"]


def test_a_first_batch_whose_start_is_not_known_is_refused(store: Store) -> None:
    stream = open_stream(store, startingVersion="latest")
    with pytest.raises(InvalidArgumentError, match="not known any more"):
        stream.batch(None, offset(5))


def test_a_damaged_record_is_an_error() -> None:
    places = memory_store()
    QueryCheckpoint(places).write_start(3)
    assert QueryCheckpoint(places).read_start(StreamOptions()) == 3
    places.put("sources/0/lakebed_starting_version", b"{}")
    with pytest.raises(StreamingError):
        QueryCheckpoint(places).read_start(StreamOptions())


def test_a_batch_that_was_done_needs_nothing_any_more(store: Store) -> None:
    """Spark asks for it when a query starts again, and throws the answer away."""
    places = memory_store()
    for log in ("offsets", "commits"):
        for batch in (9, 10):
            places.put(f"{log}/{batch}", b"")
    write_checkpoint(TableLog(store).snapshot())
    forget_commits(store, range(4))

    def run() -> TableStream:
        options = StreamOptions.of({"startingVersion": "latest"}, int)
        snapshot = TableLog(store).snapshot()
        return TableStream(snapshot, options, checkpoint=QueryCheckpoint(places))

    stream = run()
    assert names(stream.batch(None, offset(4))) == []
    assert stream.latest_offset(offset(4), Limit()) == offset(5)
    assert names(stream.batch(offset(4), offset(5))) == ["4"]
    places.put("offsets/11", b"")
    with pytest.raises(InvalidArgumentError, match="not known any more"):
        run().batch(None, offset(4))
