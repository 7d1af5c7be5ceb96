"""Filters: the rows are those of plain Spark, and files without such rows are not read."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

import lakebed
from lakebed.expressions import parse_predicate
from lakebed.log.selection import select_files
from lakebed.spec.columns.column_metadata import GENERATION_EXPRESSION
from lakebed.spec.schema import DATE, TIMESTAMP, StructField
from testkit.readers.scan_facts import (
    assert_native,
    chosen,
    load,
    num_files,
    plan,
    pushed,
    raw_files,
    rows,
)
from testkit.schemas import column
from testkit.tables.arbitrary_tables import add_file, make_table

UTC = dt.timezone.utc
D = decimal.Decimal
FILES = 6
ROWS = 4


def moment(file: int, row: int = 0) -> dt.datetime:
    return dt.datetime(2024, 1 + file, 1, row, 30, tzinfo=UTC)


def typed_rows(file: int) -> list[dict[str, Any]]:
    """Values that grow from file to file, in each comparable type; the last row is null."""
    values: list[dict[str, Any]] = [
        {
            "byte": file * 10 + row,
            "short": file * 100 + row,
            "int": file * 1000 + row,
            "long": file * 10**12 + row,
            "float": file + row / 8,
            "double": file + row / 8,
            "dec": D(file * 100 + row).scaleb(-2),
            "wide": D(file * 10**25 + row),
            "flag": file >= FILES // 2,
            "text": f"{'abcdef'[file]}{row}",
            "raw": bytes([file, row]),
            "day": dt.date(2024, 1 + file, 1 + row),
            "ts": moment(file, row),
            "ntz": moment(file, row).replace(tzinfo=None),
            "s": {"n": file * 10 + row, "t": {"x": f"{'abcdef'[file]}"}},
            "l": [file],
        }
        for row in range(ROWS - 1)
    ]
    return [*values, dict.fromkeys(values[0])]


DAYS = [f"DATE'2024-02-{day:02}'" for day in range(1, 20)]
TIMES = [f"TIMESTAMP'2024-02-01 {hour:02}:30:00'" for hour in range(20)]
TYPES = pa.schema(
    {
        "byte": pa.int8(),
        "short": pa.int16(),
        "int": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "dec": pa.decimal128(9, 2),
        "wide": pa.decimal128(38, 0),
        "flag": pa.bool_(),
        "text": pa.string(),
        "raw": pa.binary(),
        "day": pa.date32(),
        "ts": pa.timestamp("us", "UTC"),
        "ntz": pa.timestamp("us"),
        "s": pa.struct([("n", pa.int64()), ("t", pa.struct([("x", pa.string())]))]),
        "l": pa.list_(pa.int64()),
    }
)


@pytest.fixture(scope="module")
def typed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("typed") / "table"
    for file in range(FILES):
        lakebed.write(path, pa.Table.from_pylist(typed_rows(file), TYPES))
    return path


@pytest.fixture(scope="module")
def plain(spark: SparkSession, typed: Path) -> Iterator[DataFrame]:
    frame = raw_files(spark, typed).coalesce(1).cache()
    yield frame
    frame.unpersist()


@pytest.mark.parametrize(
    ("where", "files"),
    [
        ("byte = 31", 1),
        ("short > 400", 2),
        ("int >= 5000", 1),
        ("long < 1000000000001", 2),
        ("float = 3.125", 1),
        ("double <= 0.25", 1),
        ("double <> 1", FILES),
        ("dec > 4.01", 2),
        ("wide = 30000000000000000000000001", 1),
        ("flag", FILES),
        ("NOT flag", FILES),
        ("text = 'c1'", 1),
        ("text LIKE 'd%'", 1),
        ("text LIKE 'd_'", 1),
        ("startswith(text, 'e')", 1),
        ("text LIKE '%1'", FILES),
        ("day BETWEEN '2024-02-01' AND '2024-03-31'", 2),
        ("ts = '2024-03-01 01:30:00'", 1),
        ("ts > '2024-05-01'", 2),
        ("ntz < TIMESTAMP_NTZ'2024-01-02 00:00:00'", 1),
        ("s.n = 21", 1),
        ("s.t.x > 'd'", 2),
        ("s.t.x LIKE 'a%'", 1),
        ("s IS NOT NULL AND s.n < 5", 1),
        ("long IN (1, 2000000000001)", 2),
        ("long IN (1, NULL)", 1),
        (f"int IN ({', '.join(str(4000 + n) for n in range(20))})", 1),
        (f"text IN ({', '.join(repr(f'b{n}') for n in range(20))})", 1),
        (f"dec IN ({', '.join(f'2.{n:02}' for n in range(20))})", 1),
        (f"day IN ({', '.join(DAYS)})", 1),
        (f"ts IN ({', '.join(TIMES)})", 1),
        ("int NOT IN (0, 1, 2)", FILES),
        ("long IS NULL", FILES),
        ("l IS NULL", FILES),
        ("int <=> 1", 1),
        ("int = 1 OR text = 'f1'", 2),
        ("int = 1 AND text = 'f1'", 0),
        ("NOT (int > 1000)", 2),
        ("NOT (int > 1000 OR text > 'a5')", 1),
        ("NOT (int < 4000 AND text < 'e')", 2),
        ("int = 1 OR length(text) = 2", FILES),
        ("int = 1 AND length(text) = 2", 1),
        ("CAST(int AS BIGINT) = 3001", 1),
        ("CAST(byte AS DOUBLE) = 31.0", 1),
        ("try_cast(text AS INT) IS NULL AND int = 1", 1),
        ("CAST(ntz AS DATE) = '2024-03-01'", 1),
        ("CAST(ts AS DATE) = '2024-03-01'", 1),
        ("year(day) = 2023", 0),
        ("trunc(day, 'MM') = '2024-02-01'", 1),
        ("date_trunc('MONTH', ts) = '2024-02-01'", 1),
        ("int + 1 = 2", FILES),
        ("int > 2147483647", 0),
        ("long > 1.5", FILES),
    ],
)
def test_a_filter_reads_no_file_without_a_match(
    spark: SparkSession, typed: Path, plain: DataFrame, where: str, files: int
) -> None:
    found = load(spark, typed).where(where)
    assert num_files(found) == files
    assert rows(found) == rows(plain.where(where))


def test_filters_reach_the_parquet_reader_too(spark: SparkSession, typed: Path) -> None:
    found = load(spark, typed).where("int > 5 AND s.n = 3 AND text LIKE 'a%'")
    assert_native(found)
    for each in ("GreaterThan(int,5)", "EqualTo(s.n,3)", "StringStartsWith(text,a)"):
        assert each in pushed(found)


def test_only_the_columns_and_fields_that_are_asked_for_are_read(
    spark: SparkSession, typed: Path
) -> None:
    found = load(spark, typed).where("int = 1").select("s.t.x")
    assert "ReadSchema: struct<int:int,s:struct<t:struct<x:string>>>" in plan(found)


def test_long_lists_of_one_dataframe_are_told_apart(spark: SparkSession, typed: Path) -> None:
    """Spark's text of a long list has no values in it."""
    frame = load(spark, typed)
    for file in (0, 3, 5):
        values = [file * 1000 + number for number in range(20)]
        assert frame.where(frame.int.isin(values)).count() == ROWS - 1


