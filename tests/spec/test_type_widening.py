from __future__ import annotations

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import SchemaError, UnsupportedFeatureError
from lakebed.spec import schema as s
from lakebed.spec.columns import type_widening as tw
from testkit.schemas import data_types, decimals
from testkit.tables.golden_tables import GOLDEN, needs_golden

TABLES = GOLDEN / "tables"

D = s.DecimalType
# PROTOCOL: Type Widening, the supported changes, one line each.
ALLOWED = [
    (s.BYTE, s.SHORT),
    (s.BYTE, s.INTEGER),
    (s.BYTE, s.LONG),
    (s.SHORT, s.INTEGER),
    (s.SHORT, s.LONG),
    (s.INTEGER, s.LONG),
    (s.FLOAT, s.DOUBLE),
    (s.BYTE, s.DOUBLE),
    (s.SHORT, s.DOUBLE),
    (s.INTEGER, s.DOUBLE),
    (s.DATE, s.TIMESTAMP_NTZ),
    (D(5, 2), D(6, 2)),
    (D(5, 2), D(6, 3)),
    (D(5, 2), D(9, 4)),
    (s.BYTE, D(10, 0)),
    (s.SHORT, D(12, 2)),
    (s.INTEGER, D(10, 0)),
    (s.LONG, D(20, 0)),
    (s.LONG, D(25, 5)),
]
REFUSED = [
    (s.LONG, s.INTEGER),
    (s.INTEGER, s.SHORT),
    (s.LONG, s.DOUBLE),
    (s.INTEGER, s.FLOAT),
    (s.DOUBLE, s.FLOAT),
    (s.DATE, s.TIMESTAMP),
    (s.TIMESTAMP_NTZ, s.TIMESTAMP),
    (D(5, 2), D(5, 1)),
    (D(5, 2), D(5, 3)),
    (D(5, 2), D(4, 2)),
    (s.BYTE, D(9, 0)),
    (s.INTEGER, D(10, 1)),
    (s.LONG, D(19, 0)),
    (s.LONG, D(20, 1)),
    (s.STRING, s.BINARY),
    (s.INTEGER, s.STRING),
    (s.VOID, s.LONG),
    (D(10, 0), s.LONG),
]


@pytest.mark.parametrize(("before", "after"), ALLOWED)
def test_the_changes_of_the_protocol_are_allowed(before: s.DataType, after: s.DataType) -> None:
    assert tw.can_widen(before, after)
    assert not tw.can_widen(after, before)


@pytest.mark.parametrize(("before", "after"), REFUSED)
def test_other_changes_are_not(before: s.DataType, after: s.DataType) -> None:
    assert not tw.can_widen(before, after)
    assert not tw.can_widen_automatically(before, after)
    assert not tw.can_widen_under_iceberg(before, after)


@given(data_types, data_types)
def test_the_narrower_rules_are_parts_of_the_wide_one(a: s.DataType, b: s.DataType) -> None:
    assert tw.can_widen(a, a)
    assert tw.can_widen(a, b) or not tw.can_widen_automatically(a, b)
    assert tw.can_widen(a, b) or not tw.can_widen_under_iceberg(a, b)


@given(decimals, decimals)
def test_a_wider_decimal_holds_every_value(a: s.DecimalType, b: s.DecimalType) -> None:
    holds = b.scale >= a.scale and b.precision - b.scale >= a.precision - a.scale
    assert tw.can_widen(a, b) == holds


def test_integers_do_not_leave_their_family_without_being_asked() -> None:
    assert tw.can_widen_automatically(s.BYTE, s.LONG)
    assert tw.can_widen_automatically(s.DATE, s.TIMESTAMP_NTZ)
    assert not tw.can_widen_automatically(s.INTEGER, s.DOUBLE)
    assert not tw.can_widen_automatically(s.INTEGER, D(20, 0))


def test_lossless_is_more_than_the_protocol_has() -> None:
    assert all(tw.is_lossless(before, after) for before, after in ALLOWED)
    assert tw.is_lossless(s.BYTE, D(3, 0))
    assert tw.is_lossless(s.LONG, D(19, 0))
    assert tw.is_lossless(s.SHORT, s.FLOAT)
    assert not tw.is_lossless(s.SHORT, D(5, 1))
    assert not tw.is_lossless(s.INTEGER, s.FLOAT)
    assert not tw.is_lossless(s.LONG, s.DOUBLE)


def test_iceberg_knows_fewer_changes() -> None:
    assert tw.can_widen_under_iceberg(s.INTEGER, s.LONG)
    assert tw.can_widen_under_iceberg(s.FLOAT, s.DOUBLE)
    assert tw.can_widen_under_iceberg(D(5, 2), D(8, 2))
    assert not tw.can_widen_under_iceberg(D(5, 2), D(8, 3))
    assert not tw.can_widen_under_iceberg(s.INTEGER, s.DOUBLE)
    assert not tw.can_widen_under_iceberg(s.DATE, s.TIMESTAMP_NTZ)
    assert not tw.can_widen_under_iceberg(s.LONG, D(20, 0))


# --- the record --------------------------------------------------------------------------------


