"""The change feed as Spark shows it, against the golden tables, `deltalake` and rows by hand."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

import lakebed
from lakebed.arrow.scan import plan_scan, read_batches
from lakebed.errors import (
    DataFileError,
    InvalidArgumentError,
    LakebedError,
    SchemaError,
    VersionNotFoundError,
)
from lakebed.formats.deletion_vectors import RowIndexSet, encode_bitmap
from lakebed.formats.file_actions import adds_from_table
from lakebed.log.change_feed.change_range import ChangeRange
from lakebed.log.change_feed.changes import read_changes
from lakebed.log.table_log import TableLog
from lakebed.settings.setting_table import CHANGES_OUT_OF_RANGE, DATA_PLANE
from lakebed.spec.actions import Add, AddCdc, DeletionVector, Remove
from lakebed.spec.columns.column_mapping import column_id, physical_name
from lakebed.spec.schema import LONG, STRING, StructField, StructType, schema_to_json
from lakebed.spec.vector_descriptors import inline_vector
from lakebed.storage import open_store
from testkit.readers.scan_facts import assert_native, chosen
from testkit.schemas import column
from testkit.tables.arbitrary_tables import add_file, commit, make_table
from testkit.tables.golden_tables import GOLDEN, _hashing, golden_entries, name_of, needs_golden
from testkit.tables.spark_tables import settings

ENTRIES = [entry for entry in golden_entries() if "rows" in (entry.get("cdf") or {})]
ALIKE = (
    "cdf-column-mapping-name-mode-3-7",
    "cdf-table-delete-conditional-all-rows",
    "cdf-table-delete-unconditional",
    "cdf-table-non-partitioned",
    "cdf-table-simple",
    "cdf-table-update-ops",
)
"""Tables that show Spark nothing that others do not: only the Arrow plane reads them."""

REFUSED = [
    (entry, refused) for entry in golden_entries() for refused in entry.get("cdf_refuse") or ()
]
FEED = {"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "true"}
START = datetime(2026, 1, 31, 12, tzinfo=timezone.utc).timestamp()


def feed(spark: SparkSession, path: Path, **options: Any) -> DataFrame:
    reader = spark.read.format("delta").option("readChangeFeed", "true")
    return reader.options(**options).load(str(path))


def rows(frame: DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    """Sorted; without the time of the commit, which is not the same in every run."""
    names = columns or [name for name in frame.columns if name != "_commit_timestamp"]
    return sorted(tuple(row) for row in frame.select(*names).collect())


def inline(*deleted: int) -> DeletionVector:
    index = RowIndexSet.from_indexes(deleted)
    return inline_vector(encode_bitmap(index), index.cardinality)


def cdc_file(path: Path, name: str, data: pa.Table, **values: str) -> AddCdc:
    file = path / "_change_data" / name
    file.parent.mkdir(exist_ok=True)
    pq.write_table(data, file)
    return AddCdc(f"_change_data/{name}", values, file.stat().st_size)


# --- golden tables ------------------------------------------------------------------------------


@needs_golden
@pytest.mark.parametrize(
    "entry", [each for each in ENTRIES if each["name"] not in ALIKE], ids=name_of
)
def test_spark_shows_the_changes_of_a_golden_table(
    entry: dict[str, Any], spark: SparkSession
) -> None:
    wanted = entry["cdf"]
    frame = feed(
        spark,
        GOLDEN / entry["path"],
        startingVersion=wanted["start"],
        endingVersion=wanted["end"],
    )
    assert frame.columns == [*wanted["columns"], "_commit_timestamp"]
    found = frame.toArrow()
    assert (
        _hashing().content_hash(found.drop_columns(["_commit_timestamp"])) == wanted["content_hash"]
    )
    times = {
        str(row["_commit_version"]): round(row["_commit_timestamp"].timestamp() * 1000)
        for row in found.to_pylist()
    }
    for version, stamp in wanted.get("commit_timestamps_ms", {}).items():
        assert times.get(version, stamp) == stamp


@needs_golden
@pytest.mark.parametrize("entry", ENTRIES, ids=name_of)
def test_the_arrow_plane_reads_the_same_changes(entry: dict[str, Any]) -> None:
    wanted = entry["cdf"]
    asked = ChangeRange(starting_version=wanted["start"], ending_version=wanted["end"])
    changes = read_changes(TableLog(open_store(str(GOLDEN / entry["path"]))), asked)
    plans = [plan_scan(layer) for layer in changes.layers]
    found = pa.concat_tables(
        pa.Table.from_batches(read_batches(plan), plan.schema) for plan in plans
    )
    assert (
        _hashing().content_hash(found.drop_columns(["_commit_timestamp"])) == wanted["content_hash"]
    )


@needs_golden
@pytest.mark.parametrize(
    ("entry", "refused"),
    REFUSED,
    ids=[f"{name_of(entry)}:{refused['start']}-{refused['end']}" for entry, refused in REFUSED],
)
def test_ranges_of_golden_tables_that_must_be_refused(
    entry: dict[str, Any], refused: dict[str, Any]
) -> None:
    asked = ChangeRange(starting_version=refused["start"], ending_version=refused["end"])
    log = TableLog(open_store(str(GOLDEN / entry["path"])))
    with pytest.raises((InvalidArgumentError, VersionNotFoundError)):
        read_changes(log, asked)


# --- a table of all kinds of changes ------------------------------------------------------------


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Version 1 inserts, 2 and 3 mark rows, 4 updates with change data, 5 compacts, 6 deletes.

    The commits are a minute apart.
    """
    path = tmp_path_factory.mktemp("changes")
    make_table(path, column("n"), column("p", STRING), partition_by=("p",), properties=FEED)
    part = {"p": "a"}
    first = add_file(path, pa.table({"n": range(5)}), "first.parquet", partition_values=part)
    marked = replace(first, deletion_vector=inline(0, 1))
    commit(path, Remove.of(first, timestamp=1), marked)
    again = replace(first, deletion_vector=inline(1, 4))
    commit(path, Remove.of(marked, timestamp=1), again)
    _update(path, again, Remove.of(again, timestamp=1))
    _compact(path)
    last = _live(path)
    commit(path, Remove.of(last, timestamp=1))
    for version in range(7):
        moment = START + 60 * version
        os.utime(path / "_delta_log" / f"{version:020}.json", (moment, moment))
    return path


