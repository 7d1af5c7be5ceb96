"""The streams of `tests/streaming/test_stream_kills.py`, with all tables on an S3 server.

Checkpoints are Spark's own files, and stay on the local disk. `LAKEBED_LONG=100` is a run with so
many kills.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_servers import RealServer, versitygw

from testkit.servers.killed_streams import Trial

LONG = int(os.environ.get("LAKEBED_LONG", "0"))
KILLS = {0: 2, 1: 40}.get(LONG, LONG)
SEED = int(os.environ.get("LAKEBED_KILL_SEED", "1"))


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with versitygw(tmp_path_factory.mktemp("gateway")) as server:
        yield server


@pytest.mark.slow("an application with a Spark of its own is started and killed some times")
@pytest.mark.timeout(900 + 60 * KILLS)
def test_killed_streams_on_s3_store_each_row_once(
    java: None,  # noqa: ARG001
    gateway: RealServer,
    tmp_path: Path,
) -> None:
    trial = Trial(f"{gateway.new_bucket()}/tables", tmp_path, gateway.storage_options, seed=SEED)
    trial.kill_often(KILLS)
    trial.finish_and_check()
    print(
        f"{trial.kills} kills, amid batches: {dict(trial.amid)}; {trial.rows} rows, "
        f"batches: {trial.batches()}"
    )
