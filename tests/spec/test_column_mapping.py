from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given

from lakebed.errors import SchemaError
from lakebed.spec.columns import column_mapping as cm
from lakebed.spec.schema import (
    INTEGER,
    LONG,
    STRING,
    ArrayType,
    MapType,
    Path,
    StructField,
    StructType,
    walk,
)
from testkit.schemas import schemas

NAME = {cm.MODE: "name"}


def mapped(name: str, kind: object, number: int, physical: str) -> StructField:
    metadata = {cm.COLUMN_ID: number, cm.PHYSICAL_NAME: physical}
    return StructField(name, kind, True, metadata)  # type: ignore[arg-type]


# The protocol's example: `e` is an array of structs with the field `d`.
EXAMPLE = StructType(
    (
        mapped("a", LONG, 1, "col-1"),
        mapped("e", ArrayType(StructType((mapped("d", INTEGER, 5, "col-d"),))), 4, "col-e"),
    )
)


# --- reading -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("configuration", "mode"),
    [
        ({}, "none"),
        ({cm.MODE: "none"}, "none"),
        ({cm.MODE: "Name"}, "name"),
        ({cm.MODE: "id"}, "id"),
    ],
)
def test_the_mode_is_read_from_the_property(configuration: dict[str, str], mode: str) -> None:
    assert cm.mapping_mode(configuration) == mode


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(SchemaError, match="'position'"):
        cm.mapping_mode({cm.MODE: "position"})


@pytest.mark.parametrize("mode", ["name", "id"])
def test_the_physical_schema_has_physical_names_at_every_depth(mode: cm.Mode) -> None:
    physical = cm.physical_schema(EXAMPLE, mode)
    assert [path for path, _ in walk(physical)] == [
        ("col-1",),
        ("col-e",),
        ("col-e", "element", "col-d"),
    ]
    assert [cm.column_id(field) for _, field in walk(physical)] == [1, 4, 5]


def test_in_mode_none_display_names_count_even_beside_mapping_metadata() -> None:
    assert cm.physical_schema(EXAMPLE, "none") is EXAMPLE
    assert cm.physical_path(EXAMPLE, ("a",), "none") == ("a",)


def test_a_column_without_physical_name_is_refused_in_a_mapped_table() -> None:
    schema = StructType((StructField("s", StructType((StructField("x", LONG),)), True, {}),))
    with pytest.raises(SchemaError, match="column s has no"):
        cm.physical_schema(schema, "name")


def test_a_column_without_id_is_refused_only_in_mode_id() -> None:
    schema = StructType((StructField("x", LONG, True, {cm.PHYSICAL_NAME: "c"}),))
    assert cm.physical_schema(schema, "name").names == ("c",)
    with pytest.raises(SchemaError, match=re.escape(cm.COLUMN_ID)):
        cm.physical_schema(schema, "id")


@pytest.mark.parametrize("bad", ["7", 1.5, True, -1, 2**31, None])
def test_an_id_that_is_no_32_bit_number_is_refused(bad: object) -> None:
    with pytest.raises(SchemaError, match="not a column id"):
        cm.column_id(StructField("x", LONG, True, {cm.COLUMN_ID: bad}))


@pytest.mark.parametrize("bad", [7, "", None])
def test_a_physical_name_that_is_no_text_is_refused(bad: object) -> None:
    with pytest.raises(SchemaError, match="must be text"):
        cm.physical_name(StructField("x", LONG, True, {cm.PHYSICAL_NAME: bad}))


@pytest.mark.parametrize(
    ("logical", "physical"),
    [(("A",), ("col-1",)), (("e", "element", "D"), ("col-e", "element", "col-d"))],
)
def test_paths_are_translated_in_both_directions(logical: Path, physical: Path) -> None:
    assert cm.physical_path(EXAMPLE, logical) == physical
    assert cm.logical_path(EXAMPLE, physical) == tuple(step.lower() for step in logical)


