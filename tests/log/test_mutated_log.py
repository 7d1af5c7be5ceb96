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
from mutations import Refusal, damaged, look, mutated, store_of
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
@given(data=st.data())
def test_damage_gives_the_right_answer_or_an_error_that_names_the_file(
    table: Sample, data: st.DataObject
) -> None:
    file, content = draw_damage(table, data)
    with damaged(file, content):
        store = store_of(table.path, probes=data.draw(st.booleans()))
        found = look(store, table.versions)
    for place, seen in found.items():
        if isinstance(seen, Refusal):
            event(f"{file.suffix}: refused")
            assert file.name in str(seen.error), f"{place}: {seen.error}"
        else:
            event(f"{file.suffix}: right")
            assert seen == table.expected[place], place


def draw_damage(table: Sample, data: st.DataObject) -> tuple[Path, bytes]:
    file = data.draw(st.sampled_from(table.files), label="file")
    others = [other.read_bytes() for other in table.files if other != file]
    content = data.draw(mutated(file.read_bytes(), others), label="content")
    return file, content
