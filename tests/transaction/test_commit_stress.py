"""8 processes, 50 commits each, on one table; some are killed and started again.

Killed means SIGKILL, at any moment, maintenance included. In the end the versions are contiguous,
every acknowledged commit is there exactly once and as the version that was acknowledged, and
nothing else is there.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from lakebed.log.table_log import TableLog
from lakebed.storage import Store, open_store
from testkit.readers.independent_replay import Replayed, check, copy_out
from testkit.servers.s3_server import S3Server
from testkit.tables.small_tables import create

WORKERS = 8
COMMITS = 50
KILLS = 12
LONGEST_SECONDS = 240
SCRIPT = Path(__file__).with_name("commit_worker.py")


@dataclass
class Worker:
    name: str
    command: list[str]
    acknowledgements: Path
    process: subprocess.Popen[bytes] | None = None
    kills: int = 0

    @property
    def complaints(self) -> Path:
        return self.acknowledgements.with_suffix(".err")

    def start(self) -> None:
        with self.complaints.open("ab") as complaints:
            self.process = subprocess.Popen(self.command, stderr=complaints)

    def kill(self) -> bool:
        """False if it was done before."""
        assert self.process is not None
        self.process.kill()
        self.kills += self.process.wait() != 0
        return self.process.returncode != 0

    def is_running(self) -> bool:
        assert self.process is not None
        return self.process.poll() is None

    def acknowledged(self) -> dict[int, int]:
        """Versions by number of the commit. Lines are written in one call, so all are whole."""
        if not self.acknowledgements.exists():
            return {}
        lines = self.acknowledgements.read_text().splitlines()
        return {int(number): int(version) for number, version in map(str.split, lines)}


@dataclass
class Crowd:
    workers: list[Worker] = field(default_factory=list)

    @classmethod
    def at(cls, url: str, options: dict[str, str], folder: Path) -> Crowd:
        crowd = cls()
        for number in range(WORKERS):
            name, path = f"worker-{number}", folder / f"worker-{number}.txt"
            arguments = [url, json.dumps(options), name, str(COMMITS), str(path)]
            crowd.workers.append(Worker(name, [sys.executable, str(SCRIPT), *arguments], path))
        return crowd

    def run(self, seed: int) -> None:
        dice = random.Random(seed)
        moments = sorted(dice.sample(range(1, WORKERS * COMMITS * 3 // 4), KILLS))
        deadline = time.monotonic() + LONGEST_SECONDS
        for worker in self.workers:
            worker.start()
        try:
            while any(worker.is_running() for worker in self.workers):
                assert time.monotonic() < deadline, "the workers do not get on"
                if moments and self.progress() >= moments[0]:
                    moments.pop(0)
                    self._kill_one(dice)
                time.sleep(0.005)
        finally:
            for worker in self.workers:
                worker.kill()
        self._check_all_ended_well()

    def progress(self) -> int:
        return sum(len(worker.acknowledged()) for worker in self.workers)

    def _kill_one(self, dice: random.Random) -> None:
        time.sleep(dice.uniform(0, 0.02))
        running = [worker for worker in self.workers if worker.is_running()]
        if running:
            victim = dice.choice(running)
            if victim.kill():
                victim.start()

    def _check_all_ended_well(self) -> None:
        for worker in self.workers:
            assert worker.process is not None
            assert worker.process.returncode == 0, worker.complaints.read_text()


def judge(crowd: Crowd, state: Replayed) -> None:
    expected = {
        f"worker-{worker}-{number}.parquet"
        for worker in range(WORKERS)
        for number in range(COMMITS)
    }
    assert state.paths == expected
    assert set(state.added.values()) == {1}
    assert len(state.commits) == WORKERS * COMMITS + 1
    for worker in crowd.workers:
        for number, version in worker.acknowledged().items():
            added = [action["add"]["path"] for action in state.commits[version] if "add" in action]
            assert added == [f"{worker.name}-{number}.parquet"]


def judge_snapshot(store: Store, state: Replayed) -> None:
    """Lakebed sees the same, through the checkpoints that were written in the crowd."""
    snapshot = TableLog(store).snapshot()
    assert snapshot.version == len(state.commits) - 1
    assert set(snapshot.files(["path"]).column("path").to_pylist()) == state.paths
    assert snapshot.totals.num_files == len(state.paths)


@pytest.mark.slow("8 processes commit, are killed and start again")
def test_eight_processes_with_kills_on_the_local_disk(tmp_path: Path) -> None:
    table = tmp_path / "table"
    store = open_store(str(table))
    create(store)
    crowd = Crowd.at(str(table), {}, tmp_path)
    crowd.run(seed=5)
    assert sum(worker.kills for worker in crowd.workers) >= KILLS // 2
    state = check(table)
    judge(crowd, state)
    judge_snapshot(store, state)


@pytest.mark.slow("8 processes commit, are killed and start again")
def test_eight_processes_with_kills_on_s3(tmp_path: Path, s3_server: S3Server) -> None:
    url, options = f"{s3_server.new_bucket()}/table", s3_server.storage_options
    store = open_store(url, options)
    create(store)
    crowd = Crowd.at(url, options, tmp_path)
    crowd.run(seed=6)
    assert sum(worker.kills for worker in crowd.workers) >= KILLS // 2
    state = check(copy_out(store, tmp_path / "copy"))
    judge(crowd, state)
    judge_snapshot(store, state)
