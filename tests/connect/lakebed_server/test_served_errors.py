"""What clients of `lakebed server` can catch, with Lakebed on their side and without."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.errors import (
    AnalysisException,
    IllegalArgumentException,
    ParseException,
    PySparkException,
    UnsupportedOperationException,
)

import lakebed
from lakebed import DeltaTable


@pytest.fixture(scope="module")
def plain(server: str) -> Iterator[Any]:
    """A session of a client that has PySpark alone."""
    from pyspark.sql.connect.session import SparkSession

    session = SparkSession.builder.remote(server).create()
    session.sql("CREATE DATABASE IF NOT EXISTS told")
    session.sql("USE told")
    session.sql("CREATE TABLE IF NOT EXISTS t (id INT, p STRING) USING delta PARTITIONED BY (p)")
    session.sql(
        "CREATE TABLE IF NOT EXISTS locked (id INT) USING delta "
        "TBLPROPERTIES ('delta.appendOnly' = 'true')"
    )
    session.sql("INSERT INTO locked VALUES (1)")
    yield session
    session.sql("DROP DATABASE told CASCADE")
    session.stop()


@pytest.mark.parametrize(
    ("statement", "family", "condition", "state"),
    [
        (
            "ALTER TABLE t SET TBLPROPERTIES ('delta.nope' = '1')",
            AnalysisException,
            "DELTA_UNKNOWN_CONFIGURATION",
            "F0000",
        ),
        ("OPTIMIZE t ZORDER BY", ParseException, "PARSE_SYNTAX_ERROR", "42601"),
        (
            "VACUUM t RETAIN 1 HOURS",
            IllegalArgumentException,
            "DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT",
            "22003",
        ),
        (
            "DELETE FROM locked",
            UnsupportedOperationException,
            "DELTA_CANNOT_MODIFY_APPEND_ONLY",
            "42809",
        ),
    ],
)
def test_a_client_with_pyspark_alone_gets_its_classes_and_delta_sparks_names(
    plain: Any, statement: str, family: type[Exception], condition: str, state: str
) -> None:
    with pytest.raises(PySparkException) as caught:
        plain.sql(statement).collect()
    assert isinstance(caught.value, family)
    assert (caught.value.getCondition(), caught.value.getSqlState()) == (condition, state)


def test_show_table_extended_finds_a_table_by_its_name(plain: Any) -> None:
    found = plain.sql("SHOW TABLE EXTENDED LIKE 't'").collect()
    assert [row["tableName"] for row in found] == ["t"]
    assert {row["tableName"] for row in plain.sql("SHOW TABLES").collect()} == {"t", "locked"}


def test_calls_of_delta_table_raise_lakebeds_errors_as_pysparks(spark: Any, path: str) -> None:
    spark.range(3).write.format("delta").save(path)
    table = DeltaTable.forPath(spark, path)
    with pytest.raises(TypeError) as refused:
        table.delete(5)  # type: ignore[arg-type]
    assert isinstance(refused.value, lakebed.errors.InvalidArgumentError)
    with pytest.raises(ValueError, match="cannot be None"):
        table.update("id = 1")  # type: ignore[call-overload]
    with pytest.raises(lakebed.errors.UnsupportedFeatureError) as caught:
        table.addFeatureSupport("abc")
    assert isinstance(caught.value, PySparkException)
    assert caught.value.getCondition() == "DELTA_UNSUPPORTED_FEATURES_IN_CONFIG"
    assert caught.value.getMessageParameters() == {"configs": "abc"}
    with pytest.raises(AnalysisException) as missing:
        DeltaTable.forPath(spark, f"{path}/nothing")
    assert missing.value.getCondition() == "DELTA_MISSING_DELTA_TABLE"
