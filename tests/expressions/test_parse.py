"""SQL text becomes typed trees by Spark's rules, or an error that points at the culprit."""

from __future__ import annotations

import re
from decimal import Decimal
from random import Random

import predicate_grammar as grammar
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.errors import PredicateError
from lakebed.expressions import (
    And,
    Case,
    Cast,
    Column,
    Compare,
    Expression,
    In,
    IsNotNull,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    StartsWith,
    parse_expression,
    parse_predicate,
    to_sql,
)
from lakebed.spec.schema import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VOID,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructField,
    StructType,
)

INNER = StructType((StructField("Deep", StructType((StructField("Leaf", LONG),))),))
SCHEMA = StructType(
    (
        *grammar.SCHEMA.fields,
        StructField("nested", INNER),
        StructField("we ird", LONG),
        StructField("back`tick", LONG),
        StructField("a.b", LONG),
        StructField("date", DATE),
        StructField("bin", BINARY),
        StructField("list", ArrayType(LONG)),
        StructField("lookup", MapType(STRING, LONG)),
        StructField("code", STRING, True, {"__CHAR_VARCHAR_TYPE_STRING": "char(5)"}),
        StructField("name", STRING, True, {"__COLLATIONS": {"name": "icu.UNICODE_CI"}}),
    )
)

ID = Column(("id",), LONG)
I = Column(("i",), INTEGER)  # noqa: E741
X = Column(("x",), DOUBLE)
S = Column(("s",), STRING)
D = Column(("d",), DATE)
TS = Column(("ts",), TIMESTAMP)
B = Column(("b",), BOOLEAN)


def long(value: int) -> Literal:
    return Literal(value, LONG)


# --- literals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "value", "data_type"),
    [
        ("1", 1, INTEGER),
        ("2147483648", 2147483648, LONG),
        ("-2147483648", -2147483648, INTEGER),
        ("-9223372036854775808", -(2**63), LONG),
        ("9223372036854775808", Decimal(2**63), DecimalType(19, 0)),
        ("1L", 1, LONG),
        ("1S", 1, SHORT),
        ("1y", 1, BYTE),
        ("1.5", Decimal("1.5"), DecimalType(2, 1)),
        ("0.05", Decimal("0.05"), DecimalType(2, 2)),
        (".5", Decimal("0.5"), DecimalType(1, 1)),
        ("1.", Decimal("1"), DecimalType(1, 0)),
        ("1.50", Decimal("1.50"), DecimalType(3, 2)),
        ("1.5BD", Decimal("1.5"), DecimalType(2, 1)),
        ("1e3BD", Decimal(1000), DecimalType(4, 0)),
        ("1e3", 1000.0, DOUBLE),
        ("1.5D", 1.5, DOUBLE),
        ("16777217F", 16777216.0, FLOAT),
        ("'a'", "a", STRING),
        ('"a"', "a", STRING),
        ("'it''s \"\" '", 'it\'s "" ', STRING),
        ('"a ""b"" \'\'"', "a \"b\" ''", STRING),
        (r"'it\'s \n \u0041 \101 \\ \x'", "it's \n A A \\ x", STRING),
        (r"'a\%b\_c'", r"a\%b\_c", STRING),
        (r"'\ud83d\ude00'", "\U0001f600", STRING),
        (r"r'\d'", r"\d", STRING),
        ("X'1Fa'", b"\x01\xfa", BINARY),
        ("TRUE", True, BOOLEAN),
        ("null", None, VOID),
        ("DATE '2024-02-29'", 19782, DATE),
        ("date'1969-12-31'", -1, DATE),
        ("TIMESTAMP '1970-01-01 00:00:01.5'", 1_500_000, TIMESTAMP),
        ("TIMESTAMP '1970-01-01 02:00:00+02:00'", 0, TIMESTAMP),
        ("TIMESTAMP '1970-01-01 01:00:00 Europe/Berlin'", 0, TIMESTAMP),
        ("TIMESTAMP_NTZ '1970-01-01 02:00:00+02:00'", 7_200_000_000, TIMESTAMP_NTZ),
        ("CAST('NaN' AS DOUBLE)", float("nan"), DOUBLE),
        ("'12'::INT", 12, INTEGER),
        ("CAST(12.345 AS DECIMAL(4, 1))", Decimal("12.3"), DecimalType(4, 1)),
        ("CAST(NULL AS DATE)", None, DATE),
        ("/* a */ 1 -- b", 1, INTEGER),
    ],
)
def test_constants_have_the_types_that_spark_gives_them(
    sql: str, value: object, data_type: DataType
) -> None:
    assert parse_expression(sql, SCHEMA) == Literal(value, data_type)


