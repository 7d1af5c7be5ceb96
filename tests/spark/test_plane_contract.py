"""What both data planes promise: one suite, run on each, judged by an independent reader.

Tables are on the local disk here. `tests/stores/native_contract.py` runs the same tests on servers
of object stores: it has a session and a `location` of its own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deleted_rows import delete
from made_tables import read_elsewhere, rows
from pyarrow.fs import FileSelector, FileSystem, LocalFileSystem, SubTreeFileSystem
from pyspark.sql import DataFrame, SparkSession
from written_tables import create, load, save, settings

import lakebed
from lakebed.errors import (
    ConstraintViolationError,
    DataFileError,
    InvalidArgumentError,
    LakebedError,
    SchemaError,
    SchemaMismatchError,
    TableExistsError,
    VersionNotFoundError,
)
from lakebed.spark.native import NativePlane
from lakebed.spark.planes import SETTING, plane_for
from lakebed.spark.workers.plane import WorkersPlane
from lakebed.spec.schema import DATE, LONG, STRING, TIMESTAMP, StructField, StructType
from lakebed.storage import open_store

pytestmark = pytest.mark.usefixtures("plane")
PLANES = {"native": NativePlane, "workers": WorkersPlane}


@pytest.fixture(params=PLANES)
def plane(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    with settings(spark, {SETTING: request.param}):
        yield request.param


@pytest.fixture
def location(tmp_path: Path) -> str:
    """The path or URL of an empty folder, for the table."""
    return str(tmp_path)


@pytest.fixture
def files(location: str) -> FileSystem:
    """That folder, by other means than Lakebed's and Spark's."""
    return SubTreeFileSystem(location, LocalFileSystem())


def ids(location: str) -> list[int]:
    return sorted(read_elsewhere(location)["id"].to_pylist())


def frame(spark: SparkSession, *columns: str, count: int = 4, first: int = 0) -> DataFrame:
    """Rows that are not in the plan itself, in two tasks."""
    return spark.range(first, first + count, 1, 2).selectExpr("id", *columns)


def by_id(location: str) -> list[dict[str, Any]]:
    return sorted(read_elsewhere(location).to_pylist(), key=lambda row: int(row["id"]))


def same(found: DataFrame, location: str) -> bool:
    """Whether Spark's rows are those of the independent reader."""
    return rows(found.toArrow()) == rows(read_elsewhere(location))


def data_files(files: FileSystem) -> list[str]:
    found = files.get_file_info(FileSelector("", recursive=True))
    return sorted(each.path for each in found if each.is_file and each.path.endswith(".parquet"))


def test_the_setting_chooses_the_plane(
    spark: SparkSession, location: str, files: FileSystem, plane: str
) -> None:
    store = open_store(location)
    assert isinstance(plane_for(spark, store, store.url), PLANES[plane])
    save(frame(spark), location)
    footers = [pq.read_metadata(name, filesystem=files) for name in data_files(files)]
    writers = {footer.created_by for footer in footers}
    assert [writer.startswith("parquet-mr") for writer in writers] == [plane == "native"]


# --- reads ---------------------------------------------------------------------------------------


def test_every_type_is_read_as_it_was_written(spark: SparkSession, location: str) -> None:
    moment = datetime(2026, 1, 31, 12, 30, 15, 123456)
    table = pa.table(
        {
            "id": pa.array([1, 2], pa.int64()),
            "byte": pa.array([-128, None], pa.int8()),
            "float": pa.array([0.5, None], pa.float32()),
            "text": ["é\n", None],
            "bytes": [b"\x00\xff", None],
            "ok": [True, None],
            "day": [date(1900, 1, 1), None],
            "at": pa.array([moment.replace(tzinfo=timezone.utc), None], pa.timestamp("us", "UTC")),
            "local": pa.array([moment, None], pa.timestamp("us")),
            "price": pa.array([Decimal("-1.50"), None], pa.decimal128(30, 2)),
            "deep": [{"a": [{"b": 1}, None], "c": None}, None],
            "map": pa.array([[("k", [1, None])], None], pa.map_(pa.string(), pa.list_(pa.int64()))),
        }
    )
    lakebed.write(location, table)
    found = load(spark, location)
    assert same(found, location)
    with settings(spark, {"spark.sql.session.timeZone": "Asia/Tokyo"}):
        (row,) = load(spark, location).where("at = '2026-01-31 21:30:15.123456'").collect()
    assert (row["id"], row["local"]) == (1, moment)
    assert load(spark, location).where("local < '2000-01-01'").count() == 0