def test_a_physical_path_that_no_column_has_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"no column is stored as a"):
        cm.logical_path(EXAMPLE, ("a",))
    assert cm.logical_path(EXAMPLE, ("a",), "none") == ("a",)


# --- assigning ---------------------------------------------------------------------------------


@given(schemas)
def test_a_new_tables_columns_all_get_ids_and_names(schema: StructType) -> None:
    assigned, configuration = cm.assign_column_mapping(schema, NAME)
    fields = [field for _, field in walk(assigned)]
    assert [cm.column_id(field) for field in fields] == list(range(1, len(fields) + 1))
    assert all(re.fullmatch(r"col-[0-9a-f-]{36}", cm.physical_name(field)) for field in fields)
    assert configuration == {**NAME, cm.MAX_COLUMN_ID: str(len(fields))}
    cm.check_assigned(assigned, configuration)
    assert cm.strip(assigned) == schema
    assert cm.has_mapping(assigned) == bool(fields)


@given(schemas)
def test_assigning_again_changes_nothing(schema: StructType) -> None:
    assigned, configuration = cm.assign_column_mapping(schema, NAME)
    assert cm.assign_column_mapping(assigned, configuration) == (assigned, configuration)


@given(schemas)
def test_paths_of_any_mapped_schema_translate_there_and_back(schema: StructType) -> None:
    assigned, _ = cm.assign_column_mapping(schema, NAME)
    for path, _ in walk(assigned):
        assert cm.logical_path(assigned, cm.physical_path(assigned, path)) == path


def test_an_added_column_gets_an_id_above_those_of_dropped_columns() -> None:
    configuration = {**NAME, cm.MAX_COLUMN_ID: "9"}
    assigned, after = cm.assign_column_mapping(
        StructType((*EXAMPLE, StructField("new", LONG))), configuration
    )
    assert assigned.fields[:2] == EXAMPLE.fields
    assert cm.column_id(assigned.field("new")) == 10
    assert after[cm.MAX_COLUMN_ID] == "10"


def test_a_missing_property_does_not_make_ids_double() -> None:
    assigned, after = cm.assign_column_mapping(
        StructType((*EXAMPLE, StructField("new", LONG))), NAME
    )
    assert cm.column_id(assigned.field("new")) == 6
    assert after[cm.MAX_COLUMN_ID] == "6"


def test_a_table_without_mapping_is_left_alone() -> None:
    schema = StructType((StructField("x", LONG),))
    assert cm.assign_column_mapping(schema, {}) == (schema, {})
    cm.check_assigned(schema, {})


def test_an_upgraded_table_keeps_its_names_in_the_files() -> None:
    inner = StructType((StructField("d", INTEGER),))
    schema = StructType((StructField("a", LONG), StructField("e", ArrayType(inner))))
    assigned, configuration = cm.assign_column_mapping(schema, NAME, keep_names=True)
    assert [path for path, _ in walk(cm.physical_schema(assigned, "name"))] == [
        path for path, _ in walk(schema)
    ]
    assert configuration[cm.MAX_COLUMN_ID] == "3"


def test_an_overwrite_reuses_what_columns_of_the_same_type_had() -> None:
    new = StructType(
        (StructField("A", LONG, False), StructField("e", STRING), StructField("f", LONG))
    )
    assigned, configuration = cm.assign_column_mapping(
        new, {**NAME, cm.MAX_COLUMN_ID: "5"}, reuse=EXAMPLE
    )
    assert cm.physical_name(assigned.field("A")) == "col-1"
    assert cm.physical_name(assigned.field("e")) not in ("col-e", "e")
    assert [cm.column_id(field) for field in assigned] == [1, 6, 7]
    assert configuration[cm.MAX_COLUMN_ID] == "7"