def test_a_struct_that_is_cast_in_a_filter_is_cast_by_position(
    spark: SparkSession, tmp_path: Path
) -> None:
    """`x` of the cast is `y` of the column; and text that is no number is null."""
    for x in (1, 50):
        data = pa.table({"s": [{"x": x, "y": x + 1, "t": "no number"}]})
        lakebed.write(tmp_path / "t", data)
    frame = load(spark, tmp_path / "t")
    swapped = "CAST(s AS STRUCT<y: BIGINT, x: BIGINT, t: STRING>)"
    found = frame.where(f"{swapped}.x = 2")
    assert found.count() == 1
    assert num_files(found) in (1, 2)
    assert frame.where(f"{swapped}.x = 1").count() == 0
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        numbers = "CAST(s AS STRUCT<x: BIGINT, y: BIGINT, t: INT>)"
        assert load(spark, tmp_path / "t").where(f"{numbers}.t IS NULL").count() == 2
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_an_escaped_wildcard_is_an_ordinary_character(spark: SparkSession, tmp_path: Path) -> None:
    for value in ("a_b1", "axb1", "a%b"):
        lakebed.write(tmp_path / "t", pa.table({"t": [value]}))
    frame = load(spark, tmp_path / "t")
    patterns = {r"a\\_b_": ["a_b1"], "a_b_": ["a_b1", "axb1"], r"a\\%_": ["a%b"]}
    for pattern, expected in patterns.items():
        found = frame.where(f"t LIKE '{pattern}'")
        assert sorted(row.t for row in found.collect()) == expected
    assert frame.where("t LIKE 'a!_b_' ESCAPE '!'").count() == 1


