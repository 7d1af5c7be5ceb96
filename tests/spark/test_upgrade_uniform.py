"""REORG ... APPLY (UPGRADE UNIFORM ...): refused before anything changes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed.errors import InvalidArgumentError, UnsupportedFeatureError


@pytest.mark.parametrize("version", [1, 2])
def test_the_upgrade_is_refused_and_says_why(
    spark: SparkSession, tmp_path: Path, version: int
) -> None:
    lakebed.write(tmp_path / "t", pa.table({"id": [1]}))
    table = lakebed.DeltaTable.forPath(spark, str(tmp_path / "t"))
    with pytest.raises(UnsupportedFeatureError, match=f"icebergCompatV{version}.*Iceberg metadata"):
        table.optimize().executeUpgradeUniform(version)
    found = deltalake.DeltaTable(str(tmp_path / "t"))
    assert found.version() == 0
    assert found.metadata().configuration == {}


@pytest.mark.parametrize("version", [0, 3, True, "2", None])
def test_other_versions_are_no_versions(spark: SparkSession, tmp_path: Path, version: Any) -> None:
    lakebed.write(tmp_path / "t", pa.table({"id": [1]}))
    table = lakebed.DeltaTable.forPath(spark, str(tmp_path / "t"))
    with pytest.raises(InvalidArgumentError, match="there are 1 and 2"):
        table.optimize().executeUpgradeUniform(version)
