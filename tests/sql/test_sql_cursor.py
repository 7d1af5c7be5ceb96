"""Tests of `lakebed.sql.cursor`."""

from __future__ import annotations

import pytest

from lakebed.errors import SqlError
from lakebed.sql.cursor import Cursor


def test_text_up_to_a_word_passes_over_parentheses_cases_and_fields() -> None:
    cursor = Cursor("f(a WHEN b) + CASE WHEN x THEN y END + t.when WHEN MATCHED")
    assert cursor.until("WHEN").text == "f(a WHEN b) + CASE WHEN x THEN y END + t.when"
    assert cursor.accept("WHEN", "MATCHED")
    assert cursor.is_at_end


def test_names_with_quotes_and_dots_are_parts() -> None:
    table = Cursor("shop.`a.b``c`").table()
    assert table.parts == ("shop", "a.b`c")
    assert str(table) == "`shop`.`a.b``c`"
    assert Cursor("delta.`/data/x`").table().path == "/data/x"


def test_an_unclosed_parenthesis_is_shown_where_it_opens() -> None:
    with pytest.raises(SqlError) as raised:
        Cursor("(a, (b)").enclosed()
    assert raised.value.position == 0


def test_a_doubled_quote_is_one_and_strings_side_by_side_are_joined() -> None:
    cases = {
        "'it''s'": "it's",
        '"a""b"': 'a"b',
        "'a' 'b'": "ab",
        "'a'\"b\"": "ab",
        "r'a' 'b'": "ab",
    }
    for sql, text in cases.items():
        assert Cursor(sql).string() == text


def test_versions_and_times_are_read() -> None:
    assert Cursor("VERSION AS OF '3'").as_of().version == 3  # type: ignore[union-attr]
    found = Cursor("FOR SYSTEM_TIME AS OF current_date() - 1").as_of()
    assert found is not None
    assert str(found.timestamp) == "current_date() - 1"
    assert Cursor("version, a").as_of() is None