# --- columns -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "path"),
    [
        ("ID", ("id",)),
        ("`iD`", ("id",)),
        ("nested.deep.LEAF", ("nested", "Deep", "Leaf")),
        ("`nested`.`deep`.leaf", ("nested", "Deep", "Leaf")),
        ("`we ird`", ("we ird",)),
        ("`back``tick`", ("back`tick",)),
        ("`a.b`", ("a.b",)),
        ("date", ("date",)),
    ],
)
def test_columns_are_found_in_any_case_and_spelled_as_in_the_schema(
    sql: str, path: tuple[str, ...]
) -> None:
    column = parse_expression(sql, SCHEMA)
    assert isinstance(column, Column)
    assert column.path == path


# --- operators and precedence ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("id = 1", Compare("=", ID, long(1))),
        ("id == 1L", Compare("=", ID, long(1))),
        ("id != 1", Compare("<>", ID, long(1))),
        ("1 <=> id", Compare("<=>", long(1), ID)),
        ("id !< 1", Compare(">=", ID, long(1))),
        ("b", B),
        ("NOT b", Not(B)),
        ("! b", Not(B)),
        ("b AND NOT b OR b", Or((And((B, Not(B))), B))),
        ("b OR b AND b", Or((B, And((B, B))))),
        ("b AND b AND b", And((B, B, B))),
        ("(b AND b) AND b", And((B, B, B))),
        ("NOT id = 1", Not(Compare("=", ID, long(1)))),
        ("id IS NULL", IsNull(ID)),
        ("list IS NOT NULL", IsNotNull(Column(("list",), ArrayType(LONG)))),
        ("id = 1 IS NULL", IsNull(Compare("=", ID, long(1)))),
        ("b IS UNKNOWN", IsNull(B)),
        ("b IS TRUE", Compare("<=>", B, Literal(True, BOOLEAN))),
        ("b IS NOT FALSE", Not(Compare("<=>", B, Literal(False, BOOLEAN)))),
        ("id IS DISTINCT FROM 1", Not(Compare("<=>", ID, long(1)))),
        ("id IS NOT DISTINCT FROM 1", Compare("<=>", ID, long(1))),
        ("id IN (1, 2)", In(ID, (long(1), long(2)))),
        ("id NOT IN (1)", Not(In(ID, (long(1),)))),
        ("b = (id IN (1))", Compare("=", B, In(ID, (long(1),)))),
        (
            "id BETWEEN 1 AND 2 AND b",
            And((Compare(">=", ID, long(1)), Compare("<=", ID, long(2)), B)),
        ),
        (
            "id NOT BETWEEN 1 AND 2",
            Not(And((Compare(">=", ID, long(1)), Compare("<=", ID, long(2))))),
        ),
        ("s LIKE 'a%'", Like(S, "a%")),
        ("s NOT LIKE 'a!%' ESCAPE '!'", Not(Like(S, "a!%", "!"))),
        ("s LIKE NULL", Literal(None, BOOLEAN)),
        ("startswith(s, 'a')", StartsWith(S, "a")),
        ("isnull(s)", IsNull(S)),
    ],
)
def test_conditions_bind_as_in_spark(sql: str, expected: Expression) -> None:
    assert parse_predicate(sql, SCHEMA) == expected


@pytest.mark.parametrize(
    ("sql", "same"),
    [
        ("i + 2 * i", "i + (2 * i)"),
        ("i - 2 - i", "(i - 2) - i"),
        ("i * 2 DIV i % 3", "((i * 2) DIV i) % 3"),
        ("-i + 2", "(-i) + 2"),
        ("i + 1 || s", "(i + 1) || s"),
        ("i < 2 = b", "(i < 2) = b"),
        ("b = i < 2", "(b = i) < 2"),
        ("i + 1 BETWEEN 2 AND 3 + 4", "(i + 1) BETWEEN 2 AND (3 + 4)"),
        ("NOT b = b AND b", "(NOT (b = b)) AND b"),
        ("CASE i WHEN 1 THEN 2 ELSE 3 END", "CASE WHEN i = 1 THEN 2 ELSE 3 END"),
        ("if(b, 1, 2)", "CASE WHEN b THEN 1 ELSE 2 END"),
        ("nvl(i, 1)", "coalesce(i, 1)"),
        ("substr(s, 2)", "substring(s, 2, 2147483647)"),
        ("d + 1", "date_add(d, 1)"),
        ("to_date(ts)", "CAST(ts AS DATE)"),
    ],
)
def test_operators_bind_and_functions_rewrite_as_in_spark(sql: str, same: str) -> None:
    def outcome(text: str) -> object:
        try:
            return parse_expression(text, SCHEMA)
        except PredicateError as error:
            return error.message.splitlines()[0]

    assert outcome(sql) == outcome(same)


