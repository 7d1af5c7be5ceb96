"""Settings for all tests, and the one Spark session of a process."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from testkit.servers.s3_server import S3Server

ROOT = Path(__file__).resolve().parents[1]
SLOW = 20.0
"""Seconds that no test takes without a reason beside it."""

# How long an example takes says more about the machine than about the code.
settings.register_profile("lakebed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("lakebed")

# Workers with another Python than the driver's fail in ways that are hard to read.
os.environ["PYSPARK_PYTHON"] = sys.executable

# What pytest's `pythonpath` is for tests, this is for the programs that they start.
_FOLDERS = [str(ROOT / "tests"), str(ROOT / "tools")]
_GIVEN = os.environ.get("PYTHONPATH")
os.environ["PYTHONPATH"] = os.pathsep.join([*_FOLDERS, *([_GIVEN] if _GIVEN else [])])

# Thousands of commits on local disks: what survives the loss of power has tests of its own.
os.environ.setdefault("LAKEBED_DURABILITY", "none")

# What runs a few times is not worth the better compiler's time: for every JVM that a test starts.
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
for _name in ("SPARK_SUBMIT_OPTS", "SPARK_DAEMON_JAVA_OPTS"):
    os.environ.setdefault(_name, _JAVA_OPTIONS)


def pytest_configure(config: pytest.Config) -> None:
    # Some versions of PySpark leave the sockets that rows come by to the garbage collector.
    socket = r"unclosed <socket\.socket .*laddr=\('127\.0\.0\.1'"
    config.addinivalue_line("filterwarnings", f"ignore:{socket}:ResourceWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The marker `slow` has the reason why a test is worth its time."""
    for item in items:
        for marker in item.iter_markers("slow"):
            if not (len(marker.args) == 1 and not marker.kwargs):
                raise pytest.UsageError(f'{item.nodeid}: say why, as in slow("kills 8 processes")')


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    from testkit.tables.golden_tables import ABSENT

    skipped = terminalreporter.getreports("skipped")
    count = sum(ABSENT in str(each.longrepr) for each in skipped)
    if count:
        tests = "1 test was" if count == 1 else f"{count} tests were"
        terminalreporter.write_line(f"golden tables: {tests} skipped: {ABSENT}", yellow=True)
    reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    for each in reports:
        if each.when == "call" and each.duration > SLOW and "slow" not in each.keywords:
            terminalreporter.write_line(
                f"{each.nodeid} took {each.duration:.0f} s: mark it slow with the reason, "
                f"or make it faster",
                yellow=True,
            )


@pytest.fixture(scope="session")
def java() -> None:
    """Fails with advice where there is no Java: tests of Spark are never skipped."""
    from requirements import RequirementError, require_java

    problem = None
    try:
        require_java(os.environ)
    except RequirementError as error:
        problem = str(error)
    if problem is not None:
        pytest.fail(problem, pytrace=False)


@pytest.fixture(scope="session")
def spark_settings() -> dict[str, Any]:
    """More settings for the session, where a folder of tests has a process of its own."""
    return {}


@pytest.fixture(scope="session")
def spark(
    java: None,  # noqa: ARG001
    tmp_path_factory: pytest.TempPathFactory,
    spark_settings: dict[str, Any],
) -> Iterator[SparkSession]:
    import lakebed

    session = lakebed.session(
        "lakebed-tests",
        master="local[2]",
        spark_ui_enabled=False,
        spark_sql_shuffle_partitions=2,
        spark_default_parallelism=2,
        spark_driver_host="127.0.0.1",
        spark_driver_memory="1g",
        **{
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
            **spark_settings,
        },
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def connect_server(java: None) -> Iterator[str]:  # noqa: ARG001
    """The address of a server of Spark Connect; each file has a database of its own there."""
    from testkit.servers.connect_server import running_connect_server

    with running_connect_server() as address:
        yield address


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    from testkit.servers.s3_server import running_s3_server

    with running_s3_server() as server:
        yield server


@pytest.fixture
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Spark interprets expressions instead of compiling each plan.

    For tests with hundreds of small plans, most of whose time would be the compiler's. What Spark
    compiles, and that it gives the same rows, is for the tests that do without this.
    """
    names = ("spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode")
    before = {name: spark.conf.get(name) for name in names}
    for name, value in zip(names, ("false", "NO_CODEGEN"), strict=True):
        spark.conf.set(name, value)
    yield
    for name, value in before.items():
        spark.conf.set(name, value)
