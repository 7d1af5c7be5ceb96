"""Files that hold a matching row are never skipped, and those that clearly do not are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import date
from random import Random
from typing import Any

import predicate_grammar as grammar
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.errors import EvaluationError
from lakebed.expressions import (
    Column,
    Compare,
    Expression,
    Opaque,
    Or,
    conjunction,
    evaluate,
    literal,
    parse_predicate,
    skip,
    split_by_partition,
    to_sql,
)
from lakebed.spec.schema import LONG, Path


@dataclass
class FileColumns:
    """Statistics as plain lists, in the shape in which skipping asks for them."""

    num_files: int
    partitions: dict[str, pa.Array] = field(default_factory=dict)
    minima: dict[Path, pa.Array] = field(default_factory=dict)
    maxima: dict[Path, pa.Array] = field(default_factory=dict)
    nulls: dict[Path, pa.Array] = field(default_factory=dict)
    rows: pa.Array | None = None
    asked: int = 0

    def partition(self, name: str) -> pa.Array:
        return self.partitions[name]

    def minimum(self, path: Path) -> pa.Array | None:
        self.asked += 1
        return self.minima.get(path)

    def maximum(self, path: Path) -> pa.Array | None:
        self.asked += 1
        return self.maxima.get(path)

    def null_count(self, path: Path) -> pa.Array | None:
        self.asked += 1
        return self.nulls.get(path)

    def num_records(self) -> pa.Array | None:
        self.asked += 1
        return self.rows

    def tight(self) -> pa.Array | None:
        return None


# --- the property ------------------------------------------------------------------------------


@dataclass
class File:
    """`deleted` rows are in the file and in its statistics, but no longer in the table."""

    partition: dict[str, Any]
    live: list[dict[str, Any]]
    deleted: list[dict[str, Any]]


def some_files(random: Random) -> list[File]:
    found = []
    for _ in range(random.randint(1, 6)):
        partition = grammar.partition_values(random)
        live = [grammar.row(random, partition) for _ in range(random.randint(0, 3))]
        deleted = [grammar.row(random, partition) for _ in range(random.choice([0, 0, 1]))]
        found.append(File(partition, live, deleted))
    return found


def leaves() -> list[tuple[Path, pa.DataType]]:
    flat = [((f.name,), f.type) for f in grammar.ARROW_SCHEMA if f.name != "in"]
    data = [leaf for leaf in flat if leaf[0][0] not in grammar.PARTITION_COLUMNS]
    return [*data, (("in", "a"), pa.int64()), (("in", "t"), pa.string())]


def leaf_values(path: Path, rows: list[dict[str, Any]]) -> list[Any]:
    values: list[Any] = rows
    for name in path:
        values = [None if value is None else value[name] for value in values]
    return values


def statistics(random: Random, found: list[File]) -> FileColumns:
    """Truthful statistics: bounds may be wider than the values, and anything may be missing."""
    columns = FileColumns(len(found), partitions_of(found))
    physical = [file.live + file.deleted for file in found]
    for path, kind in leaves():
        values = [leaf_values(path, rows) for rows in physical]
        bounds = [bounds_of(random, path, each) for each in values]
        counts = [maybe_missing(random, sum(v is None for v in each)) for each in values]
        if random.random() < 0.9:
            columns.minima[path] = pa.array([low for low, _ in bounds], kind)
            columns.maxima[path] = pa.array([high for _, high in bounds], kind)
        if random.random() < 0.9:
            columns.nulls[path] = pa.array(counts, pa.int64())
    if random.random() < 0.9:
        rows = [maybe_missing(random, len(rows)) for rows in physical]
        columns.rows = pa.array(rows, pa.int64())
    return columns


def partitions_of(found: list[File]) -> dict[str, pa.Array]:
    return {
        name: array([file.partition[name] for file in found], name)
        for name in grammar.PARTITION_COLUMNS
    }


def maybe_missing(random: Random, value: Any) -> Any:
    return None if random.random() < 0.1 else value


def bounds_of(random: Random, path: Path, values: list[Any]) -> tuple[Any, Any]:
    known = [value for value in values if value is not None and value == value]
    domain = [each for each in grammar.VALUES[".".join(path)] if each == each]
    if not known:
        # The protocol gives bounds of nothing no meaning: they may be anything.
        return random.choice([None, *domain]), random.choice([None, *domain])
    key = str.encode if isinstance(known[0], str) else None
    low, high = min(known, key=key), max(known, key=key)
    if random.random() < 0.2:
        low = min([low, random.choice(domain)], key=key)
        high = max([high, random.choice(domain)], key=key)
    if isinstance(low, float) and random.random() < 0.3:
        # Writers differ: NaN may spoil a bound, and either zero may stand for both.
        low, high = spoiled(low, values), spoiled(high, values)
    return maybe_missing(random, low), maybe_missing(random, high)


def spoiled(bound: float, values: list[Any]) -> float:
    has_nan = any(value is not None and value != value for value in values)
    return math.nan if has_nan else -bound if bound == 0 else bound


def matching(predicate: Expression, found: list[File]) -> list[File]:
    """The files with a row that the predicate is true for."""
    try:
        rows = [row for file in found for row in file.live]
        values = iter(evaluate(predicate, grammar.table(rows)).to_pylist())
    except EvaluationError:
        # Spark fails on such a file too: nothing is lost by skipping it, so try the others.
        half = len(found) // 2
        parts = [found[:half], found[half:]] if half else []
        return [file for part in parts for file in matching(predicate, part)]
    truths = [[next(values) for _ in file.live] for file in found]
    return [file for file, truth in zip(found, truths, strict=True) if True in truth]


@settings(max_examples=200, deadline=None)
@given(st.randoms(use_true_random=True))
def test_no_file_with_a_matching_row_is_skipped(random: Random) -> None:
    found = some_files(random)
    columns = statistics(random, found)
    for sql in [grammar.predicate(random) for _ in range(30)]:
        predicate = parse_predicate(sql, grammar.SCHEMA)

        kept = skip(predicate, columns, grammar.PARTITION_COLUMNS).to_pylist()

        assert len(kept) == len(found)
        lost = [file for keep, file in zip(kept, found, strict=True) if not keep]
        assert matching(predicate, lost) == [], sql


@settings(max_examples=50, deadline=None)
@given(st.randoms(use_true_random=True))
def test_predicates_on_partition_columns_are_decided_exactly(random: Random) -> None:
    found = some_files(random)
    columns = FileColumns(len(found), partitions_of(found))
    rows = [{**dict.fromkeys(grammar.ARROW_SCHEMA.names), **file.partition} for file in found]
    for sql in [grammar.partition_predicate(random) for _ in range(20)]:
        predicate = parse_predicate(sql, grammar.SCHEMA)

        kept = skip(predicate, columns, grammar.PARTITION_COLUMNS).to_pylist()

        expected = evaluate(predicate, grammar.table(rows)).to_pylist()
        assert kept == [value is True for value in expected], sql
    assert columns.asked == 0


# --- examples: what is skipped -----------------------------------------------------------------


def array(values: list[Any], path: str) -> pa.Array:
    kind: Any = grammar.ARROW_SCHEMA.field(path.split(".")[0]).type
    for name in path.split(".")[1:]:
        kind = kind.field(name).type
    return pa.array(values, kind)


def one_column(path: str, bounds: list[tuple[Any, Any, int]]) -> FileColumns:
    """Files of 10 rows with a minimum, a maximum and a number of nulls each."""
    key = tuple(path.split("."))
    lows, highs, nulls = zip(*bounds, strict=True)
    return FileColumns(
        len(bounds),
        minima={key: array(list(lows), path)},
        maxima={key: array(list(highs), path)},
        nulls={key: pa.array(nulls, pa.int64())},
        rows=pa.array([10] * len(bounds), pa.int64()),
    )


LONG_FILES = [(0, 9, 0), (10, 19, 3), (15, 15, 0), (None, None, 10), (None, None, 2)]


@pytest.mark.parametrize(
    ("sql", "kept"),
    [
        ("id = 5", [0, 4]),
        ("5 = id", [0, 4]),
        ("id < 10", [0, 4]),
        ("10 > id", [0, 4]),
        ("id <= 10", [0, 1, 4]),
        ("id > 15", [1, 4]),
        ("id >= 15", [1, 2, 4]),
        ("id <> 15", [0, 1, 4]),
        ("NOT id = 15", [0, 1, 4]),
        ("NOT id <> 15", [1, 2, 4]),
        ("NOT (id < 10 OR id > 16)", [1, 2, 4]),
        ("NOT (id >= 10 AND id <= 19)", [0, 4]),
        ("id BETWEEN 3 AND 12", [0, 1, 4]),
        ("id NOT BETWEEN 0 AND 9", [1, 2, 4]),
        ("id IN (3, 100)", [0, 4]),
        ("id IN (3, 15, NULL)", [0, 1, 2, 4]),
        ("id IN (NULL)", []),
        ("id NOT IN (15, 7)", [0, 1, 4]),
        ("id NOT IN (15, NULL)", []),
        ("id IN (id, 3)", [0, 1, 2, 4]),
        ("id IN (3L + 0, 4)", [0, 4]),
        ("id IS NULL", [1, 3, 4]),
        ("id IS NOT NULL", [0, 1, 2, 4]),
        ("NOT id IS NULL", [0, 1, 2, 4]),
        ("id <=> 15", [1, 2, 4]),
        ("id <=> NULL", [1, 3, 4]),
        ("NOT id <=> 15", [0, 1, 3, 4]),
        ("NOT id <=> NULL", [0, 1, 2, 4]),
        ("id = NULL", []),
        ("id > 5.5", [0, 1, 2, 4]),
        ("id > 9.5", [1, 2, 4]),
        ("id = 15.5", [1, 4]),
        ("id = 5D", [0, 4]),
        ("id = '5'", [0, 4]),
        ("id < 10 AND id > 10", [4]),
        ("id < 1 OR id > 18", [0, 1, 4]),
        ("(id > 18) = TRUE", [1, 4]),
        ("(id > 18) IS TRUE", [1, 4]),
        ("(id > 18) <> FALSE", [1, 4]),
        ("id = id", [0, 1, 2, 4]),
        ("id < id", [0, 1, 4]),
        ("id + 1 = 100", [0, 1, 2, 3, 4]),
        ("1 = 2", []),
        ("id = 5 AND FALSE", []),
        ("id = 5 OR TRUE", [0, 1, 2, 3, 4]),
    ],
)
def test_bounds_of_a_long_column_decide(sql: str, kept: list[int]) -> None:
    assert kept_files(sql, one_column("id", LONG_FILES)) == kept


STRING_FILES = [("a", "az", 0), ("b", "c", 0), ("ab", "abz", 0), ("é", "\U0001f600", 0)]


def test_a_file_that_ends_with_the_first_text_after_a_prefix_may_lack_the_prefix() -> None:
    assert kept_files("s NOT LIKE 'a%'", one_column("s", [("a", "b", 0)])) == [0]
    assert kept_files("s NOT LIKE 'a%'", one_column("s", [("a", "az", 0)])) == []


@pytest.mark.parametrize(
    ("sql", "kept"),
    [
        ("s LIKE 'ab%'", [0, 2]),
        ("s LIKE 'b%'", [1]),
        ("s LIKE 'ab'", [0, 2]),
        ("s LIKE 'ab_'", [0, 2]),
        ("s LIKE '%b'", [0, 1, 2, 3]),
        ("s LIKE 'b\\_%'", [1]),
        ("startswith(s, 'ab')", [0, 2]),
        ("startswith(s, 'é')", [3]),
        ("startswith(s, '')", [0, 1, 2, 3]),
        ("s NOT LIKE 'ab%'", [0, 1, 3]),
        ("NOT startswith(s, 'a')", [1, 3]),
        ("s NOT LIKE '%'", []),
        ("s NOT LIKE '_%'", [0, 1, 2, 3]),
        ("s > 'd'", [3]),
        ("s > 'é'", [3]),
        ("s = 'B'", []),
        ("s IN ('aa', 'é')", [0, 3]),
        ("length(s) = 1", [0, 1, 2, 3]),
    ],
)
def test_bounds_of_a_string_column_are_in_the_order_of_bytes(sql: str, kept: list[int]) -> None:
    assert kept_files(sql, one_column("s", STRING_FILES)) == kept


FLOAT_FILES = [(-1.0, 1.0, 0), (5.0, 5.0, 0), (0.0, 0.0, 0), (math.nan, math.nan, 0)]


@pytest.mark.parametrize(
    ("sql", "kept"),
    [
        ("x = 5D", [1, 3]),
        ("x < 0D", [0, 3]),
        ("x <= -0D", [0, 2, 3]),
        ("x = -0D", [0, 2, 3]),
        ("x > 5D", [0, 1, 2, 3]),
        ("x >= 100D", [0, 1, 2, 3]),
        ("x <> 5D", [0, 1, 2, 3]),
        ("NOT x < 100D", [0, 1, 2, 3]),
        ("NOT x > 0D", [0, 2, 3]),
        ("x NOT IN (5D)", [0, 1, 2, 3]),
        ("x IN (5D, 7D)", [1, 3]),
        ("x IN (5D, double('NaN'))", [0, 1, 2, 3]),
        ("x = double('NaN')", [0, 1, 2, 3]),
        ("x < double('NaN')", [0, 1, 2, 3]),
        ("isnan(x)", [0, 1, 2, 3]),
    ],
)
def test_bounds_of_a_floating_point_column_leave_room_for_nan(sql: str, kept: list[int]) -> None:
    assert kept_files(sql, one_column("x", FLOAT_FILES)) == kept


@pytest.mark.parametrize(
    ("sql", "kept"),
    [
        ("b", [0, 1, 3]),
        ("NOT b", [0, 2, 3]),
        ("b = FALSE", [0, 2, 3]),
        ("b IS TRUE", [0, 1, 3]),
        ("b > FALSE", [0, 1, 3]),
        ("b = NULL", []),
    ],
)
def test_boolean_columns_are_predicates(sql: str, kept: list[int]) -> None:
    bounds = [(False, True, 0), (True, True, 0), (False, False, 0), (None, None, 0)]
    assert kept_files(sql, one_column("b", bounds)) == kept


TIMESTAMP_FILES = [
    (grammar.TIMESTAMPS[0], grammar.TIMESTAMPS[1], 0),
    (grammar.TIMESTAMPS[2], grammar.TIMESTAMPS[3], 0),
]


@pytest.mark.parametrize(
    ("sql", "kept"),
    [
        ("ts > '2024-01-01'", [1]),
        ("ts < DATE '2024-01-01'", [0]),
        ("CAST(ts AS DATE) = DATE '2024-02-29'", [1]),
        ("CAST(ts AS DATE) = '1969-12-31'", [0]),
        ("CAST(ts AS DATE) = '1969-12-30'", []),
        ("year(ts) = 2024", [1]),
        ("year(ts) < 1970", [0]),
        ("date_trunc('month', ts) = '2024-02-01'", [1]),
        ("month(ts) = 2", [0, 1]),
        ("CAST(ts AS STRING) = '2024-02-29 00:00:00'", [0, 1]),
    ],
)
def test_casts_and_functions_that_keep_the_order_can_skip(sql: str, kept: list[int]) -> None:
    assert kept_files(sql, one_column("ts", TIMESTAMP_FILES)) == kept


def test_decimal_bounds_meet_constants_of_any_scale() -> None:
    columns = one_column("m", [(grammar.DECIMALS[3], grammar.DECIMALS[4], 0)])
    assert kept_files("m = 1.4999", columns) == [0]
    assert kept_files("m > 1.5", columns) == []
    assert kept_files("m < 12345678901234567890", columns) == [0]
    assert kept_files("m > 12345678901234567890", columns) == []


def test_fields_of_structs_have_bounds_of_their_own() -> None:
    columns = one_column("in.a", [(0, 9, 0), (10, 19, 0)])
    assert kept_files("`in`.a > 9", columns) == [1]
    assert kept_files("`in` IS NULL", columns) == [0, 1]


def test_two_columns_are_compared_by_their_bounds() -> None:
    columns = one_column("id", [(0, 9, 0), (10, 19, 0), (20, 29, 0)])
    other = one_column("i", [(0, 9, 0), (0, 9, 0), (5, 25, 0)])
    for mine, theirs in ((columns.minima, other.minima), (columns.maxima, other.maxima)):
        mine.update(theirs)
    assert kept_files("id = i", columns) == [0, 2]
    assert kept_files("id < i", columns) == [0, 2]
    assert kept_files("i >= id", columns) == [0, 2]
    assert kept_files("id > i", columns) == [0, 1, 2]


def test_partition_and_data_columns_are_joined_file_by_file() -> None:
    columns = one_column("id", [(0, 9, 0), (10, 19, 0), (10, 19, 0)])
    columns.partitions = {"p": pa.array(["a", "a", "b"]), "q": array([1, 15, 100], "q")}
    assert kept_files("p = 'b' OR id = 5", columns) == [0, 2]
    assert kept_files("p = 'a' AND id > 9", columns) == [1]
    assert kept_files("NOT (p = 'a' AND id < 10)", columns) == [1, 2]
    assert kept_files("id = q", columns) == [0, 1]
    assert kept_files("id > q", columns) == [0, 1]


def test_files_without_rows_are_skipped_once_statistics_are_needed() -> None:
    columns = one_column("id", [(None, None, 0), (None, None, 0)])
    columns.rows = pa.array([0, None], pa.int64())
    assert kept_files("id > 0", columns) == [1]


def test_files_without_any_statistics_are_kept() -> None:
    for sql in ("id = 5", "id IS NULL", "s LIKE 'a%'", "b", "id IN (1)", "NOT id <=> 5"):
        assert kept_files(sql, FileColumns(2)) == [0, 1]


def test_statistics_are_not_asked_for_when_the_partitions_leave_no_file() -> None:
    columns = one_column("id", [(0, 9, 0)])
    columns.partitions = {"p": pa.array(["a"])}
    assert kept_files("p = 'b' AND id = 5", columns) == []
    assert columns.asked == 0


def test_a_long_list_keeps_every_file_that_holds_one_of_its_values() -> None:
    columns = one_column("id", [(each, each, 0) for each in range(1000)])
    wanted = list(range(0, 1000, 7))
    kept = kept_files(f"id IN ({', '.join(map(str, wanted))})", columns)
    assert set(wanted) <= set(kept)
    assert kept_files("id IN (3, 900)", columns) == [3, 900]


def test_a_partition_value_that_fails_is_an_error_only_if_nothing_else_can_exclude_it() -> None:
    columns = one_column("id", [(0, 9, 0), (0, 9, 0)])
    columns.partitions = {"p": pa.array(["x", "1"])}
    assert kept_files("id = 100 AND CAST(p AS INT) = 1", columns) == []
    assert kept_files("id = 5 AND CAST(p AS INT) = 1", columns) == [0, 1]
    assert kept_files("p <> 'x' AND CAST(p AS INT) = 1", columns) == [1]
    assert kept_files("id = CAST(p AS INT)", columns) == [0, 1]
    with pytest.raises(EvaluationError, match="'x' of type string cannot be cast"):
        kept_files("CAST(p AS INT) = 1", columns)


def test_a_bound_that_cannot_be_cast_is_no_bound() -> None:
    columns = one_column("d", [(date(2024, 1, 1), date(2024, 1, 2), 0)])
    columns.maxima[("d",)] = pa.array([2**31 - 1], pa.int32()).cast(pa.date32())
    assert kept_files("CAST(d AS TIMESTAMP) < '2020-01-01'", columns) == [0]
    assert kept_files("d < '2020-01-01'", columns) == []


def test_opaque_parts_keep_what_the_other_parts_do_not_exclude() -> None:
    columns = one_column("id", [(0, 9, 0), (10, 19, 0)])
    opaque = Opaque("my_function(id)", (Column(("id",), LONG),))
    small = Compare("<", Column(("id",), LONG), literal(5))
    assert mask(Or((small, opaque)), columns) == [True, True]
    assert mask(conjunction([small, opaque]), columns) == [True, False]


def test_a_predicate_is_split_into_its_partition_and_data_parts() -> None:
    sql = "p = 'a' AND id = 5 AND q > 1 AND (q = 2 OR id = 3)"
    predicate = parse_predicate(sql, grammar.SCHEMA)
    partitions, others = split_by_partition(predicate, ["P", "Q"])
    assert partitions is not None
    assert others is not None
    assert to_sql(partitions) == "p = 'a' AND q > 1"
    assert to_sql(others) == "id = 5L AND (q = 2 OR id = 3L)"
    assert split_by_partition(partitions, ["p", "q"]) == (partitions, None)
    assert split_by_partition(others, ["p", "q"]) == (None, others)


def kept_files(sql: str, columns: FileColumns) -> list[int]:
    predicate = parse_predicate(sql, grammar.SCHEMA)
    return [index for index, kept in enumerate(mask(predicate, columns)) if kept]


def mask(predicate: Expression, columns: FileColumns) -> list[bool]:
    found: list[bool] = skip(predicate, columns, grammar.PARTITION_COLUMNS).to_pylist()
    return found
