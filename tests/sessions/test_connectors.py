"""`lakebed.session(stores=...)`: the packages of Hadoop's connectors."""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

import lakebed
from lakebed.errors import InvalidArgumentError
from lakebed.sessions import connectors
from lakebed.sessions.connectors import with_connectors

HADOOP = next(
    (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
).stem.removeprefix("hadoop-client-api-")


def test_the_connector_is_of_the_version_of_hadoop_that_pyspark_ships() -> None:
    assert with_connectors(["s3"]) == f"org.apache.hadoop:hadoop-aws:{HADOOP}"
    assert with_connectors("azure") == f"org.apache.hadoop:hadoop-azure:{HADOOP}"


def test_packages_of_the_user_stay() -> None:
    own = "org.apache.hadoop:hadoop-aws:9.9, a:b:1"
    assert with_connectors(["s3"], own) == "org.apache.hadoop:hadoop-aws:9.9,a:b:1"
    assert with_connectors(["s3"], "a:b:1").startswith("a:b:1,org.apache.hadoop:hadoop-aws:")


@pytest.mark.parametrize("version", ["3.4.1", "3.5.0"])
def test_hadoop_has_a_connector_for_google_since_3_5(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connectors, "_hadoop_version", lambda: version)
    if version == "3.5.0":
        assert with_connectors(["gcs"]) == "org.apache.hadoop:hadoop-gcp:3.5.0"
    else:
        with pytest.raises(InvalidArgumentError, match="no connector for Google Cloud"):
            with_connectors(["gcs"])


def test_another_store_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="'hdfs' is not a kind of store"):
        lakebed.session("x", stores=["hdfs"])


def test_a_running_session_takes_no_connector(spark: SparkSession) -> None:
    with pytest.raises(InvalidArgumentError, match="runs already, without the connector for s3"):
        lakebed.session("again", stores=["s3"])
    assert spark.range(1).count() == 1
