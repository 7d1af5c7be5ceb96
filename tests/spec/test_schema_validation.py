from __future__ import annotations

import pytest
from hypothesis import given

from lakebed.errors import SchemaError
from lakebed.spec.columns.schema_validation import validate, validate_plain_names, validate_void
from lakebed.spec.schema import LONG, STRING, VOID, ArrayType, MapType, StructField, StructType
from testkit.schemas import schemas, struct


@given(schemas)
def test_schemas_with_distinct_names_are_valid(schema: StructType) -> None:
    validate(schema)


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        (struct(a=LONG, A=LONG), "A"),
        (struct(x=struct(a=LONG, A=LONG)), "x.A"),
        (struct(x=ArrayType(struct(a=LONG, A=LONG))), "x.element.A"),
        (struct(x=MapType(STRING, struct(a=LONG, A=LONG))), "x.value.A"),
    ],
)
def test_names_that_differ_only_in_case_are_refused_at_any_depth(
    schema: StructType, name: str
) -> None:
    with pytest.raises(SchemaError) as caught:
        validate(schema)
    assert caught.value.message == f"two columns have the name {name}"


def test_a_column_without_a_name_is_refused() -> None:
    with pytest.raises(SchemaError, match="no name"):
        validate(StructType((StructField("", LONG),)))


def test_one_name_in_two_structs_is_fine() -> None:
    validate(struct(a=struct(a=LONG), b=struct(a=LONG)))


@pytest.mark.parametrize("character", list(" ,;{}()\n\t="))
def test_names_that_need_column_mapping_are_refused_without_it(character: str) -> None:
    schema = StructType((StructField("s", struct(**{f"a{character}b": LONG})),))
    with pytest.raises(SchemaError) as caught:
        validate_plain_names(schema)
    assert f"`a{character}b`" in caught.value.message.encode().decode("unicode_escape")
    validate_plain_names(struct(a_b=LONG, größe=LONG))


@pytest.mark.parametrize(
    "schema",
    [
        struct(x=VOID),
        struct(x=LONG, a=ArrayType(VOID)),
        struct(x=LONG, a=ArrayType(ArrayType(struct(y=VOID, z=LONG)))),
        struct(x=LONG, a=MapType(STRING, VOID)),
        struct(x=LONG, s=struct(y=VOID, z=VOID)),
        struct(x=LONG, s=struct(y=LONG, t=struct(z=VOID))),
    ],
)
def test_no_data_is_written_where_void_cannot_be_left_out(schema: StructType) -> None:
    with pytest.raises(SchemaError, match="no data can be written"):
        validate_void(schema)


def test_void_beside_other_columns_can_be_left_out() -> None:
    validate_void(struct(x=LONG, v=VOID, s=struct(y=VOID, z=LONG)))
    validate_void(StructType())
