"""Rules of a table that every written row must meet, and columns that the writer fills."""

from __future__ import annotations

import datetime as dt
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lakebed
from lakebed.errors import (
    ConstraintViolationError,
    LakebedError,
    SchemaMismatchError,
    UnsupportedFeatureError,
)
from lakebed.formats.arrow_types import to_arrow_type
from lakebed.spec.columns.column_metadata import identity, with_invariant
from lakebed.spec.schema import (
    CHAR_VARCHAR,
    DATE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    ArrayType,
    MapType,
    StructField,
    StructType,
    as_nullable,
)
from testkit.readers.log_json import data_files, log_files
from testkit.readers.other_readers import read_elsewhere
from testkit.schemas import column
from testkit.tables.arbitrary_tables import make_table, rows


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table"


def refused(path: Path, data: Any, kind: type[LakebedError], match: str) -> None:
    """The write fails, and neither the log nor the folder has changed."""
    before = log_files(path), data_files(path)
    with pytest.raises(kind, match=match):
        lakebed.write(path, data)
    assert (log_files(path), data_files(path)) == before


# --- NOT NULL -----------------------------------------------------------------------------------


def test_null_in_a_column_without_nulls_is_refused(path: Path) -> None:
    make_table(path, column("a", nullable=False), column("b"))
    refused(path, {"a": [1, None], "b": [1, 2]}, ConstraintViolationError, "a is NOT NULL, but 1")
    lakebed.write(path, {"a": [1], "b": [None]})
    assert rows(lakebed.open(path)) == rows(read_elsewhere(path))


STRICT = StructType((StructField("x", LONG, False), StructField("y", LONG)))
NESTED: dict[str, tuple[Any, list[Any], list[Any], str]] = {
    "struct": (STRICT, [{"x": 1, "y": None}], [{"x": None, "y": 1}], "c.x is NOT NULL"),
    "null struct": (STRICT, [{"x": 1, "y": None}], [None], "c.x is NOT NULL"),
    "struct in struct": (
        StructType((StructField("s", STRICT),)),
        [{"s": {"x": 1, "y": None}}],
        [{"s": {"x": None, "y": 1}}],
        "c.s.x",
    ),
    "null struct in struct": (
        StructType((StructField("s", STRICT),)),
        [{"s": {"x": 1, "y": None}}],
        [{"s": None}],
        "c.s.x",
    ),
    "null around a struct": (
        StructType((StructField("s", STRICT), StructField("t", LONG))),
        [{"s": {"x": 1}, "t": None}],
        [None],
        "c.s.x",
    ),
    "null around a NOT NULL struct": (
        StructType((StructField("s", StructType((StructField("x", LONG),)), False),)),
        [{"s": {"x": None}}],
        [None],
        "c.s is NOT NULL",
    ),
    "null around a list": (
        StructType((StructField("l", ArrayType(LONG, False)),)),
        [None, {"l": None}, {"l": [1]}],
        [{"l": [None]}],
        "c.l.element",
    ),
    "list": (ArrayType(LONG, False), [[1], [], None], [[1], [None]], "c.element"),
    "list of structs": (ArrayType(STRICT), [[{"x": 1, "y": 2}, None]], [[{"y": 2}]], "c.element.x"),
    "list of structs of structs": (
        ArrayType(StructType((StructField("s", STRICT),))),
        [[{"s": None}, None], [{"s": {"x": 1}}]],
        [[{"s": {"y": 2}}]],
        "c.element.s.x",
    ),
    "map": (MapType(STRING, LONG, False), [[("k", 1)], None], [[("k", None)]], "c.value"),
    "map of structs": (
        MapType(STRING, STRICT),
        [[("k", {"x": 1}), ("l", None)]],
        [[("k", {"x": 1})], [("k", {"y": 1})]],
        "c.value.x",
    ),
    "list in map": (
        MapType(STRING, ArrayType(LONG, False)),
        [[("k", [1])]],
        [[("k", [None])]],
        "c.value.element",
    ),
}


@pytest.mark.parametrize("case", NESTED)
def test_nulls_are_found_at_every_depth(path: Path, case: str) -> None:
    kind, good, bad, where = NESTED[case]
    make_table(path, column("n"), column("c", kind))
    relaxed = as_nullable(StructType((StructField("c", kind),))).fields[0].data_type
    arrow = to_arrow_type(relaxed)

    def data(values: list[Any]) -> pa.Table:
        # A slice of something larger: what lies outside of it does not count.
        whole = pa.array([*bad, *values, *bad], arrow)
        return pa.table({"c": whole.slice(len(bad), len(values)), "n": list(range(len(values)))})

    lakebed.write(path, data(good))
    refused(path, data([*good, *bad]), ConstraintViolationError, where.replace(".", r"\."))
    found = lakebed.open(path).to_arrow(["c"])["c"].to_pylist()
    assert repr(found) == repr(pa.array(good, arrow).to_pylist())


# --- invariants and constraints -----------------------------------------------------------------