def _update(path: Path, old: Add, remove: Remove) -> None:
    """n = 2 becomes 20; the rows that stay are written again."""
    file = path / "updated.parquet"
    pq.write_table(pa.table({"n": [0, 20, 3]}), file)
    add = replace(old, path=file.name, size=file.stat().st_size, deletion_vector=None)
    kinds = ["update_preimage", "update_postimage"]
    data = pa.table({"n": [2, 20], "_change_type": kinds})
    commit(path, remove, replace(add, stats=None), cdc_file(path, "c.parquet", data, p="a"))


def _compact(path: Path) -> None:
    """The same rows in another file."""
    old = _live(path)
    (path / "compact.parquet").write_bytes((path / old.path).read_bytes())
    new = replace(old, path="compact.parquet", data_change=False)
    commit(path, Remove.of(old, timestamp=1, data_change=False), new)


def _live(path: Path) -> Add:
    (only,) = adds_from_table(lakebed.open(path).snapshot.files())
    return only


CHANGES = sorted(
    [
        *((n, "a", "insert", 1) for n in range(5)),
        (0, "a", "delete", 2),
        (1, "a", "delete", 2),
        (0, "a", "insert", 3),
        (4, "a", "delete", 3),
        (2, "a", "update_preimage", 4),
        (20, "a", "update_postimage", 4),
        *((n, "a", "delete", 6) for n in (0, 3, 20)),
    ]
)