def test_filters_on_partitions_and_statistics_give_the_rows_that_meet_them(
    spark: SparkSession, location: str
) -> None:
    for n in range(3):
        table = {"id": [n * 10, n * 10 + 1], "p": ["a b%/=é", None], "s": [{"x": n}, None]}
        lakebed.write(location, pa.table(table), partition_by="p")
    found = load(spark, location)

    def matching(condition: str) -> list[int]:
        return sorted(row.id for row in found.where(condition).collect())

    assert matching("id >= 11 AND p IS NULL") == [11, 21]
    assert matching("p = 'a b%/=é' AND id IN (0, 20, 21)") == [0, 20]
    assert matching("s.x > 0 OR id = 1") == [1, 10, 20]
    assert matching("p LIKE 'a%' AND NOT id = 10") == [0, 20]
    assert matching("id > 100") == []
    assert found.where("p IS NULL").count() == 3
    one, other = found.where("id = 1"), found.where("id = 20")
    assert sorted(row.id for row in one.union(other).collect()) == [1, 20]


def test_a_version_stays_what_it_was_and_dataframes_see_the_newest(
    spark: SparkSession, location: str
) -> None:
    lakebed.write(location, pa.table({"id": [1]}))
    old = load(spark, location)
    assert old.count() == 1
    lakebed.write(location, pa.table({"id": [2], "more": ["x"]}), merge_schema=True)
    assert old.count() == 2
    assert sorted(tuple(row) for row in old.select("*").collect()) == [(1,), (2,)]
    assert sorted(row.more or "" for row in load(spark, location).collect()) == ["", "x"]
    first = spark.read.format("delta").option("versionAsOf", 0).load(location)
    assert [row.asDict() for row in first.collect()] == [{"id": 1}]
    with pytest.raises(VersionNotFoundError):
        spark.read.format("delta").load(f"{location}@v7")


def test_deleted_rows_stay_deleted(spark: SparkSession, location: str) -> None:
    properties = {"delta.enableDeletionVectors": "true"}
    lakebed.write(location, pa.table({"id": list(range(10))}), properties=properties)
    delete(location, [0, 5, 9])
    found = load(spark, location)
    assert sorted(row.id for row in found.collect()) == [1, 2, 3, 4, 6, 7, 8]
    assert found.where("id < 6").count() == 4
    save(frame(spark, count=2, first=3), location, "overwrite", replaceWhere="id < 5")
    assert ids(location) == [3, 4, 6, 7, 8]


def test_columns_and_a_condition_can_be_given_by_hand(spark: SparkSession, location: str) -> None:
    table = pa.table({"id": [1, 2, 3], "a b": ["x", "y", "z"], "c": [0, 1, 1]})
    lakebed.write(location, table, properties={"delta.columnMapping.mode": "name"})
    reader = spark.read.format("delta").option("columns", "A b, id").option("where", "c = 1")
    found = reader.load(location)
    assert found.columns == ["a b", "id"]
    assert sorted(map(tuple, found.collect())) == [("y", 2), ("z", 3)]
    with pytest.raises(SchemaError, match="nope"):
        spark.read.format("delta").option("columns", "nope").load(location)