def test_iceberg_compatibility_numbers_elements_keys_and_values() -> None:
    inner = StructType((StructField("subcol1", ArrayType(INTEGER)),))
    schema = StructType(
        (
            mapped("col1", ArrayType(ArrayType(INTEGER)), 1, "col-aaa"),
            mapped("col2", MapType(INTEGER, ArrayType(INTEGER)), 2, "col-bbb"),
            mapped("col3", MapType(INTEGER, inner), 3, "col-ccc"),
        )
    )
    configuration = {**NAME, "delta.enableIcebergCompatV2": "true"}
    assigned, after = cm.assign_column_mapping(schema, configuration)
    nested = {path[-1]: cm.nested_ids(field) for path, field in walk(assigned)}
    physical = cm.physical_name(dict(walk(assigned))["col3", "value", "subcol1"])
    assert [list(each) for each in nested.values()] == [
        ["col-aaa.element", "col-aaa.element.element"],
        ["col-bbb.key", "col-bbb.value", "col-bbb.value.element"],
        ["col-ccc.key", "col-ccc.value"],
        [f"{physical}.element"],
    ]
    numbers = [number for each in nested.values() for number in each.values()]
    assert sorted(numbers) == list(range(5, 13))
    assert after[cm.MAX_COLUMN_ID] == "12"
    cm.check_assigned(assigned, after)
    assert cm.assign_column_mapping(assigned, after) == (assigned, after)


# --- checks before a commit --------------------------------------------------------------------


def test_two_columns_of_one_id_are_refused() -> None:
    schema = StructType((mapped("a", LONG, 1, "x"), mapped("b", LONG, 1, "y")))
    with pytest.raises(SchemaError, match="one id: 1"):
        cm.check_assigned(schema, {**NAME, cm.MAX_COLUMN_ID: "1"})


def test_two_columns_of_one_physical_path_are_refused() -> None:
    schema = StructType((mapped("a", LONG, 1, "x"), mapped("b", LONG, 2, "x")))
    with pytest.raises(SchemaError, match="one physical name: x"):
        cm.check_assigned(schema, {**NAME, cm.MAX_COLUMN_ID: "2"})


def test_one_physical_name_in_two_structs_is_fine() -> None:
    def inner(number: int) -> StructType:
        return StructType((mapped("c", LONG, number, "c"),))

    schema = StructType((mapped("a", inner(3), 1, "a"), mapped("b", inner(4), 2, "b")))
    cm.check_assigned(schema, {**NAME, cm.MAX_COLUMN_ID: "4"})


@pytest.mark.parametrize("configuration", [NAME, {**NAME, cm.MAX_COLUMN_ID: "4"}])
def test_a_property_below_the_highest_id_is_refused(configuration: dict[str, str]) -> None:
    with pytest.raises(SchemaError, match="a column has id 5"):
        cm.check_assigned(EXAMPLE, configuration)


def test_a_property_that_is_no_number_is_refused() -> None:
    with pytest.raises(SchemaError, match="whole number"):
        cm.assign_column_mapping(EXAMPLE, {**NAME, cm.MAX_COLUMN_ID: "x"})


def test_a_column_without_mapping_is_refused() -> None:
    schema = StructType((*EXAMPLE, StructField("new", LONG)))
    with pytest.raises(SchemaError, match="column new"):
        cm.check_assigned(schema, {**NAME, cm.MAX_COLUMN_ID: "5"})


def test_only_none_may_become_name() -> None:
    for mode in ("none", "name", "id"):
        cm.check_mode_change(mode, mode)
    cm.check_mode_change("none", "name")
    for before, after in [("none", "id"), ("name", "id"), ("id", "name"), ("name", "none")]:
        with pytest.raises(SchemaError, match="cannot change"):
            cm.check_mode_change(before, after)


def test_strip_keeps_other_metadata() -> None:
    field = replace(EXAMPLE.fields[0], metadata={**EXAMPLE.fields[0].metadata, "comment": "hi"})
    assert cm.strip(StructType((field,))).fields[0].metadata == {"comment": "hi"}