def test_rows_that_break_an_invariant_are_refused(path: Path) -> None:
    age = with_invariant(column("age"), "age >= 0")
    make_table(path, column("id"), age)
    refused(path, {"id": [1, 2], "age": [3, -1]}, ConstraintViolationError, r"1 row\(s\).*age >= 0")
    lakebed.write(path, {"id": [1], "age": [3]})


def test_an_invariant_inside_a_struct_is_checked(path: Path) -> None:
    inner = with_invariant(column("age"), "who.age >= 0")
    make_table(path, column("who", StructType((inner,))))
    refused(path, {"who": [{"age": -1}]}, ConstraintViolationError, "who.age >= 0")


def test_rows_that_break_a_check_constraint_are_shown(path: Path) -> None:
    properties = {"delta.constraints.positive": "amount > 0 AND note <> ''"}
    lakebed.write(path, {"amount": [1], "note": ["x"]}, properties=properties)
    refused(
        path,
        {"amount": [5, -5], "note": ["a", "b"]},
        ConstraintViolationError,
        r"positive \(amount > 0[\s\S]*'amount': -5",
    )
    # Unknown counts as broken, as in delta-spark.
    refused(path, {"amount": [None], "note": ["a"]}, ConstraintViolationError, "positive")
    lakebed.write(path, {"amount": [5], "note": ["a"]})
    assert lakebed.open(path).to_arrow().num_rows == 2


def test_a_new_table_is_not_made_of_rows_that_break_its_constraints(path: Path) -> None:
    with pytest.raises(ConstraintViolationError):
        lakebed.write(path, {"a": [-1]}, properties={"delta.constraints.c": "a > 0"})
    assert not path.exists()


def test_a_rule_that_cannot_be_evaluated_here_is_no_reason_to_skip_it(path: Path) -> None:
    properties = {"delta.constraints.c": "my_function(a) = 1"}
    make_table(path, column("a"), properties=properties)
    refused(path, {"a": [1]}, UnsupportedFeatureError, "CHECK constraint 'c'.*without Spark")


# --- generated columns and defaults -------------------------------------------------------------

GENERATED = {"delta.generationExpression": "CAST(at AS DATE)"}


def _generated(path: Path) -> None:
    make_table(path, column("at", TIMESTAMP), column("day", DATE, GENERATED), partition_by=("day",))


def test_generated_columns_are_computed_when_they_are_absent(path: Path) -> None:
    _generated(path)
    at = pa.array([1_700_000_000_000_000, None], pa.timestamp("us", "UTC"))
    table = lakebed.write(path, pa.table({"at": at}))
    found = table.to_arrow().sort_by("at")["day"].to_pylist()
    assert found == [dt.date(2023, 11, 14), None]
    assert table.num_files == 2


def test_generated_columns_are_checked_when_they_are_given(path: Path) -> None:
    _generated(path)
    at = pa.array([1_700_000_000_000_000], pa.timestamp("us", "UTC"))
    right = pa.array([19675], pa.date32())
    lakebed.write(path, pa.table({"at": at, "day": right}))
    wrong = pa.table({"at": at, "day": pa.array([19676], pa.date32())})
    refused(path, wrong, ConstraintViolationError, "generated column 'day'")


def test_generated_columns_are_computed_from_defaults(path: Path) -> None:
    make_table(
        path,
        column("twice", LONG, {"delta.generationExpression": "n * 2"}),
        column("n", LONG, {"CURRENT_DEFAULT": "20 + 1"}),
        column("x"),
    )
    table = lakebed.write(path, {"x": [1, 2]})
    assert table.to_arrow().to_pydict() == {"twice": [42, 42], "n": [21, 21], "x": [1, 2]}


def test_defaults_fill_absent_columns_alone(path: Path) -> None:
    make_table(
        path,
        column("a"),
        column("b", STRING, {"CURRENT_DEFAULT": r"'it\'s'"}, nullable=False),
        column("c", DATE, {"CURRENT_DEFAULT": "DATE '2024-02-29'"}),
        column("d", INTEGER, {"CURRENT_DEFAULT": "NULL"}),
    )
    lakebed.write(path, {"a": [1]})
    lakebed.write(path, {"a": [2], "b": ["given"], "c": pa.array([None], pa.date32())})
    found = lakebed.open(path).to_arrow().sort_by("a").to_pylist()
    assert [row["b"] for row in found] == ["it's", "given"]
    assert [str(row["c"]) for row in found] == ["2024-02-29", "None"]
    assert [row["d"] for row in found] == [None, None]


# --- identity -----------------------------------------------------------------------------------


def _identity(path: Path, *, step: int = 1, start: int = 1, explicit: bool = False) -> None:
    marks = {
        "delta.identity.start": start,
        "delta.identity.step": step,
        "delta.identity.allowExplicitInsert": explicit,
    }
    make_table(path, column("id", LONG, marks), column("x"))