def test_a_condition_by_hand_is_read_as_spark_reads_it(spark: SparkSession, location: str) -> None:
    """In the zone of the session, and with functions that only Spark knows."""
    moments = pa.array([0, 4 * 3_600_000_000, 6 * 3_600_000_000], pa.timestamp("us", "UTC"))
    lakebed.write(location, pa.table({"id": [1, 2, 3], "at": moments}))
    reader = spark.read.format("delta").option("columns", "id")
    with settings(spark, {"spark.sql.session.timeZone": "America/New_York"}):
        late = reader.option("where", "at >= '1970-01-01 00:00:00'").load(location)
        odd = reader.option("where", "cast(id as string) RLIKE '^[13]$'").load(location)
        assert sorted(map(tuple, late.collect())) == [(3,)]
        assert sorted(map(tuple, odd.collect())) == [(1,), (3,)]


def test_a_file_that_is_gone_is_named(
    spark: SparkSession, location: str, files: FileSystem
) -> None:
    lakebed.write(location, pa.table({"id": [1]}))
    found = load(spark, location)
    (name,) = data_files(files)
    files.delete_file(name)
    with pytest.raises(DataFileError, match=name) as caught:
        found.collect()
    assert "VACUUM" in str(caught.value.hint)


# --- writes --------------------------------------------------------------------------------------


def test_the_modes_do_what_they_say(spark: SparkSession, location: str) -> None:
    save(frame(spark, count=2), location, "errorifexists", userMetadata="first")
    save(frame(spark, count=2, first=2), location, "append")
    assert ids(location) == [0, 1, 2, 3]
    save(frame(spark), location, "ignore")
    with pytest.raises(TableExistsError):
        save(frame(spark), location, "error")
    assert ids(location) == [0, 1, 2, 3]
    save(frame(spark, first=9), location, "overwrite")
    assert ids(location) == [9, 10, 11, 12]
    history = lakebed.open(location).history().to_pylist()
    assert [row["userMetadata"] for row in history] == [None, None, "first"]
    assert dict(history[0]["operationMetrics"])["numOutputRows"] == "4"


def test_every_type_is_written_so_that_others_read_it(spark: SparkSession, location: str) -> None:
    columns = (
        "cast(id as tinyint) small",
        "if(id = 0, null, concat('t', id)) text",
        "cast(id as decimal(20, 3)) price",
        "timestamp_seconds(id) at",
        "timestamp_ntz'2026-01-01 02:30:00' local",
        "date_add(date'2026-01-01', cast(id as int)) day",
        "named_struct('x', id, 'y', array(id, null)) deep",
        "map('k', id) m",
        "cast(concat('b', id) as binary) bytes",
        "double('NaN') nan",
    )
    with settings(spark, {"spark.sql.session.timeZone": "America/New_York"}):
        save(frame(spark, *columns), location)
    assert same(load(spark, location), location)
    found = by_id(location)
    assert found[1]["at"] == datetime(1970, 1, 1, 0, 0, 1, tzinfo=timezone.utc)
    assert (found[0]["text"], found[2]["price"]) == (None, Decimal("2.000"))
    assert found[3]["deep"] == {"x": 3, "y": [3, None]}


def test_variants_come_back_as_they_went_in(spark: SparkSession, location: str) -> None:
    save(frame(spark, "if(id = 0, null, parse_json(concat('{\"a\": ', id, '}'))) v"), location)
    found = load(spark, location).selectExpr("id", "variant_get(v, '$.a', 'long') a").collect()
    assert sorted((row.id, row.a) for row in found) == [(0, None), (1, 1), (2, 2), (3, 3)]


