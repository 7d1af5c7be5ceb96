"""What a condition says about names that are equal, of the little of it that is understood."""

from __future__ import annotations

import pytest

from lakebed.expressions.equalities import equal_names

ID = (("t", "id"), ("s", "id"))


@pytest.mark.parametrize(
    "sql",
    [
        "t.id = s.id",
        "t.id==s.id",
        "((t.id = s.id))",
        "t.id = s.id AND t.x > s.x",
        "t.x IN (1, 2) AND (t.id = s.id AND upper(t.n) = 'A')",
        "NOT t.x = s.x AND t.id = s.id",
        "t.id /* the key = x */ = s.id -- AND a = b",
        "t.n = 'it''s OR (' AND t.id = s.id",
        "t.n LIKE '(' and t.id = s.id",
        "f(t.a, CASE WHEN t.x AND t.y THEN 1 END) AND t.id = s.id",
        "(t.x BETWEEN 1 AND 2) AND t.id = s.id AND t.a <=> s.a",
        "`t`.`id` = s.id",
    ],
)
def test_equalities_that_hold_wherever_the_condition_is_true(sql: str) -> None:
    assert equal_names(sql) == [ID]


@pytest.mark.parametrize(
    "sql",
    [
        "t.id = s.id OR true",
        "true or t.id = s.id",
        "t.x = 1 AND t.id = s.id OR t.y",
        "NOT (t.id = s.id)",
        "NOT t.id = s.id",
        "! t.id = s.id",
        "t.id = s.id = t.x",
        "t.id <=> s.id",
        "t.id != s.id",
        "t.id >= s.id",
        "t.id = s.id + 1",
        "t.id = -s.id",
        "t.id = s.id::int",
        "t.id = s.id IS NULL",
        "t.x BETWEEN 1 AND t.id = s.id",
        "CASE WHEN t.x THEN t.y AND t.id = s.id END",
        "t.id = s.id[0]",
        "t.id = s.f(x)",
        "t.id = null",
        "TRUE = s.id",
        "t.id = current_date",
        "t.id = 's.id'",
        't.id = "s.id"',
        "t.id = 5",
        "(t.id = s.id",
        "t.id = s.id)",
        "t.id = s.",
        "t.id = `s.id",
        "t.id =",
        "if(t.x, t.id = s.id, true)",
        "(t.id = s.id) = t.x",
        "(t.id = s.id) OR (t.id = s.id)",
        "'t.id = s.id'",
        "t.id = s.id IN (true)",
        "",
    ],
)
def test_what_does_not_follow_is_not_found(sql: str) -> None:
    assert equal_names(sql) == []


def test_names_have_the_parts_that_quotes_say() -> None:
    assert equal_names("`a.b` = s.`c``d`.e AND x = y") == [
        (("a.b",), ("s", "c`d", "e")),
        (("x",), ("y",)),
    ]
    assert equal_names("`null` = s.id") == [(("null",), ("s", "id"))]
