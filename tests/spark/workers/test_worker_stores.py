"""Stores that Hadoop has no connector for: Python workers reach them on a classic session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

import lakebed
from lakebed.errors import InvalidArgumentError, TableNotFoundError
from lakebed.settings.setting_table import DATA_PLANE
from lakebed.spark.internals.jvm import Jvm
from lakebed.spark.native.native_plane import NativePlane
from lakebed.spark.plane_selection import plane_for
from lakebed.spark.workers.data_source import LakebedSource
from lakebed.spark.workers.workers_plane import register, register_if_free
from lakebed.storage import open_store
from testkit.readers.other_readers import ids_by_deltalake
from testkit.servers.s3_server import S3Server
from testkit.tables.spark_tables import settings


def test_hadoop_has_no_connector_for_s3_here(spark: SparkSession) -> None:
    known = {scheme: Jvm.of(spark).has_file_system(scheme) for scheme in ("s3", "s3a", "hdfs")}
    assert known == {"s3": False, "s3a": False, "hdfs": True}


def test_a_table_in_a_bucket_is_written_and_read_with_options(
    spark: SparkSession, s3_server: S3Server
) -> None:
    url = f"{s3_server.new_bucket()}/a b/table"
    writer = spark.range(0, 6, 1, 2).selectExpr("id", "id % 2 p").write.format("delta")
    writer.options(**s3_server.storage_options).partitionBy("p").save(url)
    assert ids_by_deltalake(url, s3_server.storage_options) == [0, 1, 2, 3, 4, 5]
    reader = spark.read.format("delta").options(**s3_server.storage_options)
    assert sorted(row.id for row in reader.load(url).where("p = 1").collect()) == [1, 3, 5]


def test_settings_of_hadoops_connector_are_enough_without_the_connector(
    spark: SparkSession, s3_server: S3Server
) -> None:
    url = f"{s3_server.new_bucket()}/table"
    named = url.replace("s3://", "s3a://")
    with settings(spark, s3_server.hadoop_settings):
        spark.range(0, 3, 1, 1).write.format("delta").save(named)
        spark.range(3, 5, 1, 1).write.format("delta").mode("append").save(named)
        assert spark.read.format("delta").load(named).count() == 5
        assert spark.read.format("delta").load(f"{named}@v0").count() == 3
        with pytest.raises(TableNotFoundError):
            spark.read.format("delta").load(f"{named}-not")
    assert ids_by_deltalake(url, s3_server.storage_options) == [0, 1, 2, 3, 4]


def test_a_table_in_memory_is_out_of_reach(spark: SparkSession) -> None:
    lakebed.write("memory://box/table", pa.table({"id": [1]}))
    with pytest.raises(InvalidArgumentError, match="memory of this process"):
        spark.read.format("delta").load("memory://box/table")


def test_the_plane_is_native_where_hadoop_has_a_connector(
    spark: SparkSession, tmp_path: Path
) -> None:
    store = open_store(str(tmp_path))
    assert isinstance(plane_for(spark, store, store.url), NativePlane)
    assert isinstance(plane_for(spark, store, "hdfs://somewhere/table"), NativePlane)
    with (
        settings(spark, {DATA_PLANE.name: "fast"}),
        pytest.raises(InvalidArgumentError, match="auto, native or workers"),
    ):
        plane_for(spark, store, store.url)


# --- the registered source on its own ------------------------------------------------------------


def plain_reader(spark: SparkSession) -> Any:
    from pyspark.sql.readwriter import DataFrameReader

    register(spark)
    return DataFrameReader(spark).format("delta")


def test_readers_that_lakebed_does_not_replace_find_the_source(
    spark: SparkSession, tmp_path: Path
) -> None:
    lakebed.write(tmp_path, pa.table({"id": [1, 2]}))
    lakebed.write(tmp_path, pa.table({"id": [3]}))
    assert plain_reader(spark).load(str(tmp_path)).count() == 3
    old = plain_reader(spark).option("versionAsOf", 0).load(str(tmp_path))
    assert old.where("id > 1").count() == 1
    with pytest.raises(TableNotFoundError):
        plain_reader(spark).load(str(tmp_path / "not"))


def test_a_view_may_use_delta(spark: SparkSession, tmp_path: Path) -> None:
    lakebed.write(tmp_path, pa.table({"id": [1, 2, 3], "s": [{"a": 1}, None, {"a": 2}]}))
    spark.sql(f"CREATE TEMPORARY VIEW of_workers USING delta OPTIONS (path '{tmp_path}')")
    try:
        assert spark.sql("SELECT sum(id), sum(s.a) FROM of_workers WHERE id > 1").first() == (5, 2)
    finally:
        spark.catalog.dropTempView("of_workers")


def test_a_name_that_something_in_a_jar_has_is_left_to_it(spark: SparkSession) -> None:
    """As `delta` is where delta-spark is installed too."""
    taken = type("Taken", (LakebedSource,), {"name": classmethod(lambda _: "csv")})
    register_if_free(spark, taken)
    assert spark.read.schema("id int").csv(spark.sparkContext.parallelize(["7"])).first() == (7,)


class Pushed(DataSourceReader):
    """Takes the filter `id = n` seriously, as Spark's documentation shows it."""

    def __init__(self) -> None:
        self.wanted: list[int] = []

    def pushFilters(self, filters: list[Any]) -> list[Any]:
        self.wanted = [each.value for each in filters if type(each).__name__ == "EqualTo"]
        return filters

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(n) for n in self.wanted or range(3)]

    def read(self, partition: InputPartition) -> Iterator[tuple[int]]:
        yield (partition.value,)


class PushedSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "pushed"

    def schema(self) -> str:
        return "id int"

    def reader(self, schema: Any) -> Pushed:  # noqa: ARG002
        return Pushed()


@pytest.mark.skipif(pyspark.__version__ < "4.1", reason="Spark 4.0 pushes no filters")
@pytest.mark.xfail(strict=True, reason="Spark takes the plan of one query for the next one")
def test_filters_pushed_by_one_query_do_not_reach_the_next(spark: SparkSession) -> None:
    """Once this passes, the source of the workers may have filters pushed to it too."""
    spark.dataSource.register(PushedSource)
    with settings(spark, {"spark.sql.python.filterPushdown.enabled": "true"}):
        frame = spark.read.format("pushed").load()
        assert frame.where("id = 1").count() == 1
        assert frame.count() == 3


def test_a_read_works_where_filters_are_pushed(spark: SparkSession, tmp_path: Path) -> None:
    lakebed.write(tmp_path, pa.table({"id": [1, 2, 3]}))
    on = {DATA_PLANE.name: "workers", "spark.sql.python.filterPushdown.enabled": "true"}
    with settings(spark, on):
        frame = spark.read.format("delta").load(str(tmp_path))
        assert (frame.where("id > 1").count(), frame.count()) == (2, 3)