def column(kind: s.DataType, changes: object = None) -> s.StructType:
    metadata = {} if changes is None else {tw.TYPE_CHANGES: changes}
    return s.StructType((s.StructField("e", kind, True, metadata),))


def test_recorded_changes_are_read() -> None:
    changes = [
        {"fromType": "short", "toType": "integer"},
        {
            "tableVersion": 3,
            "fromType": "decimal(6, 2)",
            "toType": "decimal(10,4)",
            "fieldPath": "element.value",
        },
    ]
    assert tw.type_changes(column(s.LONG, changes).fields[0]) == (
        tw.TypeChange(s.SHORT, s.INTEGER),
        tw.TypeChange(D(6, 2), D(10, 4), ("element", "value"), 3),
    )


primitives = st.sampled_from([s.BYTE, s.LONG, s.DATE, s.TIMESTAMP_NTZ, s.DOUBLE]) | decimals


@given(
    primitives,
    primitives,
    st.lists(st.sampled_from(["element", "key", "value"]), max_size=3),
    st.none() | st.integers(0, 2**40),
)
def test_any_record_survives_json(
    before: s.DataType, after: s.DataType, path: list[str], version: int | None
) -> None:
    change = tw.TypeChange(before, after, tuple(path), version)
    assert tw.TypeChange.parse(orjson.loads(orjson.dumps(change.to_json()))) == change


@pytest.mark.parametrize(
    "changes", [{}, ["x"], [{}], [{"fromType": "short"}], [{"fromType": "x", "toType": "short"}]]
)
def test_a_record_that_cannot_be_read_is_a_schema_error(changes: object) -> None:
    with pytest.raises(SchemaError):
        tw.type_changes(column(s.LONG, changes).fields[0])


def test_a_change_is_added_after_earlier_ones() -> None:
    earlier = [{"fromType": "byte", "toType": "short"}]
    after = tw.record_type_changes(column(s.SHORT, earlier), column(s.LONG, earlier))
    assert after.fields[0].metadata[tw.TYPE_CHANGES] == [
        *earlier,
        {"fromType": "short", "toType": "long"},
    ]


def test_changes_inside_arrays_and_maps_stand_at_their_nearest_field() -> None:
    def nested(key: s.DataType, value: s.DataType, deep: s.DataType) -> s.StructType:
        inner = s.StructType((s.StructField("d", deep),))
        return column(s.ArrayType(s.MapType(key, s.MapType(value, inner))))

    before = nested(s.FLOAT, s.BYTE, s.INTEGER)
    after = tw.record_type_changes(before, nested(s.DOUBLE, s.LONG, s.LONG))
    found = {path: tw.type_changes(field) for path, field in s.walk(after)}
    assert found == {
        ("e",): (
            tw.TypeChange(s.FLOAT, s.DOUBLE, ("element", "key")),
            tw.TypeChange(s.BYTE, s.LONG, ("element", "value", "key")),
        ),
        ("e", "element", "value", "value", "d"): (tw.TypeChange(s.INTEGER, s.LONG),),
    }


def test_new_columns_and_changes_that_widen_nothing_are_not_recorded() -> None:
    before = s.StructType((s.StructField("v", s.VOID), s.StructField("x", s.LONG)))
    after = s.StructType(
        (s.StructField("v", s.LONG), s.StructField("x", s.LONG), s.StructField("new", s.LONG))
    )
    assert tw.record_type_changes(before, after) == after


def test_the_preview_feature_records_the_version() -> None:
    after = tw.record_type_changes(column(s.SHORT), column(s.LONG), table_version=7)
    assert tw.type_changes(after.fields[0])[0].table_version == 7


def test_records_can_be_removed() -> None:
    after = tw.record_type_changes(column(s.SHORT), column(s.LONG))
    assert tw.strip_type_changes(after) == column(s.LONG)


def test_a_change_outside_the_protocol_stops_readers_and_names_the_place() -> None:
    bad = column(
        s.ArrayType(s.STRING), [{"fromType": "integer", "toType": "string", "fieldPath": "element"}]
    )
    with pytest.raises(UnsupportedFeatureError) as caught:
        tw.check_type_changes(bad)
    assert "column e.element was changed from integer to string" in caught.value.message
    assert caught.value.features == ("typeWidening",)


def test_known_changes_and_string_limits_do_not_stop_readers() -> None:
    changes = [
        {"fromType": "short", "toType": "long"},
        {"fromType": "byte", "toType": "decimal(4,1)"},
        {"fromType": "char(3)", "toType": "string"},
    ]
    tw.check_type_changes(column(s.LONG, changes))


@needs_golden
def test_the_changes_of_the_golden_tables_are_all_readable() -> None:
    count = 0
    for log in sorted(TABLES.glob("**/*widening*/**/_delta_log/*.json")):
        for line in log.read_bytes().splitlines():
            text = orjson.loads(line).get("metaData", {}).get("schemaString")
            if text:
                schema = s.parse_schema(text)
                tw.check_type_changes(schema)
                count += sum(len(tw.type_changes(field)) for _, field in s.walk(schema))
    assert count > 0
