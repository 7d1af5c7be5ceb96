"""Reading commits once, and what was removed or replaced before it was read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest
from source_streams import batches, offset, open_stream, read

from lakebed.errors import SourceDataLossError, SourceReplacedError, VersionNotFoundError
from lakebed.log.listing.log_names import commit_path, parse_name
from lakebed.log.maintenance.checkpoint_writer import write_checkpoint
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Metadata
from lakebed.storage import Store
from lakebed.streaming.source import source_log
from lakebed.streaming.source.admission import Limit
from testkit.faults import FaultStore
from testkit.tables.log_tables import (
    LEGACY,
    create,
    file,
    forget_commits,
    grow,
    memory_store,
    metadata,
    write_commit,
)


class CountingStore(FaultStore):
    """How often each commit was read."""

    def __init__(self, inner: Store, *, cheap_probes: bool) -> None:
        super().__init__(inner)
        self.cheap_probes = cheap_probes
        self.gets: Counter[int] = Counter()

    def get(self, path: str) -> bytes:
        self._count(path)
        return super().get(path)

    def get_many(self, paths: Sequence[str]) -> list[bytes]:
        for path in paths:
            self._count(path)
        return [self.inner.get(path) for path in paths]

    def _count(self, path: str) -> None:
        found = parse_name(path)
        if found is not None and found.kind == "commit":
            self.gets[found.version] += 1


@pytest.mark.parametrize("cheap_probes", [True, False])
@pytest.mark.parametrize("available_now", [True, False])
def test_each_commit_is_read_once(cheap_probes: bool, available_now: bool) -> None:
    store = CountingStore(memory_store(), cheap_probes=cheap_probes)
    grow(store, 300)
    stream = open_stream(store, startingVersion=0, maxFilesPerTrigger=7)
    stream.latest_offset(offset(1), Limit())
    store.gets.clear()
    if available_now:
        stream.prepare_available_now()
    assert read(stream, offset(2)) == [str(number) for number in range(2, 301)]
    assert {store.gets[version] for version in range(4, 301)} <= {0, 1}
    assert sum(store.gets.values()) <= 301


def test_commits_beyond_the_memory_of_a_stream_are_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(source_log, "_MOST_BYTES", 2000)
    store = CountingStore(memory_store(), cheap_probes=False)
    grow(store, 60)
    stream = open_stream(store, startingVersion=0, maxFilesPerTrigger=7)
    stream.prepare_available_now()
    assert read(stream) == [str(number) for number in range(61)]
    assert stream._commits._kept_bytes <= 2000


def test_nothing_is_read_again_when_nothing_is_new() -> None:
    store = CountingStore(memory_store(), cheap_probes=False)
    grow(store, 3)
    stream = open_stream(store)
    list(batches(stream))
    store.gets.clear()
    assert stream.latest_offset(offset(4), Limit()) == offset(4)
    assert not store.gets


@pytest.fixture(params=[True, False], ids=["probed", "listed"])
def cleaned(request: pytest.FixtureRequest) -> Store:
    """Versions 0 to 99 without the commits before 60."""
    store = FaultStore(memory_store())
    store.cheap_probes = request.param
    grow(store, 60)
    write_checkpoint(TableLog(store).snapshot())
    for version in range(61, 100):
        write_commit(store, version, file(version))
    forget_commits(store, range(60))
    return store


def test_commits_that_were_cleaned_up_are_an_error_with_the_first_readable_version(
    cleaned: Store,
) -> None:
    with pytest.raises(SourceDataLossError, match="versions 10 to 59 are missing") as caught:
        open_stream(cleaned).latest_offset(offset(10), Limit())
    assert caught.value.readable_from == 60
    assert "failOnDataLoss" in str(caught.value.hint)


def test_a_stream_may_leave_out_what_was_cleaned_up(cleaned: Store) -> None:
    stream = open_stream(cleaned, failOnDataLoss=False)
    assert read(stream, offset(10)) == [str(number) for number in range(60, 100)]


def test_a_planned_batch_whose_commits_are_gone_is_an_error(cleaned: Store) -> None:
    with pytest.raises(SourceDataLossError):
        open_stream(cleaned).batch(offset(10), offset(70))


def test_the_initial_version_may_be_gone(cleaned: Store) -> None:
    with pytest.raises(SourceDataLossError, match="version 10 "):
        open_stream(cleaned).latest_offset(offset(10, 3, initial=True), Limit())


def test_a_start_before_the_first_commit_names_it(cleaned: Store) -> None:
    with pytest.raises(VersionNotFoundError, match="is 60"):
        open_stream(cleaned, startingVersion=5).latest_offset(None, Limit())


def test_a_start_after_the_newest_version_is_refused(cleaned: Store) -> None:
    with pytest.raises(VersionNotFoundError, match="newest version is 99"):
        open_stream(cleaned, startingVersion=101).latest_offset(None, Limit())


def test_clean_up_behind_the_stream_does_not_matter(cleaned: Store) -> None:
    stream = open_stream(cleaned)
    assert read(stream, offset(90)) == [str(number) for number in range(90, 100)]
    write_checkpoint(TableLog(cleaned).snapshot())
    forget_commits(cleaned, range(60, 100))
    write_commit(cleaned, 100, file(100))
    assert read(stream, offset(100)) == ["100"]


def empty(store: Store) -> None:
    for found in list(store.list_all("_delta_log")):
        store.delete(found.path)


def other_table() -> Metadata:
    return Metadata("other", metadata().schema_string)


@pytest.mark.parametrize("versions", [1, 5, 9])
@pytest.mark.parametrize("cheap_probes", [True, False])
def test_a_table_that_was_dropped_and_created_again_is_an_error(
    versions: int, cheap_probes: bool
) -> None:
    """Also where the new one has more versions than the stream has read."""
    store = FaultStore(memory_store())
    store.cheap_probes = cheap_probes
    grow(store, 4)
    stream = open_stream(store)
    list(batches(stream))
    empty(store)
    write_commit(store, 0, LEGACY, other_table(), file("a longer name than before"))
    for version in range(1, versions):
        write_commit(store, version, file(f"a longer name than before {version}"))
    with pytest.raises(SourceReplacedError):
        stream.latest_offset(offset(5), Limit())


def test_a_table_that_was_dropped_is_an_error() -> None:
    store = memory_store()
    grow(store, 4)
    stream = open_stream(store)
    list(batches(stream))
    empty(store)
    with pytest.raises(SourceReplacedError, match="dropped"):
        stream.latest_offset(offset(5), Limit())


def test_an_older_copy_of_the_table_is_an_error() -> None:
    store = memory_store()
    grow(store, 9)
    stream = open_stream(store)
    list(batches(stream))
    forget_commits(store, range(5, 10))
    with pytest.raises(SourceReplacedError, match="at version 4"):
        stream.latest_offset(offset(10), Limit())


def test_a_checkpoint_of_another_table_is_an_error() -> None:
    store = memory_store()
    create(store, file(0))
    with pytest.raises(SourceReplacedError):
        open_stream(store).latest_offset(offset(1).replace("f0e1d2c3", "other"), Limit())


def test_a_hole_that_a_listing_shows_for_a_moment_is_no_loss() -> None:
    """A listing beside writers may have a commit and not the one before it."""

    class Late(FaultStore):
        hidden = True

        def list_from(self, start: str):  # type: ignore[no-untyped-def]
            found = super().list_from(start)
            if self.hidden:
                self.hidden = False
                return [each for each in found if each.path != commit_path(2)]
            return found

    inner = memory_store()
    grow(inner, 3)
    store = Late(inner)
    store.cheap_probes = False
    store.hidden = False
    stream = open_stream(store)
    store.hidden = True
    assert read(stream, offset(1)) == ["1", "2", "3"]


def test_the_backlog_counts_versions_files_and_bytes() -> None:
    store = memory_store()
    create(store, file(0), file(1))
    stream = open_stream(store, maxFilesPerTrigger=1)
    write_commit(store, 1, file(2), file(3))
    write_commit(store, 2, file(4))
    first = stream.latest_offset(None, Limit())
    assert first == offset(0, 0, initial=True)
    everything = stream.latest_offset(first, None)
    assert everything == offset(3)
    assert stream.backlog(first) == {
        "numVersionsOutstanding": 3,
        "numFilesOutstanding": 4,
        "numBytesOutstanding": 400,
    }
    assert stream.backlog(offset(1, 0)) == {
        "numVersionsOutstanding": 2,
        "numFilesOutstanding": 2,
        "numBytesOutstanding": 200,
    }
    assert stream.backlog(everything) == {
        "numVersionsOutstanding": 0,
        "numFilesOutstanding": 0,
        "numBytesOutstanding": 0,
    }
