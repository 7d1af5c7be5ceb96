"""Random schemas for the tests of this folder."""

from __future__ import annotations

from hypothesis import strategies as st

from lakebed.spec import schema as s

PRIMITIVES = (
    s.STRING,
    s.LONG,
    s.INTEGER,
    s.SHORT,
    s.BYTE,
    s.FLOAT,
    s.DOUBLE,
    s.BOOLEAN,
    s.BINARY,
    s.DATE,
    s.TIMESTAMP,
    s.TIMESTAMP_NTZ,
    s.VOID,
    s.VARIANT,
    s.PrimitiveType("geometry(OGC:CRS84)"),
    s.PrimitiveType("geography(OGC:CRS84, spherical)"),
)

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=5,
)
metadata = st.dictionaries(names, json_values, max_size=3)
decimals = st.integers(1, 38).flatmap(
    lambda precision: st.builds(s.DecimalType, st.just(precision), st.integers(0, precision))
)


def structs(inner: st.SearchStrategy[s.DataType]) -> st.SearchStrategy[s.StructType]:
    field = st.builds(s.StructField, names, inner, st.booleans(), metadata)
    unique = st.lists(field, max_size=4, unique_by=lambda each: each.name.lower())
    return st.builds(s.StructType, unique.map(tuple))


data_types = st.recursive(
    st.sampled_from(PRIMITIVES) | decimals,
    lambda inner: (
        st.builds(s.ArrayType, inner, st.booleans())
        | st.builds(s.MapType, inner, inner, st.booleans())
        | structs(inner)
    ),
    max_leaves=8,
)
schemas = structs(data_types)
