from __future__ import annotations

from pathlib import Path

import pytest

import lakebed
from lakebed.spec.time_travel_names import PATTERN, TimeTravelName, parse_time_travel


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("/data/orders@v3", TimeTravelName("/data/orders", "3", None)),
        ("orders@V0", TimeTravelName("orders", "0", None)),
        ("a@v1@v2", TimeTravelName("a@v1", "2", None)),
        ("two\nlines@v1", TimeTravelName("two\nlines", "1", None)),
        (
            "orders@20260131120000123",
            TimeTravelName("orders", None, "2026-01-31 12:00:00.123"),
        ),
    ],
)
def test_a_suffix_is_split_off(name: str, expected: TimeTravelName) -> None:
    assert parse_time_travel(name) == expected


@pytest.mark.parametrize(
    "name", ["orders", "@v3", "orders@v", "orders@v3x", "orders@v-1", "orders@2026", "a@v3/b"]
)
def test_other_names_have_no_suffix(name: str) -> None:
    assert parse_time_travel(name) is None


def test_the_catalog_in_java_has_the_same_pattern() -> None:
    sources = Path(lakebed.__file__).parent / "spark" / "java"
    java = (sources / "all_versions" / "lakebed" / "tables" / "DeltaCatalogBase.java").read_text()
    assert f'Pattern.compile("{PATTERN}", Pattern.DOTALL)' in java