def test_partitions_with_any_values_are_found_by_others(spark: SparkSession, location: str) -> None:
    """In a folder of any name: Spark takes it letter by letter, and a URL escapes it."""
    path = f"{location}/a b#%é"
    url = f"{location}/{quote('a b#%é')}" if "://" in location else path
    values = "element_at(array('x/y', 'a=b %', '', null), cast(id as int) + 1) p"
    writer = frame(spark, values, "date'2026-01-31' d").write.format("delta")
    writer.partitionBy("p", "d").save(path)
    assert same(load(spark, path), url)
    found = {row["id"]: row["p"] for row in read_elsewhere(url).to_pylist()}
    assert found == {0: "x/y", 1: "a=b %", 2: None, 3: None}
    assert lakebed.open(url).partition_columns == ("p", "d")
    assert lakebed.open(url).files("p = 'x/y'").num_rows == 1


def test_files_have_statistics_and_as_many_rows_as_asked(
    spark: SparkSession, location: str, files: FileSystem
) -> None:
    save(frame(spark, count=10).coalesce(1), location, maxRecordsPerFile=4, compression="gzip")
    stats = [
        json.loads(each) for each in lakebed.open(location).files(stats=True)["stats"].to_pylist()
    ]
    assert sorted(each["numRecords"] for each in stats) == [2, 4, 4]
    assert min(each["minValues"]["id"] for each in stats) == 0
    assert all(name.endswith(".gz.parquet") for name in data_files(files))
    assert lakebed.open(location).files("id = 9").num_rows == 1


def test_schemas_are_enforced_and_evolve_when_asked(spark: SparkSession, location: str) -> None:
    save(frame(spark, "named_struct('x', 1) s", count=1), location)
    wider = frame(spark, "named_struct('x', 1, 'y', 'new') s", "true more", count=1, first=1)
    with pytest.raises(SchemaMismatchError, match="more"):
        save(wider, location)
    save(wider, location, mergeSchema=True)
    found = by_id(location)
    assert found[0] == {"id": 0, "s": {"x": 1, "y": None}, "more": None}
    assert found[1] == {"id": 1, "s": {"x": 1, "y": "new"}, "more": True}
    save(frame(spark, "'t' other", count=1), location, "overwrite", overwriteSchema=True)
    assert read_elsewhere(location).to_pylist() == [{"id": 0, "other": "t"}]


def test_mapped_columns_are_written_under_names_of_their_own(
    spark: SparkSession, location: str
) -> None:
    columns = ("named_struct('x;y', id) `a b`", "'p' `p,`")
    writer = frame(spark, *columns, count=2).write.format("delta")
    writer = writer.option("delta.columnMapping.mode", "id").partitionBy("`p,`")
    writer.save(location)
    save(frame(spark, *columns, count=1, first=5), location)
    found = sorted(load(spark, location).selectExpr("id", "`a b`.`x;y` v", "`p,` p").collect())
    assert [tuple(row) for row in found] == [(0, 0, "p"), (1, 1, "p"), (5, 5, "p")]
    assert lakebed.open(location).to_arrow(where="`a b`.`x;y` = 5")["id"].to_pylist() == [5]


def test_rows_that_break_a_rule_are_refused_and_nothing_is_written(
    spark: SparkSession, location: str
) -> None:
    schema = StructType((StructField("id", LONG, nullable=False), StructField("v", LONG)))
    create(location, schema, properties={"delta.constraints.small": "v < 3"})
    save(frame(spark, "id v", count=2), location)
    with pytest.raises(ConstraintViolationError, match="small"):
        save(frame(spark, "id v"), location)
    with pytest.raises(ConstraintViolationError, match="id"):
        save(frame(spark).selectExpr("nullif(id, 1) id", "0L v"), location)
    assert ids(location) == [0, 1]
    assert lakebed.open(location).version == 1


def test_given_identity_values_leave_the_mark_alone(spark: SparkSession, location: str) -> None:
    marks = {
        "delta.identity.start": 1,
        "delta.identity.step": 1,
        "delta.identity.allowExplicitInsert": True,
    }
    fields = (StructField("id", LONG), StructField("key", LONG, metadata=marks))
    create(location, StructType(fields))
    save(spark.sql("SELECT 1L id, 1000L key"), location)
    assert "delta.identity.highWaterMark" not in lakebed.open(location).schema.field("key").metadata
    save(spark.range(2, 3, 1, 1), location)
    assert sorted(lakebed.open(location).to_arrow()["key"].to_pylist()) == [1, 1000]
    assert lakebed.open(location).schema.field("key").metadata["delta.identity.highWaterMark"] == 1