# --- implicit casts ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("d = '2024-02-29'", Compare("=", D, Literal(19782, DATE))),
        ("'2024-2' < d", Compare("<", Literal(19754, DATE), D)),
        ("ts > '1970-01-01 00:00:01'", Compare(">", TS, Literal(1_000_000, TIMESTAMP))),
        ("ts = DATE '1970-01-02'", Compare("=", TS, Literal(86_400_000_000, TIMESTAMP))),
        ("d = ts", Compare("=", Cast(D, TIMESTAMP), TS)),
        ("id = i", Compare("=", ID, Cast(I, LONG))),
        ("i = 3000000000", Compare("=", Cast(I, LONG), long(3_000_000_000))),
        ("x = 1", Compare("=", X, Literal(1.0, DOUBLE))),
        ("f = 1", Compare("=", Cast(Column(("f",), FLOAT), DOUBLE), Literal(1.0, DOUBLE))),
        ("x = 1.5", Compare("=", X, Literal(1.5, DOUBLE))),
        (
            "i = 1.5",
            Compare("=", Cast(I, DecimalType(10, 0)), Literal(Decimal("1.5"), DecimalType(2, 1))),
        ),
        ("i = '5'", Compare("=", Cast(I, LONG), long(5))),
        ("x = '5'", Compare("=", X, Literal(5.0, DOUBLE))),
        ("s = 5", Compare("=", Cast(S, LONG), long(5))),
        ("b = 'true'", Compare("=", B, Literal(True, BOOLEAN))),
        ("bin = 'A'", Compare("=", Column(("bin",), BINARY), Literal(b"A", BINARY))),
        ("id = NULL", Compare("=", ID, Literal(None, LONG))),
        ("id IN (1, 2.5)", None),
        ("code = 'ab'", Compare("=", Column(("code",), STRING), Literal("ab   ", STRING))),
        ("code IN ('ab')", In(Column(("code",), STRING), (Literal("ab   ", STRING),))),
    ],
)
def test_the_sides_of_a_comparison_are_cast_as_in_spark(
    sql: str, expected: Expression | None
) -> None:
    wide = DecimalType(21, 1)
    options = (Literal(Decimal("1.0"), wide), Literal(Decimal("2.5"), wide))
    assert parse_predicate(sql, SCHEMA) == (expected or In(Cast(ID, wide), options))


@pytest.mark.parametrize(
    ("sql", "data_type"),
    [
        ("i + id", LONG),
        ("i + 1.5F", DOUBLE),
        ("f + f", FLOAT),
        ("i / 2", DOUBLE),
        ("i DIV 2", LONG),
        ("i % 2", INTEGER),
        ("m + 1", DecimalType(7, 2)),
        ("m + id", DecimalType(23, 2)),
        ("m * m", DecimalType(13, 4)),
        ("m / m", DecimalType(15, 9)),
        ("m % 1.5", DecimalType(3, 2)),
        ("m + x", DOUBLE),
        ("i + '1'", LONG),
        ("i + NULL", INTEGER),
        ("coalesce(i, 2.5)", DecimalType(11, 1)),
        ("CASE WHEN b THEN d ELSE ts END", TIMESTAMP),
        ("CASE WHEN b THEN NULL END", VOID),
        ("concat(s, i)", STRING),
        ("year(ts)", INTEGER),
        ("date_trunc('month', d)", TIMESTAMP),
        ("abs(m)", DecimalType(6, 2)),
        ("nullif(i, 1L)", INTEGER),
    ],
)
def test_results_have_the_types_that_spark_gives_them(sql: str, data_type: DataType) -> None:
    assert parse_expression(sql, SCHEMA).data_type == data_type


def test_branches_of_case_are_cast_to_their_common_type() -> None:
    parsed = parse_expression("CASE WHEN b THEN i ELSE id END", SCHEMA)
    assert parsed == Case(((B, Cast(I, LONG)),), ID, LONG)


