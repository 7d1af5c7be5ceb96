"""Random rows and random predicates on them, for the property tests of this folder."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, datetime, timezone
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

from lakebed.spec.schema import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DecimalType,
    StructField,
    StructType,
)

UTC = timezone.utc
INNER = StructType((StructField("a", LONG), StructField("t", STRING)))
SCHEMA = StructType(
    (
        StructField("id", LONG),
        StructField("i", INTEGER),
        StructField("x", DOUBLE),
        StructField("f", FLOAT),
        StructField("s", STRING),
        StructField("d", DATE),
        StructField("ts", TIMESTAMP),
        StructField("ntz", TIMESTAMP_NTZ),
        StructField("b", BOOLEAN),
        StructField("m", DecimalType(6, 2)),
        StructField("in", INNER),
        StructField("p", STRING),
        StructField("q", INTEGER),
        StructField("z", DOUBLE),
    )
)
PARTITION_COLUMNS = ("p", "q", "z")
ARROW_SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "i": pa.int32(),
        "x": pa.float64(),
        "f": pa.float32(),
        "s": pa.string(),
        "d": pa.date32(),
        "ts": pa.timestamp("us", tz="UTC"),
        "ntz": pa.timestamp("us"),
        "b": pa.bool_(),
        "m": pa.decimal128(6, 2),
        "in": pa.struct({"a": pa.int64(), "t": pa.string()}),
        "p": pa.string(),
        "q": pa.int32(),
        "z": pa.float64(),
    }
)

LONGS = [-(2**63), -7, -1, 0, 1, 2, 3, 7, 2**53 + 1, 2**63 - 1]
INTEGERS = [-(2**31), -7, -1, 0, 1, 2, 3, 7, 2**31 - 1]
FLOATS = [math.nan, math.nan, -math.inf, -1.5, -0.0, 0.0, 1.5, 7.0, math.inf]
STRINGS = ["", "a", "ab", "az", "b", "B", "a%", "_", "é", "￿", "\U0001f600", "a\U0001f600"]
DATES = [date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29), date(2024, 3, 1)]
CLOCKS = [
    datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime(1970, 1, 1),
    datetime(2024, 2, 29),
    datetime(2024, 2, 29, 12, 30, 0, 1),
]
TIMESTAMPS = [clock.replace(tzinfo=UTC) for clock in CLOCKS]
DECIMALS = [Decimal(text) for text in ("-9999.99", "-1.50", "0.00", "1.00", "1.50", "7.00")]
VALUES = {
    "id": LONGS,
    "i": INTEGERS,
    "x": FLOATS,
    "f": FLOATS,
    "s": STRINGS,
    "d": DATES,
    "ts": TIMESTAMPS,
    "ntz": CLOCKS,
    "b": [True, False],
    "m": DECIMALS,
    "in.a": LONGS,
    "in.t": STRINGS,
    "p": STRINGS[1:],
    "q": INTEGERS,
    "z": FLOATS,
}


def maybe(random: Random, values: list[Any]) -> Any:
    return None if random.random() < 0.25 else random.choice(values)


def row(random: Random, partition: dict[str, Any]) -> dict[str, Any]:
    """A row of a file with these partition values."""
    flat = {name: maybe(random, VALUES[name]) for name in ARROW_SCHEMA.names if name in VALUES}
    inner = {"a": maybe(random, LONGS), "t": maybe(random, STRINGS)}
    return {**flat, "in": maybe(random, [inner]), **partition}


def partition_values(random: Random) -> dict[str, Any]:
    return {name: maybe(random, VALUES[name]) for name in PARTITION_COLUMNS}


def table(found: list[dict[str, object]]) -> pa.Table:
    return pa.Table.from_pylist(found, schema=ARROW_SCHEMA)


# --- constants as SQL --------------------------------------------------------------------------


def constant(value: object) -> str:
    """The value as a user would write it."""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        return f"{value!r}D" if math.isfinite(value) else f"double('{value}')"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if isinstance(value, datetime):
        return f"TIMESTAMP{'' if value.tzinfo else '_NTZ'} '{value.replace(tzinfo=None)}'"
    return f"DATE '{value}'" if isinstance(value, date) else str(value)


# Columns by the kind of value that they are compared with, and the constants of that kind.
_NUMBERS = ["id", "i", "x", "f", "m", "`in`.a", "q", "z"]
_TEXTS = ["s", "`in`.t", "p"]
_NUMBER_CONSTANTS = sorted({constant(v) for v in [*LONGS, *INTEGERS, *FLOATS, *DECIMALS]})
_TEXT_CONSTANTS = [constant(value) for value in STRINGS]
_DATE_CONSTANTS = [constant(value) for value in [*DATES, *TIMESTAMPS, *CLOCKS]] + [
    "'2024-02-29'",
    "'1970-01-01'",
]
_OPERATORS = ["=", "<>", "<", "<=", ">", ">=", "<=>"]
_PATTERNS = ["a%", "%", "%%", "a", "_", "_%", "", "%a%", "a_%", "\\_", "a\\%%", "é%", "\U0001f600%"]


Maker = Callable[[Random], str]


def predicate(random: Random) -> str:
    return _joined(
        random,
        [
            _on(_NUMBERS, _NUMBER_CONSTANTS, ["{}", "{}", "CAST({} AS DOUBLE)"]),
            _on(["x", "f", "z"], [constant(value) for value in FLOATS]),
            _on(_TEXTS, _TEXT_CONSTANTS),
            _on(["d", "ts", "ntz"], _DATE_CONSTANTS, ["{}", "CAST({} AS DATE)"]),
            _on(["d", "ts", "ntz"], _DATE_CONSTANTS, ["{}", "CAST({} AS TIMESTAMP)"]),
            _on(["id", "i", "d", "m", "b"], ["'1'", "'7'", "'2'"], ["CAST({} AS STRING)"]),
            _patterns(_TEXTS),
            _one_of(_BOOLEANS),
            _functions,
        ],
    )


def simple_predicate(random: Random) -> str:
    """Without what other engines have rules of their own for, or what no translation is for."""
    return _joined(
        random,
        [
            _on(["id", "i", "x"], [each for each in _NUMBER_CONSTANTS if str(-(2**63)) != each]),
            _on(_TEXTS, _TEXT_CONSTANTS),
            _on(["d"], [constant(value) for value in DATES]),
            _on(["ntz"], [constant(value) for value in CLOCKS]),
            _patterns(_TEXTS, [each for each in _PATTERNS if "\\" not in each]),
            _one_of(["b", "b = TRUE", "b IS TRUE", "b IS NOT TRUE", "b < TRUE"]),
        ],
    )


def partition_predicate(random: Random) -> str:
    others = ["lower(p) = 'b'", "p || 'x' = 'ax'", "length(p) > q", "CAST(q AS STRING) = '7'"]
    constants = ["coalesce(q, 1) = 1", "isnan(z)", "TRUE", "NULL", "1 = 2"]
    return _joined(
        random,
        [
            _on(["q", "z"], _NUMBER_CONSTANTS, ["{}", "CAST({} AS DOUBLE)"]),
            _on(["p"], _TEXT_CONSTANTS),
            _patterns(["p"]),
            _one_of([*others, *constants]),
        ],
    )


def _joined(random: Random, makers: list[Maker], depth: int = 0) -> str:
    """Mostly one condition; else a few of them under AND, OR and NOT."""
    if depth == 3 or random.random() < 0.6:
        return random.choice(makers)(random)
    shape = random.choice(["({}) AND ({})", "({}) OR ({})", "NOT ({})"])
    parts = [_joined(random, makers, depth + 1) for _ in range(shape.count("{}"))]
    return shape.format(*parts)


def _on(columns: list[str], constants: list[str], shapes: list[str] | None = None) -> Maker:
    """Comparisons with constants on either side, with null, and of columns with each other."""

    def side(random: Random) -> str:
        return random.choice(shapes or ["{}"]).format(random.choice(columns))

    def make(random: Random) -> str:
        left, no = side(random), random.choice(["", "NOT "])
        low, high = random.choice(constants), random.choice(constants)
        options = ", ".join(random.choices([*constants, "NULL"], k=random.randint(1, 20)))
        few = ", ".join(random.choices(constants, k=random.randint(1, 3)))
        right = random.choice([low, low, side(random), "NULL"])
        operator = random.choice(_OPERATORS)
        forms = [f"{left} {operator} {right}", f"{right} {operator} {left}"] * 3
        lists = [f"{left} {no}IN ({options})", f"{left} {no}IN ({few})"]
        others = [f"{left} {no}BETWEEN {low} AND {high}", f"{left} IS {no}NULL"]
        return random.choice([*forms, *lists, *others])

    return make


def _patterns(columns: list[str], patterns: list[str] | None = None) -> Maker:
    def make(random: Random) -> str:
        column, no = random.choice(columns), random.choice(["", "NOT "])
        like = f"{column} {no}LIKE {constant(random.choice(patterns or _PATTERNS))}"
        starts = f"{no}startswith({column}, {random.choice(_TEXT_CONSTANTS)})"
        return random.choice([like, starts])

    return make


def _one_of(conditions: list[str]) -> Maker:
    return lambda random: random.choice(conditions)


def _functions(random: Random) -> str:
    unit = random.choice(["year", "month", "week", "day", "hour"])
    operator, timestamp = random.choice(_OPERATORS), constant(random.choice(TIMESTAMPS))
    column, year = random.choice(["d", "ts", "ntz"]), random.choice([1969, 1970, 2024])
    truncated = f"date_trunc('{unit}', ts) {operator} {timestamp}"
    return random.choice([truncated, f"year({column}) {operator} {year}", random.choice(_OTHERS)])


_BOOLEANS = [
    "b",
    "b = TRUE",
    "b <> TRUE",
    "FALSE = b",
    "b IS TRUE",
    "b IS NOT TRUE",
    "b IS FALSE",
    "b <=> NULL",
    "b < TRUE",
    "TRUE > b",
    "(id > 1) = b",
    "(id > 1) IS TRUE",
    "(id > 1) <> FALSE",
]
_OTHERS = [
    "lower(s) = 'b'",
    "length(s) > 1",
    "isnan(x)",
    "NOT isnan(f)",
    "coalesce(id, 0) = 0",
    "CASE WHEN b THEN id > 1 ELSE s = 'a' END",
    "trunc(d, 'month') = DATE '2024-02-01'",
    "i + 1L > 2",
    "m * 2 > 3",
    "concat(s, p) = 'aa'",
    "(id > 1) IS NULL",
    "id IN (i, 5)",
    "id NOT IN (i, 7)",
    "b = NULL",
    "i = length(p)",
    "concat(s, p) LIKE 'a%'",
    "(id > 1 AND s = 'a') IS NOT NULL",
]