def test_a_filter_in_another_time_zone_finds_its_rows(spark: SparkSession, typed: Path) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        frame = load(spark, typed)
        assert frame.where("ts = '2024-03-01 10:30:00'").count() == 1
        assert num_files(frame.where("ts = '2024-03-01 10:30:00'")) == 1
        assert frame.where("CAST(ts AS DATE) = '2024-03-01'").count() == ROWS - 1
        assert frame.where("hour(ts) = 10").count() == FILES
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


# --- partitions ----------------------------------------------------------------------------------

PARTS = pa.table(
    {
        "P": pa.array([1, 1, 2, None, 10], pa.int32()),
        "q": ["a", "b/c", "d=e %20 ü", None, "B"],
        "at": pa.array([moment(n) if n < 4 else None for n in range(5)]),
        "n": pa.array(range(5)),
    }
)


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("parts") / "table"
    lakebed.write(path, PARTS, partition_by=["P", "q", "at"])
    return path


@pytest.mark.parametrize(
    ("where", "wanted"),
    [
        ("P = 1", [0, 1]),
        ("p = 1 AND Q = 'a'", [0]),
        ("P IS NULL", [3]),
        ("P <> 1", [2, 4]),
        ("NOT (P <=> 1)", [2, 3, 4]),
        ("q = 'd=e %20 ü'", [2]),
        ("upper(q) = 'B'", [4]),
        ("q LIKE '%/%'", [1]),
        ("P % 2 = 0 AND length(q) > 1", [2]),
        ("at = '2024-02-01 00:30:00'", [1]),
        ("hour(at) = 0 AND month(at) > 2", [2, 3]),
        ("P = 1 OR n = 4", [0, 1, 4]),
        ("P = 1 AND n > 0", [1]),
        ("(P = 1 AND n = 0) OR (P = 2 AND n = 2)", [0, 2]),
        ("P = n", [1, 2]),
        ("coalesce(P, 7) = 7", [3]),
        ("CAST(P AS STRING) LIKE '1%'", [0, 1, 4]),
        ("P IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13)", [0, 1, 2]),
        ("concat(q, P) = 'a1'", [0]),
        ("CASE WHEN P = 1 THEN q = 'a' ELSE q IS NULL END", [0, 3]),
    ],
)
def test_filters_on_partitions_are_exact(
    spark: SparkSession, parts: Path, where: str, wanted: list[int]
) -> None:
    found = load(spark, parts).where(where)
    assert sorted(row.n for row in found.collect()) == wanted


def test_filters_on_partitions_read_only_these(spark: SparkSession, parts: Path) -> None:
    frame = load(spark, parts)
    assert num_files(frame.where("upper(q) = 'B'")) == 1
    assert num_files(frame.where("P = 77")) == 0
    assert frame.where("P = 77").count() == 0
    assert frame.where("P = 77").schema == frame.schema


def test_timestamps_of_partitions_are_instants_in_any_zone(
    spark: SparkSession, parts: Path
) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        frame = load(spark, parts)
        assert frame.where("at = '2024-01-01 09:30:00'").count() == 1
        assert frame.where("hour(at) = 9").count() == 4
        seconds = frame.selectExpr("unix_seconds(at) s").where("s IS NOT NULL").collect()
        assert sorted(row.s for row in seconds) == [int(moment(n).timestamp()) for n in range(4)]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_an_error_in_a_filter_on_partitions_is_sparks_own(spark: SparkSession, parts: Path) -> None:
    from pyspark.errors import ArithmeticException

    with pytest.raises(ArithmeticException, match="DIVIDE_BY_ZERO"):
        load(spark, parts).where("1 / (P - P) > 0").collect()


