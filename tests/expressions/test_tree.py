"""Trees: what they refer to, how they are taken apart, and how they read as SQL."""

from __future__ import annotations

import predicate_grammar as grammar
import pytest

from lakebed.errors import InvalidArgumentError
from lakebed.expressions import (
    Column,
    Compare,
    Literal,
    Opaque,
    conjunction,
    literal,
    parse_expression,
    parse_predicate,
    references,
    split_conjuncts,
    to_sql,
)
from lakebed.spec.schema import DOUBLE, LONG, STRING, StructField, StructType


def test_references_are_the_paths_of_all_columns() -> None:
    sql = "id > 1 AND (`IN`.A = i OR lower(s) IN (p, 'x')) AND CASE WHEN b THEN d END IS NULL"
    expected = {("id",), ("in", "a"), ("i",), ("s",), ("p",), ("b",), ("d",)}
    assert references(parse_predicate(sql, grammar.SCHEMA)) == expected


def test_opaque_parts_refer_to_the_columns_below_them() -> None:
    assert references(Opaque("f(a)", (Column(("a",), LONG),))) == {("a",)}


def test_conjuncts_are_split_through_all_levels_of_and() -> None:
    predicate = parse_predicate("b AND (id = 1 AND (i = 2 OR b)) AND x > 0D", grammar.SCHEMA)
    parts = split_conjuncts(predicate)
    assert [to_sql(part) for part in parts] == ["b", "id = 1L", "i = 2 OR b", "x > 0.0D"]
    assert split_conjuncts(conjunction(parts)) == parts
    assert conjunction([]) == Literal(True, parts[0].data_type)


def test_nan_literals_are_equal() -> None:
    assert Literal(float("nan"), DOUBLE) == Literal(float("nan"), DOUBLE)
    assert literal(float("nan")) == literal(-float("nan"))


def test_values_without_a_literal_are_an_error() -> None:
    with pytest.raises(InvalidArgumentError, match="has no literal in SQL"):
        literal([1, 2])


@pytest.mark.parametrize(
    ("sql", "written"),
    [
        ("ID=1", "id = 1L"),
        ("(b AND b) OR NOT (b OR b)", "b AND b OR NOT (b OR b)"),
        ("(b OR b) AND b", "(b OR b) AND b"),
        ("NOT (id IN (1,2))", "NOT id IN (1L, 2L)"),
        ("(id IN (1)) = b", "(id IN (1L)) = b"),
        ("(i + 2) * i - (i - 1) > 0", "(i + 2) * i - (i - 1) > 0"),
        ("s LIKE 'a\\'%' ESCAPE '!'", "s LIKE 'a\\'%' ESCAPE '!'"),
        ("s = 'a\\\\b\\n'", "s = 'a\\\\b\\n'"),
        ("d = '2024-02-29'", "d = DATE '2024-02-29'"),
        ("ts = '2024-02-29 12:00'", "ts = TIMESTAMP '2024-02-29 12:00:00Z'"),
        ("ntz = '2024-02-29'", "ntz = TIMESTAMP_NTZ '2024-02-29 00:00:00'"),
        ("x = 'NaN'", "x = CAST('nan' AS DOUBLE)"),
        ("m = 1", "m = CAST(1BD AS DECIMAL(10,0))"),
        ("m = 1.5", "m = 1.5"),
        ("i = 5L", "CAST(i AS BIGINT) = 5L"),
        ("`in`.a = 1", "`in`.a = 1L"),
        ("id IS NULL", "id IS NULL"),
        ("id = NULL", "id = CAST(NULL AS BIGINT)"),
        ("startswith(s, 'a')", "startswith(s, 'a')"),
        ("-id = 1", "-(id) = 1L"),
        ("id DIV 2 = 1", "id DIV 2L = 1L"),
        ("if(b, id, 2) = 1", "CASE WHEN b THEN id ELSE 2L END = 1L"),
        ("coalesce(s, 'x') = 'x'", "coalesce(s, 'x') = 'x'"),
        ("year(ts) = 2024", "year(CAST(ts AS DATE)) = 2024"),
    ],
)
def test_expressions_read_as_sql_that_means_the_same(sql: str, written: str) -> None:
    parsed = parse_predicate(sql, grammar.SCHEMA)
    assert to_sql(parsed) == written
    assert parse_predicate(written, grammar.SCHEMA) == parsed


@pytest.mark.parametrize("name", ["select", "Values", "end", "a b", "1st", "b`t", "é", "x.y"])
def test_any_column_name_survives_being_written(name: str) -> None:
    schema = StructType((StructField(name, STRING),))
    column = Column((name,), STRING)
    assert parse_expression(to_sql(column), schema) == column
    test = Compare("=", column, literal("a"))
    assert parse_predicate(f"({to_sql(test)})", schema) == test


def test_opaque_parts_are_written_as_they_came() -> None:
    opaque = Opaque("f(a) OR g(b)")
    assert to_sql(conjunction([opaque, literal(True)])) == "(f(a) OR g(b)) AND TRUE"
