"""spark.lakebed.durability: files of executors are on the disk before a commit names them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lakebed
from lakebed.errors import InvalidArgumentError
from lakebed.storage import atomic_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTING = "spark.lakebed.durability"


@pytest.fixture
def synced(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What is synced as files that are there already, and not while they are written."""
    found: list[str] = []
    sync = atomic_files.sync_files

    def noting(paths: Sequence[str], *, top: str) -> None:
        found.extend(paths)
        sync(paths, top=top)

    monkeypatch.setattr(atomic_files, "sync_files", noting)
    yield found
    spark.conf.unset(SETTING)


def files_of(path: Path) -> set[str]:
    return {str(path / name) for name in lakebed.open(path).files()["path"].to_pylist()}


def test_all_syncs_the_files_of_a_write_and_the_vectors_of_a_delete(
    spark: SparkSession, synced: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "table"
    spark.conf.set(SETTING, "all")
    spark.range(0, 40_000, 1, 2).write.format("delta").option(
        "delta.enableDeletionVectors", "true"
    ).save(str(path))
    assert files_of(path) == set(synced)
    assert len(synced) == 2
    lakebed.DeltaTable.forPath(spark, str(path)).delete("id % 100 = 7")
    vectors = {str(file) for file in path.rglob("*.bin")}
    assert vectors
    assert vectors <= set(synced)


@pytest.mark.parametrize("level", ["log", "none"])
def test_less_than_all_leaves_data_files_to_the_system(
    spark: SparkSession, synced: list[str], tmp_path: Path, level: str
) -> None:
    spark.conf.set(SETTING, level)
    spark.range(10).write.format("delta").save(str(tmp_path / "table"))
    assert synced == []


@pytest.mark.usefixtures("synced")
def test_another_value_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    spark.conf.set(SETTING, "most")
    with pytest.raises(InvalidArgumentError, match="durability"):
        spark.range(10).write.format("delta").save(str(tmp_path / "table"))
