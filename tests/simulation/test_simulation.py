"""Thousands of short histories, each from its seed; see `history.py` for more of them.

`SIMULATE=<seconds>` runs histories from a random seed, which is printed, for so long.
"""

from __future__ import annotations

import os
import secrets
import time
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from client_commands import RUNS
from deltalake import DeltaTable
from history import History

SEEDS = 240
CHUNK = 60


@pytest.fixture(scope="module")
def seen() -> Counter[str]:
    return Counter()


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_whatever_is_acknowledged_has_its_effect_once_and_in_the_order_of_versions(
    first: int, seen: Counter[str]
) -> None:
    for seed in range(first, first + CHUNK):
        history = History(seed).run()
        seen.update(history.outcomes)
        seen.update(history.course.fates)
        seen["switches"] += history.turns.switches
        seen["histories"] += 1


def test_histories_have_all_commands_and_all_faults_in_them(seen: Counter[str]) -> None:
    if seen["histories"] < SEEDS:
        pytest.skip("only some of the seeds were run")
    acknowledged = {name for name in RUNS if seen[f"{name}: acknowledged"]}
    assert acknowledged == set(RUNS)
    fates = {"refused", "lost", "late", "repeated"}
    fates |= {f"killed {moment}" for moment in ("before", "after", "under way")}
    assert {fate for fate in fates if seen[fate]} == fates
    assert sum(count for key, count in seen.items() if "Concurrent" in key) > SEEDS / 20
    assert seen["switches"] > 10 * SEEDS


@pytest.mark.parametrize("seed", range(1000, 1010))
def test_a_seed_gives_the_same_history_byte_by_byte(seed: int) -> None:
    first, second = History(seed).run(), History(seed).run()
    assert str(first) == str(second)
    assert first.objects.found == second.objects.found


@pytest.mark.skipif("SIMULATE" not in os.environ, reason="only if SIMULATE=<seconds> is set")
def test_histories_from_a_random_seed() -> None:
    seed = int(os.environ.get("SIMULATE_FROM", secrets.randbits(40)))
    print(f"SIMULATE_FROM={seed}")
    end = time.monotonic() + float(os.environ["SIMULATE"])
    while time.monotonic() < end:
        History(seed).run()
        seed += 1


@pytest.mark.parametrize("seed", range(2000, 2010))
def test_delta_rs_reads_what_a_history_leaves(seed: int, tmp_path: Path) -> None:
    """Checkpoints, checksums and a cleaned-up log, by a reader that has nothing of Lakebed."""
    history = History(seed).run()
    for path, blob in history.objects.found.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(blob.data)
    table = DeltaTable(str(tmp_path))
    newest = history.verdict.versions[table.version()]
    assert newest.number == max(history.verdict.versions)
    found = pa.table(table.get_add_actions())["path"].to_pylist()
    assert sorted(found) == sorted(path for path, _ in newest.files)
