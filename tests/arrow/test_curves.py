"""Curves by what they promise: every place once, and no jumps."""

from __future__ import annotations

from itertools import pairwise, product

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.commands.optimize.placement import addresses
from lakebed.data_files.curves import Curve, bits_of, quantiles


def curve(kind: str, columns: int, bits: int, monkeypatch: pytest.MonkeyPatch) -> Curve:
    monkeypatch.setattr("lakebed.data_files.curves._MOST_BITS", bits)
    return Curve(kind, tuple(() for _ in range(columns)))  # type: ignore[arg-type]


@pytest.mark.parametrize(("columns", "bits"), [(1, 4), (2, 4), (3, 3), (4, 2)])
def test_a_hilbert_curve_visits_each_place_once_and_never_jumps(
    columns: int, bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = curve("hilbert", columns, bits, monkeypatch)
    places = list(product(range(1 << bits), repeat=columns))
    by_key = sorted(places, key=lambda place: made.key(list(place)))
    assert sorted(made.key(list(place)) for place in places) == list(range(len(places)))
    for one, other in pairwise(by_key):
        assert sum(abs(a - b) for a, b in zip(one, other, strict=True)) == 1


def test_z_order_interleaves_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    made = curve("zorder", 2, 3, monkeypatch)
    assert made.key([0b101, 0b010]) == 0b100110
    assert made.key([0, 7]) == 0b010101


@given(st.integers(1, 70))
def test_keys_fit_into_a_long(columns: int) -> None:
    bits = bits_of(columns)
    assert bits >= 1
    if columns <= 62:
        assert bits * columns <= 62


@given(st.lists(st.integers(-50, 50) | st.none()), st.integers(1, 20))
def test_quantiles_cut_a_sample_into_even_parts(values: list[int | None], most: int) -> None:
    found = quantiles(pa.array(values, pa.int64()), most)
    known = [value for value in values if value is not None]
    assert found == sorted(set(found))
    assert len(found) <= most
    assert set(found) <= set(known)
    if len(set(known)) == len(known) and found:
        bounds = [min(known), *found, max(known) + 1]
        sizes = [sum(low <= v < high for v in known) for low, high in pairwise(bounds)]
        assert max(sizes) - min(sizes) <= 1 + (min(sizes) == 0)


def test_missing_values_come_first_and_nan_last() -> None:
    columns = [pa.chunked_array([pa.array([3.0, None, float("nan"), 1.0, 2.0])])]
    made = Curve.of("zorder", columns)
    keys = made.keys(columns)
    assert sorted(range(5), key=lambda place: keys[place]) == [1, 3, 4, 0, 2]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64, 200])
def test_addresses_differ_and_are_small(count: int) -> None:
    found = addresses(count)
    assert len(set(found)) == count
    assert all(0 <= number < 1 << 31 for number in found)


def test_a_column_with_few_values_counts_as_much() -> None:
    """Else the bits of the other would decide alone, and no file would have few of its values."""
    many = pa.chunked_array([pa.array(list(range(1024)))])
    few = pa.chunked_array([pa.array([i * 7 % 8 for i in range(1024)])])
    keys = Curve.of("hilbert", [many, few]).keys([many, few])
    order = sorted(range(1024), key=lambda place: keys[place])
    files = [order[start : start + 64] for start in range(0, 1024, 64)]
    assert max(len({few[place].as_py() for place in file}) for file in files) <= 4
    assert max(max(file) - min(file) for file in files) <= 512
