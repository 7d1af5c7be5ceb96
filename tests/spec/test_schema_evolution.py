from __future__ import annotations

import pytest
from hypothesis import given

from lakebed.errors import SchemaMismatchError
from lakebed.spec import schema as s
from lakebed.spec.columns import column_mapping
from lakebed.spec.columns.schema_evolution import check_compatible, merge_schemas
from lakebed.spec.columns.type_widening import TypeChange, type_changes
from testkit.schemas import schemas, struct

D = s.DecimalType


def refusal(table: s.StructType, data: s.StructType) -> list[str]:
    with pytest.raises(SchemaMismatchError) as caught:
        check_compatible(table, data)
    return caught.value.message.splitlines()


# --- enforcement -------------------------------------------------------------------------------


@given(schemas)
def test_data_of_the_tables_own_schema_fits(schema: s.StructType) -> None:
    check_compatible(schema, schema)
    check_compatible(schema, s.as_nullable(schema))


def test_columns_match_in_any_case_and_order_and_may_be_missing() -> None:
    table = struct(Id=s.LONG, Name=s.STRING, At=s.DATE)
    check_compatible(table, struct(NAME=s.STRING, id=s.LONG))
    check_compatible(table, s.StructType())


def test_an_extra_column_is_refused_and_both_schemas_are_shown() -> None:
    assert refusal(struct(id=s.LONG), struct(id=s.LONG, extra=s.STRING)) == [
        "the data does not fit the table:",
        "  extra: the table does not have it",
        "schema of the table:",
        " |-- id: long",
        "schema of the data:",
        " |-- id: long",
        " |-- extra: string",
    ]


def test_every_difference_is_named_with_its_path() -> None:
    table = struct(
        a=s.LONG, s=struct(x=s.LONG), l=s.ArrayType(struct(y=s.DATE)), m=s.MapType(s.STRING, s.LONG)
    )
    data = struct(
        a=s.STRING,
        s=struct(x=s.BOOLEAN, new=s.LONG),
        l=s.ArrayType(struct(y=s.TIMESTAMP)),
        m=s.MapType(s.LONG, s.LONG),
    )
    lines = refusal(table, data)
    assert lines[1:6] == [
        "  a: the table has long, the data has string",
        "  s.new: the table does not have it",
        "  s.x: the table has long, the data has boolean",
        "  l.element.y: the table has date, the data has timestamp",
        "  m.key: the table has string, the data has long",
    ]


def test_a_name_that_the_data_has_twice_is_refused() -> None:
    lines = refusal(struct(id=s.LONG), struct(id=s.LONG, ID=s.LONG))
    assert lines[1] == "  id: the data has it more than once"


def test_a_required_column_must_be_there_unless_the_writer_makes_it() -> None:
    required = s.StructField("id", s.LONG, False)
    lines = refusal(struct(required), struct())
    assert lines[1] == "  id: the data does not have it, and the table does not take nulls"
    check_compatible(struct(required.with_metadata({"CURRENT_DEFAULT": "1"})), struct())
    check_compatible(struct(required.with_metadata({"delta.generationExpression": "1"})), struct())


def test_a_required_field_must_be_there_inside_a_struct_too() -> None:
    lines = refusal(struct(s=struct(s.StructField("x", s.LONG, False))), struct(s=struct()))
    assert lines[1].startswith("  s.x: the data does not have it")


def test_the_nullability_that_data_declares_does_not_matter() -> None:
    check_compatible(struct(s.StructField("id", s.LONG, False)), struct(id=s.LONG))
    check_compatible(struct(a=s.ArrayType(s.LONG, False)), struct(a=s.ArrayType(s.LONG, True)))


STORED_VARIANT = struct(value=s.BINARY, metadata=s.BINARY)


@pytest.mark.parametrize(
    ("data", "table"),
    [
        (s.BYTE, s.LONG),
        (s.INTEGER, s.LONG),
        (s.FLOAT, s.DOUBLE),
        (s.INTEGER, s.DOUBLE),
        (s.SHORT, s.FLOAT),
        (s.DATE, s.TIMESTAMP_NTZ),
        (s.BYTE, D(3, 0)),
        (s.LONG, D(19, 0)),
        (s.LONG, D(38, 18)),
        (D(5, 2), D(10, 4)),
        (s.VOID, s.STRING),
        (s.VOID, struct(x=s.LONG)),
        (STORED_VARIANT, s.VARIANT),
        (s.BINARY, s.PrimitiveType("geometry(OGC:CRS84)")),
        (s.BINARY, s.UserDefinedType(s.BINARY, {"type": "udt"})),
    ],
)
def test_types_whose_values_all_fit_are_taken(data: s.DataType, table: s.DataType) -> None:
    check_compatible(struct(x=table), struct(x=data))
    check_compatible(struct(x=s.ArrayType(table)), struct(x=s.ArrayType(data)))
    assert merge_schemas(struct(x=table), struct(x=data)) == struct(x=table)


