"""Machines that Lakebed does not work on: each is an error with the command that mends it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakebed.errors import UnsupportedSparkError
from lakebed.spark.internals.startup import classes
from lakebed.spark.internals.startup.versions import KNOWN, does_not_fit, source_folders

_SCRIPT = """
import lakebed
from lakebed.errors import UnsupportedSparkError
try:
    lakebed.session({arguments})
except UnsupportedSparkError as error:
    print(error.code, error.message, error.hint, sep="\\n")
"""


def outcome(arguments: str = "master='local[1]'", **environ: str) -> list[str]:
    """Code, message and hint of what `lakebed.session` raises in a process of its own."""
    # A file: PySpark takes a process without one for its own doctests.
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(_SCRIPT.format(arguments=arguments))
        script.flush()
        command = [sys.executable, "-W", "ignore", script.name]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, **environ}
        )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def first_on_the_path(folder: Path) -> dict[str, str]:
    return {"PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}"}


def test_pyspark_3_5_is_named_with_what_to_install(tmp_path: Path) -> None:
    package = tmp_path / "pyspark"
    (package / "sql").mkdir(parents=True)
    (package / "__init__.py").write_text('__version__ = "3.5.4"')
    (package / "sql" / "__init__.py").write_text("class SparkSession: pass")
    code, message, hint = outcome(**first_on_the_path(tmp_path))
    assert code == "UNSUPPORTED_SPARK"
    assert message == "Lakebed needs Spark 4.0 or newer, and this is Spark 3.5.4"
    assert hint == f"pip install 'pyspark>=4.0,<4.{KNOWN[-1][1] + 1}'"


def test_without_java_the_error_says_so(tmp_path: Path) -> None:
    # Spark's scripts need a few commands, but no java.
    for name in ("bash", "dirname", "uname", "env", "cat", "rm", "mktemp", "ls", "sed", "tr"):
        for folder in ("/usr/bin", "/bin"):
            if Path(folder, name).exists() and not (tmp_path / name).exists():
                (tmp_path / name).symlink_to(Path(folder, name))
    code, message, hint = outcome(PATH=str(tmp_path), JAVA_HOME="")
    assert code == "UNSUPPORTED_SPARK"
    assert message.startswith("Spark needs Java 17 or newer, and there is no java on the PATH")
    assert "openjdk-17-jre-headless" in hint


def test_java_11_is_named(tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text('#!/bin/sh\necho \'openjdk version "11.0.2"\' >&2\n[ "$1" = -version ]\n')
    java.chmod(0o755)
    code, message, hint = outcome(JAVA_HOME=str(tmp_path))
    assert code == "UNSUPPORTED_SPARK"
    assert message == f"Spark needs Java 17 or newer, and {java} is version 11"
    assert "JAVA_HOME" in hint


def test_a_java_home_without_java_is_named(tmp_path: Path) -> None:
    code, message, _ = outcome(JAVA_HOME=str(tmp_path))
    assert code == "UNSUPPORTED_SPARK"
    assert f"{tmp_path}/bin/java (from JAVA_HOME) cannot be started" in message


def test_a_pandas_that_pyspark_cannot_use_is_named(tmp_path: Path) -> None:
    (tmp_path / "pandas").mkdir()
    (tmp_path / "pandas" / "__init__.py").write_text('__version__ = "1.0.0"')
    code, message, hint = outcome("remote='sc://localhost:1'", **first_on_the_path(tmp_path))
    assert code == "UNSUPPORTED_SPARK"
    assert "your version is 1.0.0" in message
    assert hint.startswith("pip install 'pandas>=2")
    assert hint.endswith(",<3'")


def test_a_newer_spark_gets_the_newest_sources_and_is_named_where_it_does_not_fit() -> None:
    assert source_folders("4.9.0.dev1") == source_folders("4.3.0")
    error = does_not_fit("4.9.0", "no Rule")
    assert "Lakebed does not fit Spark 4.9.0: no Rule" in error.message
    assert "Lakebed knows Spark 4.0 to 4.3, and this Spark is newer" in error.message
    assert error.hint is not None
    assert "pip install 'lakebed[spark]'" in error.hint


def test_a_class_that_spark_lacks_is_named_without_a_trace(
    spark: SparkSession, tmp_path: Path
) -> None:
    gateway = spark.sparkContext._gateway
    text = "package lakebed;\n\nimport org.apache.spark.NoSuchRule;\n\n"
    text += "class Needs extends NoSuchRule {}\n"
    with pytest.raises(UnsupportedSparkError) as caught:
        classes._compile(gateway, [("lakebed/Needs.java", text)], tmp_path, "4.9.0")
    message = caught.value.message
    assert "does not fit Spark 4.9.0" in message
    assert "lakebed/Needs.java" in message
    assert "NoSuchRule" in message
    assert "\n" not in message
    assert "/tmp" not in message


def test_a_method_that_spark_lacks_is_named_with_what_to_install(spark: SparkSession) -> None:
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    nothing = gateway.new_array(gateway.jvm.java.lang.Object, 0)
    with pytest.raises(Exception, match=r"\[UNSUPPORTED_SPARK\] Lakebed does not fit") as caught:
        gateway.jvm.lakebed.bridge.Internals.invoke(spark._jsparkSession, "noSuchMethod", nothing)
    said = str(caught.value)
    assert f"Spark {spark.version}: there is no method noSuchMethod in" in said
    assert "pip install 'lakebed[spark]'" in said
