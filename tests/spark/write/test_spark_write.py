"""`df.write.format("delta")`: options, layout of files, and what the log says of them.

The modes, and what else both planes promise, are in `test_plane_contract.py`.
"""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import lakebed
from lakebed.errors import (
    ConcurrentAppendError,
    InvalidArgumentError,
    PartitionValueError,
    SchemaMismatchError,
)
from testkit.readers.other_readers import other_reader
from testkit.tables.spark_tables import last_commit, load, save, settings


def ids(path: Path) -> list[int]:
    return sorted(other_reader(path)["id"].to_pylist())


def test_a_new_table_has_the_lowest_protocol_and_columns_that_may_be_null(
    spark: SparkSession, tmp_path: Path
) -> None:
    save(spark.range(3), tmp_path, "errorifexists")
    table = lakebed.open(tmp_path)
    assert (table.protocol.min_reader_version, table.protocol.min_writer_version) == (1, 2)
    assert all(field.nullable for field in table.schema.fields)
    assert ids(tmp_path) == [0, 1, 2]
    assert last_commit(tmp_path)["operationParameters"]["mode"] == "ErrorIfExists"


def test_save_takes_everything_as_arguments_too(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(4).withColumn("p", F.col("id") % 2)
    frame.write.save(str(tmp_path), format="DELTA", mode="append", partitionBy=["p"])
    frame.write.format("delta").option("path", str(tmp_path)).mode("Append").save()
    assert lakebed.open(tmp_path).partition_columns == ("p",)
    assert len(ids(tmp_path)) == 8


def test_the_default_format_may_be_delta(spark: SparkSession, tmp_path: Path) -> None:
    with settings(spark, {"spark.sql.sources.default": "delta"}):
        spark.range(2).write.save(str(tmp_path / "t"))
        assert spark.read.load(str(tmp_path / "t")).count() == 2
    assert ids(tmp_path / "t") == [0, 1]


def test_other_formats_are_written_by_spark_as_ever(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(3).write.mode("overwrite").parquet(str(tmp_path / "p"))
    spark.range(3).write.format("json").save(str(tmp_path / "j"))
    assert spark.read.parquet(str(tmp_path / "p")).count() == 3
    assert not lakebed.is_delta_table(tmp_path / "p")


@pytest.mark.parametrize(
    ("write", "error"),
    [
        (lambda w, _: w.bucketBy(2, "id").save("x"), AnalysisException),
        (lambda w, _: w.saveAsTable("`a b`"), InvalidArgumentError),
        (lambda w, _: w.save(), InvalidArgumentError),
        (lambda w, p: w.option("mergeSchema", "perhaps").save(p), InvalidArgumentError),
        (lambda w, p: w.option("maxRecordsPerFile", "many").save(p), InvalidArgumentError),
        (lambda w, p: w.option("txnAppId", "a").save(p), InvalidArgumentError),
        (lambda w, p: w.option("replaceWhere", "id = 1").save(p), InvalidArgumentError),
        (lambda w, p: w.option("delta.appendOnyl", "true").save(p), lakebed.LakebedError),
        (lambda w, p: w.partitionBy("nope").save(p), lakebed.LakebedError),
        (
            lambda w, p: w.mode("overwrite").option("partitionOverwriteMode", "often").save(p),
            InvalidArgumentError,
        ),
    ],
)
def test_bad_input_gives_an_error_of_lakebeds_and_makes_no_table(
    spark: SparkSession, tmp_path: Path, write: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        write(spark.range(1).write.format("delta"), str(tmp_path / "t"))
    assert not lakebed.is_delta_table(tmp_path / "t")


VALUES = [
    ("text", "string", ["a", "b/c=d %41 é:'\"", "x y", None]),
    ("day", "date", [date(2026, 1, 31), date(1900, 1, 1), None]),
    ("hour", "timestamp", [datetime(2026, 1, 31, 12, 30, 0, 123456), datetime(1969, 7, 20)]),
    ("local", "timestamp_ntz", [datetime(2026, 1, 31, 2, 30), None]),
    ("price", "decimal(20,3)", [Decimal("12345678901234567.125"), Decimal("-2.5")]),
    ("flag", "boolean", [True, False, None]),
    ("number", "bigint", [-(2**63), 7]),
    ("ratio", "double", [0.1, -1e300, None]),
]


@pytest.mark.parametrize(("name", "kind", "values"), VALUES, ids=[each[0] for each in VALUES])
@pytest.mark.parametrize("zone", ["UTC", "America/St_Johns"])
def test_partition_values_of_every_type_come_back_as_they_went_in(
    spark: SparkSession, tmp_path: Path, name: str, kind: str, values: list[Any], zone: str
) -> None:
    frame = spark.createDataFrame(list(enumerate(values)), f"id int, {name} {kind}")
    expected = frame.toArrow().sort_by("id").to_pylist()
    with settings(spark, {"spark.sql.session.timeZone": zone}):
        frame.write.format("delta").partitionBy(name).save(str(tmp_path))
        back = load(spark, tmp_path).toArrow().sort_by("id").to_pylist()
    same = [{key: _utc(value) for key, value in row.items()} for row in back]
    assert same == [{key: _utc(value) for key, value in row.items()} for row in expected]
    other = lakebed.open(tmp_path).to_arrow().sort_by("id").to_pylist()
    assert other == [{key: _utc(value) for key, value in row.items()} for row in expected]
    if name not in ("ratio", "price"):
        # deltalake does not read doubles and negative decimals in partition values.
        assert other_reader(tmp_path).num_rows == len(values)


def _utc(value: Any) -> Any:
    is_zoned = isinstance(value, datetime) and value.tzinfo is not None
    return value.astimezone(timezone.utc) if is_zoned else value


def test_bytes_are_partition_values_if_they_are_text(spark: SparkSession, tmp_path: Path) -> None:
    rows = [(1, bytearray(b"a/b")), (2, bytearray("é".encode())), (3, None)]
    frame = spark.createDataFrame(rows, "id int, b binary")
    frame.write.format("delta").partitionBy("b").save(str(tmp_path))
    back = {row["id"]: row["b"] for row in load(spark, tmp_path).collect()}
    assert back == {1: b"a/b", 2: "é".encode(), 3: None}
    odd = spark.createDataFrame([(4, bytearray(b"\x00\xff"))], "id int, b binary")
    with pytest.raises(PartitionValueError, match="not UTF-8"):
        save(odd, tmp_path)
    assert lakebed.open(tmp_path).version == 0


def test_an_empty_text_is_null_as_a_partition_value(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(1, ""), (2, "x")], "id int, p string").repartition(1)
    frame.write.format("delta").partitionBy("p").save(str(tmp_path))
    assert {row["id"]: row["p"] for row in load(spark, tmp_path).collect()} == {1: None, 2: "x"}


def test_no_rows_make_a_table_without_files(spark: SparkSession, tmp_path: Path) -> None:
    save(spark.range(0).withColumn("s", F.lit("x")).repartition(2), tmp_path)
    assert lakebed.open(tmp_path).num_files == 0
    assert load(spark, tmp_path).schema.simpleString() == "struct<id:bigint,s:string>"
    save(spark.range(2).withColumn("s", F.lit("x")), tmp_path)
    save(spark.range(0).withColumn("s", F.lit("x")), tmp_path, "overwrite")
    assert load(spark, tmp_path).count() == 0
    assert not list(tmp_path.glob("*/*empty*"))


def test_files_have_statistics_that_a_reader_can_skip_by(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.range(100).selectExpr(
        "id",
        "cast(id as decimal(10,2)) as price",
        "timestamp_seconds(id) as at",
        "named_struct('deep', id * 2) as inside",
        "if(id < 10, null, cast(id as string)) as text",
    )
    save(frame.coalesce(1), tmp_path)
    (row,) = lakebed.open(tmp_path).files(stats=True).to_pylist()
    stats = json.loads(row["stats"])
    assert stats["numRecords"] == 100
    assert stats["minValues"]["id"] == 0
    assert stats["maxValues"]["price"] == 99
    assert stats["maxValues"]["at"].startswith("1970-01-01T00:01:39")
    assert stats["maxValues"]["inside"]["deep"] == 198
    assert stats["nullCount"]["text"] == 10
    assert lakebed.open(tmp_path).files("inside.deep > 198").num_rows == 0


def test_indexed_columns_are_those_that_the_properties_name(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.range(3).selectExpr("id", "id as a", "id as b").repartition(1)
    save(frame, tmp_path / "first", **{"delta.dataSkippingNumIndexedCols": "1"})
    save(frame, tmp_path / "named", **{"delta.dataSkippingStatsColumns": "b"})
    for name, expected in (("first", {"id"}), ("named", {"b"})):
        (row,) = lakebed.open(tmp_path / name).files(stats=True).to_pylist()
        assert set(json.loads(row["stats"])["minValues"]) == expected


def test_timestamps_are_stored_as_microseconds_and_the_session_keeps_its_setting(
    spark: SparkSession, tmp_path: Path
) -> None:
    with settings(spark, {"spark.sql.parquet.outputTimestampType": "INT96"}):
        save(spark.range(1).selectExpr("id", "timestamp'2026-01-01' as at"), tmp_path)
        assert spark.conf.get("spark.sql.parquet.outputTimestampType") == "INT96"
    (file,) = tmp_path.glob("**/*.parquet")
    assert pq.ParquetFile(file).schema.column(1).physical_type == "INT64"


def test_dates_before_the_gregorian_calendar_are_written_as_they_are(
    spark: SparkSession, tmp_path: Path
) -> None:
    save(spark.sql("SELECT 1 AS id, DATE'1200-01-01' AS day").repartition(1), tmp_path)
    assert other_reader(tmp_path)["day"].to_pylist() == [date(1200, 1, 1)]


@pytest.mark.parametrize(
    ("options", "setting", "codec"),
    [
        ({"compression": "gzip"}, "snappy", "GZIP"),
        ({"delta.parquet.compression.codec": "zstd"}, "snappy", "ZSTD"),
        ({}, "zstd", "ZSTD"),
        (
            {"compression": "none", "delta.parquet.compression.codec": "zstd"},
            "snappy",
            "UNCOMPRESSED",
        ),
    ],
)
def test_the_codec_is_that_of_the_write_then_the_table_then_the_session(
    spark: SparkSession, tmp_path: Path, options: dict[str, str], setting: str, codec: str
) -> None:
    with settings(spark, {"spark.sql.parquet.compression.codec": setting}):
        save(spark.range(10), tmp_path, **options)
    file = next(tmp_path.glob("**/*.parquet"))
    assert pq.read_metadata(file).row_group(0).column(0).compression == codec


def test_no_file_has_more_rows_than_asked(spark: SparkSession, tmp_path: Path) -> None:
    save(spark.range(10).coalesce(1), tmp_path, maxRecordsPerFile=4)
    with settings(spark, {"spark.sql.files.maxRecordsPerFile": "5"}):
        save(spark.range(10).coalesce(1), tmp_path)
    sizes = sorted(pq.read_metadata(file).num_rows for file in tmp_path.glob("**/*.parquet"))
    assert sizes == [2, 4, 4, 5, 5]


@pytest.mark.parametrize("way", ["option", "setting", "property"])
def test_an_optimized_write_brings_the_rows_of_a_partition_together(
    spark: SparkSession, tmp_path: Path, way: str
) -> None:
    frame = spark.range(100).withColumn("p", F.col("id") % 3).repartition(6, "id")
    options = {"property": {"delta.autoOptimize.optimizeWrite": "true"}}.get(way, {})
    if way == "option":
        options = {"optimizeWrite": "true"}
    chosen = {"spark.databricks.delta.optimizeWrite.enabled": "true"} if way == "setting" else {}
    with settings(spark, chosen):
        frame.write.format("delta").options(**options).partitionBy("p").save(str(tmp_path))
    assert lakebed.open(tmp_path).num_files == 3
    assert len(ids(tmp_path)) == 100


def test_a_rearranging_write_says_that_no_data_changed(spark: SparkSession, tmp_path: Path) -> None:
    save(spark.range(10).repartition(3), tmp_path)
    save(load(spark, tmp_path).repartition(1), tmp_path, "overwrite", dataChange="false")
    lines = (tmp_path / "_delta_log" / f"{1:020d}.json").read_text().splitlines()
    files = [next(iter(json.loads(line).items())) for line in lines]
    changes = [body["dataChange"] for kind, body in files if kind in ("add", "remove")]
    assert changes == [False] * 4
    assert len(ids(tmp_path)) == 10


def test_replace_where_may_be_any_sql_of_sparks(spark: SparkSession, tmp_path: Path) -> None:
    save(spark.range(10).withColumn("s", F.col("id").cast("string")), tmp_path)
    new = spark.sql("SELECT 7L id, '7777' s")
    save(new, tmp_path, "overwrite", replaceWhere="s RLIKE '^[5-9]+$'")
    assert ids(tmp_path) == [0, 1, 2, 3, 4, 7]


def test_rows_outside_of_replace_where_are_refused_unless_the_check_is_off(
    spark: SparkSession, tmp_path: Path
) -> None:
    save(spark.range(4), tmp_path)
    with pytest.raises(lakebed.LakebedError, match="id < 2"):
        save(spark.range(9, 10), tmp_path, "overwrite", replaceWhere="id < 2")
    assert ids(tmp_path) == [0, 1, 2, 3]
    with settings(spark, {"spark.databricks.delta.replaceWhere.constraintCheck.enabled": "false"}):
        save(spark.range(9, 10), tmp_path, "overwrite", replaceWhere="id < 2")
    assert ids(tmp_path) == [2, 3, 9]
    with (
        settings(spark, {"spark.databricks.delta.replaceWhere.dataColumns.enabled": "false"}),
        pytest.raises(InvalidArgumentError, match="partition columns"),
    ):
        save(spark.range(1), tmp_path, "overwrite", replaceWhere="id < 2")


@pytest.mark.parametrize("way", ["option", "setting"])
def test_a_dynamic_overwrite_replaces_partitions_with_new_rows(
    spark: SparkSession, tmp_path: Path, way: str
) -> None:
    frame = spark.range(6).withColumn("p", F.col("id") % 3)
    frame.write.format("delta").partitionBy("p").save(str(tmp_path))
    new = spark.sql("SELECT 10L id, 1L p")
    options = {"partitionOverwriteMode": "dynamic"} if way == "option" else {}
    chosen = {} if options else {"spark.sql.sources.partitionOverwriteMode": "dynamic"}
    with settings(spark, chosen):
        save(new, tmp_path, "overwrite", **options)
    assert ids(tmp_path) == [0, 2, 3, 5, 10]
    with settings(spark, {"spark.databricks.delta.dynamicPartitionOverwrite.enabled": "false"}):
        save(new, tmp_path, "overwrite", partitionOverwriteMode="dynamic")
    assert ids(tmp_path) == [10]


def test_the_same_transaction_twice_is_written_once(spark: SparkSession, tmp_path: Path) -> None:
    for version in (1, 1, 2, 1):
        save(spark.range(1), tmp_path, txnAppId="load", txnVersion=version)
    assert len(ids(tmp_path)) == 2
    prefix = "spark.databricks.delta.write"
    chosen = {f"{prefix}.txnAppId": "load", f"{prefix}.txnVersion": "2"}
    with settings(spark, {**chosen, f"{prefix}.txnVersion.autoReset.enabled": "true"}):
        save(spark.range(1), tmp_path)
        assert len(ids(tmp_path)) == 2
        save(spark.range(1), tmp_path)
        assert len(ids(tmp_path)) == 3


def test_user_metadata_is_in_the_history(spark: SparkSession, tmp_path: Path) -> None:
    with settings(spark, {"spark.databricks.delta.commitInfo.userMetadata": "from the session"}):
        save(spark.range(1), tmp_path)
        assert last_commit(tmp_path)["userMetadata"] == "from the session"
        save(spark.range(1), tmp_path, userMetadata="from the write")
    assert last_commit(tmp_path)["userMetadata"] == "from the write"


def test_new_tables_get_the_default_properties_of_the_session(
    spark: SparkSession, tmp_path: Path
) -> None:
    prefix = "spark.databricks.delta.properties.defaults"
    chosen = {f"{prefix}.appendOnly": "true", f"{prefix}.enableChangeDataFeed": "true"}
    save(spark.range(1), tmp_path / "old")
    with settings(spark, chosen):
        save(spark.range(1), tmp_path / "new", **{"delta.enableChangeDataFeed": "false"})
        save(spark.range(1), tmp_path / "old")
    new = lakebed.open(tmp_path / "new").properties
    assert new == {"delta.appendOnly": "true", "delta.enableChangeDataFeed": "false"}
    assert lakebed.open(tmp_path / "old").properties == {}
    with pytest.raises(lakebed.LakebedError, match="append-only"):
        save(spark.range(1), tmp_path / "new", "overwrite")


def test_all_statistics_but_the_count_can_be_left_out(spark: SparkSession, tmp_path: Path) -> None:
    with settings(spark, {"spark.databricks.delta.stats.collect": "false"}):
        save(spark.range(3).repartition(1), tmp_path)
    assert lakebed.open(tmp_path).files(stats=True)["stats"].to_pylist() == ['{"numRecords":3}']
    assert load(spark, tmp_path).where("id = 1").count() == 1


def test_batches_of_a_stream_are_written_once_each(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(6).repartition(3).write.json(str(tmp_path / "in"))
    seen: list[int] = []

    def put(batch: DataFrame, number: int) -> None:
        for _ in range(2):
            save(batch, tmp_path / "t", txnAppId="stream", txnVersion=number)
        seen.append(number)

    source = spark.readStream.schema("id long").option("maxFilesPerTrigger", 1)
    stream = source.json(str(tmp_path / "in")).writeStream.foreachBatch(put)
    query = stream.option("checkpointLocation", str(tmp_path / "c")).trigger(availableNow=True)
    query.start().awaitTermination(120)
    assert seen == [0, 1, 2]
    assert ids(tmp_path / "t") == [0, 1, 2, 3, 4, 5]


def test_a_job_that_fails_leaves_the_table_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    save(spark.range(3), tmp_path)
    bad = spark.range(100).selectExpr("if(id = 77, cast(raise_error('no') as bigint), id) as id")
    with pytest.raises(Exception, match="no"):
        save(bad, tmp_path)
    assert lakebed.open(tmp_path).version == 0
    assert ids(tmp_path) == [0, 1, 2]
    save(spark.range(3, 4), tmp_path)
    assert ids(tmp_path) == [0, 1, 2, 3]


def test_two_threads_that_create_one_table_both_get_their_rows_in(
    spark: SparkSession, tmp_path: Path
) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda i: save(spark.range(i, i + 1), tmp_path), range(4)))
    assert ids(tmp_path) == [0, 1, 2, 3]


def test_an_overwrite_loses_to_an_append_that_it_did_not_see(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lakebed.commands.write import write_rows as command

    save(spark.range(3), tmp_path)
    original = command._Write._overwritten

    def meanwhile(self: Any, *arguments: Any) -> Any:
        monkeypatch.setattr(command._Write, "_overwritten", original)
        lakebed.write(tmp_path, pa.table({"id": [50]}))
        return original(self, *arguments)

    monkeypatch.setattr(command._Write, "_overwritten", meanwhile)
    with pytest.raises(ConcurrentAppendError):
        save(spark.range(9, 10), tmp_path, "overwrite")
    assert ids(tmp_path) == [0, 1, 2, 50]


def test_a_write_to_a_path_with_odd_characters_is_read_by_others(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "a b%20c=d#e"
    frame = spark.range(3).withColumn("p", F.lit("x/y"))
    frame.write.format("delta").partitionBy("p").save(str(path))
    assert sorted(row["id"] for row in load(spark, path).collect()) == [0, 1, 2]
    assert lakebed.open(path).to_arrow().num_rows == 3
    frame.write.format("delta").mode("append").save(f"file://{tmp_path}/t")
    assert deltalake.DeltaTable(str(tmp_path / "t")).to_pyarrow_table().num_rows == 3


def test_a_table_with_partition_columns_in_its_files_gets_them_there(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.range(4).withColumn("p", F.col("id") % 2)
    options = {"delta.feature.materializePartitionColumns": "supported"}
    frame.write.format("delta").options(**options).partitionBy("p").save(str(tmp_path))
    for file in tmp_path.glob("**/*.parquet"):
        assert pq.read_schema(file).names == ["id", "p"]
    assert load(spark, tmp_path).where("p = 1").count() == 2


def test_appending_other_partitions_than_the_tables_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    frame = spark.range(4).withColumn("p", F.col("id") % 2)
    frame.write.format("delta").partitionBy("p").save(str(tmp_path))
    with pytest.raises(SchemaMismatchError, match="partitioned"):
        frame.write.format("delta").mode("append").partitionBy("id").save(str(tmp_path))


@pytest.mark.parametrize("partitioned", [True, False])
def test_replace_where_reads_times_in_the_zone_of_the_session(
    spark: SparkSession, tmp_path: Path, partitioned: bool
) -> None:
    hours = "SELECT id, timestamp'2026-01-01 00:00:00Z' + make_interval(0, 0, 0, 0, id) at"
    frame = spark.sql(f"{hours} FROM range(12)").repartition(12, "id")
    writer = frame.write.format("delta")
    (writer.partitionBy("at") if partitioned else writer).save(str(tmp_path))
    with settings(spark, {"spark.sql.session.timeZone": "America/New_York"}):
        # Midnight in New York is five o'clock in UTC.
        new = spark.sql("SELECT 100L id, timestamp'2026-01-01 00:00:00' at")
        save(new, tmp_path, "overwrite", replaceWhere="at >= '2026-01-01 00:00:00'")
    assert ids(tmp_path) == [0, 1, 2, 3, 4, 100]
