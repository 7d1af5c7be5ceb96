"""A table's folder has the files of its log, in folders of partitions, and nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import lakebed
from lakebed import DeltaTable
from lakebed.settings.setting_table import DATA_PLANE
from lakebed.spec.actions import DeletionVector
from lakebed.spec.vector_descriptors import relative_path
from testkit.readers.log_json import data_files
from testkit.readers.other_readers import read_elsewhere
from testkit.tables.spark_tables import load, save, settings

VECTORS = {"delta.enableDeletionVectors": "true"}
CHANGES = {"delta.enableChangeDataFeed": "true"}
NAME = re.compile(r"part-\d{5}-[0-9a-f-]{36}[.-]c\d{3}\.\w+\.parquet")


def on_disk(path: Path) -> set[str]:
    """Everything below the folder but the log; folders end with a slash."""
    found = {f"{each.relative_to(path)}{'/' * each.is_dir()}" for each in path.rglob("*")}
    return {each for each in found if not each.startswith("_delta_log/")}


def in_log(path: Path) -> set[str]:
    """Every file that a commit names, and the folders that these need."""
    found: set[str] = set()
    for commit in (path / "_delta_log").glob("*.json"):
        for line in commit.read_text().splitlines():
            for kind, action in json.loads(line).items():
                if kind in ("add", "cdc"):
                    found.add(unquote(action["path"]))
                vector = action.get("deletionVector")
                if vector is not None and vector["storageType"] == "u":
                    found.add(relative_path(DeletionVector.parse(vector)))
    folders = {f"{folder}/" for each in found for folder in Path(each).parents}
    return found | folders - {"./"}


def frame(spark: SparkSession, first: int = 0, count: int = 40) -> DataFrame:
    """Rows of four partitions, one of nulls, in two tasks."""
    value = "element_at(array('x', 'a/b', 'c d=%é:', null), cast(id % 4 as int) + 1) AS p"
    return spark.range(first, first + count, 1, 2).selectExpr("id", "id * 10 AS x", value)


def change_rows(spark: SparkSession, path: Path) -> None:
    """An update, a delete, a merge, and one of each that finds nothing."""
    table = DeltaTable.forPath(spark, str(path))
    table.update("id % 7 = 1", {"x": "x + 1"})
    table.delete("id % 11 = 2")
    source = frame(spark, 35, 10).selectExpr("id", "-1L AS x", "p")
    merge = table.alias("t").merge(source.alias("s"), "t.id = s.id")
    merge.whenMatchedUpdateAll().whenNotMatchedInsertAll().execute()
    table.update("id < -5", {"x": "0"})
    table.delete("id < -5")


@pytest.mark.parametrize("plane", ["native", "workers"])
@pytest.mark.parametrize("partition_by", [[], ["p"]])
@pytest.mark.parametrize("properties", [{}, VECTORS, CHANGES, {**VECTORS, **CHANGES}])
def test_a_folder_has_the_files_of_the_log_and_nothing_else(
    spark: SparkSession,
    tmp_path: Path,
    plane: str,
    partition_by: list[str],
    properties: dict[str, str],
) -> None:
    def is_clean() -> bool:
        assert on_disk(tmp_path) == in_log(tmp_path)
        return True

    with settings(spark, {DATA_PLANE.name: plane}):
        writer = frame(spark).write.format("delta").options(**properties)
        writer.partitionBy(*partition_by).save(str(tmp_path))
        assert is_clean()
        save(frame(spark, 40), tmp_path)
        save(frame(spark, 0), tmp_path, "overwrite")
        assert is_clean()
        change_rows(spark, tmp_path)
        assert is_clean()
        DeltaTable.forPath(spark, str(tmp_path)).optimize().executeCompaction()
        DeltaTable.forPath(spark, str(tmp_path)).optimize().executeZOrderBy("id")
        assert is_clean()
    folders = {
        "p=x/",
        "p=a%2Fb/",
        "p=c d%3D%25é%3A/",
        "p=__HIVE_DEFAULT_PARTITION__/",
    }
    tops = {each for each in on_disk(tmp_path) if each.count("/") == 1 and each.endswith("/")}
    assert tops - {"_change_data/"} == (folders if partition_by else set())
    assert ("_change_data/" in tops) is bool(properties.keys() & CHANGES.keys())
    assert all(NAME.fullmatch(name.rpartition("/")[2]) for name in data_files(tmp_path))
    assert read_elsewhere(tmp_path).num_rows == load(spark, tmp_path).count()


@pytest.mark.parametrize("properties", [{}, {"delta.randomizeFilePrefixes": "true"}])
def test_a_write_without_rows_leaves_no_file_and_no_folder(
    spark: SparkSession, tmp_path: Path, properties: dict[str, str]
) -> None:
    save(frame(spark).where("rand() > 2"), tmp_path, **properties)
    assert on_disk(tmp_path) == set()
    save(frame(spark), tmp_path)
    before = on_disk(tmp_path)
    save(frame(spark).where("rand() > 2"), tmp_path)
    assert on_disk(tmp_path) == before != set()


def test_random_prefixes_take_the_files_of_a_write_into_a_folder(
    spark: SparkSession, tmp_path: Path
) -> None:
    random = {"delta.randomizeFilePrefixes": "true", "delta.randomPrefixLength": "3"}
    writer = frame(spark).write.format("delta").options(**random, **CHANGES)
    writer.partitionBy("p").save(str(tmp_path))
    assert all(re.match(r"\w{3}/p=[^/]+/part-", name) for name in data_files(tmp_path))
    DeltaTable.forPath(spark, str(tmp_path)).update("id = 1", {"x": "0"})
    changed = [name for name in data_files(tmp_path) if name.startswith("_change_data/")]
    assert changed
    assert all(re.match(r"_change_data/\w{3}/p=a%2Fb/part-", name) for name in changed)
    assert on_disk(tmp_path) == in_log(tmp_path)
    assert load(spark, tmp_path).where("p = 'a/b'").count() == 10


def test_partitions_of_mapped_columns_have_their_physical_names(
    spark: SparkSession, tmp_path: Path
) -> None:
    mapped = {"delta.columnMapping.mode": "name"}
    frame(spark).write.format("delta").options(**mapped).partitionBy("p").save(str(tmp_path))
    change_rows(spark, tmp_path)
    assert on_disk(tmp_path) == in_log(tmp_path)
    by_spark = [name for name in data_files(tmp_path) if "=" in name]
    assert by_spark
    assert all(re.match(r"col-[0-9a-f-]{36}=[^/]+/part-", name) for name in by_spark)
    assert load(spark, tmp_path).where("p = 'a/b'").count() == 10


def test_partition_columns_in_files_have_folders_of_their_own_names(
    spark: SparkSession, tmp_path: Path
) -> None:
    kept = {"delta.feature.materializePartitionColumns": "supported"}
    frame(spark).write.format("delta").options(**kept).partitionBy("p").save(str(tmp_path))
    assert {name.partition("/")[0] for name in data_files(tmp_path)} == {
        "p=x",
        "p=a%2Fb",
        "p=c d%3D%25é%3A",
        "p=__HIVE_DEFAULT_PARTITION__",
    }
    (name, *_) = [name for name in data_files(tmp_path) if name.startswith("p=a%2Fb/")]
    assert set(pq.read_table(tmp_path / name, partitioning=None)["p"].to_pylist()) == {"a/b"}


# --- writes that fail ----------------------------------------------------------------------------


@pytest.fixture
def failing(spark: SparkSession, tmp_path: Path) -> Iterator[Callable[[Path], DataFrame]]:
    """Rows whose last task fails when the first has written a file of a partition of its own."""

    def make(path: Path) -> DataFrame:
        def late(batches: Any) -> Any:
            import time

            for batch in batches:
                if batch.column(0)[0].as_py() == 50:
                    while not list(path.rglob("part-00000-*.parquet")):
                        time.sleep(0.02)
                    time.sleep(0.5)
                    raise RuntimeError("this task was to fail")
                yield batch

        ids = spark.range(0, 100, 1, 2).mapInArrow(late, "id long")
        return ids.select("id", F.lit(0).cast("long").alias("x"), F.lit("new").alias("p"))

    yield make
    assert tmp_path.exists()


def test_a_job_that_fails_leaves_no_file_and_no_folder(
    spark: SparkSession, tmp_path: Path, failing: Callable[[Path], DataFrame]
) -> None:
    path = tmp_path / "table"
    frame(spark).write.format("delta").partitionBy("p").save(str(path))
    (path / "kept by the user").mkdir()
    (path / "_kept").mkdir()
    before = on_disk(path)
    with pytest.raises(Exception, match="was to fail"):
        save(failing(path), path)
    assert on_disk(path) == before


def test_a_new_table_whose_write_fails_leaves_nothing(
    tmp_path: Path, failing: Callable[[Path], DataFrame]
) -> None:
    path = tmp_path / "table"
    with pytest.raises(Exception, match="was to fail"):
        failing(path).write.format("delta").partitionBy("p").save(str(path))
    assert not path.exists()
    path.mkdir()
    with pytest.raises(Exception, match="was to fail"):
        failing(path).write.format("delta").partitionBy("p").save(str(path))
    assert not list(path.iterdir())


# --- tables of earlier versions ------------------------------------------------------------------


def test_tables_with_folders_of_writes_are_read_changed_and_vacuumed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lakebed wrote the files of each write into a folder `write-<uuid>` once."""
    folder = "write-0b5a2d0c-8f0e-4d3f-9f43-0d8e6b3d1c11"
    with monkeypatch.context() as patch:
        patch.setattr("lakebed.spark.native.write._random_folder", lambda _: folder)
        frame(spark).write.format("delta").partitionBy("p").save(str(tmp_path))
    old = data_files(tmp_path)
    assert all(name.startswith("write-") for name in old)
    assert load(spark, tmp_path).count() == 40
    change_rows(spark, tmp_path)
    save(frame(spark, 0, 4), tmp_path, "overwrite")
    assert load(spark, tmp_path).count() == read_elsewhere(tmp_path).num_rows == 4
    lakebed.open(tmp_path).vacuum(0, enforce_retention=False)
    assert not (tmp_path / folder).exists()
    assert data_files(tmp_path) == sorted(
        unquote(name) for name in lakebed.open(tmp_path).files()["path"].to_pylist()
    )
