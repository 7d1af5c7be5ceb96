"""Changes of the source's columns, with and without a schema log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import (
    InvalidArgumentError,
    SourceReplacedError,
    SourceSchemaChangedError,
    StreamingError,
)
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Metadata, Protocol
from lakebed.spec.schema import INTEGER, LONG, STRING, StructField, StructType
from lakebed.storage import Store
from lakebed.streaming.source.admission import Limit
from lakebed.streaming.source.schema.schema_evolution import _java_hash, check_allowed, merged_entry
from lakebed.streaming.source.schema.schema_log import SchemaLog, TrackedSchema
from lakebed.streaming.source.source_log import SourceLog
from lakebed.streaming.source.stream_options import StreamOptions
from lakebed.streaming.source.table_stream import TableStream
from streaming.source.streams import TABLE, names, offset, open_stream, read
from testkit.tables.log_tables import LEGACY, file, memory_store, metadata, write_commit

PATH = "/checkpoint/sources/0"
MAPPED = Protocol(2, 5)


def column(name: str, stored: str | None = None, kind: Any = LONG, **more: Any) -> StructField:
    """`stored` is its physical name, if the table has column mapping."""
    mapping = {} if stored is None else {"delta.columnMapping.physicalName": stored}
    ids = {} if stored is None else {"delta.columnMapping.id": int(stored[1:])}
    return StructField(name, kind, metadata={**mapping, **ids}, **more)


def plain(*columns: StructField, **properties: str) -> Metadata:
    return metadata(StructType(columns), **properties)


def mapped(*columns: StructField, **properties: str) -> Metadata:
    return metadata(StructType(columns), columnMapping__mode="name", **properties)


A, B = column("a", "p1"), column("b", "p2")
RENAMED = column("c", "p2")


def table(*versions: Sequence[Any], protocol: Protocol = LEGACY) -> Store:
    """A commit for each; the first one has the metadata to begin with."""
    store = memory_store()
    write_commit(store, 0, protocol, *versions[0])
    for version, actions in enumerate(versions[1:], 1):
        write_commit(store, version, *actions)
    return store


# --- without a log ----------------------------------------------------------------------------


def test_a_new_column_ends_a_run_that_can_be_started_again() -> None:
    store = table([plain(column("a")), file(0)])
    stream = open_stream(store)
    assert read(stream) == ["0"]
    write_commit(store, 1, plain(column("a"), column("b")), file(1))
    with pytest.raises(SourceSchemaChangedError, match="version 1 ") as caught:
        stream.latest_offset(offset(1), Limit())
    assert caught.value.is_retryable
    assert read(open_stream(store), offset(1)) == ["1"]


def test_columns_that_were_added_before_the_run_are_null_in_older_files() -> None:
    store = table([plain(column("a")), file(0)], [plain(column("a"), column("b")), file(1)])
    assert read(open_stream(store, startingVersion=0)) == ["0", "1"]


@pytest.mark.parametrize(
    "before",
    [
        plain(column("a"), column("gone")),
        plain(column("a", kind=STRING)),
        plain(column("A")),
        metadata(StructType((column("a"),)), partition_by=["a"]),
    ],
    ids=["dropped", "another type", "another case", "other partitions"],
)
def test_older_files_that_the_columns_of_now_do_not_fit_are_refused(before: Metadata) -> None:
    store = table([before, file(0)], [plain(column("a")), file(1)])
    with pytest.raises(SourceSchemaChangedError) as caught:
        open_stream(store, startingVersion=0).latest_offset(None, Limit())
    assert not caught.value.is_retryable


def test_a_change_that_a_run_did_not_see_is_found_by_the_version_before() -> None:
    """The commit that drops the column has the very columns of the run."""
    store = table([plain(column("a"), column("gone")), file(0)], [file(1)])
    write_commit(store, 2, plain(column("a")), file(2))
    with pytest.raises(SourceSchemaChangedError, match="version 1 "):
        open_stream(store).latest_offset(offset(1), Limit())


def test_nulls_are_not_lost() -> None:
    strict = plain(column("a", nullable=False))
    store = table([plain(column("a")), file(0)], [strict, file(1)])
    with pytest.raises(SourceSchemaChangedError):
        open_stream(store, startingVersion=0).latest_offset(None, Limit())
    store = table([strict, file(0)], [plain(column("a")), file(1)])
    assert read(open_stream(store, startingVersion=0)) == ["0", "1"]


@pytest.mark.parametrize("now", [mapped(A, RENAMED), mapped(A), plain(column("a"))])
def test_renames_and_drops_ask_for_a_schema_location(now: Metadata) -> None:
    store = table([mapped(A, B), file(0)], protocol=MAPPED)
    stream = open_stream(store)
    assert read(stream) == ["0"]
    write_commit(store, 1, now, file(1))
    with pytest.raises(SourceSchemaChangedError) as caught:
        stream.latest_offset(offset(1), Limit())
    assert "schemaTrackingLocation" in str(caught.value.hint)
    with pytest.raises(SourceSchemaChangedError):
        open_stream(store, startingVersion=0).latest_offset(None, Limit())


def test_turning_column_mapping_on_is_no_change() -> None:
    store = table([plain(column("p1")), file(0)])
    stream = open_stream(store)
    assert read(stream) == ["0"]
    write_commit(store, 1, MAPPED, mapped(column("p1", "p1")), file(1))
    assert read(stream, offset(1)) == ["1"]


WIDENING = Protocol(3, 7, ("typeWidening",), ("typeWidening",))


def test_widened_types_are_read_in_older_files() -> None:
    small, large = plain(column("a", kind=INTEGER)), plain(column("a", kind=LONG))
    store = table([small, file(0)], protocol=WIDENING)
    stream = open_stream(store)
    assert read(stream) == ["0"]
    write_commit(store, 1, large, file(1))
    with pytest.raises(SourceSchemaChangedError) as caught:
        stream.latest_offset(offset(1), Limit())
    assert caught.value.is_retryable
    assert read(open_stream(store, startingVersion=0)) == ["0", "1"]


def test_metadata_of_another_table_is_an_error() -> None:
    store = table([plain(column("a")), file(0)])
    stream = open_stream(store)
    read(stream)
    write_commit(store, 1, Metadata("other", plain(column("a")).schema_string))
    with pytest.raises(SourceReplacedError):
        stream.latest_offset(offset(1), Limit())


# --- with a log -------------------------------------------------------------------------------


class Query:
    """Runs of a query with a schema log, each with the files that it read."""

    def __init__(self, store: Store, **options: Any) -> None:
        self.store = store
        self.places = memory_store()
        self.options = {"schemaTrackingLocation": "/checkpoint/schema", **options}
        self.start: str | None = None
        self.planned: tuple[str | None, str] | None = None
        self.offsets: list[str] = []

    def log(self) -> SchemaLog:
        return SchemaLog(self.places, TABLE)

    def run(self, *, available_now: bool = False, **options: Any) -> list[str]:
        """As Spark does it: an offset is committed when the next one is there."""
        asked = StreamOptions.of(
            {k: str(v).lower() for k, v in (self.options | options).items()}, int
        )
        log = self.log()
        if log.current is not None:
            merged = merged_entry(SourceLog(self.store, TABLE), log.current)
            if merged is not None:
                log.write(merged, replaces=True)
        log = self.log()
        log.check_source(PATH)
        check_allowed(log, asked, lambda _: None, PATH)
        stream = open_stream(self.store, log, **(self.options | options))
        if available_now:
            stream.prepare_available_now()
        self.found: list[str] = []
        self._read(stream)
        while True:
            end = stream.latest_offset(self.start, Limit())
            if end is None or end == self.start:
                return self.found
            self.planned = (self.start, end)
            self.offsets.append(end)
            if self.start is not None:
                stream.commit(self.start)
            self._read(stream)

    def _read(self, stream: TableStream) -> None:
        """The batch that is planned, perhaps by the run before."""
        if self.planned is not None:
            self.found += names(stream.batch(*self.planned))
            self.start, self.planned = self.planned[1], None


@pytest.mark.parametrize("available_now", [True, False])
def test_a_stream_reads_each_schema_in_a_run_of_its_own(available_now: bool) -> None:
    store = table([mapped(A, B), file(0)], protocol=MAPPED)
    query = Query(store)
    assert query.run(available_now=available_now) == ["0"]
    write_commit(store, 1, file(1))
    write_commit(store, 2, mapped(A, RENAMED), file(2))
    write_commit(store, 3, file(3))
    with pytest.raises(SourceSchemaChangedError, match="schema log") as caught:
        query.run(available_now=available_now)
    assert caught.value.is_retryable
    assert query.found == ["1"]
    assert query.offsets == [offset(1), offset(2, -20), offset(2, -19)]
    with pytest.raises(SourceSchemaChangedError, match="b was renamed to c") as refused:
        query.run(available_now=available_now)
    assert "allowSourceColumnRename" in str(refused.value.hint)
    assert query.run(available_now=available_now, allowSourceColumnRename=2) == ["2", "3"]
    assert query.run(available_now=available_now, allowSourceColumnRename=2) == []


def test_offsets_stay_at_a_change_until_it_is_taken_up() -> None:
    store = table([mapped(A, B), file(0)], protocol=MAPPED)
    query = Query(store)
    query.run()
    write_commit(store, 1, mapped(A), file(1))
    stream = open_stream(store, query.log(), **query.options)
    first = stream.latest_offset(offset(1), None)
    assert first == offset(1, -20)
    second = stream.latest_offset(first, None)
    assert second == offset(1, -19)
    assert stream.latest_offset(second, None) == second
    with pytest.raises(SourceSchemaChangedError):
        stream.commit(first)
    assert open_stream(store, query.log(), **query.options).latest_offset(second, None) == offset(2)


def test_new_columns_need_no_consent() -> None:
    store = table([plain(column("a")), file(0)])
    query = Query(store)
    query.run()
    write_commit(store, 1, plain(column("a"), column("b")), file(1))
    with pytest.raises(SourceSchemaChangedError):
        query.run()
    assert query.run() == ["1"]


def test_changes_without_data_in_between_are_one() -> None:
    store = table([mapped(A, B), file(0)], protocol=MAPPED)
    query = Query(store)
    query.run()
    write_commit(store, 1, mapped(A, RENAMED))
    write_commit(store, 2, mapped(RENAMED))
    write_commit(store, 3, file(3))
    with pytest.raises(SourceSchemaChangedError):
        query.run()
    with pytest.raises(SourceSchemaChangedError, match=r"versions 0 and 2 .* b was renamed to c"):
        query.run()
    assert query.run(allowSourceColumnRename="always", allowSourceColumnDrop=2) == ["3"]


def test_a_first_entry_of_an_older_schema_ends_the_run() -> None:
    store = table([mapped(A, B), file(0)], protocol=MAPPED)
    write_commit(store, 1, mapped(A), file(1))
    query = Query(store, startingVersion=0)
    with pytest.raises(SourceSchemaChangedError):
        query.run()
    with pytest.raises(SourceSchemaChangedError):
        query.run()
    assert query.found == ["0"]
    assert query.run(allowSourceColumnDrop="always") == ["1"]


def test_a_log_that_comes_late_begins_with_the_schema_of_the_planned_batch() -> None:
    store = table([plain(column("a")), file(0)], [file(1)])
    query = Query(store)
    stream = open_stream(store, query.log(), **query.options)
    assert names(stream.batch(offset(0, 0, initial=True), offset(2))) == ["1"]
    entry = query.log().current
    assert entry is not None
    assert (entry.version, entry.schema.names) == (1, ("a",))


def test_latest_waits_for_its_first_version() -> None:
    store = table([plain(column("a")), file(0)])
    query = Query(store, startingVersion="latest")
    stream = open_stream(store, query.log(), **query.options)
    assert stream.latest_offset(None, Limit()) is None
    write_commit(store, 1, file(1))
    assert stream.latest_offset(None, Limit()) == offset(2)


def test_entries_have_the_format_of_delta_spark() -> None:
    store = table([plain(column("a"), column("b")), file(0)])
    query = Query(store)
    query.run()
    data = query.places.get(f"_schema_log_{TABLE}/0")
    head, body = data.split(b"\n")
    assert head == b"v1"
    raw = orjson.loads(body)
    assert list(raw) == [
        "tableId",
        "deltaCommitVersion",
        "dataSchemaJson",
        "partitionSchemaJson",
        "sourceMetadataPath",
        "tableConfigurations",
        "protocolJson",
    ]
    assert raw["partitionSchemaJson"] == '{"type":"struct","fields":[]}'
    assert raw["protocolJson"] == '{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}'
    assert raw["sourceMetadataPath"] == PATH


def test_a_log_is_for_one_source() -> None:
    store = table([plain(column("a")), file(0)])
    query = Query(store)
    query.run()
    with pytest.raises(InvalidArgumentError, match="is used by"):
        query.log().check_source("/checkpoint/sources/1")
    one, other = query.log(), query.log()
    snapshot = TableLog(store).snapshot()
    entry = TrackedSchema.of(1, snapshot.metadata, snapshot.protocol, PATH)
    one.write(entry)
    with pytest.raises(InvalidArgumentError, match="another stream"):
        other.write(TrackedSchema.of(2, snapshot.metadata, snapshot.protocol, PATH))


def test_tracking_ids_tell_sources_apart() -> None:
    places = memory_store()
    assert SchemaLog(places, "t", "x").folder == "_schema_log_t_x"
    assert SchemaLog(places, "t").folder == "_schema_log_t"


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode).map(b"v1\n".__add__))
def test_any_bytes_are_an_entry_or_a_named_error(data: bytes) -> None:
    with pytest.raises(StreamingError):
        TrackedSchema.decode(data, "0")


def test_the_hash_of_a_query_is_that_of_java() -> None:
    assert _java_hash("") == 0
    assert _java_hash("file:/tmp/checkpoint/sources/0") == -2090736517
    assert _java_hash("hello") == 99162322


def test_data_loss_cannot_be_accepted_with_a_log() -> None:
    options = {"schemaLocation": "/x", "failOnDataLoss": "false"}
    with pytest.raises(InvalidArgumentError, match="failOnDataLoss"):
        StreamOptions.of(options, int)
