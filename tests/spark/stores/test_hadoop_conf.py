"""`hadoopConf` of `DeltaTable.forPath`, and options of a write, on every way to the store.

Hadoop's plain local file system does not look at checksums: with it, files whose checksums are
wrong can be read. The one around it writes some, where Lakebed has none written. That shows which
way was taken.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakebed import DeltaTable
from lakebed.errors import LakebedError
from testkit.readers.other_readers import ids_by_deltalake, values_by_id
from testkit.servers.s3_server import S3Server

RAW = {
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}
CHECKSUMMED = {**RAW, "fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem"}


@pytest.fixture
def path(spark: SparkSession, tmp_path: Path) -> Path:
    """ids 0 to 9; the checksums beside the data files are those of other files."""
    folder = tmp_path / "table"
    writer = spark.range(0, 10, 1, 2).selectExpr("id", "id * 10 AS x").write.format("delta")
    writer.option("delta.enableChangeDataFeed", "true").save(str(folder))
    for file in folder.glob("*.parquet"):
        checksum = file.with_name(f".{file.name}.crc")
        checksum.write_bytes(b"crc\0" + (512).to_bytes(4, "big") + bytes(100))
    assert len(checksums(folder)) == 2
    return folder


def checksums(folder: Path) -> set[Path]:
    return {each for each in folder.rglob("*.crc") if "_delta_log" not in each.parts}


def test_changes_read_and_write_with_the_settings_of_the_table(
    spark: SparkSession, path: Path
) -> None:
    before = checksums(path)
    table = DeltaTable.forPath(spark, str(path), RAW)
    source = spark.range(5, 12).selectExpr("id", "-1L AS x")
    table.delete("id IN (1, 8)")
    table.update("id = 2", {"x": "x + 1"})
    merge = table.alias("t").merge(source.alias("s"), "t.id = s.id")
    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    kept = {0: 0, 2: 21, 3: 30, 4: 40}
    assert values_by_id(path) == {**kept, **dict.fromkeys(range(5, 12), -1)}
    assert table.toDF().count() == 11
    assert checksums(path) == before


def test_what_changes_write_goes_the_way_of_the_table_too(
    spark: SparkSession, tmp_path: Path
) -> None:
    spark.range(0, 10, 1, 2).selectExpr("id", "id AS x").write.format("delta").option(
        "delta.enableDeletionVectors", "true"
    ).save(str(tmp_path))
    assert not checksums(tmp_path)
    DeltaTable.forPath(spark, str(tmp_path), CHECKSUMMED).update("id = 2", {"x": "x + 1"})
    assert any(each.suffixes[-2:] == [".parquet", ".crc"] for each in checksums(tmp_path))


def test_without_them_the_files_are_read_as_always(spark: SparkSession, path: Path) -> None:
    with pytest.raises(LakebedError, match=r"(?i)checksum"):
        DeltaTable.forPath(spark, str(path)).delete("id = 1")
    assert len(values_by_id(path)) == 10


def test_options_of_a_write_and_of_the_change_feed_count_too(
    spark: SparkSession, path: Path
) -> None:
    before = checksums(path)
    new = spark.range(10, 12, 1, 1).selectExpr("id", "rand() AS y")
    writer = new.selectExpr("id", "id AS x").repartition(1).write.format("delta")
    writer.mode("append").options(**CHECKSUMMED).save(str(path))
    (file,) = checksums(path) - before
    assert file.with_name(file.name[1:].removesuffix(".crc")).exists()
    feed = spark.read.format("delta").options(**RAW).option("readChangeFeed", "true")
    assert feed.option("startingVersion", 0).load(str(path)).count() == 12


def test_workers_change_a_table_in_a_bucket(spark: SparkSession, s3_server: S3Server) -> None:
    url = f"{s3_server.new_bucket()}/table"
    spark.range(0, 6, 1, 2).write.format("delta").options(**s3_server.storage_options).save(url)
    table = DeltaTable.forPath(spark, url, s3_server.hadoop_settings)
    table.delete("id = 1")
    table.update("id = 5", {"id": "id + 100"})
    merge = table.alias("t").merge(spark.range(4, 7).alias("s"), "t.id = s.id")
    merge.whenMatchedDelete().whenNotMatchedInsertAll().execute()
    assert ids_by_deltalake(url, s3_server.storage_options) == [0, 2, 3, 5, 6, 105]
    assert sorted(row.id for row in table.toDF().collect()) == [0, 2, 3, 5, 6, 105]