# --- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sql", "at", "message", "hint"),
    [
        ("", "", "the predicate is empty", ""),
        ("  -- nothing", "", "the predicate is empty", ""),
        ("idd = 1", "idd", "there is no column idd", "Did you mean id?"),
        ("`we irt` = 1", "`we irt`", "there is no column `we irt`", "Did you mean `we ird`?"),
        ("zzz = 1", "zzz", "there is no column zzz", "There are: id, i, x"),
        ("nested.deap.leaf = 1", "deap", "there is no column deap in nested", "Did you mean Deep?"),
        ("id.a = 1", "a = 1", "column id is of type long and has no fields", ""),
        ("id = ", "", "expected a value, found the end", ""),
        ("id = 1 b", "b", "expected the end, found 'b'", ""),
        ("id = 1 AND", "", "expected a value, found the end", ""),
        ("AND id = 1", "AND", "expected a value, found 'AND'", "`AND`"),
        ("(id = 1", "", "expected ')', found the end", ""),
        ("id = 1)", ")", "expected the end, found ')'", ""),
        ("id = 'x", "'x", "this string has no closing quote", ""),
        ("`id = 1", "`id", "this name has no closing backtick", ""),
        ("id = 1 /* x", "/* x", "this comment has no end", ""),
        ("id = #", "#", "unexpected character '#'", ""),
        ("id = 'a' 'b'", "'b'", "two strings in a row", "\\'"),
        ("s = 'it' 's'", "'s'", "two strings in a row", "\\'"),
        ("s = '\\ud800'", "'\\ud800'", "an escape that is no character", ""),
        ("id", "id", "expected a condition, found a value of type long", "Compare"),
        ("id AND b", "id", "expected a condition, found a value of type long", ""),
        ("b AND s", "s", "expected a condition, found a value of type string", ""),
        ("NOT id", "id", "expected a condition, found a value of type long", ""),
        ("d = 5", "=", "date = integer: these types cannot be compared", "Cast"),
        ("b < 1", "<", "boolean < integer: these types cannot be compared", ""),
        ("d = 'tomorrow'", "'tomorrow'", "'tomorrow' of type string cannot be cast to date", ""),
        ("i = 'x'", "'x'", "'x' of type string cannot be cast to long", ""),
        ("DATE '2024-13-01' = d", "'2024", "cannot be cast to date", ""),
        ("id IN (1, 'x')", "'x'", "'x' of type string cannot be cast to long", ""),
        ("id IN ()", "()", "IN needs at least one value", ""),
        ("id IN 1", "1", "expected '(', found '1'", ""),
        ("list = list", "list", "values of type array<long> cannot be compared", "IS NULL"),
        ("list[0] = 1", "[0]", "elements of arrays, maps and variants", ""),
        ("lookup['a'] = 1", "['a']", "elements of arrays, maps and variants", ""),
        ("d + 1.5 > d", "+", "date + decimal(2,1): these are not numbers", "date_add"),
        ("s + s = 1", "+", "string + string: these are not numbers", ""),
        ("-d = d", "d = d", "- takes a number, not a date", ""),
        ("x DIV 2 = 1", "DIV", "div takes whole numbers only", ""),
        ("count(*) > 1", "count", "count is an aggregate", "Compute"),
        ("sum(id) > 1", "sum", "sum is an aggregate", ""),
        ("count(DISTINCT id) > 1", "count", "count is an aggregate", ""),
        ("row_number() OVER () = 1", "row_number", "a window function", ""),
        ("id IN (SELECT 1)", "SELECT", "subqueries are not supported", "Run the query first"),
        ("id = (SELECT max(id) FROM t)", "SELECT", "subqueries are not supported", ""),
        ("EXISTS (SELECT 1)", "SELECT", "subqueries are not supported", ""),
        ("lowr(s) = 'a'", "lowr", "unknown function lowr", "Did you mean lower?"),
        ("zzz(s) = 'a'", "zzz", "unknown function zzz", "The functions are: abs, "),
        ("now() > ts", "now", "now has a new value at every call", "Compute"),
        ("lower() = 'a'", "lower", "lower takes 1 arguments, not 0", ""),
        ("substring(s) = 'a'", "substring", "substring takes 2 to 3 arguments, not 1", ""),
        ("substring(s, i) = 'a'", "i) =", "the position in substring must be a constant", ""),
        ("date_trunc('eon', ts) = ts", "'eon'", "date_trunc has no unit 'eon'", "year, quarter"),
        ("year(id) = 1", "id)", "year takes a date or a timestamp, not a long", ""),
        ("lower(x) = 'a'", "x)", "a double has no single text", ""),
        ("s RLIKE 'a'", "RLIKE", "RLIKE is not supported", "LIKE"),
        ("s LIKE s", "s", "the pattern of LIKE must be a constant", ""),
        ("s LIKE 'a\\\\b'", "'a", "before 'b'", "ESCAPE"),
        ("s LIKE 'a' ESCAPE 'xy'", "'xy'", "expected a string of one character", ""),
        ("CAST(id AS THING) = 1", "THING", "unknown type 'thing'", ""),
        ("CAST(id AS DECIMAL(50)) = 1", "DECIMAL", "is no type", ""),
        ("CAST(d AS INT) = 1", "d AS", "a value of type date cannot be cast to integer", ""),
        ("TRY_CAST(id AS INT) = 1", "TRY_CAST", "TRY_CAST is not supported", ""),
        ("d > d - INTERVAL '1' DAY", "INTERVAL", "intervals are not supported", ""),
        ("id = 1 IS NULL IS NULL", "IS NULL", "expected the end, found 'IS'", ""),
        ("b = NOT b", "NOT", "expected a value, found 'NOT'", "parentheses"),
        ("1.5L = id", "1.5L", "1.5L is no whole number", ""),
        ("128Y = id", "128Y", "'128' of type string cannot be cast to byte", ""),
        (f"{'9' * 39} = id", "9", "the number has more than 38 digits", ""),
        ("CASE WHEN b THEN 1", "", "expected END, found the end", ""),
        ("CASE WHEN b THEN d ELSE 1 END = d", "1 END", "CASE: date and integer", ""),
        ("x'1g' = bin", "x'1g'", "no hexadecimal digits", ""),
        ("name = 'a'", "name", "the collation icu.UNICODE_CI", ""),
        ("(id, i) IN ((1, 2))", "(id", "a list of values is only possible after IN", ""),
        (":p = 1", ":p", "expected a value, found ':'", ""),
        ("id & 1 = 1", "&", "expected the end, found '&'", ""),
        ("b; b", ";", "expected the end, found ';'", ""),
    ],
)
def test_errors_point_at_the_culprit(sql: str, at: str, message: str, hint: str) -> None:
    with pytest.raises(PredicateError) as caught:
        parse_predicate(sql, SCHEMA)
    error = caught.value
    assert message in error.message
    assert hint in (error.hint or "")
    assert error.sql == sql
    assert error.position is not None
    expected = sql.rfind(at) if at in ("s", "IS NULL", "1 END", "x)", "id)") else sql.find(at)
    assert error.position == (expected if at else len(sql))


