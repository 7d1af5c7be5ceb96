"""Texts of several statements, and results in each format."""

from __future__ import annotations

import csv
import io
import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from pyspark.sql import Row

from lakebed.cli.main import main
from lakebed.cli.runner import Result, message_of, show
from lakebed.cli.shell import Shell, SqlCompleter
from lakebed.cli.statement_splitter import parts, split


def test_semicolons_divide_statements_but_not_inside_quotes_and_comments() -> None:
    text = """SELECT ';' AS `a;b`; -- one; two
    /* three; */ SELECT "it\\"s;"; ; SELECT 1 -- end;"""
    assert split(text) == [
        "SELECT ';' AS `a;b`",
        '-- one; two\n    /* three; */ SELECT "it\\"s;"',
        "SELECT 1 -- end;",
    ]
    assert split(" ; -- nothing\n;") == []


def test_scripts_stay_whole() -> None:
    script = "BEGIN -- one;\n IF 1 = 1 THEN SELECT CASE 1 WHEN 1 THEN 2 END; END IF;\nEND"
    assert split(f"SELECT 1; {script}; SELECT 2") == ["SELECT 1", script, "SELECT 2"]
    assert parts("BEGIN SELECT 1; SELECT 2;") == ([], "BEGIN SELECT 1; SELECT 2;")
    wrong = "BEGIN SELECT 1; END WHILE"
    assert split(f"{wrong}; SELECT 2") == [wrong, "SELECT 2"]


@pytest.mark.parametrize(
    "script",
    [
        "BEGIN END",
        "BEGIN NOT ATOMIC SELECT 1; END",
        "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN SELECT 1; END; SELECT 2; END",
        "BEGIN a: WHILE x > 0 DO SET x = if(x > 1, 1, 0); END WHILE a; SELECT 1; END",
        "BEGIN LOOP REPEAT SELECT repeat('a', 2); UNTIL true END REPEAT; END LOOP; SELECT 1; END",
        "BEGIN FOR r AS SELECT CASE WHEN a THEN 1 END FROM t DO SELECT r.a; END FOR; END",
        "BEGIN CASE x WHEN 1 THEN DROP TABLE IF EXISTS t; ELSE SELECT 1; END CASE; SELECT 2; END",
        "BEGIN IF a THEN BEGIN SELECT 1; END; ELSEIF b THEN SELECT t.end, t.case; END IF; END",
    ],
)
def test_scripts_of_every_kind_stay_whole_and_end(script: str) -> None:
    assert split(f"{script}; SELECT 2") == [script, "SELECT 2"]
    without_end = script.removesuffix("END")
    assert parts(f"{without_end};SELECT 3;")[0] == []


@pytest.mark.parametrize("open_end", ["SELECT 'a;", "SELECT `a;", 'SELECT ";', "SELECT 1"])
def test_what_has_no_end_yet_is_kept_for_the_next_line(open_end: str) -> None:
    assert parts(f"SELECT 0; {open_end}") == (["SELECT 0"], open_end)


@given(st.lists(st.tuples(st.sampled_from("'\"`"), st.text(max_size=8)), max_size=5))
def test_statements_with_any_text_in_quotes_come_apart_as_they_were(
    texts: list[tuple[str, str]],
) -> None:
    statements = [f"SELECT {quoted(quote, text)}, 1" for quote, text in texts]
    assert split(";\n".join(statements)) == statements


def quoted(quote: str, text: str) -> str:
    if quote == "`":
        return f"`{text.replace('`', '``')}`"
    return quote + text.replace("\\", "\\\\").replace(quote, f"\\{quote}") + quote


ROWS = [
    (1, None, True, Row(x=1, y="é"), b"\x01", Decimal("1.50"), date(2026, 1, 31)),
    (2, 'a"b, c', False, None, None, None, None),
]
COLUMNS = ["id", "text", "flag", "part", "raw", "price", "day"]


def shown(format: Any) -> str:
    out = io.StringIO()
    assert show(Result(COLUMNS, ROWS), format, out) == 2
    return out.getvalue()