@pytest.fixture(params=["native", "workers"])
def plane(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    with settings(spark, {DATA_PLANE.name: request.param}):
        yield request.param


@pytest.mark.usefixtures("plane")
def test_all_kinds_of_changes_are_shown(spark: SparkSession, table: Path) -> None:
    assert rows(feed(spark, table, startingVersion=0)) == CHANGES


def test_a_query_names_columns_of_the_table_and_of_the_feed(
    spark: SparkSession, table: Path
) -> None:
    spark.sql(f"CREATE TABLE fed USING delta LOCATION '{table}'")
    options = "WITH ('readChangeFeed' = 'true', 'startingVersion' = '0')"
    names = "n, upper(p) AS p, _change_type, _commit_version"
    shown = spark.sql(f"SELECT {names} FROM fed {options} WHERE n >= 0 AND p = 'a'").collect()
    spark.sql("DROP TABLE fed")
    assert sorted(map(tuple, shown)) == [(n, "A", *others) for n, _, *others in CHANGES]


def test_an_independent_reader_finds_the_same_changes(spark: SparkSession, table: Path) -> None:
    names = ["n", "p", "_change_type", "_commit_version"]
    theirs = pa.table(DeltaTable(str(table)).load_cdf(starting_version=0).read_all())
    found = sorted(tuple(row[name] for name in names) for row in theirs.to_pylist())
    assert rows(feed(spark, table, startingVersion=0), *names) == found


def test_the_columns_of_the_feed_come_last(spark: SparkSession, table: Path) -> None:
    frame = feed(spark, table, startingVersion=0)
    assert frame.dtypes == [
        ("n", "bigint"),
        ("p", "string"),
        ("_change_type", "string"),
        ("_commit_version", "bigint"),
        ("_commit_timestamp", "timestamp"),
    ]
    assert feed(spark, table, startingVersion=5, endingVersion=5).dtypes == frame.dtypes
    assert rows(feed(spark, table, startingVersion=5, endingVersion=5)) == []


def test_each_row_has_the_time_of_its_commit(spark: SparkSession, table: Path) -> None:
    history = lakebed.open(table).history().to_pylist()
    wanted = {row["version"]: row["timestamp"].timestamp() for row in history}
    assert wanted[6] == START + 360
    frame = feed(spark, table, startingVersion=0).selectExpr(
        "_commit_version", "CAST(_commit_timestamp AS DOUBLE)"
    )
    found = dict(tuple(row) for row in frame.distinct().collect())
    assert found == {version: wanted[version] for version in (1, 2, 3, 4, 6)}


def test_filters_on_versions_and_changes_leave_files_out(spark: SparkSession, table: Path) -> None:
    frame = feed(spark, table, startingVersion=0)
    assert sum(each.num_files for each in chosen(frame)) == 6
    second = frame.where("_commit_version = 2")
    assert sum(each.num_files for each in chosen(second)) == 1
    assert rows(second) == [row for row in CHANGES if row[3] == 2]
    assert_native(second)
    inserted = frame.where("_change_type = 'insert' AND n > 3")
    assert rows(inserted) == [(4, "a", "insert", 1)]


def test_counts_are_those_of_the_changed_rows(spark: SparkSession, table: Path) -> None:
    frame = feed(spark, table, startingVersion=0)
    assert frame.count() == len(CHANGES)
    assert frame.where("_commit_version = 3").count() == 2
    assert frame.selectExpr("min(n)", "max(_commit_version)").collect() == [(0, 6)]


def test_columns_and_conditions_of_the_read_hold_for_changes_too(
    spark: SparkSession, table: Path
) -> None:
    asked = {"columns": "_change_type, n", "where": "_commit_version = 4"}
    frame = feed(spark, table, startingVersion=0, **asked)
    assert rows(frame) == [("update_postimage", 20), ("update_preimage", 2)]


# --- options ------------------------------------------------------------------------------------


def test_names_of_options_are_taken_in_any_case(spark: SparkSession, table: Path) -> None:
    reader = spark.read.format("delta").option("READCHANGEDATA", True)
    frame = reader.option("StartingVERSION", 6).option("endingversion", "6").load(str(table))
    assert rows(frame) == [row for row in CHANGES if row[3] == 6]


def test_without_the_flag_the_table_itself_is_read(spark: SparkSession, table: Path) -> None:
    reader = spark.read.format("delta").option("readChangeFeed", "false")
    assert reader.option("startingVersion", 1).load(str(table)).columns == ["n", "p"]


def test_times_are_read_in_the_zone_of_the_session(spark: SparkSession, table: Path) -> None:
    asked = {"startingTimestamp": "2026-01-31 13:01:30", "endingTimestamp": "2026-01-31 13:03:00"}
    with settings(spark, {"spark.sql.session.timeZone": "Europe/Berlin"}):
        found = rows(feed(spark, table, **asked))
    assert found == [row for row in CHANGES if row[3] in (2, 3)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "where the changes start"),
        ({"startingVersion": "latest"}, "startingVersion is 'latest'"),
        ({"startingVersion": 1, "startingTimestamp": "2026-01-31"}, "not both"),
        ({"startingVersion": 3, "endingVersion": 2}, "start at version 3, after their end"),
        ({"startingTimestamp": "soon"}, "cannot be converted to a valid timestamp"),
        ({"startingVersion": 1, "versionAsOf": 2}, "the option versionAsOf names a single one"),
        ({"startingVersion": 1, "timestampAsOf": "2026-01-31"}, "the option timestampAsOf"),
        ({"startingVersion": 1, "readChangeData": "maybe"}, "readChangeData is 'maybe'"),
    ],
)
def test_options_that_make_no_sense_are_errors(
    spark: SparkSession, table: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        feed(spark, table, **options)


def test_a_path_with_a_version_is_an_error(spark: SparkSession, table: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="names a single one"):
        feed(spark, Path(f"{table}@v2"), startingVersion=1)


def test_ranges_after_the_newest_version_are_errors_or_empty(
    spark: SparkSession, table: Path
) -> None:
    late = {"startingTimestamp": "2026-02-01"}
    for options in (late, {"startingVersion": 7}):
        with pytest.raises(VersionNotFoundError, match="newest"):
            feed(spark, table, **options)
    with settings(spark, {CHANGES_OUT_OF_RANGE.name: "true"}):
        frames = [feed(spark, table, **each) for each in (late, {"startingVersion": 7})]
        found = feed(spark, table, startingVersion=6, endingTimestamp="2026-02-01")
    assert [frame.count() for frame in frames] == [0, 0]
    assert frames[0].columns[-3:] == ["_change_type", "_commit_version", "_commit_timestamp"]
    assert rows(found) == [row for row in CHANGES if row[3] == 6]


# --- schemas ------------------------------------------------------------------------------------


def test_columns_that_were_added_in_the_range_are_null_before(
    spark: SparkSession, tmp_path: Path
) -> None:
    make_table(tmp_path, column("n"), properties=FEED)
    add_file(tmp_path, pa.table({"n": [1]}), "one.parquet")
    metadata = lakebed.open(tmp_path).snapshot.metadata
    wider = schema_to_json(StructType((column("n"), column("t", STRING))))
    commit(tmp_path, replace(metadata, schema_string=wider))
    data = pa.table({"n": [1], "t": ["x"], "_change_type": ["delete"]})
    commit(tmp_path, cdc_file(tmp_path, "c.parquet", data))
    frame = feed(spark, tmp_path, startingVersion=1)
    found = [tuple(row) for row in frame.orderBy("_commit_version").drop(*LAST).collect()]
    assert found == [(1, None, "insert", 1), (1, "x", "delete", 3)]
    # As in delta-spark a table without column mapping shows the columns that it has now.
    assert feed(spark, tmp_path, startingVersion=1, endingVersion=1).columns[:2] == ["n", "t"]


LAST = ("_commit_timestamp",)


@pytest.mark.parametrize("mode", ["name", "id"])
def test_column_mapping(spark: SparkSession, tmp_path: Path, mode: str) -> None:
    properties = {**FEED, "delta.columnMapping.mode": mode}
    fields = (column("n"), column("p", STRING))
    made = make_table(tmp_path, *fields, partition_by=("p",), properties=properties)
    n, p = made.snapshot.schema.fields
    values = {physical_name(p): "a"}
    add = add_file(tmp_path, _mapped(n, [1, 2]), "one.parquet", partition_values=values)
    commit(tmp_path, Remove.of(add, timestamp=1), replace(add, deletion_vector=inline(0)))
    kinds = pa.array(["update_preimage", "update_postimage"])
    data = _mapped(n, [2, 3]).append_column("_change_type", kinds)
    commit(tmp_path, cdc_file(tmp_path, "c.parquet", data, **values))
    assert rows(feed(spark, tmp_path, startingVersion=0)) == [
        (1, "a", "delete", 2),
        (1, "a", "insert", 1),
        (2, "a", "insert", 1),
        (2, "a", "update_preimage", 3),
        (3, "a", "update_postimage", 3),
    ]
    _rename(tmp_path, "n", "m")
    assert feed(spark, tmp_path, startingVersion=0, endingVersion=3).columns[0] == "n"
    assert feed(spark, tmp_path, startingVersion=4).columns[0] == "m"
    with pytest.raises(SchemaError, match="in version 4 the column n was renamed to m"):
        feed(spark, tmp_path, startingVersion=0)


def _mapped(field: StructField, values: list[int]) -> pa.Table:
    identity = {"PARQUET:field_id": str(column_id(field))}
    schema = pa.schema([pa.field(physical_name(field), pa.int64(), metadata=identity)])
    return pa.table([values], schema=schema)


def _rename(path: Path, old: str, new: str) -> None:
    snapshot = lakebed.open(path).snapshot
    fields = (replace(field, name=new) if field.name == old else field for field in snapshot.schema)
    renamed = schema_to_json(StructType(tuple(fields)))
    commit(path, replace(snapshot.metadata, schema_string=renamed))


def test_names_that_need_quotes(spark: SparkSession, tmp_path: Path) -> None:
    make_table(tmp_path, column("a.b"), column("c `d"), properties=FEED)
    add_file(tmp_path, pa.table({"a.b": [1], "c `d": [2]}))
    frame = feed(spark, tmp_path, startingVersion=0)
    assert [tuple(row)[:4] for row in frame.collect()] == [(1, 2, "insert", 1)]


# --- files that are gone ------------------------------------------------------------------------


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """Version 1 inserts, version 2 removes the file, version 3 has change data."""
    make_table(tmp_path, column("n", LONG), properties=FEED)
    add = add_file(tmp_path, pa.table({"n": [1]}), "one.parquet")
    commit(tmp_path, Remove.of(add, timestamp=1))
    data = pa.table({"n": [1], "_change_type": ["insert"]})
    commit(tmp_path, cdc_file(tmp_path, "c.parquet", data))
    return tmp_path


def test_change_data_that_vacuum_removed_is_named(spark: SparkSession, short: Path) -> None:
    (short / "_change_data" / "c.parquet").unlink()
    with pytest.raises(DataFileError, match="change feed") as caught:
        feed(spark, short, startingVersion=1).collect()
    assert "_change_data/c.parquet" in caught.value.message
    assert "VACUUM" in str(caught.value.hint)


def test_a_removed_file_that_vacuum_deleted_is_named(spark: SparkSession, short: Path) -> None:
    (short / "one.parquet").unlink()
    with pytest.raises(LakebedError, match=r"one\.parquet") as caught:
        feed(spark, short, startingVersion=2, endingVersion=2).collect()
    assert "VACUUM" in str(caught.value.hint)
    assert rows(feed(spark, short, startingVersion=3)) == [(1, "insert", 3)]
