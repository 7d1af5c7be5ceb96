"""Schemas: by hand in a line, and random ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from lakebed.spec import schema as s


def struct(*fields: s.StructField, **types: s.DataType) -> s.StructType:
    """`struct(id=LONG)`; fields that are more than a name and a type come first."""
    return s.StructType((*fields, *(s.StructField(name, kind) for name, kind in types.items())))


def column(
    name: str,
    data_type: s.DataType = s.LONG,
    metadata: Mapping[str, Any] | None = None,
    *,
    nullable: bool = True,
) -> s.StructField:
    return s.StructField(name, data_type, nullable, metadata or {})


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


NO_METADATA = st.builds(dict)


def structs(
    inner: st.SearchStrategy[s.DataType],
    names: st.SearchStrategy[str],
    metadata: st.SearchStrategy[dict[str, object]],
) -> st.SearchStrategy[s.StructType]:
    field = st.builds(s.StructField, names, inner, st.booleans(), metadata)
    unique = st.lists(field, max_size=4, unique_by=lambda each: each.name.lower())
    return st.builds(s.StructType, unique.map(tuple))


def types(
    names: st.SearchStrategy[str], metadata: st.SearchStrategy[dict[str, object]]
) -> st.SearchStrategy[s.DataType]:
    return st.recursive(
        st.sampled_from(PRIMITIVES) | decimals,
        lambda inner: (
            st.builds(s.ArrayType, inner, st.booleans())
            | st.builds(s.MapType, inner, inner, st.booleans())
            | structs(inner, names, metadata)
        ),
        max_leaves=6,
    )


# Any name and any metadata; slow to make.
any_schemas = structs(types(names, metadata), names, metadata)
# Short names that often meet in another case, no metadata; the shape is what varies.
short_names = st.text("aAbB. `", min_size=1, max_size=3)
data_types = types(short_names, NO_METADATA)
schemas = structs(data_types, short_names, NO_METADATA)
