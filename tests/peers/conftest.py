"""Lakebed beside delta-spark: `./run test --peers`, and in short where changes land.

Both run on the Spark that delta-spark's JAR is for; without that Spark or without the JAR all tests
here are skipped and say why.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator

import engines
import pytest
from comparing import Tally
from engines import Engine, Peers

from peer_process import SPARK

_TALLY = pytest.StashKey[Tally]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_TALLY] = Tally()


@pytest.fixture(scope="session")
def peers(java: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peers]:  # noqa: ARG001
    """Both engines, started once."""
    installed = importlib.metadata.version("pyspark")
    if not installed.startswith(f"{SPARK}."):
        pytest.skip(
            f"delta-spark has no JAR for Spark {installed}: run ./run test --peers, "
            f"which has Spark {SPARK}"
        )
    try:
        started = engines.start(tmp_path_factory.mktemp("peers"))
    except engines.NoJarError as error:
        pytest.skip(f"{error}: delta-spark is not there to compare with")
    yield started
    started.close()


@pytest.fixture
def lakebed_engine(peers: Peers) -> Engine:
    return peers.lakebed


@pytest.fixture
def delta_engine(peers: Peers) -> Engine:
    return peers.delta_spark


@pytest.fixture(scope="session")
def tally(pytestconfig: pytest.Config) -> Tally:
    return pytestconfig.stash[_TALLY]


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    tally = config.stash[_TALLY]
    purposes, gaps = tally.known["on purpose"], tally.known["gap"]
    if not (tally.agreed or purposes or gaps):
        return
    terminalreporter.section("Lakebed beside delta-spark")
    terminalreporter.line(
        f"{len(tally.agreed)} comparisons agree, {len(purposes)} differ on purpose, "
        f"{len(gaps)} are gaps"
    )
    for title, known in (("on purpose", purposes), ("gap", gaps)):
        for reason in dict.fromkeys(each.reason for each in known.values()):
            names = [name for name, each in known.items() if each.reason == reason]
            terminalreporter.line(f"  {title}, {len(names)}: {reason}")
            for name in names:
                terminalreporter.line(f"    {name} ({', '.join(sorted(known[name].aspects))})")
    same = sum(ours == theirs for ours, theirs in tally.failed.values())
    terminalreporter.line(
        f"{len(tally.failed)} fail in both, {same} of them with the same error condition; "
        "-v lists the others"
    )
    if config.get_verbosity() > 0:
        for name, (ours, theirs) in tally.failed.items():
            if ours != theirs:
                terminalreporter.line(f"  {name}: Lakebed {ours}, delta-spark {theirs}")
    passed = len(tally.agreed) + len(purposes)
    terminalreporter.line(f"{passed} of {tally.compared} pass")
