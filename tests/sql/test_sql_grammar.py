"""Grammars of statements: what they read, and that nothing else than an error comes of bad text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lakebed.errors import SqlError
from lakebed.expressions.parser.tokens import tokenize
from lakebed.sql.grammar.copy_into import CopyStatement
from lakebed.sql.grammar.utility_commands import ConvertStatement, VacuumStatement
from lakebed.sql.parse import GRAMMARS, parse_own
from lakebed.sql.rest_statements import pieces
from lakebed.sql.statement import Statement

STATEMENTS = [
    "MERGE WITH SCHEMA EVOLUTION INTO t USING (SELECT 1 AS id) s ON t.id = s.id "
    "WHEN MATCHED AND s.x THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id) "
    "WHEN NOT MATCHED BY SOURCE THEN DELETE",
    "WITH s AS (SELECT 1 AS id) MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN DELETE",
    "WITH a AS (VALUES (1)), b(x) AS (TABLE a) INSERT INTO t SELECT * FROM b",
    "INSERT INTO TABLE t PARTITION (p = 'x', q) (a, b) SELECT 1, 2, 3",
    "INSERT INTO t REPLACE WHERE a = 1 AND b < 2 VALUES (1, DEFAULT)",
    "INSERT OVERWRITE t BY NAME SELECT 1 AS a",
    "COPY INTO t (a, b) FROM (SELECT x, y + 1 FROM 's3://b/p' WHERE x > 0) FILEFORMAT = CSV "
    "FILES = ('a.csv', 'b.csv') FORMAT_OPTIONS ('header' = 'true') COPY_OPTIONS ('force' = true)",
    "ALTER TABLE t ADD CONSTRAINT c CHECK (a > 0 AND b IN (1, 2))",
    "ALTER TABLE t DROP CONSTRAINT IF EXISTS c",
    "ALTER TABLE t DROP FEATURE deletionVectors TRUNCATE HISTORY",
    "OPTIMIZE t FULL",
    "OPTIMIZE delta.`/a/b` WHERE p = 'x' ZORDER BY (a, b.c)",
    "VACUUM '/a/b' LITE RETAIN 1.5 HOURS DRY RUN",
    "VACUUM t USING INVENTORY (SELECT * FROM i) RETAIN 200 HOURS",
    "RESTORE TABLE t TO VERSION AS OF '3'",
    "RESTORE t TO TIMESTAMP AS OF current_timestamp() - INTERVAL 1 DAY",
    "REORG TABLE t WHERE p = 1 APPLY (PURGE)",
    "REORG TABLE t APPLY (UPGRADE UNIFORM (ICEBERG_COMPAT_VERSION = 2))",
    "GENERATE symlink_format_manifest FOR TABLE t",
    "MSCK REPAIR TABLE t SYNC METADATA",
    "FSCK REPAIR TABLE t DRY RUN",
    "CONVERT TO DELTA parquet.`/a b/c` NO STATISTICS PARTITIONED BY (p INT, q STRING)",
    "DESCRIBE HISTORY t LIMIT 3",
    "DESC DETAIL delta.`/a/b`",
    "ALTER TABLE t ALTER COLUMN a SYNC IDENTITY",
    "CREATE OR REPLACE TABLE t SHALLOW CLONE s VERSION AS OF 1 LOCATION '/x'",
    "CREATE TABLE IF NOT EXISTS t (a INT, CONSTRAINT c CHECK (a > 0), b ARRAY<INT>) USING delta",
    "UNDROP TABLE t",
]
ODD = [
    "'",
    '"',
    "`",
    "--",
    "/*",
    "*/",
    ";",
    "(",
    ")",
    "<",
    ">",
    ",",
    ".",
    "\\",
    "\0",
    "²",
    "é",
    "🦆",
]
WORDS = [
    "SELECT",
    "FROM",
    "WHERE",
    "AS",
    "NULL",
    "DEFAULT",
    "WHEN",
    "END",
    "CASE",
    "1e999",
    "9" * 40,
]
HARMLESS = ["a", "é 🦆", "it's", 'a"b', "a;b", "a--b", "a/*b", "x') OR (1=1", "a`b", "DROP TABLE t"]


def parsed(sql: str) -> Any:
    found = parse_own(sql)
    assert found is not None
    return found


@pytest.mark.parametrize("sql", STATEMENTS)
def test_each_statement_is_read_in_any_case_and_spacing(sql: str) -> None:
    found = parsed(sql)
    assert type(parsed(f" -- first\n /* x */ {sql} ; ")) is type(found)
    spaced = sql.replace(" ", "\n\t ")
    assert type(parsed(spaced)) is type(found)
    assert parsed(sql).table.parts == found.table.parts


@given(st.data())
def test_damaged_statements_are_errors_with_a_place_or_other_statements(
    data: st.DataObject,
) -> None:
    sql = data.draw(st.sampled_from(STATEMENTS))
    for _ in range(data.draw(st.integers(1, 3))):
        sql = damaged(sql, data)
    found = read_or_refused(sql)
    if isinstance(found, SqlError):
        assert found.position is not None
        assert 0 <= found.position <= len(sql)
        assert str(found)
    else:
        assert found is None or isinstance(found, Statement)


def read_or_refused(sql: str) -> Statement | SqlError | None:
    """Any other exception is a failure."""
    try:
        return parse_own(sql)
    except SqlError as error:
        return error


def damaged(sql: str, data: st.DataObject) -> str:
    """Without, with other, or with more of its tokens."""
    try:
        spans = [(t.position, t.end) for t in tokenize(sql)]
    except Exception:  # noqa: BLE001 - damaged before
        spans = [(at, at + 1) for at in range(len(sql) + 1)]
    start, end = data.draw(st.sampled_from(spans))
    kind = data.draw(st.sampled_from(["cut", "drop", "double", "odd", "word", "any"]))
    if kind == "cut":
        return sql[:start]
    if kind == "drop":
        return sql[:start] + sql[end:]
    if kind == "double":
        return sql[:end] + " " + sql[start:]
    new = {"odd": st.sampled_from(ODD), "word": st.sampled_from(WORDS)}.get(
        kind, st.text(max_size=3)
    )
    return f"{sql[:start]}{data.draw(new)} {sql[start:]}"


@given(st.sampled_from(sorted(GRAMMARS)), st.text(max_size=60))
@example("WITH", "x AS (SELECT 1) INSERT")
@example("INSERT", " INTO t (")
def test_any_text_behind_a_first_word_is_read_or_refused(word: str, rest: str) -> None:
    found = read_or_refused(f"{word} {rest}")
    assert not isinstance(found, SqlError) or found.position is not None


@given(st.one_of(st.text(min_size=1, max_size=12), st.sampled_from(HARMLESS)))
def test_names_and_paths_are_taken_letter_by_letter(name: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    for sql in (
        f"INSERT INTO db.{quoted} ({quoted}) VALUES (1)",
        f"OPTIMIZE db.{quoted} ZORDER BY ({quoted})",
        f"DESCRIBE HISTORY db.{quoted}",
        f"ALTER TABLE db.{quoted} ALTER COLUMN {quoted} SYNC IDENTITY",
        f"CREATE TABLE db.{quoted} ({quoted} INT, CONSTRAINT {quoted} CHECK ({quoted} > 0))",
        f"MERGE INTO db.{quoted} USING s ON true WHEN MATCHED THEN DELETE",
    ):
        assert parsed(sql).table.parts == ("db", name)
    assert parsed(f"CONVERT TO DELTA parquet.{quoted}").table.parts == ("parquet", name)


@given(st.one_of(st.text(max_size=12), st.sampled_from(HARMLESS)))
def test_strings_are_taken_letter_by_letter(text: str) -> None:
    literal = "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    found = parsed(f"CREATE TABLE t CLONE s TBLPROPERTIES ({literal} = {literal})")
    assert found.properties == {text: text}
    if text:
        copied = parsed(f"COPY INTO t FROM {literal} FILEFORMAT = CSV FILES = ({literal})")
        assert (copied.source, copied.files) == (text, (text,))


def rest(sql: str) -> tuple[str, dict[str, str], Any]:
    """What Spark parses of a statement, without blanks at the ends, and what it does not."""
    found = parsed(sql)
    made = pieces(sql, found)
    texts = {name: each["text"] for name, each in made["parts"].items()}
    for name, (_, part) in found.parts.items():
        assert texts[name][part.position :].startswith(part.text)
    shown = {name: text.strip() for name, text in texts.items()}
    return " ".join(made["rest"]["text"].split()), shown, found.facts


def test_a_merge_is_parsed_without_its_source() -> None:
    for source in (
        *("s", "db.s", "db.s AS x", "s VERSION AS OF 3 x", "delta.`/a b` x", "(SELECT 1) x"),
        *(
            "(VALUES (1)) AS x(id)",
            "range(5) r",
            "range(5)",
            "s@v3",
            "(SELECT a FROM b JOIN c ON d)",
        ),
    ):
        for target in ("t", "t AS a", "db.t a"):
            text, parts, _ = rest(
                f"MERGE INTO {target} USING {source} ON a = b WHEN MATCHED THEN x"
            )
            assert text == f"MERGE INTO {target} USING s ON a = b WHEN MATCHED THEN x"
            assert parts == {"source": f"SELECT * FROM {source}"}


def test_an_insert_is_parsed_without_what_it_replaces() -> None:
    on = "REPLACE ON t.id = s.id AND f(t.a) (SELECT 1) AS s"
    cases = {
        "INSERT INTO t VALUES (1, 'a')": ("INSERT INTO t VALUES (1, 'a')", {}, {}),
        "INSERT INTO t (a, `b c`) (SELECT 1)": ("INSERT INTO t (a, `b c`) (SELECT 1)", {}, {}),
        "INSERT INTO t ((SELECT 1))": ("INSERT INTO t ((SELECT 1))", {}, {}),
        f"INSERT INTO t AS x {on}": (
            "INSERT INTO t (SELECT 1)",
            {"condition": "SELECT t.id = s.id AND f(t.a)"},
            {"alias": "x", "source_alias": "s", "source_columns": None},
        ),
        f"INSERT INTO t BY NAME {on} (a, b)": (
            "INSERT INTO t (SELECT 1)",
            {"condition": "SELECT t.id = s.id AND f(t.a)"},
            {"by_name": True, "alias": None, "source_alias": "s", "source_columns": ["a", "b"]},
        ),
        "INSERT INTO t REPLACE USING (a, b) BY NAME TABLE s": (
            "INSERT INTO t TABLE s",
            {},
            {"using": ["a", "b"], "by_name": True},
        ),
        "INSERT WITH SCHEMA EVOLUTION INTO t PARTITION (p = 1) (a) SELECT 1": (
            "INSERT INTO t PARTITION (p = 1) (a) SELECT 1",
            {},
            {"evolves": True},
        ),
        "INSERT INTO t (a, b) REPLACE WHERE a > 1 VALUES (1)": (
            "INSERT INTO t REPLACE WHERE a > 1 VALUES (1)",
            {},
            {"columns": ["a", "b"]},
        ),
    }
    for sql, expected in cases.items():
        assert rest(sql) == expected


def test_each_part_has_the_question_marks_of_its_own() -> None:
    sql = "MERGE INTO t USING range(?, 1, ?) r ON ? = ':?' AND :v WHEN MATCHED THEN DELETE -- ?"
    made = pieces(sql, parsed(sql))
    assert made["rest"]["marks"] == [2]
    assert made["parts"]["source"]["marks"] == [0, 1]


def test_statements_about_other_things_are_left_to_spark() -> None:
    for sql in (
        "WITH a AS (SELECT 1) SELECT update, 1 AS merge FROM a",
        "SHOW TABLES",
        "SHOW CREATE TABLE t",
        "DESCRIBE FUNCTION upper",
        "DESCRIBE DATABASE d",
        "DESCRIBE QUERY SELECT 1",
        "DESCRIBE (SELECT 1)",
        "COMMENT ON DATABASE d IS 'x'",
        "ALTER VIEW v AS SELECT 1",
        "INSERT OVERWRITE DIRECTORY '/x' USING csv SELECT 1",
        "SELECT 1",
        "",
        "-- nothing",
        "DELETE FROM t WHERE a = 1",
        "FROM s INSERT INTO t SELECT a",
        "DESCRIBE TABLE EXTENDED t col",
        "CREATE TABLE t (a INT) USING delta",
        "ALTER TABLE t ALTER COLUMN a TYPE BIGINT",
    ):
        assert parse_own(sql) is None


def test_tables_may_be_called_as_the_words_of_the_language() -> None:
    assert parsed("DESCRIBE HISTORY history").table.parts == ("history",)
    assert parsed("DESCRIBE DETAIL table.detail").table.parts == ("table", "detail")
    assert parse_own("DESCRIBE history") is None
    assert parse_own("DESCRIBE detail.history") is None


def test_what_is_missing_is_named_with_its_place() -> None:
    cases: dict[str, tuple[str, int]] = {
        "OPTIMIZE t ZORDER a": ("expected BY", 18),
        "RESTORE t": ("expected VERSION AS OF", 9),
        "RESTORE t TO VERSION AS OF x": ("expected the number of a version", 27),
        f"RESTORE t TO VERSION AS OF {'9' * 30}": ("expected the number of a version", 27),
        "COPY INTO t FROM 'x' FILEFORMAT = CSV FILES = ('a') PATTERN = 'b'": ("not both", 65),
        "VACUUM t RETAIN 1e3 HOURS": ("expected a number of hours", 16),
        "OPTIMIZE t WHERE 'x": ("no closing quote", 17),
    }
    for sql, (message, position) in cases.items():
        with pytest.raises(SqlError, match=message.replace("(", "\\(")) as raised:
            parse_own(sql)
        assert raised.value.position == position


def test_constraints_of_a_new_table_are_taken_out_with_their_commas() -> None:
    check = "CONSTRAINT c CHECK (a IN (1, 2))"
    cases = {
        f"(a INT, {check})": "(a INT)",
        f"({check}, a INT)": "(a INT)",
        f"(a INT, {check}, b MAP<INT, INT>)": "(a INT, b MAP<INT, INT>)",
        f"({check}, constraint d CHECK (b) ENFORCED, a INT)": "(a INT)",
        f"(a INT,\n{check}) AS": "(a INT) AS",
    }
    for columns, kept in cases.items():
        sql = f"CREATE TABLE t {columns} USING delta"
        found = parsed(sql)
        assert found.facts["properties"]["delta.constraints.c"] == "a IN (1, 2)"
        rest = pieces(sql, found)["rest"]["text"]
        assert len(rest) == len(sql)
        assert "".join(rest.split()) == "".join(f"CREATE TABLE t {kept} USING delta".split())
    for sql in ("CREATE TABLE t (constraint INT)", "CREATE TABLE t (`check` INT, b INT)"):
        assert parse_own(sql) is None


def test_options_come_in_any_order() -> None:
    first = parsed("VACUUM t DRY RUN RETAIN 2 HOURS LITE")
    assert isinstance(first, VacuumStatement)
    assert first == parsed("VACUUM t LITE RETAIN 2 HOURS DRY RUN")
    copy = parsed("COPY INTO t FROM 'x' PATTERN = '*.csv' FILEFORMAT = csv")
    assert isinstance(copy, CopyStatement)
    convert = parsed("CONVERT TO DELTA parquet.`x` PARTITIONED BY (p INT) NO STATISTICS")
    assert isinstance(convert, ConvertStatement)
    assert not convert.statistics
