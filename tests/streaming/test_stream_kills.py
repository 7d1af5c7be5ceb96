"""Streams are killed at random moments: nothing is lost and nothing is stored twice.

Four streams of one application read one table; two of them write one table by the sink, one merges
its batches, one appends them with transactions. `LAKEBED_LONG=100` is a run with so many kills.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from testkit.servers.killed_streams import Trial

LONG = int(os.environ.get("LAKEBED_LONG", "0"))
KILLS = {0: 4, 1: 100}.get(LONG, LONG)
SEED = int(os.environ.get("LAKEBED_KILL_SEED", "1"))


@pytest.mark.slow("an application with a Spark of its own is started and killed some times")
@pytest.mark.timeout(900 + 60 * KILLS)
def test_killed_streams_store_each_row_once(
    java: None,  # noqa: ARG001
    tmp_path: Path,
) -> None:
    trial = Trial(str(tmp_path / "tables"), tmp_path, seed=SEED)
    trial.kill_often(KILLS)
    trial.finish_and_check()
    print(
        f"{trial.kills} kills, amid batches: {dict(trial.amid)}; {trial.rows} rows, "
        f"batches: {trial.batches()}"
    )