def test_csv_can_be_read_back() -> None:
    rows = list(csv.reader(io.StringIO(shown("csv"))))
    assert rows[0] == COLUMNS
    assert rows[1] == ["1", "", "true", '{"x":1,"y":"é"}', "01", "1.50", "2026-01-31"]
    assert rows[2] == ["2", 'a"b, c', "false", "", "", "", ""]


def test_json_has_a_line_for_each_row() -> None:
    first, second = map(json.loads, shown("json").splitlines())
    assert first["part"] == {"x": 1, "y": "é"}
    assert first["text"] is None
    assert second["text"] == 'a"b, c'


def test_tables_show_nulls_and_what_rich_would_take_for_markup() -> None:
    assert "NULL" in shown("table")
    out = io.StringIO()
    show(Result(["[red]a"], [("[bold]b",), (datetime(2026, 1, 31, 12),)]), "table", out)
    assert "[red]a" in out.getvalue()
    assert "[bold]b" in out.getvalue()
    assert "2026-01-31 12:00:00" in out.getvalue()


def test_a_result_without_columns_shows_nothing() -> None:
    out = io.StringIO()
    assert show(Result([], []), "table", out) == 0
    assert out.getvalue() == ""


def test_completion_knows_words_tables_and_columns() -> None:
    columns = {"orders": ["id", "price"], "shop.orders": ["id"]}
    completer = SqlCompleter(lambda: ["orders", "offers"], lambda name: columns.get(name, []))

    def found(text: str, cursor: int | None = None) -> list[str]:
        at = len(text) if cursor is None else cursor
        return [
            each.text for each in completer.get_completions(Document(text, at), CompleteEvent())
        ]

    assert "SELECT" in found("SEL")
    assert "select" in found("sel")
    assert found("SELECT * FROM off") == ["offers"]
    assert "price" in found("SELECT pr FROM orders", 9)
    assert found("SELECT orders.p") == ["orders.price"]
    assert found("SELECT ") == []
    later = SqlCompleter(lambda: [], lambda name: columns.get(name, []), lambda: "FROM orders")
    texts = [c.text for c in later.get_completions(Document("WHERE pri"), CompleteEvent())]
    assert texts == ["price"]


def test_the_shell_collects_lines_until_the_semicolon() -> None:
    class Told:
        def __init__(self) -> None:
            self.statements: list[str] = []

        def run(self, statement: str) -> bool:
            self.statements.append(statement)
            return "bad" not in statement

    told = Told()
    shell = Shell(told)  # type: ignore[arg-type]
    shell.take("SELECT 1,")
    assert shell.prompt.strip() == "..."
    shell.take("  2; SELECT 3;")
    assert told.statements == ["SELECT 1,\n  2", "SELECT 3"]
    shell.take("bad; SELECT 4;")
    assert told.statements[-1] == "bad"
    shell.take("SELECT 'open")
    shell.clear()
    shell.take("exit;")
    assert shell.is_done


def test_messages_leave_out_plans() -> None:
    text = "[CODE] It failed. SQLSTATE: 1; line 1 pos 7;\n'Project ['x]\n+- Relation"
    assert message_of(Exception(text)) == "[CODE] It failed. SQLSTATE: 1; line 1 pos 7"


def test_wrong_arguments_end_with_a_code_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["sql", "-c", "SELECT 1", "--conf", "novalue"], ["sql", "-f", "/no/such"]):
        with pytest.raises(SystemExit) as raised:
            main(arguments)
        assert raised.value.code == 2
    assert main([]) == 2
    assert "sql" in capsys.readouterr().out


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("format", ["table", "csv", "json"])
def test_a_value_does_not_steer_a_terminal_and_is_whole_in_a_file(format: Any) -> None:
    value = "a\x1b[2Jb\x9bc\u202ed"
    shown = Terminal()
    show(Result([value], [[value]]), format, shown)
    assert not {"\x1b", "\x9b", "\u202e"} & set(
        shown.getvalue().replace("\x1b[1m", "").replace("\x1b[0m", "")
    )
    assert "[2Jb" in shown.getvalue()
    written = io.StringIO()
    show(Result([value], [[value]]), format, written)
    if format == "csv":
        assert list(csv.reader(io.StringIO(written.getvalue()))) == [[value], [value]]
    elif format == "json":
        assert json.loads(written.getvalue()) == {value: value}
