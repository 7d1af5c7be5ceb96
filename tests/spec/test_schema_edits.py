"""Fields that come, go and move, at any depth."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import SchemaError
from lakebed.spec.columns.schema_edits import (
    ANYWHERE,
    Position,
    edit_type,
    insert_field,
    remove_field,
    replace_field,
)
from lakebed.spec.schema import (
    LONG,
    STRING,
    ArrayType,
    MapType,
    Path,
    StructField,
    StructType,
    find_path,
    walk_structs,
)

INNER = StructType((StructField("x", LONG), StructField("y", STRING)))
SCHEMA = StructType(
    (
        StructField("a", LONG),
        StructField("s", INNER),
        StructField("l", ArrayType(INNER)),
        StructField("m", MapType(INNER, ArrayType(INNER))),
    )
)
STRUCTS = [path for path, _ in walk_structs(SCHEMA)]
NEW = StructField("new", LONG)


def names(schema: StructType, path: Path) -> tuple[str, ...]:
    return next(struct.names for found, struct in walk_structs(schema) if found == path)


def test_the_schema_has_structs_in_every_kind_of_place() -> None:
    assert STRUCTS == [
        (),
        ("s",),
        ("l", "element"),
        ("m", "key"),
        ("m", "value", "element"),
    ]


@given(st.sampled_from(STRUCTS), st.data())
def test_what_was_inserted_can_be_taken_out_again(parent: Path, data: st.DataObject) -> None:
    before = names(SCHEMA, parent)
    positions = [ANYWHERE, Position(first=True), *(Position(after=name) for name in before)]
    position = data.draw(st.sampled_from(positions))
    schema = insert_field(SCHEMA, parent, NEW, position)
    place = {ANYWHERE: len(before), Position(first=True): 0}.get(position)
    if place is None:
        assert position.after is not None
        place = before.index(position.after) + 1
    assert names(schema, parent) == (*before[:place], "new", *before[place:])
    assert remove_field(schema, (*parent, "NEW")) == SCHEMA


@given(st.sampled_from(STRUCTS), st.data())
def test_a_field_that_moves_changes_nothing_else(parent: Path, data: st.DataObject) -> None:
    before = names(SCHEMA, parent)
    name, other = data.draw(st.sampled_from(before)), data.draw(st.sampled_from(before))
    found = find_path(SCHEMA, (*parent, name))
    assert found is not None
    moved = replace_field(SCHEMA, (*parent, name), found[1], Position(after=other.upper()))
    after = names(moved, parent)
    assert sorted(after) == sorted(before)
    if name != other:
        assert after.index(name) == after.index(other) + 1
    else:
        assert moved == SCHEMA
    rest = [each for each in before if each != name]
    assert [each for each in after if each != name] == rest


def test_a_field_is_replaced_where_it_is() -> None:
    new = replace(NEW, name="z")
    schema = replace_field(SCHEMA, ("L", "Element", "X"), new)
    assert names(schema, ("l", "element")) == ("z", "y")
    assert edit_type(SCHEMA, ("m", "value"), lambda _: LONG).fields[3].data_type == MapType(
        INNER, LONG
    )


@pytest.mark.parametrize(
    "path", [("nope",), ("s", "nope"), ("a", "x"), ("l", "x"), ("m", "element", "x"), ("l", "key")]
)
def test_a_path_that_leads_nowhere_is_refused(path: Path) -> None:
    with pytest.raises(SchemaError):
        remove_field(SCHEMA, path)
    with pytest.raises(SchemaError):
        insert_field(SCHEMA, path, NEW, ANYWHERE)


def test_a_struct_keeps_at_least_one_field() -> None:
    schema = remove_field(SCHEMA, ("s", "x"))
    with pytest.raises(SchemaError, match="only column"):
        remove_field(schema, ("s", "y"))
    with pytest.raises(SchemaError, match="schema must be a struct"):
        edit_type(SCHEMA, (), lambda _: LONG)


def test_positions_are_shown_as_in_sql() -> None:
    assert (str(Position(first=True)), str(Position(after="b"))) == ("FIRST", "AFTER b")