# --- generated columns ---------------------------------------------------------------------------


def test_a_filter_on_the_source_of_a_generated_column_leaves_out_partitions(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The files have no statistics on `ts`; the partition is of the writer's zone, not UTC."""
    generated = {GENERATION_EXPRESSION: "CAST(ts AS DATE)"}
    day = StructField("day", DATE, True, generated)
    make_table(tmp_path, column("ts", TIMESTAMP), day, partition_by=("day",))
    for number in range(1, 9):
        data = pa.table({"ts": [dt.datetime(2024, 1, number, 20, tzinfo=UTC)]})
        # In Tokyo it is the next day.
        values = {"day": f"2024-01-{number + 1:02}"}
        add_file(tmp_path, data, f"{number}.parquet", partition_values=values)
    found = load(spark, tmp_path).where("ts = '2024-01-04 20:00:00'")
    (only,) = chosen(found)
    assert found.count() == 1
    assert only.in_partitions == only.num_files == 2
    assert arrow_files(tmp_path, "ts = '2024-01-04 20:00:00'") == 2


def arrow_files(path: Path, where: str) -> int:
    """How many files the Arrow plane reads."""
    snapshot = lakebed.open(path).snapshot
    return select_files(snapshot, parse_predicate(where, snapshot.schema)).files.num_rows


# --- any predicate -------------------------------------------------------------------------------

LAST = dt.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
ODD = {
    "d": [0.0, -0.0, math.nan, math.inf, -math.inf, 1.5, 5e-324, None],
    "f": [0.0, -0.0, math.nan, 1.5, None, 0.1],
    "i": [0, 1, -1, 2**31 - 1, -(2**31), None],
    "dec": [D("0.00"), D("1.50"), D("-99999.99"), D("99999.99"), None],
    "t": ["", "a", "ab", "Z", "é", "e\u0301", "ß", "\uffff", "\U0001f600", "\x00", "a b", None],
    "ts": [moment(0), moment(1), dt.datetime(1, 1, 1, tzinfo=UTC), LAST, None],
    "day": [dt.date(2024, 1, 1), dt.date(1, 1, 1), dt.date(9999, 12, 31), None],
    "b": [True, False, None],
    "s": [{"x": 1, "y": "a"}, {"x": None, "y": None}, {"x": 7, "y": "\U0001f600"}, None],
}
ODD_TYPES = pa.schema(
    {
        "d": pa.float64(),
        "f": pa.float32(),
        "i": pa.int32(),
        "dec": pa.decimal128(7, 2),
        "t": pa.string(),
        "ts": pa.timestamp("us", "UTC"),
        "day": pa.date32(),
        "b": pa.bool_(),
        "s": pa.struct([("x", pa.int64()), ("y", pa.string())]),
        "n": pa.int64(),
    }
)


@pytest.fixture(scope="module")
def odd(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Small files, so that statistics are narrow; the same rows by plain Spark; rows to files."""
    path = tmp_path_factory.mktemp("odd") / "table"
    draw = random.Random(5)
    number = 0
    for _ in range(12):
        some = {name: draw.sample(values, min(2, len(values))) for name, values in ODD.items()}
        data = []
        for _ in range(3):
            number += 1
            data.append({**{name: draw.choice(each) for name, each in some.items()}, "n": number})
        lakebed.write(path, pa.Table.from_pylist(data, ODD_TYPES))
    plain = raw_files(spark, path).coalesce(1).cache()
    files = lakebed.open(path).files().column("path").to_pylist()
    homes = {
        number: place
        for place, file in enumerate(files)
        for number in pq.read_table(path / file, columns=["n"]).column("n").to_pylist()
    }
    yield load(spark, path), plain, homes
    plain.unpersist()


def literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float):
        return f"DOUBLE('{value!r}')" if not math.isfinite(value) else f"{value!r}D"
    if isinstance(value, str):
        return "'" + "".join(f"\\U{ord(char):08X}" for char in value) + "'"
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP'{value.isoformat()}'"
    if isinstance(value, dt.date):
        return f"DATE'{value.isoformat()}'"
    return f"{value}BD" if isinstance(value, D) else str(value)


COLUMNS = {name: values for name, values in ODD.items() if name != "s"} | {
    "s.x": [1, 7, None],
    "s.y": ["a", "\U0001f600", None],
}
NAMES = st.sampled_from(sorted(COLUMNS))
OPERATORS = st.sampled_from(["=", "<>", "<", "<=", ">", ">=", "<=>"])


@st.composite
def comparisons(draw: st.DrawFn) -> str:
    name = draw(NAMES)
    value = literal(draw(st.sampled_from(COLUMNS[name])))
    return f"{name} {draw(OPERATORS)} {value}"


@st.composite
def memberships(draw: st.DrawFn) -> str:
    name = draw(NAMES)
    values = draw(st.lists(st.sampled_from(COLUMNS[name]), min_size=1, max_size=4))
    # More than ten values come to a file index in another form.
    padding = values if draw(st.booleans()) else values + list(COLUMNS[name]) * 3
    listed = ", ".join(literal(value) for value in padding)
    return f"{name} {draw(st.sampled_from(['IN', 'NOT IN']))} ({listed})"


@st.composite
def patterns(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from(["t", "s.y"]))
    prefix = draw(st.sampled_from([text for text in ODD["t"] if text]))
    ending = draw(st.sampled_from(["%", "_", "", "%a"]))
    return f"{name} LIKE concat({literal(prefix)}, '{ending}')"


CHECKS = st.builds(
    lambda name, word: f"{name} IS {word} NULL",
    st.sampled_from([*sorted(COLUMNS), "s"]),
    st.sampled_from(["", "NOT"]),
)
CASTS = st.sampled_from(
    [
        "CAST(i AS BIGINT) > 0",
        "CAST(i AS DOUBLE) = -1D",
        "CAST(f AS DOUBLE) > 0.1D",
        "CAST(dec AS DOUBLE) = 1.5D",
        "CAST(day AS TIMESTAMP) > TIMESTAMP'2023-01-01'",
        "CAST(ts AS DATE) = DATE'2024-01-01'",
        "year(day) = 2024",
        "year(ts) > 2023",
        "trunc(day, 'YEAR') = DATE'2024-01-01'",
        "date_trunc('YEAR', ts) <= TIMESTAMP'2024-01-01'",
        "d = f",
        "i < s.x",
        "i > 1.5BD",
    ]
)
LEAVES = st.one_of(comparisons(), memberships(), patterns(), CHECKS, CASTS)


def combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        inner,
        st.builds("(({}) AND ({}))".format, inner, inner),
        st.builds("(({}) OR ({}))".format, inner, inner),
        st.builds("(NOT ({}))".format, inner),
        st.builds("(({}) <=> ({}))".format, inner, inner),
    )


PREDICATES = combined(combined(LEAVES))


# A smaller example is not worth the minutes that Spark takes for it.
@settings(max_examples=3, derandomize=True, phases=[Phase.generate])
@given(st.lists(PREDICATES, min_size=30, max_size=30))
def test_no_predicate_leaves_out_a_file_with_a_row_that_plain_spark_keeps(
    odd: Any, predicates: list[str]
) -> None:
    """Spark evaluates all predicates over all rows at once; then each alone chooses files."""
    ours, plain, homes = odd
    wanted = plain.selectExpr("n", *(f"{each} AS p{i}" for i, each in enumerate(predicates)))
    truths = wanted.toArrow().to_pylist()
    for place, predicate in enumerate(predicates):
        needed = {homes[row["n"]] for row in truths if row[f"p{place}"]}
        assert needed <= files_of(ours.where(predicate)), predicate


def files_of(frame: DataFrame) -> set[int]:
    """The places in the listing of the files that the query reads; none if it has no scan."""
    return {place for each in chosen(frame) for place in each.groups.order.to_pylist()}