@pytest.mark.parametrize(("start", "step"), [(1, 1), (10, 5), (-3, -2)])
def test_identity_values_go_on_where_the_last_write_ended(
    path: Path, start: int, step: int
) -> None:
    _identity(path, start=start, step=step)
    for _ in range(3):
        lakebed.write(path, {"x": [0, 0]})
    expected = [start + step * number for number in range(6)]
    table = lakebed.open(path)
    assert sorted(table.to_arrow()["id"].to_pylist()) == sorted(expected)
    marks = identity(table.schema.field("id"))
    assert marks is not None
    assert marks.high_water_mark == expected[-1]


def test_identity_values_are_distinct_whoever_appends(path: Path) -> None:
    _identity(path)

    def append(number: int) -> None:
        for _ in range(3):
            lakebed.write(path, {"x": [number] * 5})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(append, range(4)))
    found = lakebed.open(path).to_arrow()["id"].to_pylist()
    assert sorted(found) == list(range(1, 61))


def test_identity_values_cannot_be_given_unless_the_column_allows_it(path: Path) -> None:
    _identity(path)
    refused(path, {"id": [7], "x": [1]}, SchemaMismatchError, "GENERATED ALWAYS")


def test_given_identity_values_leave_the_mark_alone(path: Path) -> None:
    _identity(path, explicit=True, step=2)
    lakebed.write(path, {"id": [8, 4], "x": [1, 1]})
    assert "metaData" not in (path / "_delta_log" / log_files(path)[1]).read_text()
    lakebed.write(path, {"x": [1]})
    lakebed.write(path, {"id": [1000], "x": [1]})
    lakebed.write(path, {"x": [1]})
    assert sorted(lakebed.open(path).to_arrow()["id"].to_pylist()) == [1, 3, 4, 8, 1000]


def test_a_commit_that_only_moves_marks_says_so_to_delta_spark(path: Path) -> None:
    tag = {"delta.identity.schemaUpdate": "true"}
    _identity(path, explicit=True)
    for data, expected in (({"x": [1]}, tag), ({"id": [9], "x": [1]}, None)):
        lakebed.write(path, data)
        last = (path / "_delta_log" / log_files(path)[-1]).read_text().splitlines()
        assert json.loads(last[0])["commitInfo"].get("tags") == expected
    lakebed.write(path, {"x": [1], "y": [2]}, merge_schema=True)
    last = (path / "_delta_log" / log_files(path)[-1]).read_text().splitlines()
    assert "tags" not in json.loads(last[0])["commitInfo"]


def test_a_write_without_rows_leaves_the_identity_mark_and_the_metadata_alone(path: Path) -> None:
    _identity(path)
    lakebed.write(path, {"x": pa.array([], pa.int64())})
    assert log_files(path) == ["00000000000000000000.json"]


# --- char and varchar ---------------------------------------------------------------------------


def _limited(name: str, declared: str, kind: Any = STRING) -> StructField:
    return column(name, kind, {CHAR_VARCHAR: declared})


def test_texts_beyond_their_limit_are_refused_and_blanks_are_cut(path: Path) -> None:
    make_table(path, _limited("c", "char(3)"), _limited("v", "varchar(3)"))
    lakebed.write(path, {"c": ["a", "äöü", "ab   ", None], "v": ["a", "äöü", "ab   ", None]})
    found = lakebed.open(path).to_arrow()
    assert found["c"].to_pylist() == ["a  ", "äöü", "ab ", None]
    assert found["v"].to_pylist() == ["a", "äöü", "ab ", None]
    refused(path, {"v": ["abcd"]}, ConstraintViolationError, r"v is varchar\(3\).*4 characters")
    refused(path, {"c": ["a  b"]}, ConstraintViolationError, r"c is char\(3\)")


def test_limits_hold_inside_structs_lists_and_maps(path: Path) -> None:
    kind = StructType(
        (
            StructField("l", ArrayType(STRING)),
            StructField("m", MapType(STRING, STRING)),
            StructField("n", LONG),
        )
    )
    declared = "struct<l:array<char(2)>,m:map<varchar(2),char(2)>,n:bigint>"
    make_table(path, _limited("s", declared, kind))
    arrow = pa.struct(
        [("l", pa.list_(pa.string())), ("m", pa.map_(pa.string(), pa.string())), ("n", pa.int64())]
    )
    values = [
        {"l": ["x"], "m": [("too long", "x")], "n": 0},
        {"l": ["a", None], "m": [("k", "b")], "n": 1},
        None,
        {"l": None, "m": [], "n": 2},
        {"l": ["too long"], "m": [], "n": 0},
    ]
    whole = pa.array(values, arrow)
    lakebed.write(path, pa.table({"s": whole.slice(1, 3)}))
    assert lakebed.open(path).to_arrow()["s"].to_pylist() == [
        {"l": ["a ", None], "m": [("k", "b ")], "n": 1},
        None,
        {"l": None, "m": [], "n": 2},
    ]
    refused(path, pa.table({"s": whole.slice(0, 1)}), ConstraintViolationError, "s.m.key is")
    refused(path, pa.table({"s": whole.slice(4, 1)}), ConstraintViolationError, "s.l.element is")
