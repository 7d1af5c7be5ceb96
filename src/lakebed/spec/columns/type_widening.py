"""Which types may become wider, and the record of it (PROTOCOL: Type Widening)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lakebed.errors import SchemaError, UnsupportedFeatureError
from lakebed.spec.columns.sql_types import parse_sql_type
from lakebed.spec.schema import (
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    Path,
    PrimitiveType,
    StructField,
    StructType,
    find_path,
    render_path,
    transform,
    walk,
)

TYPE_CHANGES = "delta.typeChanges"


def can_widen(from_type: DataType, to_type: DataType) -> bool:
    """Whether the protocol lets `from_type` become `to_type`; it does not look inside types."""
    if _same_family(from_type, to_type):
        return True
    if from_type in _SMALL_INTEGERS and to_type == DOUBLE:
        return True
    if isinstance(to_type, DecimalType) and from_type in _INTEGERS:
        # What Parquet's int32 and int64 can hold, whatever the range of the smaller types.
        digits = 20 if from_type == LONG else 10
        return to_type.precision - to_type.scale >= digits
    return False


def can_widen_automatically(from_type: DataType, to_type: DataType) -> bool:
    """The part of `can_widen` that delta-spark applies without being asked, when it merges schemas.

    Integers do not become decimals or doubles because one writer happened to have such data.
    """
    return _same_family(from_type, to_type)


def can_widen_under_iceberg(from_type: DataType, to_type: DataType) -> bool:
    """The part of `can_widen` that tables with Iceberg compatibility may apply."""
    if isinstance(from_type, DecimalType) and isinstance(to_type, DecimalType):
        return from_type.scale == to_type.scale and from_type.precision <= to_type.precision
    return from_type != DATE and _same_family(from_type, to_type)


def is_lossless(from_type: DataType, to_type: DataType) -> bool:
    """Whether every value of one type is exactly a value of the other; wider than `can_widen`."""
    if can_widen(from_type, to_type):
        return True
    if isinstance(to_type, DecimalType) and isinstance(from_type, PrimitiveType):
        digits = _DIGITS.get(from_type.name)
        return digits is not None and to_type.precision - to_type.scale >= digits
    return from_type in (BYTE, SHORT) and to_type == FLOAT


@dataclass(frozen=True)
class TypeChange:
    """PROTOCOL: Type Change Metadata. `table_version` was part of it during the preview."""

    from_type: DataType
    to_type: DataType
    field_path: Path = ()
    table_version: int | None = None

    @classmethod
    def parse(cls, raw: Any) -> TypeChange:
        if not isinstance(raw, dict):
            raise SchemaError(f"{TYPE_CHANGES} must be a list of objects, not {raw!r}")
        before, after, path = raw.get("fromType"), raw.get("toType"), raw.get("fieldPath", "")
        if not (isinstance(before, str) and isinstance(after, str) and isinstance(path, str)):
            raise SchemaError(f"{TYPE_CHANGES} must have fromType and toType: {raw!r}")
        version = raw.get("tableVersion")
        return cls(
            from_type=parse_sql_type(before),
            to_type=parse_sql_type(after),
            field_path=tuple(path.split(".")) if path else (),
            table_version=version if isinstance(version, int) else None,
        )

    def to_json(self) -> dict[str, Any]:
        raw: dict[str, Any] = (
            {} if self.table_version is None else {"tableVersion": self.table_version}
        )
        raw.update(fromType=str(self.from_type), toType=str(self.to_type))
        return {**raw, "fieldPath": ".".join(self.field_path)} if self.field_path else raw


def type_changes(field: StructField) -> tuple[TypeChange, ...]:
    """The changes recorded for a column, oldest first."""
    raw = field.metadata.get(TYPE_CHANGES, [])
    if not isinstance(raw, list):
        raise SchemaError(f"column {field.name!r}: {TYPE_CHANGES} must be a list, not {raw!r}")
    return tuple(TypeChange.parse(each) for each in raw)


def record_type_changes(
    before: StructType, after: StructType, *, table_version: int | None = None
) -> StructType:
    """`after` with every widening from `before` added to the metadata of its column.

    `table_version` is only for tables with the preview feature `typeWidening-preview`.
    """

    def record(path: Path, field: StructField) -> StructField:
        old = find_path(before, path)
        changes = [] if old is None else list(_changes(old[1].data_type, field.data_type, ()))
        if not changes:
            return field
        new = [TypeChange(*change, table_version).to_json() for change in changes]
        return field.with_metadata({TYPE_CHANGES: [*field.metadata.get(TYPE_CHANGES, []), *new]})

    return transform(after, record)


def check_type_changes(schema: StructType) -> None:
    """Refuses to read a table that underwent a change which cannot be made without loss.

    That takes more than the protocol has now: the preview knew narrower decimals for integers.
    """
    for path, field in walk(schema):
        for change in type_changes(field):
            if not (is_lossless(change.from_type, change.to_type) or _is_text_change(change)):
                where = render_path((*path, *change.field_path))
                raise UnsupportedFeatureError(
                    f"column {where} was changed from {change.from_type} to {change.to_type},"
                    " which is not a widening",
                    features=("typeWidening",),
                    hint="read a version of the table from before the change",
                )


def strip_type_changes(schema: StructType) -> StructType:
    """The schema without records; right only if no data file has a column's earlier type."""
    return transform(schema, lambda _, field: field.with_metadata({TYPE_CHANGES: None}))


_DIGITS: Mapping[str, int] = {"byte": 3, "short": 5, "integer": 10, "long": 19}
_SMALL_INTEGERS = (BYTE, SHORT, INTEGER)
_INTEGERS = (*_SMALL_INTEGERS, LONG)
_SUCCESSORS: Mapping[str, tuple[PrimitiveType, ...]] = {
    "byte": (SHORT, INTEGER, LONG),
    "short": (INTEGER, LONG),
    "integer": (LONG,),
    "float": (DOUBLE,),
    "date": (TIMESTAMP_NTZ,),
}


def _same_family(from_type: DataType, to_type: DataType) -> bool:
    if isinstance(from_type, DecimalType) and isinstance(to_type, DecimalType):
        more_scale = to_type.scale - from_type.scale
        return to_type.precision - from_type.precision >= more_scale >= 0
    if isinstance(from_type, PrimitiveType) and from_type != to_type:
        return to_type in _SUCCESSORS.get(from_type.name, ())
    return from_type == to_type


def _is_text_change(change: TypeChange) -> bool:
    """Changes of a string's limit should not be recorded, but they harm no reader."""
    return all(
        each == STRING or str(each).startswith(("char(", "varchar("))
        for each in (change.from_type, change.to_type)
    )


def _changes(
    before: DataType, after: DataType, path: Path
) -> Iterator[tuple[DataType, DataType, Path]]:
    """The changes that belong to one struct field: not those inside structs, which have fields."""
    if isinstance(before, ArrayType) and isinstance(after, ArrayType):
        yield from _changes(before.element_type, after.element_type, (*path, "element"))
    elif isinstance(before, MapType) and isinstance(after, MapType):
        yield from _changes(before.key_type, after.key_type, (*path, "key"))
        yield from _changes(before.value_type, after.value_type, (*path, "value"))
    elif before != after and not isinstance(after, StructType) and can_widen(before, after):
        yield before, after, path