def test_something_that_is_no_text_is_an_error() -> None:
    with pytest.raises(PredicateError, match="a predicate is SQL text, not int"):
        parse_predicate(5, SCHEMA)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "sql",
    [
        "(" * 5000 + "b" + ")" * 5000,
        "NOT " * 5000 + "b",
        "- " * 5000 + "i = 1",
        " + ".join(["i"] * 5000) + " = 1",
        "CASE WHEN b THEN " * 5000,
        "abs(" * 5000,
    ],
    ids=["parentheses", "not", "minus", "sum", "case", "calls"],
)
def test_deep_nesting_is_an_error_and_no_crash(sql: str) -> None:
    with pytest.raises(PredicateError, match="nested more than"):
        parse_predicate(sql, SCHEMA)


def test_long_chains_of_conditions_are_no_deep_nesting() -> None:
    parsed = parse_predicate(" OR ".join(f"id = {each}" for each in range(5000)), SCHEMA)
    assert isinstance(parsed, Or)
    assert len(parsed.operands) == 5000


# --- properties --------------------------------------------------------------------------------

_PIECES = re.findall(
    r"\S+",
    """
    id s d b x ts nested . , ( ) = <> < <=> + - * / % || :: ! AND OR NOT IN IS NULL LIKE ESCAPE
    BETWEEN CASE WHEN THEN ELSE END CAST AS INT DECIMAL(5,2) TRUE DISTINCT FROM 1 2.5 1e3 1L 'a'
    '2024-01-01' DATE TIMESTAMP X'41' ` ' " [ ] ; : ? /* */ -- lower year substring count SELECT
    é \ud800 \x00
    """,
)


@settings(max_examples=500, deadline=None)
@given(st.one_of(st.text(max_size=40), st.lists(st.sampled_from(_PIECES)).map(" ".join)))
def test_any_text_is_parsed_or_refused_with_a_predicate_error(sql: str) -> None:
    position = error_position(sql)
    assert position is None or 0 <= position <= len(sql)


def error_position(sql: str) -> int | None:
    try:
        parse_expression(sql, SCHEMA)
    except PredicateError as error:
        return -1 if error.position is None else error.position
    return None


@settings(max_examples=100, deadline=None)
@given(st.randoms(use_true_random=True))
def test_what_to_sql_writes_is_parsed_as_the_same_tree(random: Random) -> None:
    for sql in [grammar.predicate(random) for _ in range(10)]:
        parsed = parse_predicate(sql, grammar.SCHEMA)
        assert parse_predicate(to_sql(parsed), grammar.SCHEMA) == parsed
