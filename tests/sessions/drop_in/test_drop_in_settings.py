"""What becomes of settings that programs make for delta-spark."""

from __future__ import annotations

import logging
import sys

import pytest

from lakebed.sessions.drop_in.delta_spark_settings import (
    CATALOG,
    EXTENSION,
    lakebed_class,
    translate,
    translate_submit_arguments,
)

CATALOG_KEY = "spark.sql.catalog.spark_catalog"
EXTENSIONS = "spark.sql.extensions"
PACKAGES = "spark.jars.packages"
PLUGIN = "org.apache.spark.sql.connect.SparkConnectPlugin"
RELATION = "org.apache.spark.sql.connect.delta.DeltaRelationPlugin"
COMMAND = "org.apache.spark.sql.connect.delta.DeltaCommandPlugin"
KAFKA = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"


def test_the_two_settings_of_delta_spark_are_taken_out() -> None:
    given = {EXTENSIONS: EXTENSION, CATALOG_KEY: CATALOG, "spark.app.name": "shop"}
    assert translate(given) == {"spark.app.name": "shop"}


def test_other_extensions_and_catalogs_stay() -> None:
    given = {
        EXTENSIONS: f"org.example.First, {EXTENSION},org.example.Second",
        CATALOG_KEY: "org.example.Catalog",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
    }
    assert translate(given) == {**given, EXTENSIONS: "org.example.First,org.example.Second"}


def test_a_list_without_delta_spark_stays_letter_by_letter() -> None:
    given = {EXTENSIONS: "org.example.First, org.example.Second", PACKAGES: f" {KAFKA} "}
    assert translate(given) == given


@pytest.mark.parametrize(
    "package",
    [
        "io.delta:delta-spark_2.13:4.0.0",
        "io.delta:delta-spark_4.1_2.13:4.1.0",
        "io.delta:delta-core_2.12:2.4.0",
        "io.delta:delta-storage:4.0.0",
        "io.delta:delta-connect-server_2.13:4.0.0",
    ],
)
def test_packages_of_delta_spark_are_left_out_with_a_note(
    package: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="lakebed"):
        assert translate({PACKAGES: f"{package},{KAFKA}"}) == {PACKAGES: KAFKA}
    assert package in caplog.text
    assert translate({PACKAGES: package}) == {}


@pytest.mark.parametrize("package", [KAFKA, "io.delta:delta-sharing-spark_2.13:4.0.0"])
def test_other_packages_stay(package: str) -> None:
    assert translate({PACKAGES: package}) == {PACKAGES: package}


def test_jars_of_delta_spark_are_left_out_by_their_file_names() -> None:
    jars = (
        "/jars/delta-spark_2.13-4.0.0.jar,s3a://b/io.delta_delta-storage-4.0.0.jar,/delta-x/a.jar"
    )
    assert translate({"spark.jars": jars}) == {"spark.jars": "/delta-x/a.jar"}


def test_the_arguments_of_spark_submit_are_translated_too() -> None:
    text = (
        f"--master 'local[2]' --packages io.delta:delta-spark_2.13:4.0.0,{KAFKA} "
        f"--conf {EXTENSIONS}={EXTENSION} --conf '{CATALOG_KEY}={CATALOG}' "
        "--conf 'spark.app.name=a shop' --jars=/jars/delta-core_2.12-2.4.0.jar pyspark-shell"
    )
    assert translate_submit_arguments(text) == (
        f"--master 'local[2]' --packages {KAFKA} --conf 'spark.app.name=a shop' pyspark-shell"
    )


def test_arguments_without_delta_spark_mean_the_same() -> None:
    text = "--conf spark.ui.enabled=false --py-files 'a b.py' pyspark-shell"
    assert translate_submit_arguments(text) == text


def test_a_local_server_of_spark_connect_is_started_by_lakebed() -> None:
    given = {
        "spark.plugins": f"org.example.Plugin,{PLUGIN}",
        "spark.connect.extensions.relation.classes": f"org.example.Relations,{RELATION}",
        "spark.connect.extensions.command.classes": COMMAND,
    }
    assert translate(given) == {
        "spark.plugins": "org.example.Plugin",
        "spark.connect.extensions.relation.classes": "org.example.Relations,lakebed.TableCalls",
        "spark.lakebed.server": "true",
        "spark.lakebed.python": sys.executable,
    }
    chosen = translate({**given, "spark.lakebed.python": "/usr/bin/python3"})
    assert chosen["spark.lakebed.python"] == "/usr/bin/python3"


def test_the_classes_of_others_are_their_own_replacement() -> None:
    assert lakebed_class("org.example.Catalog") == "org.example.Catalog"
    assert lakebed_class(CATALOG) is None
