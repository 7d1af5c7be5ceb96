"""Data files on Arrow: no statistics of a leaf with NaN, and those of all other leaves."""

from __future__ import annotations

import json
import math
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lakebed
from lakebed.arrow.write.parquet_bytes import ParquetBytes
from lakebed.formats.arrow_types import from_arrow_schema, parquet_schema

NAN = math.nan
SCHEMA = parquet_schema(
    from_arrow_schema(
        pa.schema(
            {
                "a.b": pa.float64(),
                "a": pa.struct({"b": pa.float64(), "s": pa.string()}),
                "small": pa.float32(),
                "items": pa.list_(pa.float64()),
                "by_name": pa.map_(pa.string(), pa.struct({"x": pa.float32(), "y": pa.int16()})),
                "price": pa.decimal128(38, 10),
                "at": pa.timestamp("us", tz="UTC"),
                "local": pa.timestamp("us"),
                "day": pa.date32(),
                "raw": pa.binary(),
                "flag": pa.bool_(),
                "tiny": pa.int8(),
            }
        )
    ),
    with_field_ids=False,
)
PLAIN = {
    "a.b": 1.0,
    "a": {"b": 2.0, "s": "x"},
    "small": -0.0,
    "items": [1.0, None],
    "by_name": [("k", {"x": 1.5, "y": 3})],
    "price": Decimal("1.0000000001"),
    "at": -5_000_000_000_000_000,
    "local": 10**16,
    "day": -1,
    "raw": b"\xff",
    "flag": True,
    "tiny": -7,
}
WITH_NAN = {
    "a.b": {**PLAIN, "a.b": NAN},
    "small": {**PLAIN, "small": NAN},
    "items.list.element": {**PLAIN, "items": [3.0, NAN]},
    "by_name.key_value.value.x": {**PLAIN, "by_name": [("k", {"x": NAN, "y": 1})]},
}


def table(*rows: dict[str, object]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), schema=SCHEMA)


def written(*pieces: pa.Table) -> tuple[pa.Table, pq.FileMetaData]:
    file = ParquetBytes(pieces[0].schema, {"compression": "zstd"})
    for piece in pieces:
        file.write(piece)
    data, footer = file.finish()
    return pq.read_table(pa.BufferReader(data)), footer


def paths(footer: pq.FileMetaData, *, with_statistics: bool) -> list[str]:
    """Of the leaves that have statistics in every row group, or in none."""
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    return [
        groups[0].column(leaf).path_in_schema
        for leaf in range(footer.num_columns)
        if all(group.column(leaf).is_stats_set is with_statistics for group in groups)
    ]


def test_leaves_keep_their_statistics_without_nan():
    _, footer = written(table(PLAIN), table(PLAIN))
    assert paths(footer, with_statistics=False) == []
    assert len(paths(footer, with_statistics=True)) == footer.num_columns


@pytest.mark.parametrize("path", WITH_NAN)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_leaf_with_nan_has_no_statistics_in_any_row_group(path, place):
    pieces = [table(PLAIN, PLAIN) for _ in range(3)]
    pieces[place] = table(PLAIN, WITH_NAN[path])
    rows, footer = written(*pieces)
    # A column and a field of a struct share the dotted path a.b.
    expected = ["a.b", "a.b"] if path == "a.b" else [path]
    assert paths(footer, with_statistics=False) == expected
    assert len(paths(footer, with_statistics=True)) == footer.num_columns - len(expected)
    assert footer.num_row_groups == 3
    assert str(rows.to_pylist()) == str(pa.concat_tables(pieces).to_pylist())


def test_many_leaves_with_a_late_nan_are_written_again_only_twice(monkeypatch):
    opened = []
    original = pq.ParquetWriter
    monkeypatch.setattr(
        pq, "ParquetWriter", lambda *given, **named: opened.append(1) or original(*given, **named)
    )
    count = 20
    names = [f"d{number}" for number in range(count)]
    pieces = [
        pa.table({name: [NAN if place == number else 1.0] for number, name in enumerate(names)})
        for place in range(-1, count)
    ]
    rows, footer = written(*pieces)
    assert len(opened) == 1 + 2
    assert paths(footer, with_statistics=False) == names
    assert str(rows.to_pylist()) == str(pa.concat_tables(pieces).to_pylist())


def test_hidden_nan_below_a_null_struct_takes_no_statistics_away():
    inner = pa.array([1.0, NAN])
    values = pa.StructArray.from_arrays([inner], ["x"], mask=pa.array([False, True]))
    _, footer = written(pa.table({"s": values}))
    assert paths(footer, with_statistics=True) == ["s.x"]


def test_zeros_of_both_signs_are_within_the_statistics():
    _, footer = written(pa.table({"d": [0.0, 0.0], "e": [-0.0, -0.0]}))
    for leaf in range(2):
        found = footer.row_group(0).column(leaf).statistics
        assert (math.copysign(1, found.min), math.copysign(1, found.max)) == (-1, 1)


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()], ids=str)
@pytest.mark.parametrize("late", [False, True])
def test_leaf_with_minus_zero_has_no_dictionary_but_statistics(kind, late):
    plain = pa.table({"z": pa.array([0.0, 1.0], kind), "other": pa.array([1.0, 1.0], kind)})
    odd = pa.table({"z": pa.array([-0.0, None], kind), "other": pa.array([2.0, 2.0], kind)})
    rows, footer = written(*([plain, odd] if late else [odd, plain]))
    for group in map(footer.row_group, range(2)):
        assert not group.column(0).has_dictionary_page
        assert group.column(1).has_dictionary_page
        assert group.column(0).statistics.has_min_max
    assert rows.num_rows == 4


floats = st.one_of(
    st.none(),
    st.sampled_from([NAN, -0.0, 0.0, math.inf, -math.inf, 5e-324, 1.7976931348623157e308]),
    st.floats(),
)


@settings(max_examples=150)
@given(st.lists(st.lists(st.tuples(floats, st.lists(floats)), min_size=1), min_size=1, max_size=4))
def test_statistics_in_a_file_bound_every_value(pieces):
    kind = pa.schema({"s": pa.struct({"d": pa.float64()}), "l": pa.list_(pa.float64())})
    tables = [
        pa.Table.from_pylist([{"s": {"d": one}, "l": many} for one, many in piece], schema=kind)
        for piece in pieces
    ]
    rows, footer = written(*tables)
    assert str(rows.to_pylist()) == str(pa.concat_tables(tables).to_pylist())
    for number, piece in enumerate(pieces):
        leaves = ([one for one, _ in piece], [each for _, many in piece for each in many])
        for leaf, values in enumerate(leaves):
            found = footer.row_group(number).column(leaf).statistics
            if found is not None and found.has_min_max:
                known = [value for value in values if value is not None]
                assert all(found.min <= value <= found.max for value in known)


def test_log_has_the_minimum_and_the_nulls_of_a_column_with_nan(tmp_path):
    rows = pa.table({"d": [1.0, NAN, None, -3.0], "s": [{"x": NAN}, {"x": None}, None, {"x": 2.0}]})
    lakebed.write(tmp_path / "t", rows)
    [commit] = (tmp_path / "t/_delta_log").glob("*.json")
    adds = [json.loads(line).get("add") for line in commit.read_text().splitlines()]
    [stats] = [json.loads(add["stats"]) for add in adds if add]
    assert stats == {
        "numRecords": 4,
        "minValues": {"d": -3.0, "s": {"x": 2.0}},
        "maxValues": {},
        "nullCount": {"d": 1, "s": {"x": 2}},
    }
