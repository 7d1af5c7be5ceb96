"""Spark's own commands, whose JVM Python did not start: Lakebed starts its Python itself."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.find_spark_home import _find_spark_home

from lakebed.spark.internals.startup.classes import class_path

HOME = Path(_find_spark_home())
OURS = {"spark.sql.extensions": "lakebed.DeltaExtensions"}
DELTA_SPARK = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
QUICK = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.catalogImplementation": "in-memory",
}
STATEMENTS = """
CREATE TABLE shop (id BIGINT, name STRING) USING delta LOCATION '{path}';
INSERT INTO shop VALUES (1, 'a'), (2, 'b');
MERGE INTO shop USING (SELECT 2L AS id, 'B' AS name UNION ALL SELECT 3L, 'c') s ON shop.id = s.id
  WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT *;
DELETE FROM shop WHERE id = 1;
OPTIMIZE shop;
SELECT concat('found ', id, name) AS found FROM shop ORDER BY id;
"""


@pytest.fixture(scope="module")
def entries() -> str:
    return os.pathsep.join(map(str, class_path()))


def command(name: str, entries: str, settings: dict[str, str], *arguments: str) -> list[str]:
    found = [str(HOME / "bin" / name), "--master", "local[2]", "--driver-class-path", entries]
    for key, value in {**QUICK, **settings}.items():
        found += ["--conf", f"{key}={value}"]
    return [*found, *arguments]


def environment() -> dict[str, str]:
    return {**os.environ, "SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1"}


def run(arguments: list[str], folder: Path, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        arguments,
        cwd=folder,
        env=environment(),
        input=text,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def rows(path: Path) -> list[tuple[int, str]]:
    found = DeltaTable(path).to_pyarrow_table().to_pylist()
    return sorted((row["id"], row["name"]) for row in found)


def test_spark_sql_creates_merges_and_reads(tmp_path: Path, entries: str) -> None:
    text = STATEMENTS.format(path=tmp_path / "shop")
    ended = run(command("spark-sql", entries, OURS, "-e", text), tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[-2:] == ["found 2B", "found 3c"]
    assert rows(tmp_path / "shop") == [(2, "B"), (3, "c")]


def test_a_python_without_lakebed_is_named_with_what_to_install(
    tmp_path: Path, entries: str
) -> None:
    bare = tmp_path / "bare-python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    text = f"SELECT * FROM delta.`{tmp_path / 'none'}`"
    settings = {**OURS, "spark.lakebed.python": str(bare)}
    ended = run(command("spark-sql", entries, settings, "-e", text), tmp_path)
    assert ended.returncode != 0
    told = ended.stdout + ended.stderr
    assert "[NOT_CONNECTED]" in told
    assert "No module named 'lakebed'" in told
    assert f"{bare} -m pip install 'lakebed[spark]'" in told


SHELL = """
import scala.jdk.CollectionConverters._
val path = "{path}"
def python = ProcessHandle.current().descendants().iterator().asScala.filter(
  _.info().commandLine().orElse("").contains("lakebed.sessions.native.attach")).toList
Seq((1L, "a"), (2L, "b")).toDF("id", "name").write.format("delta").save(path)
val before = spark.read.format("delta").load(path)
println("counted " + before.count + " with " + python.size)
python.foreach {{ each => each.destroyForcibly(); each.onExit().get() }}
try println("counted without Python " + before.count) catch {{
  case error: Throwable => println("refused: " + error.getMessage.linesIterator.next()) }}
Seq((3L, "c")).toDF("id", "name").write.format("delta").mode("append").save(path)
println("then " + spark.read.format("delta").load(path).count + " with " + python.size)
spark.newSession().sql(s"UPDATE delta.`$path` SET name = 'x' WHERE id = 1")
println("last " + spark.sql(s"SELECT max(name) FROM delta.`$path`").head.getString(0))
:quit
"""


def test_spark_shell_starts_python_again_if_it_was_killed(tmp_path: Path, entries: str) -> None:
    text = SHELL.format(path=tmp_path / "shop")
    ended = run(command("spark-shell", entries, DELTA_SPARK), tmp_path, text)
    assert ended.returncode == 0, ended.stderr
    assert "counted 2 with 1" in ended.stdout, ended.stdout + ended.stderr
    assert "refused: [NOT_CONNECTED] Lakebed's Python process ended" in ended.stdout
    assert "exit code 137" in ended.stdout
    assert "then 3 with 1" in ended.stdout, ended.stdout + ended.stderr
    assert "last x" in ended.stdout
    assert rows(tmp_path / "shop") == [(1, "x"), (2, "b"), (3, "c")]


@pytest.fixture
def thrift(tmp_path: Path, entries: str) -> Iterator[int]:
    """The port of a Thrift server, and its log in the folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
    # The server is there with a Hive catalog alone.
    settings = {**OURS, "spark.sql.catalogImplementation": "hive"}
    arguments = command("spark-submit", entries, settings, "--class", server, "spark-internal")
    arguments += ["--hiveconf", f"hive.server2.thrift.port={port}"]
    arguments += ["--hiveconf", "hive.server2.thrift.bind.host=127.0.0.1"]
    with (tmp_path / "thrift.log").open("w") as log:
        process = subprocess.Popen(
            arguments, cwd=tmp_path, env=environment(), stdout=log, stderr=log
        )
    try:
        wait_for(port, process)
        yield port
    finally:
        process.terminate()
        process.wait(60)


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert process.poll() is None, "the Thrift server ended"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise AssertionError("the Thrift server does not listen")


def test_jdbc_clients_of_the_thrift_server_change_tables(tmp_path: Path, thrift: int) -> None:
    script = tmp_path / "script.sql"
    script.write_text(STATEMENTS.format(path=tmp_path / "shop"))
    beeline = [str(HOME / "bin" / "beeline"), "-u", f"jdbc:hive2://127.0.0.1:{thrift}", "-n", "me"]
    ended = run([*beeline, "--silent=true", "--outputformat=csv2", "-f", str(script)], tmp_path)
    log = (tmp_path / "thrift.log").read_text()
    assert ended.returncode == 0, ended.stdout + ended.stderr + log
    assert "found 2B\nfound 3c\n" in ended.stdout, ended.stdout + ended.stderr + log
    assert rows(tmp_path / "shop") == [(2, "B"), (3, "c")]
