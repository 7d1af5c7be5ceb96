from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import ConstraintViolationError, SchemaError
from lakebed.spec.columns import column_metadata as m
from lakebed.spec.schema import LONG, STRING, ArrayType, StructField, StructType


def column(**metadata: Any) -> StructField:
    return StructField("x", LONG, True, {key.replace("__", "."): v for key, v in metadata.items()})


def test_a_plain_column_has_nothing_special() -> None:
    plain = column()
    assert m.comment(plain) is None
    assert m.invariant(plain) is None
    assert m.generation_expression(plain) is None
    assert m.current_default(plain) is None
    assert m.exists_default(plain) is None
    assert m.identity(plain) is None
    assert m.char_varchar(plain) is None
    assert m.length_limits(plain) == {}
    assert m.collations(plain) == {}
    assert not m.is_filled_by_writer(plain)


def test_texts_are_read_from_their_keys() -> None:
    field = column(
        comment="hi",
        delta__generationExpression="a + 1",
        CURRENT_DEFAULT="42",
        EXISTS_DEFAULT="41",
    )
    assert m.comment(field) == "hi"
    assert m.generation_expression(field) == "a + 1"
    assert m.current_default(field) == "42"
    assert m.exists_default(field) == "41"
    assert m.is_filled_by_writer(field)


@pytest.mark.parametrize(
    ("key", "read"),
    [
        ("comment", m.comment),
        ("delta.generationExpression", m.generation_expression),
        ("CURRENT_DEFAULT", m.current_default),
        ("delta.invariants", m.invariant),
        ("__CHAR_VARCHAR_TYPE_STRING", m.char_varchar),
    ],
)
def test_metadata_of_another_type_is_a_schema_error(
    key: str, read: Callable[[StructField], str | None]
) -> None:
    with pytest.raises(SchemaError) as caught:
        read(StructField("x", LONG, True, {key: 5}))
    assert caught.value.message == f"column 'x': {key} must be text, not 5"


# --- invariants --------------------------------------------------------------------------------


def test_the_sql_of_an_invariant_is_unwrapped() -> None:
    field = column(delta__invariants='{"expression": { "expression": "x > 3"} }')
    assert m.invariant(field) == "x > 3"


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_invariant_survives_being_written(sql: str) -> None:
    assert m.invariant(m.with_invariant(column(), sql)) == sql


def test_invariants_are_found_at_every_depth() -> None:
    inner = m.with_invariant(StructField("y", LONG), "s.y > 0")
    schema = StructType(
        (m.with_invariant(column(), "x > 3"), StructField("s", StructType((inner,))))
    )
    assert m.invariants(schema) == {("x",): "x > 3", ("s", "y"): "s.y > 0"}


@pytest.mark.parametrize(
    "text", ["", "x > 3", "[]", "{}", '{"expression": "x"}', '{"expression": {"expression": 5}}']
)
def test_an_invariant_that_cannot_be_read_is_a_schema_error(text: str) -> None:
    with pytest.raises(SchemaError, match="must be an expression in JSON"):
        m.invariant(column(delta__invariants=text))


# --- identity ----------------------------------------------------------------------------------


def test_an_identity_column_is_read_and_written() -> None:
    field = column(
        delta__identity__start=5,
        delta__identity__step=-2,
        delta__identity__highWaterMark=1,
        delta__identity__allowExplicitInsert=True,
    )
    found = m.identity(field)
    assert found == m.Identity(5, -2, 1, True)
    assert m.with_identity(column(), found).metadata == field.metadata
    assert m.is_filled_by_writer(field)


def test_an_unused_identity_column_has_no_high_water_mark() -> None:
    field = m.with_identity(column(), m.Identity(1, 1))
    assert "delta.identity.highWaterMark" not in field.metadata
    assert m.identity(field) == m.Identity(1, 1, None, False)


@pytest.mark.parametrize(
    "metadata",
    [
        {"delta.identity.start": 1},
        {"delta.identity.step": 1},
        {"delta.identity.start": 1, "delta.identity.step": 0},
        {"delta.identity.start": "1", "delta.identity.step": 1},
        {"delta.identity.start": True, "delta.identity.step": 1},
    ],
)
def test_a_broken_identity_is_a_schema_error(metadata: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        m.identity(StructField("x", LONG, True, metadata))


def test_values_start_at_start_and_go_on_after_the_mark() -> None:
    assert list(m.Identity(10, 5).take(3)) == [10, 15, 20]
    assert list(m.Identity(10, 5, 20).take(2)) == [25, 30]
    assert list(m.Identity(10, -5, 5).take(2)) == [0, -5]
    assert list(m.Identity(1, 1).take(0)) == []


def test_a_mark_off_the_grid_or_before_the_start_is_put_right() -> None:
    assert list(m.Identity(10, 5, 21).take(1)) == [30]
    assert list(m.Identity(10, 5, -100).take(1)) == [10]
    assert list(m.Identity(10, -5, 9).take(1)) == [0]


def test_values_that_do_not_fit_a_long_are_refused() -> None:
    last = m.Identity(2**63 - 2, 1)
    assert list(last.take(2)) == [2**63 - 2, 2**63 - 1]
    with pytest.raises(ConstraintViolationError):
        last.take(3)
    with pytest.raises(ConstraintViolationError):
        m.Identity(0, -1, -(2**63)).take(1)


def test_a_written_value_moves_the_mark_forward_only() -> None:
    assert m.Identity(10, 5).advanced_to(9).high_water_mark is None
    assert m.Identity(10, 5).advanced_to(12).high_water_mark == 15
    assert m.Identity(10, 5, 30).advanced_to(20).high_water_mark == 30
    assert m.Identity(10, -5).advanced_to(3).high_water_mark == 0


steps = st.integers(-50, 50).filter(bool)


@given(st.integers(-1000, 1000), steps, st.none() | st.integers(-1000, 1000), st.integers(1, 20))
def test_given_values_are_new_and_on_the_grid(
    start: int, step: int, mark: int | None, count: int
) -> None:
    values = list(m.Identity(start, step, mark).take(count))
    assert all((value - start) % step == 0 and (value - start) // step >= 0 for value in values)
    if mark is not None:
        assert all((value - mark) * step > 0 for value in values)
    assert m.Identity(start, step, mark).advanced_to(values[-1]).high_water_mark == values[-1]


# --- strings -----------------------------------------------------------------------------------


def test_the_limit_of_a_varchar_is_read() -> None:
    field = StructField("x", STRING, True, {"__CHAR_VARCHAR_TYPE_STRING": "varchar(10)"})
    assert m.char_varchar(field) == "varchar(10)"
    assert m.length_limits(field) == {(): m.LengthLimit(False, 10)}
    assert str(m.LengthLimit(False, 10)) == "varchar(10)"


def test_limits_inside_nested_types_have_their_paths() -> None:
    text = "map<char(2),struct<a:array<varchar(3)>,b:string>>"
    field = StructField("x", ArrayType(STRING), True, {"__CHAR_VARCHAR_TYPE_STRING": text})
    assert m.length_limits(field) == {
        ("key",): m.LengthLimit(True, 2),
        ("value", "a", "element"): m.LengthLimit(False, 3),
    }


def test_collations_are_read_as_they_stand() -> None:
    field = StructField("x", STRING, True, {"__COLLATIONS": {"x": "icu.UNICODE_CI"}})
    assert m.collations(field) == {"x": "icu.UNICODE_CI"}
    with pytest.raises(SchemaError):
        m.collations(StructField("x", STRING, True, {"__COLLATIONS": {"x": 1}}))