@pytest.mark.parametrize(
    ("data", "table"),
    [
        (s.LONG, s.INTEGER),
        (s.LONG, s.DOUBLE),
        (s.INTEGER, s.FLOAT),
        (s.DOUBLE, s.FLOAT),
        (s.LONG, D(18, 0)),
        (s.INTEGER, D(10, 1)),
        (D(5, 2), D(5, 3)),
        (s.TIMESTAMP_NTZ, s.TIMESTAMP),
        (s.TIMESTAMP, s.TIMESTAMP_NTZ),
        (s.DATE, s.TIMESTAMP),
        (s.STRING, s.BINARY),
        (s.BINARY, s.STRING),
        (s.LONG, s.VOID),
        (struct(x=s.LONG), s.VARIANT),
        (struct(x=s.LONG), s.LONG),
        (s.LONG, struct(x=s.LONG)),
        (s.ArrayType(s.LONG), s.MapType(s.LONG, s.LONG)),
    ],
)
def test_types_whose_values_may_not_fit_are_refused(data: s.DataType, table: s.DataType) -> None:
    assert "  x: the table has" in refusal(struct(x=table), struct(x=data))[1]


# --- evolution ---------------------------------------------------------------------------------


@given(schemas, schemas)
def test_a_merged_schema_takes_the_data_and_keeps_the_table(
    table: s.StructType, data: s.StructType
) -> None:
    try:
        merged = merge_schemas(table, data)
    except SchemaMismatchError:
        return
    assert [f.name for f in merged][: len(table)] == list(table.names)
    known = {path for path, _ in s.walk(merged)}
    assert all(path in known or _was_void(table, path) for path, _ in s.walk(table))
    assert all(s.find_path(merged, path) for path, _ in s.walk(data))
    assert merge_schemas(merged, data) == merged


def _was_void(table: s.StructType, path: s.Path) -> bool:
    return any(s.resolve(table, path[:end])[1].data_type == s.VOID for end in range(1, len(path)))


@given(schemas)
def test_merging_with_itself_or_nothing_changes_nothing(schema: s.StructType) -> None:
    assert merge_schemas(schema, schema) == schema
    assert merge_schemas(schema, s.StructType()) == schema


@given(schemas)
def test_an_empty_table_takes_everything_as_nullable(schema: s.StructType) -> None:
    assert merge_schemas(s.StructType(), schema) == s.as_nullable(schema)


def test_new_fields_go_to_the_end_of_their_struct_as_nullable() -> None:
    table = struct(
        s.StructField("Id", s.LONG, False, {"comment": "key"}),
        s=struct(x=s.LONG),
        l=s.ArrayType(struct(y=s.LONG), False),
    )
    data = struct(
        s.StructField("new", s.LONG, False),
        s=struct(z=s.DATE, X=s.LONG),
        id=s.LONG,
        l=s.ArrayType(struct(w=s.ArrayType(s.LONG, False))),
    )
    assert merge_schemas(table, data) == struct(
        s.StructField("Id", s.LONG, False, {"comment": "key"}),
        s=struct(x=s.LONG, z=s.DATE),
        l=s.ArrayType(struct(y=s.LONG, w=s.ArrayType(s.LONG)), False),
        new=s.LONG,
    )


def test_new_columns_bring_no_ids_of_another_table() -> None:
    foreign, _ = column_mapping.assign_column_mapping(
        struct(new=s.LONG), {column_mapping.MODE: "name"}
    )
    assert merge_schemas(struct(id=s.LONG), foreign) == struct(id=s.LONG, new=s.LONG)


def test_a_void_column_takes_any_type() -> None:
    data = struct(v=s.ArrayType(s.LONG, False))
    assert merge_schemas(struct(v=s.VOID), data) == struct(v=s.ArrayType(s.LONG))


def test_conflicting_types_are_refused_with_both_schemas() -> None:
    with pytest.raises(SchemaMismatchError) as caught:
        merge_schemas(struct(id=s.LONG), struct(id=s.STRING, new=s.LONG))
    message = caught.value.message
    assert "  id: the table has long, the data has string" in message
    assert "new:" not in message.split("schema of the table:")[0]
    assert " |-- new: long" in message


def test_wider_types_are_refused_unless_the_table_allows_them() -> None:
    table, data = struct(id=s.INTEGER, d=D(5, 2)), struct(id=s.LONG, d=D(7, 3))
    with pytest.raises(SchemaMismatchError):
        merge_schemas(table, data)
    merged = merge_schemas(table, data, allow_widening=True)
    assert [each.data_type for each in merged] == [s.LONG, D(7, 3)]
    assert type_changes(merged.fields[0]) == (TypeChange(s.INTEGER, s.LONG),)
    assert type_changes(merged.fields[1]) == (TypeChange(D(5, 2), D(7, 3)),)


def test_widening_never_changes_integers_to_doubles_by_itself() -> None:
    with pytest.raises(SchemaMismatchError):
        merge_schemas(struct(x=s.INTEGER), struct(x=s.DOUBLE), allow_widening=True)


def test_a_name_that_the_data_has_twice_is_refused_when_merging() -> None:
    with pytest.raises(SchemaMismatchError, match="more than once"):
        merge_schemas(struct(), struct(a=s.LONG, A=s.LONG))
