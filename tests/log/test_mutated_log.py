"""Damage to any file of the log: the right answer, or an error that names the file.

Files that Lakebed wrote carry digests, so this holds whatever the damage is. Files of others are
read as they are: there, damage is at worst a wrong answer, and never another class of error.

    LAKEBED_EXAMPLES=5000 pytest tests/log/test_mutated_log.py
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from mutations import Accident, Refusal, Seen, accidents, damaged, look, store_of
from sample_tables import SHAPES, Sample, sample

EXAMPLES = int(os.environ.get("LAKEBED_EXAMPLES", "12"))
MANY = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    print_blob=True,
)


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
    file = table.files[number % len(table.files)]
    found = look_at_damage(table, file, accident, probes=probes)
    for place, seen in found.items():
        event(f"{file.suffix} {accident.kind}: {'refused' if isinstance(seen, Refusal) else ''}")
        if isinstance(seen, Refusal):
            assert file.name in str(seen.error), f"{place}: {seen.error}"
        else:
            assert seen == table.expected[place], place


def look_at_damage(
    table: Sample, file: Path, accident: Accident, *, probes: bool
) -> dict[str, Seen | Refusal]:
    others = [other.read_bytes() for other in table.files if other != file]
    with damaged(file, accident.happen(file.read_bytes(), others)):
        return look(store_of(table.path, probes=probes), table.versions)
