from __future__ import annotations

import contextlib
import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import SchemaError
from lakebed.spec import schema as s
from testkit.schemas import any_schemas, data_types, json_values, schemas
from testkit.tables.golden_tables import GOLDEN, needs_golden

TABLES = GOLDEN / "tables"

# One column of each shape, as Spark 4.0 writes it.
SPARK_JSON = (
    '{"type":"struct","fields":['
    '{"name":"a","type":"integer","nullable":false,"metadata":{}},'
    '{"name":"b","type":{"type":"struct","fields":['
    '{"name":"d","type":"decimal(10,2)","nullable":true,"metadata":{"comment":"größe"}}]},'
    '"nullable":true,"metadata":{}},'
    '{"name":"c","type":{"type":"array","elementType":"timestamp_ntz","containsNull":false},'
    '"nullable":true,"metadata":{"delta.columnMapping.id":4}},'
    '{"name":"f","type":{"type":"map","keyType":"string","valueType":"void",'
    '"valueContainsNull":true},"nullable":true,"metadata":{"__COLLATIONS":{"f.key":"icu.UNICODE"}}}'
    "]}"
)
SPARK_SCHEMA = s.StructType(
    (
        s.StructField("a", s.INTEGER, False),
        s.StructField(
            "b",
            s.StructType((s.StructField("d", s.DecimalType(10, 2), True, {"comment": "größe"}),)),
        ),
        s.StructField(
            "c", s.ArrayType(s.TIMESTAMP_NTZ, False), True, {"delta.columnMapping.id": 4}
        ),
        s.StructField(
            "f",
            s.MapType(s.STRING, s.VOID, True),
            True,
            {"__COLLATIONS": {"f.key": "icu.UNICODE"}},
        ),
    )
)


def one(type_json: object, **field: object) -> s.DataType:
    raw = {"type": "struct", "fields": [{"name": "x", "type": type_json, **field}]}
    return s.parse_schema(json.dumps(raw)).field("x").data_type


def test_sparks_json_is_parsed_and_written_back_byte_for_byte() -> None:
    assert s.parse_schema(SPARK_JSON) == SPARK_SCHEMA
    assert s.schema_to_json(SPARK_SCHEMA) == SPARK_JSON


@given(any_schemas)
def test_any_schema_survives_json(schema: s.StructType) -> None:
    assert s.parse_schema(s.schema_to_json(schema)) == schema


@given(data_types)
def test_any_type_survives_json_and_prints_on_one_line(data_type: s.DataType) -> None:
    assert s.parse_type(orjson.loads(orjson.dumps(data_type.to_json()))) == data_type
    assert str(data_type)


@given(json_values)
def test_any_json_is_a_schema_or_a_schema_error(value: object) -> None:
    with contextlib.suppress(SchemaError):
        assert isinstance(s.parse_schema(json.dumps(value)), s.StructType)


@given(st.data())
def test_a_mutated_schema_string_is_parsed_or_a_schema_error(data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(SPARK_JSON) - 1))
    text = SPARK_JSON[:position] + data.draw(st.text(max_size=3)) + SPARK_JSON[position + 1 :]
    with contextlib.suppress(SchemaError):
        assert isinstance(s.parse_schema(text), s.StructType)


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("null", s.VOID),
        ("void", s.VOID),
        ("timestamp_ltz", s.TIMESTAMP),
        ("decimal", s.DecimalType(10, 0)),
        ("decimal( 5 , 2 )", s.DecimalType(5, 2)),
        ({"type": "variant"}, s.VARIANT),
        ({"type": "array", "elementType": "long"}, s.ArrayType(s.LONG, True)),
        ("geometry", s.PrimitiveType("geometry")),
    ],
)
def test_spellings_of_other_writers_are_understood(spelling: object, expected: s.DataType) -> None:
    assert one(spelling) == expected


def test_missing_nullable_and_metadata_take_sparks_defaults() -> None:
    schema = s.parse_schema('{"type":"struct","fields":[{"name":"x","type":"long"}]}')
    assert schema == s.StructType((s.StructField("x", s.LONG, True, {}),))


