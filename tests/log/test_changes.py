"""What changed in a range of versions: which versions, which files, which rows of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import (
    DataFileError,
    InvalidArgumentError,
    LogCorruptedError,
    SchemaError,
    VersionNotFoundError,
)
from lakebed.formats.deletion_vectors import RowIndexSet, encode_bitmap, read_vector
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.change_feed.change_range import ChangeRange
from lakebed.log.change_feed.changes import Changes, read_changes
from lakebed.log.listing.log_names import commit_path
from lakebed.log.maintenance.checkpoint_writer import write_checkpoint
from lakebed.log.table_log import TableLog
from lakebed.spec.actions import Add, AddCdc, CommitInfo, DeletionVector, Metadata, Protocol, Remove
from lakebed.spec.columns.column_mapping import assign_column_mapping
from lakebed.spec.schema import DATE, LONG, STRING, StructField, StructType, schema_to_json
from lakebed.spec.vector_descriptors import inline_vector, new_file, stored_vector
from lakebed.storage import Store
from testkit.tables.log_tables import (
    SCHEMA,
    create,
    file,
    forget_commits,
    listed_store,
    memory_store,
    metadata,
    write_commit,
)
from testkit.timed_store import TimedStore

FEED = {"enableChangeDataFeed": "true"}
PROTOCOL = Protocol(3, 7, ("deletionVectors",), ("deletionVectors", "changeDataFeed"))
MAPPED = Protocol(3, 7, ("columnMapping",), ("columnMapping", "changeDataFeed"))


@pytest.fixture
def table(store: Store) -> Store:
    """Version 0: two files with five rows each."""
    adds = [file(number, stats={"numRecords": 5}) for number in range(2)]
    create(store, *adds, protocol=PROTOCOL, **FEED)
    return store


def changes(store: Store, start: int, end: int | None = None) -> Changes:
    return read_changes(TableLog(store), ChangeRange(starting_version=start, ending_version=end))


def adds_of(found: Changes) -> list[Add]:
    return [add for layer in found.layers for add in adds_from_table(layer.files())]


def summary(found: Changes) -> list[tuple[int, str, str]]:
    """Version, change and path of each file; change data files have `cdc`."""
    return sorted(
        (
            int(add.partition_values["_commit_version"] or 0),
            add.partition_values.get("_change_type") or "cdc",
            add.path,
        )
        for add in adds_of(found)
    )


def rows_left(add: Add, num_rows: int) -> list[int]:
    """The rows of a file that a scan would give."""
    if add.deletion_vector is None:
        return list(range(num_rows))
    deleted = read_vector(add.deletion_vector, _no_file)
    return [row for row in range(num_rows) if row not in deleted]


def _no_file(_: str) -> Any:
    raise AssertionError("the vector is not inline")


def inline(*rows: int) -> DeletionVector | None:
    found = RowIndexSet.from_indexes(rows)
    return inline_vector(encode_bitmap(found), len(found)) if rows else None


def removed(add: Add, **changed: Any) -> Remove:
    return replace(Remove.of(add, timestamp=1), **changed)


def cdc(**values: str) -> AddCdc:
    return AddCdc("_change_data/c.parquet", values, 10)


# --- which files --------------------------------------------------------------------------------


def test_added_files_are_inserts_and_removed_ones_deletes(table: Store) -> None:
    write_commit(table, 1, file(2), removed(file(0)))
    assert summary(changes(table, 0)) == [
        (0, "insert", "0.parquet"),
        (0, "insert", "1.parquet"),
        (1, "delete", "0.parquet"),
        (1, "insert", "2.parquet"),
    ]


def test_only_the_versions_of_the_range_count(table: Store) -> None:
    for version in range(1, 5):
        write_commit(table, version, file(10 + version))
    assert [version for version, _, _ in summary(changes(table, 2, 3))] == [2, 3]
    assert changes(table, 2, 3).versions == range(2, 4)


def test_a_version_with_change_data_files_is_read_from_these_alone(table: Store) -> None:
    write_commit(table, 1, removed(file(0)), file(2), cdc())
    assert summary(changes(table, 1)) == [(1, "cdc", "_change_data/c.parquet")]


def test_files_without_changed_data_are_passed_over(table: Store) -> None:
    write_commit(table, 1, removed(file(0), data_change=False), file(2, data_change=False))
    found = changes(table, 1)
    assert found.layers == ()
    assert found.schema.names == (*SCHEMA.names, "_change_type", "_commit_version", *LAST)


LAST = ("_commit_timestamp",)


def test_a_merge_that_changed_nothing_gives_nothing(table: Store) -> None:
    def merge(inserted: str) -> CommitInfo:
        counts = {"numTargetRowsUpdated": "0", "numTargetRowsDeleted": "0"}
        metrics = {**counts, "numTargetRowsInserted": inserted}
        return CommitInfo({"operation": "MERGE", "operationMetrics": metrics})

    write_commit(table, 1, merge("0"), removed(file(0)), file(2), info=False)
    write_commit(table, 2, merge("1"), file(3), info=False)
    assert summary(changes(table, 1)) == [(2, "insert", "3.parquet")]


def test_no_layer_has_a_file_twice_with_one_vector(table: Store) -> None:
    """A file that is added, marked twice and removed in the range."""
    add = file(7, stats={"numRecords": 5})
    marked = replace(add, deletion_vector=inline(0))
    again = replace(add, deletion_vector=inline(0, 3))
    write_commit(table, 1, add)
    write_commit(table, 2, removed(add), marked)
    write_commit(table, 3, removed(marked), again)
    write_commit(table, 4, removed(again))
    found = changes(table, 1)
    for layer in found.layers:
        keys = [str(row) for row in layer.files(["path", "deletionVector"]).to_pylist()]
        assert len(set(keys)) == len(keys)
    by_version = {
        int(each.partition_values["_commit_version"] or 0): (
            each.partition_values["_change_type"],
            rows_left(each, 5),
        )
        for each in adds_of(found)
    }
    assert by_version == {
        1: ("insert", [0, 1, 2, 3, 4]),
        2: ("delete", [0]),
        3: ("delete", [3]),
        4: ("delete", [1, 2, 4]),
    }


def test_partition_values_of_all_kinds_of_files_are_kept(store: Store) -> None:
    create(store, protocol=PROTOCOL, partition_by=["name"], **FEED)
    add = file(1, partition_values={"name": "a"}, stats={"numRecords": 2})
    write_commit(store, 1, add)
    write_commit(store, 2, removed(add), replace(add, deletion_vector=inline(1)))
    write_commit(store, 3, cdc(name="b"))
    found = adds_of(changes(store, 1))
    assert sorted(add.partition_values["name"] or "" for add in found) == ["a", "a", "b"]
    made = changes(store, 1).layers[0]
    assert made.partition_columns == ("name", "_commit_version", "_commit_timestamp")


def test_what_a_remove_does_not_say_is_looked_up(store: Store) -> None:
    """Removes need not have the partition values and the size of the file."""
    create(store, file(0, partition_values={"name": "a"}), partition_by=["name"], **FEED)
    write_commit(store, 1, file(1, partition_values={"name": "b"}, size=7))
    bare = [Remove(f"{number}.parquet", data_change=True) for number in range(2)]
    write_commit(store, 2, *bare)
    found = {add.path: add for add in adds_of(changes(store, 1)) if is_delete(add)}
    assert {path: add.partition_values["name"] for path, add in found.items()} == {
        "0.parquet": "a",
        "1.parquet": "b",
    }
    assert found["1.parquet"].size == 7
    write_commit(store, 3, Remove("unknown.parquet", data_change=True))
    with pytest.raises(LogCorruptedError, match=r"unknown\.parquet"):
        changes(store, 3)


def is_delete(add: Add) -> bool:
    return add.partition_values["_change_type"] == "delete"


# --- deletion vectors ---------------------------------------------------------------------------


@given(st.sets(st.integers(0, 19)), st.sets(st.integers(0, 19)))
def test_of_two_vectors_the_difference_counts(old: set[int], new: set[int]) -> None:
    store = memory_store()
    add = file(0, stats={"numRecords": 20})
    before = replace(add, deletion_vector=inline(*old))
    create(store, before, protocol=PROTOCOL, **FEED)
    write_commit(store, 1, removed(before), replace(add, deletion_vector=inline(*new)))
    found = {
        str(add.partition_values["_change_type"]): rows_left(add, 20)
        for add in adds_of(changes(store, 1))
    }
    wanted = {"delete": sorted(new - old), "insert": sorted(old - new)}
    assert found == {kind: rows for kind, rows in wanted.items() if rows}


def test_without_statistics_the_footer_says_how_many_rows_there_are(store: Store) -> None:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"id": range(6)}), sink)
    store.put("0.parquet", sink.getvalue().to_pybytes())
    create(store, file(0), protocol=PROTOCOL, **FEED)
    write_commit(store, 1, removed(file(0)), file(0, deletion_vector=inline(2)))
    (only,) = adds_of(changes(store, 1))
    assert rows_left(only, 6) == [2]
    store.delete("0.parquet")
    with pytest.raises(DataFileError, match="gone") as caught:
        changes(store, 1)
    assert "VACUUM" in str(caught.value.hint)


def test_bounds_of_the_file_are_not_taken_for_those_of_its_deleted_rows(table: Store) -> None:
    stats = {"numRecords": 5, "minValues": {"id": 10}, "maxValues": {"id": 14}}
    tight = file(0, stats=stats, deletion_vector=inline(0, 1))
    write_commit(table, 1, removed(file(0)), tight)
    (only,) = adds_of(changes(table, 1))
    assert "minValues" not in (only.stats or "")


def test_a_vector_that_vacuum_removed_is_an_error_that_says_so(table: Store) -> None:
    prefix, unique = new_file()
    stored = stored_vector(prefix, unique, 1, 34, 1)
    write_commit(table, 1, removed(file(0)), file(0, deletion_vector=stored))
    with pytest.raises(DataFileError, match="change feed") as caught:
        changes(table, 1)
    assert "VACUUM" in str(caught.value.hint)


# --- ranges -------------------------------------------------------------------------------------


def timed(clock: Callable[[int], int] = lambda version: 1000 * version) -> TimedStore:
    """Versions 0 to 5, made at 0, 1000, ... 5000."""
    store = TimedStore(listed_store(), clock)
    create(store, file(0), **FEED)
    for version in range(1, 6):
        write_commit(store, version, file(version))
    return store


def versions(**asked: Any) -> list[int]:
    return list(read_changes(TableLog(timed()), ChangeRange(**asked)).versions)


def test_both_ends_belong_to_the_range_and_the_end_may_be_left_out() -> None:
    assert versions(starting_version=2, ending_version=4) == [2, 3, 4]
    assert versions(starting_version=4) == [4, 5]
    assert versions(starting_version=4, ending_version=99) == [4, 5]


@pytest.mark.parametrize(
    ("start", "end", "wanted"),
    [
        (2000, 4000, [2, 3, 4]),
        (1001, 4999, [2, 3, 4]),
        (-500, 1000, [0, 1]),
        (4500, None, [5]),
        (2100, 2900, []),
    ],
)
def test_times_choose_the_versions_between_them(
    start: int, end: int | None, wanted: list[int]
) -> None:
    assert versions(starting_time=start, ending_time=end) == wanted


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"starting_time": 5001}, "start at .* after the newest version, 5"),
        ({"starting_version": 1, "ending_time": 5001}, "end at .* after the newest version, 5"),
        ({"starting_version": 0, "ending_time": -1}, "before the oldest commit"),
        ({"starting_version": 6}, "cannot start at version 6: the newest is 5"),
    ],
)
def test_ends_outside_of_the_log_are_errors(asked: dict[str, int], message: str) -> None:
    with pytest.raises(VersionNotFoundError, match=message):
        versions(**asked)


def test_ends_beyond_the_newest_version_can_be_allowed() -> None:
    assert versions(starting_time=5001, allow_beyond=True) == []
    assert versions(starting_version=9, ending_version=9, allow_beyond=True) == []
    assert versions(starting_version=4, ending_time=9999, allow_beyond=True) == [4, 5]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({}, "not said where the changes start"),
        ({"ending_version": 3}, "not said where the changes start"),
        ({"starting_version": 1, "starting_time": 1}, "not both"),
        ({"starting_version": 1, "ending_version": 1, "ending_time": 1}, "not both"),
        ({"starting_version": -1}, "startingVersion is -1"),
        ({"starting_version": 3, "ending_version": 2}, "start at version 3, after their end"),
        ({"starting_time": 2900, "ending_time": 2100}, "start at version 3, after their end"),
        ({"starting_version": 4, "ending_time": 2500}, "start at version 4, after their end"),
    ],
)
def test_impossible_ranges_are_errors(asked: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        versions(**asked)


def test_commits_that_were_cleaned_up_are_named() -> None:
    store = timed()
    write_checkpoint(TableLog(store).snapshot(3))
    forget_commits(store, range(3))
    assert list(changes(store, 3).versions) == [3, 4, 5]
    with pytest.raises(VersionNotFoundError, match="versions 1 to 2 are gone") as caught:
        changes(store, 1, 4)
    assert "version 3 or later" in str(caught.value.hint)
    with pytest.raises(VersionNotFoundError, match="versions 0 to 1 are gone"):
        changes(store, 0, 1)


def test_only_the_commits_of_the_range_are_read() -> None:
    store = timed()
    write_checkpoint(TableLog(store).snapshot())
    store.calls.clear()
    changes(store, 5)
    got = (joined for method, joined in store.calls if method.startswith("get"))
    read = {path for joined in got for path in joined.split(" ")}
    commits = {commit_path(version) for version in range(6)}
    assert read & commits == {commit_path(5)}


# --- times of commits ---------------------------------------------------------------------------


def stamps(store: Store, start: int) -> dict[str, str]:
    return {
        str(add.partition_values["_commit_version"]): str(add.partition_values["_commit_timestamp"])
        for add in adds_of(changes(store, start))
    }


def test_the_time_of_a_commit_is_that_of_its_file_and_grows_with_versions() -> None:
    store = timed(lambda version: (0, 1000, 500, 600, 4000, 5000)[version])
    assert stamps(store, 1) == {
        "1": "1970-01-01T00:00:01.000000Z",
        "2": "1970-01-01T00:00:01.001000Z",
        "3": "1970-01-01T00:00:01.002000Z",
        "4": "1970-01-01T00:00:04.000000Z",
        "5": "1970-01-01T00:00:05.000000Z",
    }


def test_a_time_in_the_commit_wins() -> None:
    store = timed()
    info = CommitInfo({"operation": "WRITE", "inCommitTimestamp": 86_400_123})
    write_commit(store, 6, info, file(6), info=False)
    assert stamps(store, 5) == {
        "5": "1970-01-01T00:00:05.000000Z",
        "6": "1970-01-02T00:00:00.123000Z",
    }


# --- recorded or not ----------------------------------------------------------------------------


def test_every_version_of_the_range_must_have_recorded_its_changes(store: Store) -> None:
    create(store, file(0))
    write_commit(store, 1, metadata(**FEED), file(1))
    write_commit(store, 2, file(2))
    write_commit(store, 3, metadata(), file(3))
    write_commit(store, 4, file(4))
    write_commit(store, 5, metadata(**FEED), file(5))
    assert [version for version, _, _ in summary(changes(store, 1, 2))] == [1, 2]
    assert [version for version, _, _ in summary(changes(store, 5))] == [5]
    for start, end, first in ((0, 2, 0), (1, 5, 3), (2, 3, 3), (4, 5, 4)):
        with pytest.raises(InvalidArgumentError, match=f"in version {first} delta.enableChange"):
            changes(store, start, end)


# --- schemas ------------------------------------------------------------------------------------


def schema(*columns: tuple[str, Any]) -> StructType:
    return StructType(tuple(StructField(name, kind) for name, kind in columns))


PLAIN = schema(("id", LONG), ("name", STRING))


def evolved(store: Store, *schemas: Metadata, protocol: Protocol = PROTOCOL) -> Store:
    """A version for each of them, with a file each."""
    for version, each in enumerate(schemas):
        more = [protocol] if version == 0 else []
        write_commit(store, version, *more, each, file(version))
    return store


def mapped(*fields: StructField, mode: str = "name", **more: Any) -> Metadata:
    return metadata(
        StructType(fields), columnMapping__mode=mode, columnMapping__maxColumnId="9", **FEED, **more
    )


def stored_as(name: str, physical: str, number: int, kind: Any = LONG) -> StructField:
    mapping = {
        "delta.columnMapping.id": number,
        "delta.columnMapping.physicalName": physical,
    }
    return StructField(name, kind, metadata=mapping)


def test_changes_have_the_columns_that_the_table_has_now(memory: Store) -> None:
    wider = schema(("id", LONG), ("name", STRING), ("day", DATE))
    evolved(memory, metadata(PLAIN, **FEED), metadata(wider, **FEED))
    assert changes(memory, 0, 0).schema.names[:3] == ("id", "name", "day")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([("id", LONG)], "in version 1 the column name was dropped"),
        ([("id", STRING), ("name", STRING)], "column id changed its type from long to string"),
        ([("ID", LONG), ("name", STRING)], "column id was renamed to ID"),
    ],
)
def test_columns_that_changed_in_the_range_are_named(
    memory: Store, columns: list[tuple[str, Any]], message: str
) -> None:
    later = metadata(schema(*columns), **FEED)
    evolved(memory, metadata(PLAIN, **FEED), later, later)
    with pytest.raises(SchemaError, match=message) as caught:
        changes(memory, 0, 2)
    assert "before version 1" in str(caught.value.hint)
    # What the hint says is possible.
    assert changes(memory, 0, 0).schema.names[:2] == PLAIN.names
    assert list(changes(memory, 1).versions) == [1, 2]


def test_changes_inside_of_columns_are_found_too(memory: Store) -> None:
    before = schema(("s", schema(("a", LONG), ("b", LONG))))
    after = schema(("s", schema(("a", LONG))))
    evolved(memory, metadata(before, **FEED), metadata(after, **FEED))
    with pytest.raises(SchemaError, match=r"the column s\.b was dropped"):
        changes(memory, 0)


def test_a_column_that_no_longer_takes_nulls_is_an_error(memory: Store) -> None:
    strict = StructType((StructField("id", LONG, nullable=False), PLAIN.fields[1]))
    evolved(memory, metadata(PLAIN, **FEED), metadata(strict, **FEED))
    with pytest.raises(SchemaError, match="column id stopped taking nulls"):
        changes(memory, 0)


def test_other_partition_columns_are_an_error(memory: Store) -> None:
    evolved(memory, metadata(PLAIN, **FEED), metadata(PLAIN, ["name"], **FEED))
    with pytest.raises(SchemaError, match=r"partition columns changed from \(\) to \(name\)"):
        changes(memory, 0)


def test_with_column_mapping_the_end_of_the_range_gives_the_columns(memory: Store) -> None:
    one = mapped(stored_as("a", "x", 1))
    two = mapped(stored_as("a", "x", 1), stored_as("b", "y", 2))
    evolved(memory, one, two, protocol=MAPPED)
    assert changes(memory, 0, 0).schema.names[:-3] == ("a",)
    assert changes(memory, 0, 1).schema.names[:-3] == ("a", "b")


@pytest.mark.parametrize(
    ("field", "message"),
    [
        (stored_as("b", "x", 1), "in version 2 the column a was renamed to b"),
        (stored_as("a", "y", 2), "in version 2 the column a was dropped"),
        (stored_as("a", "x", 1, STRING), "the column a changed its type"),
    ],
)
def test_with_column_mapping_columns_are_known_by_their_physical_names(
    memory: Store, field: StructField, message: str
) -> None:
    same = mapped(stored_as("a", "x", 1))
    evolved(memory, same, same, mapped(field), protocol=MAPPED)
    assert changes(memory, 0, 1).schema.names[:-3] == ("a",)
    with pytest.raises(SchemaError, match=message):
        changes(memory, 1, 2)


def test_a_range_may_span_the_start_of_column_mapping(memory: Store) -> None:
    plain = metadata(PLAIN, **FEED)
    grown, configuration = assign_column_mapping(
        PLAIN, {**plain.configuration, "delta.columnMapping.mode": "name"}, keep_names=True
    )
    upgraded = replace(plain, schema_string=schema_to_json(grown), configuration=configuration)
    evolved(memory, plain, upgraded, plain, protocol=MAPPED)
    assert changes(memory, 0, 1).schema.names[:2] == PLAIN.names
    with pytest.raises(SchemaError, match="column mapping changed from name to none"):
        changes(memory, 0, 2)


def test_ids_of_columns_do_not_hide_the_kind_of_change(memory: Store) -> None:
    """No id leads to _change_type in a change data file: it is found by its name."""
    evolved(memory, mapped(stored_as("a", "x", 1), mode="id"), protocol=MAPPED)
    write_commit(memory, 1, cdc())
    write_commit(memory, 2, file(9))
    written, derived = changes(memory, 1).layers
    modes = [
        each.properties.configuration["delta.columnMapping.mode"] for each in (written, derived)
    ]
    assert modes == ["name", "id"]


def test_names_of_the_feed_are_taken(memory: Store) -> None:
    evolved(memory, metadata(schema(("_Commit_Version", LONG)), **FEED))
    with pytest.raises(SchemaError, match="_Commit_Version"):
        changes(memory, 0)
