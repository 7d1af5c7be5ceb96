"""Where a query names tables, by its tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.sql.table_positions import table_positions


def names(text: str) -> list[str]:
    return [".".join(each.parts) for each in table_positions(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM t", ["t"]),
        ("select a.x from a, db.b as c where a.x in (select y from d)", ["a", "db.b", "d"]),
        ("SELECT * FROM a JOIN b ON a.x = b.x, c", ["a", "b", "c"]),
        ("SELECT * FROM (a JOIN b USING (x)) LEFT JOIN LATERAL (SELECT 1 FROM c)", ["a", "b", "c"]),
        ("SELECT extract(YEAR FROM at), trim(BOTH x FROM y) FROM t", ["t"]),
        ("SELECT a IS DISTINCT FROM b FROM t", ["t"]),
        ("SELECT t.from, 'FROM x', `FROM` FROM t -- FROM z", ["t"]),
        ("WITH t AS (SELECT * FROM t) SELECT * FROM t JOIN u", ["t", "u"]),
        ("WITH a AS (SELECT 1), b (x) AS (SELECT * FROM a) SELECT * FROM b", []),
        ("SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a) JOIN a", ["a"]),
        ("WITH RECURSIVE r AS (SELECT 1 UNION ALL SELECT * FROM r) SELECT * FROM r", []),
        ("FROM t SELECT x", ["t"]),
        ("TABLE t UNION ALL TABLE u", ["t", "u"]),
        ("SELECT * FROM range(3), delta.`/a b/c;d`", ["delta./a b/c;d"]),
        ("SELECT * FROM VALUES (1), (2) AS v (x)", []),
        ("INSERT INTO x SELECT * FROM y", ["y"]),
        ("SELECT substring(a FROM 2), (SELECT max(b) FROM u) FROM t ORDER BY a, b", ["u", "t"]),
    ],
)
def test_names_of_tables_are_found_where_tables_stand(text: str, expected: list[str]) -> None:
    assert names(text) == expected


def test_versions_options_and_aliases_belong_to_the_table() -> None:
    text = "SELECT * FROM a VERSION AS OF 3 x JOIN b TIMESTAMP AS OF '2026-01-01' AS y"
    one, other = table_positions(f"{text} ON x.i = y.i")
    assert (one.version, one.has_alias) == ("3", True)
    assert (other.timestamp, other.has_alias) == ("'2026-01-01'", True)
    (found,) = table_positions("SELECT * FROM t WITH (versionAsOf = 2, `a` = 'b c') WHERE x")
    assert found.options == {"versionAsOf": "2", "a": "b c"}
    assert not found.has_alias
    text = "SELECT * FROM t FOR SYSTEM_TIME AS OF current_timestamp() - INTERVAL 1 DAY WHERE x = 1"
    (found,) = table_positions(text)
    assert found.timestamp == "current_timestamp() - INTERVAL 1 DAY"
    assert text[found.start : found.end].startswith("t FOR")
    (found,) = table_positions("FROM t TIMESTAMP AS OF now() - INTERVAL '1' DAY u SELECT u.x")
    assert (found.timestamp, found.has_alias) == ("now() - INTERVAL '1' DAY", True)


def test_arguments_of_table_changes_are_expressions() -> None:
    (found,) = table_positions("SELECT * FROM table_changes('db.t', abs(-1), 5) c")
    assert found.arguments == ("'db.t'", "abs(-1)", "5")
    assert found.has_alias


WORDS = [
    "SELECT",
    "FROM",
    "WITH",
    "AS",
    "(",
    ")",
    ",",
    "t",
    "a.b",
    "JOIN",
    "VERSION",
    "OF",
    "3",
    "TABLE",
    "'x'",
    "`q`",
    "LATERAL",
    "*",
    "table_changes",
    "RECURSIVE",
    "TIMESTAMP",
    ".",
    ";",
    "@",
    ":p",
    "?",
    '"',
    "/*",
    "--",
]


@given(st.lists(st.sampled_from(WORDS), max_size=14))
def test_any_text_gives_positions_inside_of_it(words: list[str]) -> None:
    text = " ".join(words)
    for each in table_positions(text):
        assert 0 <= each.start < each.end <= len(text)
