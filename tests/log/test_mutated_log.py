"""Damage to any file of the log: the right answer, or an error that names the file.

Files that Lakebed wrote carry digests, so this holds whatever the damage is. Files of others are
read as they are: there, damage is at worst a wrong answer, and never another class of error.

    LAKEBED_EXAMPLES=1000 pytest tests/log/test_mutated_log.py
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from mutations import Accident, Refusal, accidents, look_at_damage
from sample_logs import SHAPES, Sample, of_deltalake, sample

from lakebed.formats import checkpoint_decoder

EXAMPLES = int(os.environ.get("LAKEBED_EXAMPLES", "10"))
MANY = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
PARQUET = [shape for shape in SHAPES if "classic" in shape.__name__ or "parquet" in shape.__name__]


@pytest.fixture(
    scope="module",
    params=[(shape, checksums) for shape in SHAPES for checksums in (True, False)],
    ids=lambda param: f"{param[0].__name__}-{'crc' if param[1] else 'no crc'}",
)
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sample:
    shape, checksums = request.param
    return sample(tmp_path_factory.mktemp("tables"), shape, checksums=checksums)


@MANY
@given(number=st.integers(0, 1000), accident=accidents, probes=st.booleans())
def test_damage_gives_the_right_answer_or_an_error_that_names_the_file(
    table: Sample, number: int, accident: Accident, probes: bool
) -> None:
    check(table, table.files[number % len(table.files)], accident, probes=probes)


@pytest.mark.parametrize("shape", PARQUET, ids=lambda shape: shape.__name__)
def test_damage_to_a_checkpoint_too_large_to_be_read_whole_is_found(
    shape: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There the footer has the digest, and each page its checksum."""
    monkeypatch.setattr(checkpoint_decoder, "SMALL", 0)
    table = sample(tmp_path, shape, checksums=False)  # type: ignore[arg-type]
    files = [file for file in table.files if file.suffix == ".parquet"]

    @MANY
    @given(number=st.integers(0, 1000), accident=accidents)
    def prop(number: int, accident: Accident) -> None:
        check(table, files[number % len(files)], accident, probes=True)

    prop()


def test_damage_to_the_log_of_another_writer_is_a_result_or_an_error_of_ours(
    tmp_path: Path,
) -> None:
    """In a process of its own: a crash in a library shows, and memory has a limit."""
    table = sample(tmp_path, of_deltalake, checksums=True)
    worker = Path(__file__).with_name("foreign_damage.py")
    command = [sys.executable, str(worker), str(table.path), str(EXAMPLES * 6)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=590, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    assert int(done.stdout.split()[0]) > EXAMPLES


def check(table: Sample, file: Path, accident: Accident, *, probes: bool) -> None:
    found = look_at_damage(table.path, file, table.files, accident, probes=probes)
    for place, seen in found.items():
        if isinstance(seen, Refusal):
            assert file.name in str(seen.error), f"{place}: {seen.error}"
        else:
            assert seen == table.expected[place], place
    refused = any(isinstance(seen, Refusal) for seen in found.values())
    event(f"{accident.kind} {file.suffix}: {'refused' if refused else 'right'}")