def test_a_char_type_becomes_a_string_that_remembers_its_limit() -> None:
    schema = s.parse_schema('{"type":"struct","fields":[{"name":"x","type":"varchar(5)"}]}')
    expected = s.StructField("x", s.STRING, True, {"__CHAR_VARCHAR_TYPE_STRING": "varchar(5)"})
    assert schema.fields == (expected,)


def test_a_user_defined_type_is_kept_as_it_is() -> None:
    raw = {"type": "udt", "class": "Vector", "pyClass": None, "sqlType": "binary"}
    parsed = one(raw)
    assert isinstance(parsed, s.UserDefinedType)
    assert parsed.sql_type == s.BINARY
    assert parsed.to_json() == raw


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON"),
        ('"long"', "must be a struct, not long"),
        ('{"type":"struct"}', "without a list of fields"),
        ('{"type":"struct","fields":[{"type":"long"}]}', "a field without a name"),
        ('{"type":"struct","fields":[{"name":"x"}]}', "at x: not a type: None"),
        ('{"type":"struct","fields":[{"name":"x","type":"int96"}]}', "at x: unknown type 'int96'"),
        ('{"type":"struct","fields":[{"name":"x","type":"decimal(39,0)"}]}', "precision"),
        ('{"type":"struct","fields":[{"name":"x","type":"decimal(5,6)"}]}', "scale"),
        ('{"type":"struct","fields":[{"name":"x","type":"decimal(5,-1)"}]}', "scale"),
        ('{"type":"struct","fields":[{"name":"x","type":"long","nullable":1}]}', "nullable"),
        ('{"type":"struct","fields":[{"name":"x","type":"long","metadata":[]}]}', "metadata"),
    ],
)
def test_a_broken_schema_says_what_and_where(text: str, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        s.parse_schema(text)
    assert message in caught.value.message


def test_the_error_of_a_nested_type_names_its_path() -> None:
    nested = {"type": "map", "keyType": "string", "valueType": {"type": "array"}}
    with pytest.raises(SchemaError, match=r"at x\.value\.element: not a type"):
        one(nested)


def test_absurdly_deep_types_are_an_error_and_not_a_crash() -> None:
    deep: object = "long"
    for _ in range(300):
        deep = {"type": "array", "elementType": deep}
    with pytest.raises(SchemaError, match="nested more than"):
        one(deep)


def test_the_deepest_structs_that_are_read_can_be_written() -> None:
    deep: s.DataType = s.LONG
    for _ in range(s.MAX_DEPTH):
        deep = s.StructType((s.StructField("x", deep),))
    assert isinstance(deep, s.StructType)
    assert s.parse_schema(s.schema_to_json(deep)) == deep


def test_metadata_that_is_not_json_cannot_be_written() -> None:
    with pytest.raises(SchemaError, match="cannot be written"):
        s.schema_to_json(s.StructType((s.StructField("x", s.LONG, True, {"k": object()}),)))


# --- lookups, walking, changing ----------------------------------------------------------------


def test_columns_are_found_in_any_case_and_the_exact_name_wins() -> None:
    schema = s.StructType((s.StructField("Id", s.LONG), s.StructField("ID", s.STRING)))
    assert schema.field("id").name == "Id"
    assert schema.field("ID").data_type == s.STRING
    assert "iD" in schema
    assert "other" not in schema
    assert schema.find("other") is None
    with pytest.raises(SchemaError) as caught:
        schema.field("other")
    assert caught.value.hint == "the columns are: struct<Id: long, ID: string>"


def test_an_empty_struct_is_true() -> None:
    assert s.StructType()
    assert len(s.StructType()) == 0


def test_walk_yields_field_paths_through_arrays_and_maps() -> None:
    inner = s.StructType((s.StructField("d", s.INTEGER),))
    schema = s.StructType(
        (
            s.StructField("e", s.ArrayType(inner)),
            s.StructField("m", s.MapType(inner, s.ArrayType(inner))),
        )
    )
    assert [path for path, _ in s.walk(schema)] == [
        ("e",),
        ("e", "element", "d"),
        ("m",),
        ("m", "key", "d"),
        ("m", "value", "element", "d"),
    ]
    assert [path for path, _ in s.walk_structs(schema)] == [
        (),
        ("e", "element"),
        ("m", "key"),
        ("m", "value", "element"),
    ]
    assert list(s.walk_types(s.ArrayType(s.LONG))) == [s.ArrayType(s.LONG), s.LONG]


@given(schemas)
def test_transform_visits_every_field_once_with_its_old_path(schema: s.StructType) -> None:
    seen = []

    def rename(path: s.Path, field: s.StructField) -> s.StructField:
        seen.append(path)
        return s.StructField(f"new {field.name}", field.data_type, field.nullable, field.metadata)

    changed = s.transform(schema, rename)
    assert seen == [path for path, _ in s.walk(schema)]
    assert [f.name for _, f in s.walk(changed)] == [f"new {f.name}" for _, f in s.walk(schema)]


@given(schemas)
def test_as_nullable_relaxes_every_level_and_nothing_else(schema: s.StructType) -> None:
    text = s.schema_to_json(s.as_nullable(schema))
    raw = orjson.loads(s.schema_to_json(schema))
    assert orjson.loads(text) == _all_nullable(raw)


def _all_nullable(raw: object) -> object:
    if isinstance(raw, list):
        return [_all_nullable(each) for each in raw]
    if not isinstance(raw, dict):
        return raw
    flags = ("nullable", "containsNull", "valueContainsNull")
    return {
        key: value if key == "metadata" else True if key in flags else _all_nullable(value)
        for key, value in raw.items()
    }


def test_resolve_gives_the_schemas_own_spelling_of_a_path() -> None:
    inner = s.StructType((s.StructField("Deep", s.LONG),))
    schema = s.StructType((s.StructField("Outer", s.ArrayType(inner)),))
    path, found = s.resolve(schema, ("outer", "ELEMENT", "deep"))
    assert path == ("Outer", "element", "Deep")
    assert found.data_type == s.LONG
    for missing in [("nope",), ("outer", "deep"), ("outer", "element"), ()]:
        with pytest.raises(SchemaError, match="there is no column"):
            s.resolve(schema, missing)


def test_with_metadata_sets_and_removes_keys() -> None:
    field = s.StructField("x", s.LONG, True, {"a": 1, "b": 2})
    assert field.with_metadata({"b": None, "c": 3}).metadata == {"a": 1, "c": 3}


def test_a_schema_is_shown_on_one_line_and_as_a_tree() -> None:
    inner = s.StructType((s.StructField("first name", s.STRING, False),))
    schema = s.StructType(
        (
            s.StructField("id", s.LONG, False),
            s.StructField("who", s.ArrayType(inner, False)),
            s.StructField("m", s.MapType(s.STRING, s.DecimalType(5, 2), False)),
        )
    )
    assert str(schema) == (
        "struct<id: long not null, who: array<struct<`first name`: string not null> not null>,"
        " m: map<string, decimal(5,2) not null>>"
    )
    assert s.render_tree(schema).splitlines() == [
        " |-- id: long not null",
        " |-- who: array",
        " |    |-- element: struct not null",
        " |    |    |-- `first name`: string not null",
        " |-- m: map<string, decimal(5,2) not null>",
    ]


# --- real tables -------------------------------------------------------------------------------


def golden_schemas() -> list[tuple[str, str]]:
    found = []
    for log in sorted(TABLES.glob("**/_delta_log/*.json")):
        for line in log.read_bytes().splitlines():
            if b'"metaData"' in line and b"schemaString" in line:
                action = orjson.loads(line)
                text = action.get("metaData", {}).get("schemaString")
                if text:
                    found.append((str(log.relative_to(TABLES)), text))
    return found


@needs_golden
def test_every_schema_of_the_golden_tables_is_read_and_written_back() -> None:
    found = golden_schemas()
    assert len(found) > 100
    for log, text in found:
        schema = s.parse_schema(text)
        assert orjson.loads(s.schema_to_json(schema)) == orjson.loads(text), log


@needs_golden
def test_geospatial_columns_keep_their_parameters() -> None:
    texts = [text for log, text in golden_schemas() if "table-with-geo" in log]
    types = [field.data_type for field in s.parse_schema(texts[0])]
    assert types == [
        s.PrimitiveType("geometry(OGC:CRS84)"),
        s.PrimitiveType("geography(OGC:CRS84, spherical)"),
    ]
    assert all(isinstance(each, s.PrimitiveType) and each.is_geospatial for each in types)
