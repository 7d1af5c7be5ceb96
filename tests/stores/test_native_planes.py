"""The contract of the data planes on object stores, read and written by Spark itself.

`native_contract.py` runs in a process of its own; each of its tests is one here.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest
import test_plane_contract
from connectors import CONNECTORS

CONTRACT = Path(__file__).with_name("native_contract.py")
NAMES = [name for name in vars(test_plane_contract) if name.startswith("test_")]


@pytest.fixture(scope="module")
def outcomes(java: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Element | None]:  # noqa: ARG001
    """By test, why it failed or was skipped; nothing if it passed."""
    report = tmp_path_factory.mktemp("contract") / "report.xml"
    command = [sys.executable, "-m", "pytest", str(CONTRACT), f"--junitxml={report}"]
    command += ["-p", "no:cacheprovider", f"--basetemp={tmp_path_factory.mktemp('base')}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode in (0, 1), done.stdout[-4000:] + done.stderr[-4000:]
    cases = ElementTree.parse(report).iter("testcase")
    return {case.attrib["name"]: next(iter(case), None) for case in cases}


@pytest.mark.slow("a Spark of its own, with the classes of the connector")
@pytest.mark.parametrize("store", CONNECTORS)
@pytest.mark.parametrize("name", NAMES)
def test_the_contract_holds(name: str, store: str, outcomes: dict[str, Element | None]) -> None:
    outcome = outcomes[f"{name}[{store}]"]
    if outcome is not None and outcome.tag == "skipped":
        pytest.skip(outcome.attrib["message"])
    assert outcome is None, outcome.text
