"""The grammar of scripts: text to a tree. No Spark is needed."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lakebed.errors import LakebedError, SqlError
from lakebed.sql.script.assignments import with_defaults
from lakebed.sql.script.grammar import parse_script
from lakebed.sql.script.pieces import likely_statements
from lakebed.sql.script.references import with_places
from lakebed.sql.script.tree import (
    Block,
    Case,
    Declare,
    For,
    If,
    Iterate,
    Leave,
    Loop,
    Node,
    Plain,
    Repeat,
    SetVariables,
    While,
    expressions,
    nodes,
)


def only(body: str) -> Node:
    """The one statement of a script."""
    (found,) = parse_script(f"BEGIN {body}; END").body
    return found


def test_statements_end_at_semicolons_outside_of_strings_names_and_comments() -> None:
    sql = """begin not atomic
      SELECT ';' || "a;" || r'\\;', `b;c` /* ; END; */ -- ; END
        FROM t;
      INSERT INTO t SELECT CASE WHEN a THEN 1 ELSE 2 END FROM u;
    end; -- the end"""
    first, second = parse_script(sql).body
    assert isinstance(first, Plain)
    assert first.text.text.endswith("FROM t")
    assert isinstance(second, Plain)
    assert second.text.text == "INSERT INTO t SELECT CASE WHEN a THEN 1 ELSE 2 END FROM u"
    for each in (first, second):
        position, text = each.text.position, each.text.text
        assert sql[position : position + len(text)] == text


def test_blocks_have_labels_variables_conditions_and_handlers() -> None:
    outer = only(
        """`The Label`: BEGIN
          DECLARE a, `b c` DECIMAL(10, 2) DEFAULT 1 + 1;
          DECLARE VARIABLE d = 'x';
          DECLARE OR REPLACE e STRUCT<default: INT, m: MAP<STRING, INT>> DEFAULT NULL;
          DECLARE f INT;
          DECLARE var = 2;
          DECLARE wrong CONDITION FOR SQLSTATE VALUE '4200x';
          DECLARE other CONDITION;
          DECLARE EXIT HANDLER FOR SQLSTATE '22012', wrong, a.b SET f = 1;
          DECLARE CONTINUE HANDLER FOR NOT FOUND l: BEGIN LEAVE l; END l;
          DECLARE CONTINUE HANDLER FOR SQLEXCEPTION INSERT INTO t VALUES (1);
          SELECT f;
        END `the label`"""
    )
    assert isinstance(outer, Block)
    assert outer.label == "the label"
    declared = [each for each in outer.body if isinstance(each, Declare)]
    assert [each.names for each in declared] == [
        (("a",), ("b c",)),
        (("d",),),
        (("e",),),
        (("f",),),
        (("var",),),
    ]
    assert [str(each.kind) for each in declared] == [
        "DECIMAL(10, 2)",
        "None",
        "STRUCT<default: INT, m: MAP<STRING, INT>>",
        "INT",
        "None",
    ]
    assert [str(each.default) for each in declared] == ["1 + 1", "'x'", "NULL", "None", "2"]
    assert [each.replaces for each in declared] == [False, False, True, False, False]
    assert outer.conditions == {"WRONG": "4200X", "OTHER": "45000"}
    by_state, not_found, any_error = outer.handlers
    assert by_state.is_exit
    assert (by_state.states, by_state.conditions) == ({"22012"}, {"WRONG", "A.B"})
    assert (not_found.is_exit, not_found.not_found, not_found.errors) == (False, True, False)
    assert not_found.body == Block("l", (Leave("l"),))
    assert any_error.errors
    assert isinstance(any_error.body.body[0], Plain)


def test_branches_and_loops() -> None:
    branches = only(
        "IF a = 1 THEN SELECT 1; SELECT 2; ELSEIF b THEN SELECT 3; ELSE SELECT 4; END IF"
    )
    assert isinstance(branches, If)
    assert [str(each.condition) for each in branches.branches] == ["a = 1", "b"]
    assert [len(each.body) for each in branches.branches] == [2, 1]
    assert len(branches.otherwise) == 1
    searched = only("CASE WHEN CASE x WHEN 1 THEN true END THEN SELECT 1; END CASE")
    assert isinstance(searched, If)
    assert str(searched.branches[0].condition) == "CASE x WHEN 1 THEN true END"
    simple = only(
        "CASE CASE WHEN a THEN 1 END WHEN 1 THEN SELECT 1; WHEN 2 THEN SELECT 2; END CASE"
    )
    assert isinstance(simple, Case)
    assert str(simple.subject) == "CASE WHEN a THEN 1 END"
    assert simple.otherwise == ()
    loop = only("l: WHILE (SELECT max(t.do) FROM t) > 1 DO ITERATE L; END WHILE l")
    assert isinstance(loop, While)
    assert (str(loop.condition), loop.body) == ("(SELECT max(t.do) FROM t) > 1", (Iterate("l"),))
    until = only("REPEAT SET x = 1; UNTIL CASE WHEN x = 1 THEN true END END REPEAT")
    assert isinstance(until, Repeat)
    assert str(until.until) == "CASE WHEN x = 1 THEN true END"
    endless = only("l: LOOP BEGIN LEAVE l; END; END LOOP")
    assert isinstance(endless, Loop)
    assert endless.body == (Block(None, (Leave("l"),)),)


def test_for_loops_may_have_a_variable() -> None:
    plain = only("FOR WITH c AS (SELECT 1 AS a) SELECT a FROM c DO SELECT a; END FOR")
    assert isinstance(plain, For)
    assert (plain.variable, str(plain.query)[:6]) == (None, "WITH c")
    named = only("l: FOR R AS SELECT a FROM t DO SELECT r.a; END FOR l")
    assert isinstance(named, For)
    assert (named.label, named.variable, str(named.query)) == ("l", "r", "SELECT a FROM t")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SET x = 1", "x = 1"),
        ("SET VAR x = 1, l.y = 2", "x = 1, l.y = 2"),
        ("SET variable (a, b) = (SELECT 1, 2)", "(a, b) = (SELECT 1, 2)"),
        ("SET var = 1", "var = 1"),
        ("SET catalog = 1", "catalog = 1"),
    ],
)
def test_set_is_for_variables(text: str, expected: str) -> None:
    found = only(text)
    assert isinstance(found, SetVariables)
    assert str(found.text) == expected


def test_set_of_the_catalog_is_a_statement() -> None:
    assert isinstance(only("SET CATALOG spark_catalog"), Plain)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("BEGIN SELECT 1", "expected ';'"),
        ("BEGIN SELECT 1 END", "expected ';'"),
        ("BEGIN SELECT 1; END x", "should end here"),
        ("BEGIN SELECT 1; END; SELECT 2", "should end here"),
        ("BEGIN ; END", "expected a statement"),
        ("x: BEGIN SELECT 1; END", "takes no label"),
        ("BEGIN x: BEGIN SELECT 1; END y; END", "does not have the label y"),
        ("BEGIN BEGIN SELECT 1; END y; END", "does not have the label y"),
        ("BEGIN x: BEGIN LOOP SELECT 1; END LOOP x; END; END", "does not have the label x"),
        ("BEGIN x: BEGIN x: LOOP SELECT 1; END LOOP; END; END", "taken already"),
        ("BEGIN x: FOR x AS SELECT 1 DO SELECT 1; END FOR; END", "taken already"),
        ("BEGIN x: SELECT 1; END", "a label cannot be before"),
        ("BEGIN LEAVE x; END", "no label x"),
        ("BEGIN LEAVE 1; END", "expected a label"),
        ("BEGIN FOR x AS SELECT 1 DO LEAVE x; END FOR; END", "no label x"),
        ("BEGIN x: BEGIN ITERATE x; END; END", "ITERATE is for loops"),
        ("BEGIN IF x SELECT 1; END IF; END", "expected THEN"),
        ("BEGIN IF THEN SELECT 1; END IF; END", "expected an expression"),
        ("BEGIN IF x THEN END IF; END", "expected a statement"),
        ("BEGIN IF x THEN SELECT 1; END; END", "expected IF"),
        ("BEGIN CASE x THEN SELECT 1; END CASE; END", "expected WHEN"),
        ("BEGIN SELECT 1; DECLARE x INT; END", "declarations are at the beginning"),
        ("BEGIN IF x THEN DECLARE x INT; END IF; END", "declarations are at the beginning"),
        (
            "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 1; DECLARE x INT; END",
            "declarations are at the beginning",
        ),
        ("BEGIN DECLARE x CONDITION; DECLARE X CONDITION; END", "declared already"),
        ("BEGIN DECLARE x CONDITION FOR SQLSTATE '1'; END", "not the SQLSTATE"),
        ("BEGIN DECLARE EXIT HANDLER FOR SQLSTATE '00000' SELECT 1; END", "not the SQLSTATE"),
        ("BEGIN DECLARE EXIT HANDLER FOR x, x SELECT 1; END", "twice"),
        ("BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION, x SELECT 1; END", "stand alone"),
        ("BEGIN DECLARE c CURSOR FOR SELECT 1; END", "cursors"),
        ("BEGIN DECLARE c INSENSITIVE CURSOR FOR SELECT 1; END", "cursors"),
        ("BEGIN OPEN c; END", "cursors"),
        ("BEGIN SELECT 'x; END", "closing quote"),
        ("BEGIN " * 70 + "END; " * 70, "nested too deeply"),
    ],
)
def test_mistakes_are_told_with_their_place(text: str, message: str) -> None:
    with pytest.raises(SqlError, match=message) as caught:
        parse_script(text)
    assert caught.value.position is not None


def test_all_parts_of_a_script_are_found() -> None:
    script = parse_script(
        "BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION SELECT 1; IF a THEN SELECT 2; END IF; "
        "WHILE b DO REPEAT SELECT 3; UNTIL c END REPEAT; END WHILE; "
        "CASE d WHEN e THEN SELECT 4; ELSE FOR SELECT 5 DO SELECT 6; END FOR; END CASE; END"
    )
    found = list(nodes(script))
    assert [str(each.text) for each in found if isinstance(each, Plain)] == [
        f"SELECT {n}" for n in (1, 2, 3, 4, 6)
    ]
    assert [str(each) for node in found for each in expressions(node)] == list("abcde")


_WORDS = (
    "BEGIN END IF THEN ELSEIF ELSE CASE WHEN WHILE DO REPEAT UNTIL LOOP FOR AS LEAVE ITERATE SET "
    "VAR DECLARE HANDLER CONDITION EXIT CONTINUE SQLSTATE SQLEXCEPTION NOT FOUND ATOMIC DEFAULT "
    "CURSOR SELECT x y l : ; , = ( ) '42000' `q` < > . 1 /*c*/"
)


@given(st.lists(st.sampled_from([*_WORDS.split(), "--c\n"]), max_size=40))
@example(["BEGIN", "l", ":", "LOOP", "LEAVE", "l", ";", "END", "LOOP", "l", ";", "END"])
def test_any_words_are_a_script_or_an_error(words: list[str]) -> None:
    text = "BEGIN " + " ".join(words)
    try:
        script = parse_script(text)
    except LakebedError:
        return
    for node in nodes(script):
        for each in expressions(node):
            assert text[each.position :].startswith(each.text)


@given(st.text(max_size=80))
def test_any_text_is_a_script_or_an_error(text: str) -> None:
    for each in (text, f"BEGIN {text}", f"BEGIN {text}; END"):
        likely_statements(each)
        try:
            parse_script(each)
        except LakebedError:
            continue


def test_likely_statements_of_what_cannot_be_parsed() -> None:
    text = "BEGIN DECLARE c CURSOR FOR SELECT a; IF x THEN INSERT INTO t VALUES (1); END IF"
    found = likely_statements(text)
    assert {"SELECT a", "INSERT INTO t VALUES (1)"} <= set(found)


PLACES = {("l", "x"): "system.session.`x`", ("system", "session", "y"): "system.session.`h`"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT l.x", "SELECT system.session.`x`"),
        ("SELECT `L`.X + system . session.y.z", "SELECT system.session.`x` + system.session.`h`.z"),
        ("SET VAR l.x = l.x", "SET VAR system.session.`x` = system.session.`x`"),
        ("SELECT a.l.x, l.x(1), 'l.x', x, l", None),
        ("SELECT l.x FROM t AS l", None),
        ("SELECT l.x FROM (SELECT 1 AS x) l", None),
        ("SELECT l.x FROM l", None),
        ("SELECT l.x FROM db.l", None),
        ("UPDATE t l SET a = l.x", None),
        (
            "SELECT l FROM t WHERE l.x = l AND l > 1",
            "SELECT l FROM t WHERE system.session.`x` = l AND l > 1",
        ),
    ],
)
def test_names_with_labels_lead_to_variables_unless_tables_have_them(
    text: str, expected: str | None
) -> None:
    assert with_places(text, PLACES) == (text if expected is None else expected)


def test_defaults_of_variables_are_written_out() -> None:
    found = with_defaults(
        "x = DEFAULT, l.Y = default, z = DEFAULT, x = 1", {"x": "1 + 1", "y": "2"}
    )
    assert found == "x = (1 + 1), l.Y = (2), z = DEFAULT, x = 1"
