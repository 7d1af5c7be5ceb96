"""Which expressions the metadata of a table may have, by their tokens alone."""

from __future__ import annotations

import pytest

from lakebed.errors import ExpressionNotAllowedError, LakebedError, SchemaError
from lakebed.expressions.allowed import ExpressionKind, Parts, check_parts, parts_of_text

COLUMNS = ("id", "Name", "at")


def check(sql: str, kind: ExpressionKind = ExpressionKind.CHECK, also: str = "") -> None:
    check_parts(parts_of_text(sql), sql, kind, "c", COLUMNS, also.split(","))


@pytest.mark.parametrize(
    "sql",
    [
        "id > 0 AND (name IS NOT NULL OR id IN (1, 2))",
        "CASE WHEN (id > 1) THEN upper(name) ELSE 'SELECT (x)' END = 'java_method(1)'",
        "CAST(id AS DECIMAL(10, 2)) > 0 AND name::varchar(3) LIKE ANY ('a', 'b')",
        "trim(BOTH 'x' FROM (name)) <> '' AND system.builtin.length(name) < 9",
        "exists(array(id), x -> x > 1) AND at <= current_timestamp()",
        "at < current_date AND NOT (id = 1)",
    ],
)
def test_built_in_functions_and_operators_are_allowed(sql: str) -> None:
    check(sql)


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("java_method('a', 'b') = 'c'", "the function java_method"),
        ("`reflect`('a', 'b') = 'c'", "the function reflect"),
        ("REFLECT /* */ ('a', 'b') = 'c'", "the function reflect"),
        ("main.tools.f(id)", "the function main.tools.f"),
        ("try_reflect('a', 'b') IS NULL", "the function try_reflect"),
        ("input_file_name() <> ''", "the function input_file_name"),
        ("rand() < 2", "the function rand"),
        ("id IN (SELECT id FROM secrets)", "a subquery"),
        ("id = (VALUES (1))", "a subquery"),
        ("sum(id) > 1", "the function sum"),
        ("lag(id) OVER (ORDER BY id) > 1", "a window"),
        ("IDENTIFIER('java_' || 'method')('a')", "IDENTIFIER"),
        ("name = ${env:HOME}", "the sign $"),
        ("current_user = 'a'", "the function current_user"),
    ],
)
def test_all_else_is_refused_by_its_name(sql: str, found: str) -> None:
    with pytest.raises(ExpressionNotAllowedError) as error:
        check(sql)
    assert f"uses {found};" in str(error.value)
    assert "the CHECK constraint c" in str(error.value)


def test_the_error_names_the_setting_that_widens_the_list() -> None:
    with pytest.raises(ExpressionNotAllowedError, match=r"spark\.lakebed\.expressions\.allow"):
        check("my_udf(id) > 0")
    check("my_udf(id) > 0", also="other, MY_UDF")
    check("tools.my_udf(id) > 0", also="tools.my_udf")
    with pytest.raises(ExpressionNotAllowedError, match="my_udf"):
        check("tools.my_udf(id) > 0", also="tools")


def test_moments_and_the_user_are_for_defaults() -> None:
    check("current_user", ExpressionKind.DEFAULT)
    check("now()", ExpressionKind.DEFAULT)
    with pytest.raises(ExpressionNotAllowedError, match="now"):
        check("now()", ExpressionKind.GENERATED)


def test_names_must_be_columns() -> None:
    """Spark would look for variables of the session, too."""
    with pytest.raises(SchemaError, match="secret"):
        check_parts(Parts(names=[("secret",)]), "secret", ExpressionKind.CHECK, "c", COLUMNS, ())
    check_parts(Parts(names=[("NAME", "x")]), "NAME.x", ExpressionKind.CHECK, "c", COLUMNS, ())


def test_functions_that_a_session_has_replaced_are_refused() -> None:
    parts = Parts(functions=[("upper",)], replaced=frozenset(["upper"]))
    with pytest.raises(LakebedError, match="replaced"):
        check_parts(parts, "upper(name)", ExpressionKind.CHECK, "c", COLUMNS, ())
