"""Converting values to the types of a table, at every depth: the twin in `spark.write`.

Atomic values are cast as Spark casts them in ANSI mode; what Lakebed cannot cast is refused by the
names of the types. Structs go field by field and by name, and no field of a value is dropped.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lakebed.arrow.relabel import relabel
from lakebed.errors import SchemaMismatchError
from lakebed.expressions.casting import can_cast, cast
from lakebed.expressions.values import is_atomic
from lakebed.formats.arrow_cast import cast_table
from lakebed.formats.arrow_types import to_arrow_type
from lakebed.spec.columns.type_widening import is_lossless
from lakebed.spec.schema import (
    VOID,
    ArrayType,
    DataType,
    MapType,
    Path,
    StructField,
    StructType,
    render_path,
)


@dataclass(frozen=True)
class TypeConversion:
    """`fills`: fields that only the table has are null; else they are an error."""

    fills: bool = True

    def check(self, given: DataType, wanted: DataType, path: Path) -> None:
        """Refuses types that cannot be converted, before any row is read."""
        if given in (wanted, VOID):
            return
        if isinstance(given, StructType) and isinstance(wanted, StructType):
            self._check_fields(given, wanted, path)
            for field in given.fields:
                other = wanted.field(field.name)
                self.check(field.data_type, other.data_type, (*path, other.name))
        elif isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
            here = (*path, "element")
            self._check_inside(given.element_type, wanted.element_type, here)
        elif isinstance(given, MapType) and isinstance(wanted, MapType):
            self._check_inside(given.key_type, wanted.key_type, (*path, "key"))
            self._check_inside(given.value_type, wanted.value_type, (*path, "value"))
        elif not (is_atomic(given) and is_atomic(wanted) and can_cast(given, wanted)):
            raise _refused(given, wanted, path)

    def converted(
        self,
        values: pa.Array,
        given: DataType,
        wanted: DataType,
        current: pa.Array | None = None,
    ) -> pa.Array:
        """The values as the wanted type, which has been checked.

        `current` is what the column has now: fields of structs that only the table has keep it.
        """
        target = to_arrow_type(wanted)
        if given == VOID:
            return pa.nulls(len(values), target)
        if isinstance(given, StructType) and isinstance(wanted, StructType):
            return self._struct(values, given, wanted, current)
        if given == wanted:
            return _relabelled(values, target)
        if isinstance(given, ArrayType | MapType):
            schema = StructType((StructField("value", wanted),))
            return _single(cast_table(pa.table({"value": values}), schema).column(0))
        return cast(values, given, wanted)

    def _struct(
        self, values: pa.Array, given: StructType, wanted: StructType, current: pa.Array | None
    ) -> pa.Array:
        parts = dict(zip((name.lower() for name in given.names), values.flatten(), strict=True))
        olds = [None] * len(wanted) if current is None else current.flatten()
        found = []
        keeps = False
        for field, old in zip(wanted.fields, olds, strict=True):
            part = parts.get(field.name.lower())
            if part is not None:
                kind = given.field(field.name).data_type
                found.append(self.converted(part, kind, field.data_type, old))
                keeps = keeps or (old is not None and _has_more(field.data_type, kind))
            else:
                keeps = keeps or old is not None
                kept = pa.nulls(len(values), to_arrow_type(field.data_type)) if old is None else old
                found.append(kept)
        is_null = values.is_null()
        if keeps and current is not None:
            is_null = pc.and_(is_null, current.is_null())
        return struct_array(found, wanted, is_null)

    def _check_inside(self, given: DataType, wanted: DataType, path: Path) -> None:
        """In arrays and maps only what every value allows: their values are not looked at."""
        if isinstance(given, StructType | ArrayType | MapType):
            self.check(given, wanted, path)
        elif given not in (wanted, VOID) and not is_lossless(given, wanted):
            raise _refused(given, wanted, path)

    def _check_fields(self, given: StructType, wanted: StructType, path: Path) -> None:
        more = [name for name in given.names if name not in wanted]
        less = [] if self.fills else [name for name in wanted.names if name not in given]
        if not more and not less:
            return
        lines = [f"the table does not have its field {name!r}" for name in more]
        lines += [f"it does not have the field {name!r} of the table" for name in less]
        raise SchemaMismatchError(
            f"the value for {render_path(path)} does not fit: {'; '.join(lines)}",
            hint=f"give it the fields of the table: {', '.join(wanted.names)}",
            condition="DELTA_UPDATE_SCHEMA_MISMATCH_EXPRESSION",
        )


def struct_array(parts: list[pa.Array], wanted: StructType, is_null: pa.Array | None) -> pa.Array:
    """A struct of the type from its fields."""
    target = to_arrow_type(wanted)
    mask = None if is_null is None or not pc.any(is_null, min_count=0).as_py() else is_null
    made = [_relabelled(part, target.field(place).type) for place, part in enumerate(parts)]
    return pa.StructArray.from_arrays(made, fields=list(target), mask=mask)


def _has_more(table: DataType, data: DataType) -> bool:
    """Whether the table has a field that the data does not have; not inside arrays and maps."""
    if not isinstance(table, StructType) or not isinstance(data, StructType):
        return False
    found = (data.find(field.name) for field in table.fields)
    return any(
        other is None or _has_more(field.data_type, other.data_type)
        for field, other in zip(table.fields, found, strict=True)
    )


def _relabelled(values: pa.Array, target: pa.DataType) -> pa.Array:
    return _single(relabel(pa.chunked_array([values]), target))


def _single(values: pa.ChunkedArray) -> pa.Array:
    combined = values.combine_chunks()
    if isinstance(combined, pa.ChunkedArray):
        return combined.chunk(0) if combined.num_chunks else pa.array([], combined.type)
    return combined


def _refused(given: DataType, wanted: DataType, path: Path) -> SchemaMismatchError:
    return SchemaMismatchError(
        f"the value for {render_path(path)} is of type {given}, which cannot be stored as "
        f"{wanted} without Spark",
        hint="cast it in the expression, or make the change through Spark",
    )
