from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import SchemaError
from lakebed.spec import schema as s
from lakebed.spec.columns.sql_types import parse_sql_type


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("integer", s.INTEGER),
        ("INT", s.INTEGER),
        ("tinyint", s.BYTE),
        ("bigint", s.LONG),
        ("real", s.FLOAT),
        ("timestamp_ntz", s.TIMESTAMP_NTZ),
        ("STRING COLLATE UTF8_BINARY", s.STRING),
        ("array<string collate utf8_binary>", s.ArrayType(s.STRING)),
        ("decimal", s.DecimalType(10, 0)),
        ("decimal(7)", s.DecimalType(7, 0)),
        ("decimal( 10 , 4 )", s.DecimalType(10, 4)),
        ("varchar( 10 )", s.PrimitiveType("varchar(10)")),
        ("char(3)", s.PrimitiveType("char(3)")),
        ("geometry(OGC:CRS84)", s.PrimitiveType("geometry(OGC:CRS84)")),
        ("array<varchar(5)>", s.ArrayType(s.PrimitiveType("varchar(5)"))),
        ("map<string, array<int>>", s.MapType(s.STRING, s.ArrayType(s.INTEGER))),
        (
            "struct<a:char(2),`b c`: int not null, `d``e`:struct<>>",
            s.StructType(
                (
                    s.StructField("a", s.PrimitiveType("char(2)")),
                    s.StructField("b c", s.INTEGER, False),
                    s.StructField("d`e", s.StructType()),
                )
            ),
        ),
    ],
)
def test_sql_types_are_understood(text: str, expected: s.DataType) -> None:
    assert parse_sql_type(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "string collate UNICODE",
        "int collate UTF8_BINARY",
        "",
        "strin",
        "array",
        "array<int",
        "array<int>>",
        "map<int>",
        "struct<a>",
        "struct<a:int b:int>",
        "decimal(x)",
        "decimal(99,1)",
        "varchar(x)",
        "varchar()",
        "int(4)",
        "array<" * 100,
    ],
)
def test_text_that_is_no_type_is_a_schema_error(text: str) -> None:
    with pytest.raises(SchemaError):
        parse_sql_type(text)


@given(st.text("arymp<>structdeil(),:` 19", max_size=20))
def test_any_text_is_a_type_or_a_schema_error(text: str) -> None:
    try:
        assert isinstance(parse_sql_type(text), s.DataType)
    except SchemaError:
        return
