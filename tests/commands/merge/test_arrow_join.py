"""Rows that are looked up by keys are those for which the condition is true, pair by pair."""

from __future__ import annotations

import math
import random
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from lakebed.commands.merge.arrow.merge_source import MergeJoin, SourceRows, scopes
from lakebed.formats.arrow_types import from_arrow_schema

NAN, LATER = math.nan, datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=timezone.utc)
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "long": (pa.int64(), [0, 1, -1, 2**63 - 1]),
    "int": (pa.int32(), [0, 1, -1]),
    "byte": (pa.int8(), [0, 1, -1, 127]),
    "double": (pa.float64(), [0.0, -0.0, 1.5, NAN, math.inf]),
    "float": (pa.float32(), [0.0, -0.0, 1.5, NAN, 0.1]),
    "decimal": (pa.decimal128(9, 2), [Decimal("0.00"), Decimal("1.50"), Decimal("-1.00")]),
    "wide": (pa.decimal128(20, 5), [Decimal("0"), Decimal("1.5"), Decimal("1.50001")]),
    "huge": (pa.decimal128(38, 30), [Decimal("0"), Decimal("1.5"), Decimal("-1")]),
    "boolean": (pa.bool_(), [True, False]),
    "string": (pa.string(), ["", "a", "A", "ä", "a "]),
    "binary": (pa.binary(), [b"", b"a", b"\x00"]),
    "date": (pa.date32(), [date(1970, 1, 1), date(2026, 1, 2)]),
    "timestamp": (pa.timestamp("us", "UTC"), [LATER, LATER.replace(microsecond=7)]),
    "ntz": (pa.timestamp("us"), [datetime(2026, 1, 2), datetime(1969, 12, 31, 23)]),
}
OTHERS = {"long": "int", "int": "byte", "double": "float", "decimal": "wide", "wide": "huge"}
PAIRS = [*((kind, kind) for kind in VALUES), *OTHERS.items(), *((b, a) for a, b in OTHERS.items())]


def column(dice: random.Random, kind: str, count: int, *, unique: bool) -> pa.Array:
    data_type, values = VALUES[kind]
    known = [None, *values]
    chosen = known if unique else [dice.choice(known) for _ in range(count)]
    return pa.array(chosen, data_type)


def pairs(condition: str, table: pa.Table, source: pa.Table) -> list[tuple[int, int]]:
    rows = SourceRows.of(source)
    sides = scopes(from_arrow_schema(table.schema), "t", rows.schema, "s")
    here, there = MergeJoin.of(condition, sides, rows).pairs(table)
    assert here.to_pylist() == sorted(here.to_pylist())
    return sorted(zip(here.to_pylist(), there.to_pylist(), strict=True))


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=str)
@pytest.mark.parametrize("sign", ["=", "<=>"])
@pytest.mark.parametrize("unique", [True, False], ids=["unique", "doubled"])
def test_a_key_of_each_type_finds_what_the_condition_finds(
    one: str, other: str, sign: str, unique: bool
) -> None:
    dice = random.Random(f"{one} {other}")
    table = pa.table({"k": column(dice, one, 20, unique=False)})
    source = pa.table({"k": column(dice, other, 8, unique=unique)})
    wanted = pairs(f"t.k {sign} s.k OR false", table, source)
    assert wanted
    assert pairs(f"t.k {sign} s.k", table, source) == wanted
    assert pairs(f"s.k {sign} t.k", table, source) == wanted


@pytest.mark.parametrize(
    "condition",
    [
        "t.a = s.a AND t.b = s.b",
        "t.a = s.a AND t.b <=> s.b",
        "t.a = s.a AND t.b < s.b",
        "t.a + 1 = s.a AND s.b > 'A'",
        "upper(t.b) = upper(s.b) AND t.a = s.a",
        "t.a = s.a AND (t.b = s.b OR s.b IS NULL)",
        "t.a = 1 AND s.b = t.b",
    ],
)
def test_several_keys_and_what_else_the_condition_says(condition: str) -> None:
    dice = random.Random(condition)
    table, source = (
        pa.table(
            {
                "a": pa.array([dice.choice([None, 0, 1, 2]) for _ in range(count)], pa.int64()),
                "b": pa.array([dice.choice([None, "a", "b", "B"]) for _ in range(count)]),
            }
        )
        for count in (40, 12)
    )
    wanted = pairs(f"({condition}) OR false", table, source)
    assert wanted
    assert pairs(condition, table, source) == wanted


def test_sides_without_rows_have_no_pairs() -> None:
    table = pa.table({"k": pa.array([1, None], pa.int64())})
    for condition in ("t.k = s.k", "t.k < s.k", "true"):
        assert pairs(condition, table, table.slice(0, 0)) == []
        assert pairs(condition, table.slice(0, 0), table) == []
