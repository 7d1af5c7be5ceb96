from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_START = "import sys; from lakebed.cli.main import main; sys.exit(main(sys.argv[1:]))"


@pytest.fixture(scope="session")
def server(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:  # noqa: ARG001
    """The address of `lakebed server`."""
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    conf = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    command = [sys.executable, "-c", _START, "server", "--port", "0", "--master", "local[2]"]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    with subprocess.Popen(
        [*command, *conf], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip().rpartition(" ")[2]
        assert address.startswith("sc://127.0.0.1:"), f"the server ended with {process.wait()}"
        yield address
        process.terminate()
        assert process.wait(60) == 0


@pytest.fixture(scope="module")
def spark(server: str) -> Iterator[Any]:
    """A session of a client that has Lakebed."""
    from pyspark.sql.connect.session import SparkSession

    import lakebed

    session = lakebed.enable(SparkSession.builder.remote(server).create())
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def no_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client must not look at the files of a table: it may have no access to them."""
    from lakebed.log import table_log

    def refused(*args: Any, **kwargs: Any) -> None:
        raise AssertionError(f"the client opened a table: {args} {kwargs}")

    monkeypatch.setattr(table_log.TableLog, "__init__", refused)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "t")
