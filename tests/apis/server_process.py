"""A process of `lakebed server`."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from deltalake import DeltaTable

_START = "import sys; from lakebed.cli.main import main; sys.exit(main(sys.argv[1:]))"


class Server(NamedTuple):
    address: str
    warehouse: Path

    def rows(self, table: str, *columns: str) -> list[tuple[Any, ...]]:
        """What deltalake reads of a table in the default database."""
        found = DeltaTable(self.warehouse / table).to_pyarrow_table()
        rows = found.select(columns or found.column_names).to_pylist()
        return sorted((tuple(row.values()) for row in rows), key=str)


@contextmanager
def serving(warehouse: Path) -> Iterator[str]:
    """The address; the server ends with the block."""
    port = _free_port()
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(warehouse),
    }
    conf = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    command = [sys.executable, "-c", _START, "server", "--port", str(port), "--master", "local[2]"]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    with subprocess.Popen(
        [*command, *conf], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        assert f"sc://127.0.0.1:{port}" in said, f"the server ended with {process.wait()}"
        try:
            yield f"sc://127.0.0.1:{port}"
        finally:
            process.terminate()
            code = process.wait(60)
        assert code == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
