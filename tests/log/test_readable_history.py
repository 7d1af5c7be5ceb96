"""The column `readable` of the history, and the parts that it is made of."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lakebed
from lakebed.errors import InvalidArgumentError, StorageUrlError
from lakebed.log.listing.file_locations import FileLocations, exists, is_outside
from lakebed.log.table_log import TableLog
from lakebed.log.versions.file_lifetimes import FileLifetime, FileLifetimes, read_file_lifetimes
from lakebed.log.versions.history import HISTORY_SCHEMA
from lakebed.log.versions.readable import readable_versions, unreadable_versions
from lakebed.spec.actions import Add
from lakebed.spec.version_ranges import VersionRanges, ranges_text, spans_of
from lakebed.storage import open_store
from testkit.faults import FaultStore
from testkit.tables.aged_tables import AgedTable


@pytest.fixture
def table(tmp_path: Path) -> AgedTable:
    table = AgedTable(tmp_path / "table")
    for _ in range(3):
        table.overwrite()
        table.tick(48)
    return table


def column(table: AgedTable, **options: bool) -> dict[int, bool | None]:
    found = lakebed.open(table.folder).history(**options)
    assert found.schema.equals(HISTORY_SCHEMA)
    rows = found.select(["version", "readable"]).to_pylist()
    return {row["version"]: row["readable"] for row in rows}


def test_the_column_comes_last_and_is_null_where_nobody_looked(table: AgedTable) -> None:
    assert HISTORY_SCHEMA.names[-1] == "readable"
    assert set(column(table).values()) == {None}
    assert set(column(table, readable=True).values()) == {True}


def test_a_file_that_is_deleted_by_hand_is_found_when_asked(table: AgedTable) -> None:
    (table.folder / "part-2.parquet").unlink()
    assert column(table)[2] is None
    assert column(table, readable=True) == {3: True, 2: False, 1: True, 0: True}


def test_versions_that_the_log_cannot_rebuild_are_not_readable(table: AgedTable) -> None:
    table.checkpoint()
    (table.folder / "_delta_log" / f"{0:020}.json").unlink()
    assert column(table, readable=True) == {3: True, 2: False, 1: False}
    # DuckDB reads versions 1 and 2 as if the commit that is gone had said nothing.
    found = [table.read_by_lakebed(version) is not None for version in range(4)]
    assert found == [False] * 3 + [True]


def test_a_file_of_another_table_that_is_gone_is_found(tmp_path: Path, table: AgedTable) -> None:
    clone = AgedTable(tmp_path / "clone")
    clone.commit("CLONE", [Add(f"file://{table.folder}/part-3.parquet", {}, 7, 1, True)])
    assert column(clone, readable=True) == {1: True, 0: True}
    (table.folder / "part-3.parquet").unlink()
    assert column(clone, readable=True) == {1: False, 0: True}


def test_a_history_by_default_reads_no_more_than_the_commits(table: AgedTable) -> None:
    store = FaultStore(table.store)
    TableLog(store).history()
    assert store.counts["list_all"] == store.counts["head"] == 0


@pytest.mark.parametrize("tag", ["", "1-", "a", 3, None, {"a": 1}])
def test_a_record_that_says_nothing_is_passed_over(table: AgedTable, tag: object) -> None:
    info = {"operation": "VACUUM END", "tags": {"lakebed.unreadableVersions": tag}}
    path = table.folder / "_delta_log" / f"{4:020}.json"
    path.write_text(json.dumps({"commitInfo": info}) + "\n")
    assert set(column(table).values()) == {None}


def test_a_limit_keeps_what_newer_records_say(table: AgedTable) -> None:
    table.tick(200)
    table.vacuum()
    rows = lakebed.open(table.folder).history(4).select(["version", "readable"]).to_pylist()
    assert [(row["version"], row["readable"]) for row in rows] == [
        (5, None),
        (4, None),
        (3, None),
        (2, False),
    ]


# --- the lives of files -------------------------------------------------------------------------


def test_lives_say_from_when_to_when_a_file_was_part_of_the_table(table: AgedTable) -> None:
    table.revert(1)
    found = read_file_lifetimes(table.store, FileLocations(table.store))
    assert found.versions == [0, 1, 2, 3, 4]
    assert sorted(found.lifetimes) == [
        FileLifetime(("part-1.parquet",), 1, 1, 2),
        FileLifetime(("part-1.parquet",), 4, 4, None),
        FileLifetime(("part-2.parquet",), 2, 2, 3),
        FileLifetime(("part-3.parquet",), 3, 3, 4),
    ]


@given(
    lives=st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9), st.integers(0, 9))),
    versions=st.sets(st.integers(0, 9)),
    gone=st.sets(st.sampled_from("abc")),
)
def test_unreadable_are_the_versions_that_have_a_file_that_is_gone(
    lives: list[tuple[str, int, int]], versions: set[int], gone: set[str]
) -> None:
    history = FileLifetimes(
        [], sorted(versions), [FileLifetime((n,), a, b, None) for n, a, b in lives]
    )
    plain = {v for v in versions for n, a, b in lives if n in gone and a <= v <= b}
    assert unreadable_versions(history, gone.__contains__) == plain


def test_a_log_that_is_cleaned_up_while_it_is_read_is_read_again(table: AgedTable) -> None:
    table.checkpoint()

    class Cleaning(FaultStore):
        def get_many(self, paths):  # type: ignore[no-untyped-def]
            if self.inner.exists(f"_delta_log/{0:020}.json"):
                for version in range(3):
                    self.inner.delete(f"_delta_log/{version:020}.json")
            return super().get_many(paths)

    assert readable_versions(Cleaning(table.store)) == {3: True}


# --- places and ranges --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reference", "place"),
    [
        ("a/b.parquet", "a/b.parquet"),
        ("a%20b%25.parquet", "a b%.parquet"),
        ("s3://bucket/table/x%3D1/a", "x=1/a"),
        ("s3a://bucket/table/a", "a"),
        ("/table/a", "a"),
        ("s3://bucket/tables/a", "s3://bucket/tables/a"),
        ("s3://other/table/a", "s3://other/table/a"),
        ("t=10:30:00/a", "t=10:30:00/a"),
        ("dbfs:/table/a", "other://dbfs:/table/a"),
    ],
)
def test_every_reference_has_one_place(reference: str, place: str) -> None:
    store = open_store("s3://bucket/table", {"aws_region": "x", "skip_signature": "true"})
    assert FileLocations(store).locate(reference) == place
    assert is_outside(place) == ("://" in place)


@pytest.mark.parametrize("reference", ["../a", "a/../b", "./a", "a//b", "", "a/%2E%2E/b"])
def test_references_that_lead_out_of_the_table_are_refused(
    table: AgedTable, reference: str
) -> None:
    with pytest.raises(StorageUrlError):
        FileLocations(table.store).locate(reference)


def test_a_store_that_nobody_knows_cannot_be_asked(table: AgedTable) -> None:
    with pytest.raises(StorageUrlError, match="does not know"):
        exists(table.store, "other://dbfs:/a")


@given(st.sets(st.integers(0, 60)))
def test_ranges_are_a_short_text_for_the_same_versions(versions: set[int]) -> None:
    ranges = VersionRanges(ranges_text(versions))
    assert set(ranges) == versions
    assert {v for v in range(61) if v in ranges} == versions
    spans = spans_of(versions)
    assert all(b[0] > a[1] + 1 for a, b in pairwise(spans))


def test_the_text_of_ranges() -> None:
    assert ranges_text([7, 1, 0, 2, 9, 10]) == "0-2,7,9-10"
    with pytest.raises(InvalidArgumentError):
        VersionRanges("0-2,x")
