"""Spark Connect: the same API, with Python workers on a server that is another process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

import lakebed
from lakebed.errors import (
    ConstraintViolationError,
    DataFileError,
    InvalidArgumentError,
    SchemaMismatchError,
    TableExistsError,
    TableNotFoundError,
    VersionNotFoundError,
)
from lakebed.settings.setting_table import DATA_PLANE
from lakebed.spark.session.session_kind import functions_of, is_connect
from lakebed.spec.schema import LONG, StructField, StructType
from testkit.readers.other_readers import read_elsewhere
from testkit.servers.s3_server import S3Server
from testkit.tables.spark_tables import create, load, save, settings


def ids(path: Path) -> list[int]:
    return sorted(read_elsewhere(path)["id"].to_pylist())


def test_a_table_is_read_with_filters_and_at_any_version(remote: Any, tmp_path: Path) -> None:
    lakebed.write(tmp_path, pa.table({"id": [1, 2], "p": ["a", None]}), partition_by="p")
    old = load(remote, tmp_path)
    lakebed.write(tmp_path, pa.table({"id": [3], "p": ["a"]}))
    assert sorted(row.id for row in load(remote, tmp_path).where("p = 'a'").collect()) == [1, 3]
    assert old.count() == 3
    assert remote.read.format("delta").load(f"{tmp_path}@v0").where("id > 1").count() == 1
    by_time = remote.read.format("delta").option("timestampAsOf", "2100-01-01")
    with pytest.raises(VersionNotFoundError):
        by_time.load(str(tmp_path))


def test_columns_are_made_by_the_functions_of_the_session(remote: Any, tmp_path: Path) -> None:
    lakebed.write(tmp_path, pa.table({"id": [1, 2]}))
    frame = load(remote, tmp_path)
    assert is_connect(remote)
    assert is_connect(frame)
    f = functions_of(frame)
    assert [row[0] for row in frame.select(f.max(f.col("id")) + f.lit(1)).collect()] == [3]


def test_the_modes_do_what_they_say(remote: Any, tmp_path: Path) -> None:
    save(remote.range(2), tmp_path, "error")
    save(remote.range(2, 4), tmp_path, "append")
    save(remote.range(9), tmp_path, "ignore")
    with pytest.raises(TableExistsError):
        remote.range(1).write.format("delta").save(str(tmp_path))
    assert ids(tmp_path) == [0, 1, 2, 3]
    frame = remote.range(4).selectExpr("id", "id % 2 p")
    writer = frame.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    writer.partitionBy("p").save(str(tmp_path))
    save(remote.range(7, 8).selectExpr("id", "1L p"), tmp_path, "overwrite", replaceWhere="p = 1")
    assert ids(tmp_path) == [0, 2, 7]
    assert load(remote, tmp_path).where("p = 1").collect()[0].id == 7


def test_rows_that_break_a_rule_are_refused(remote: Any, tmp_path: Path) -> None:
    schema = StructType((StructField("id", LONG), StructField("v", LONG, nullable=False)))
    create(tmp_path, schema, properties={"delta.constraints.small": "id < 3"})
    with pytest.raises(ConstraintViolationError, match="small"):
        save(remote.range(5).selectExpr("id", "id v"), tmp_path)
    with pytest.raises(SchemaMismatchError, match="other"):
        save(remote.range(2).selectExpr("id", "id v", "id other"), tmp_path)
    save(remote.range(3).selectExpr("id", "id v"), tmp_path)
    assert ids(tmp_path) == [0, 1, 2]


def test_errors_of_workers_arrive_as_they_were_raised(remote: Any, tmp_path: Path) -> None:
    lakebed.write(tmp_path, pa.table({"id": [1]}))
    frame = load(remote, tmp_path)
    (file,) = tmp_path.glob("*.parquet")
    file.unlink()
    with pytest.raises(DataFileError, match=file.name) as caught:
        frame.collect()
    assert "VACUUM" in str(caught.value.hint)
    with pytest.raises(TableNotFoundError):
        load(remote, tmp_path / "not")


def test_errors_of_spark_are_left_alone(remote: Any) -> None:
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException, match="nope"):
        remote.range(1).select("nope").collect()


def test_there_is_no_native_plane(remote: Any, tmp_path: Path) -> None:
    lakebed.write(tmp_path, pa.table({"id": [1]}))
    with (
        settings(remote, {DATA_PLANE.name: "native"}),
        pytest.raises(InvalidArgumentError, match="Connect"),
    ):
        load(remote, tmp_path)


def test_other_formats_are_read_and_written_by_spark_as_ever(remote: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "plain")
    remote.range(3).write.parquet(path)
    assert remote.read.parquet(path).count() == 3
    assert remote.read.format("parquet").schema("id long").load(path).count() == 3


def test_options_and_settings_of_the_server_reach_an_object_store(
    remote: Any, s3_server: S3Server
) -> None:
    url = f"{s3_server.new_bucket()}/table"
    # From Spark 4.3 on a server tells its clients no secrets: they are options.
    secrets = {"fs.s3a.access.key": "lakebed", "aws_secret_access_key": "lakebed"}
    others = {
        "spark.hadoop.fs.s3a.endpoint": s3_server.endpoint,
        "fs.s3a.endpoint.region": "us-east-1",
    }
    with settings(remote, others):
        remote.range(3).write.format("delta").options(**secrets).save(url)
        assert remote.read.format("delta").options(**secrets).load(url).count() == 3
    table = DeltaTable(url, storage_options=s3_server.storage_options)
    assert table.to_pyarrow_table().num_rows == 3


APPLICATION = """
import sys
# As in an installation of pyspark-client, which has neither py4j nor what needs it.
for name in ("py4j", "pyspark.core", "pyspark.java_gateway"):
    sys.modules[name] = None
import lakebed
spark = lakebed.session("thin", remote=sys.argv[1])
spark.range(0, 5).write.format("delta").save(sys.argv[2])
print(spark.read.format("delta").load(sys.argv[2]).where("id > 2").count())
spark.stop()
"""


def test_a_client_without_a_jvm_reads_and_writes(connect_server: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", APPLICATION, connect_server, str(tmp_path / "table")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["2"]
    assert ids(tmp_path / "table") == [0, 1, 2, 3, 4]
