"""Every command on Spark leaves Iceberg metadata that other engines read the same rows from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lakebed
from testkit.tables.iceberg_tables import by_duckdb, by_pyiceberg, document, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STEPS = [
    "INSERT INTO {t} SELECT id, concat('day ', id % 3), array(id), map('k', id) FROM range(3, 30)",
    "DELETE FROM {t} WHERE id % 5 = 0",
    "UPDATE {t} SET day = NULL WHERE id = 7",
    "MERGE INTO {t} AS t USING (SELECT explode(array(1, 100)) AS id) AS s ON t.id = s.id "
    "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id, day) VALUES (s.id, 'a/b c%')",
    "OPTIMIZE {t}",
    "ALTER TABLE {t} ADD COLUMN at TIMESTAMP",
    "INSERT INTO {t} VALUES (200, 'x', NULL, NULL, TIMESTAMP '2026-01-01 00:00:00.123456Z')",
    "ALTER TABLE {t} RENAME COLUMN list TO numbers",
    "RESTORE TABLE {t} TO VERSION AS OF 2",
    "DELETE FROM {t}",
    "MSCK REPAIR TABLE {t} SYNC METADATA",
]


@pytest.mark.parametrize("partitions", ["", "PARTITIONED BY (day)"])
def test_every_command_is_published(spark: SparkSession, tmp_path: Path, partitions: str) -> None:
    path = tmp_path / "t"
    table = f"delta.`{path}`"
    spark.sql(
        f"CREATE TABLE {table} (id BIGINT, day STRING, list ARRAY<BIGINT>, map MAP<STRING, BIGINT>)"
        f" USING delta {partitions} TBLPROPERTIES ('delta.enableIcebergCompatV2' = 'true', "
        "'delta.universalFormat.enabledFormats' = 'iceberg')"
    )
    for step in STEPS:
        spark.sql(step.format(t=table))
        newest = lakebed.open(path)
        assert document(path)["properties"]["delta-version"] == str(newest.version), step
        wanted = rows(newest.to_arrow())
        assert rows(by_pyiceberg(path)) == wanted, step
        assert rows(by_duckdb(path)) == wanted, step