def test_generated_default_and_identity_columns_are_filled(
    spark: SparkSession, location: str
) -> None:
    marks = {
        "delta.identity.start": 100,
        "delta.identity.step": 10,
        "delta.identity.allowExplicitInsert": False,
    }
    schema = StructType(
        (
            StructField("id", LONG),
            StructField("at", TIMESTAMP),
            StructField("day", DATE, metadata={"delta.generationExpression": "CAST(at AS DATE)"}),
            StructField("word", STRING, metadata={"CURRENT_DEFAULT": "'none'"}),
            StructField("key", LONG, metadata=marks),
        )
    )
    create(location, schema, ["day"], {"delta.feature.allowColumnDefaults": "supported"})
    for first in (0, 4):
        save(frame(spark, "timestamp'2026-01-31 10:00:00' at", first=first), location)
    found = lakebed.open(location).to_arrow()
    keys = found["key"].to_pylist()
    assert len(set(keys)) == 8
    assert all(key >= 100 and key % 10 == 0 for key in keys)
    assert set(found["day"].to_pylist()) == {date(2026, 1, 31)}
    assert set(found["word"].to_pylist()) == {"none"}
    with pytest.raises(ConstraintViolationError, match="day"):
        save(frame(spark, "timestamp'2026-01-31 10:00:00' at", "date'2020-01-01' day"), location)


def test_parts_of_a_table_are_overwritten(spark: SparkSession, location: str) -> None:
    writer = frame(spark, "id % 2 p", count=6).write.format("delta")
    writer.partitionBy("p").save(location)
    save(frame(spark, "0L p", count=1, first=20), location, "overwrite", replaceWhere="p = 0")
    assert ids(location) == [1, 3, 5, 20]
    save(frame(spark, "0L p", count=1, first=6), location, "overwrite", replaceWhere="id >= 5")
    assert ids(location) == [1, 3, 6]
    with pytest.raises(LakebedError, match="id >= 5"):
        save(frame(spark, "1L p", count=1), location, "overwrite", replaceWhere="id >= 5")
    dynamic = {"partitionOverwriteMode": "dynamic"}
    save(frame(spark, "1L p", count=1, first=7), location, "overwrite", **dynamic)
    assert ids(location) == [6, 7]


def test_the_same_transaction_twice_is_written_once(spark: SparkSession, location: str) -> None:
    for _ in range(2):
        save(frame(spark), location, txnAppId="loader", txnVersion=1)
    assert ids(location) == [0, 1, 2, 3]
    assert lakebed.open(location).version == 0


def test_no_rows_make_no_files(spark: SparkSession, location: str) -> None:
    save(frame(spark, "'x' p").where("id < 0"), location)
    assert lakebed.open(location).num_files == 0
    assert load(spark, location).count() == 0
    assert load(spark, location).columns == ["id", "p"]


def test_a_table_can_be_overwritten_with_its_own_rows(spark: SparkSession, location: str) -> None:
    save(frame(spark), location)
    save(load(spark, location).where("id > 1"), location, "overwrite")
    assert ids(location) == [2, 3]


# --- errors --------------------------------------------------------------------------------------


def test_bad_options_are_errors_of_lakebed(spark: SparkSession, location: str) -> None:
    save(frame(spark), location)
    with pytest.raises(LakebedError):
        save(frame(spark), location, "overwrite", replaceWhere="nope = 1")
    with pytest.raises(InvalidArgumentError):
        spark.read.format("delta").schema("id long").load(location)
    assert ids(location) == [0, 1, 2, 3]
