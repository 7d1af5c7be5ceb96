"""The schema of a Parquet folder: that of all its files, merged as delta-spark does.

Types must be the same; bytes, shorts and integers, which Parquet stores alike, become the widest of
them. A column that some files lack is null there. PROTOCOL: Data Files (physical types).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakebed.errors import LakebedError, SchemaError, SchemaMismatchError
from lakebed.formats.arrow_types import from_arrow_schema
from lakebed.spec.columns.column_metadata import COMMENT
from lakebed.spec.schema import (
    BYTE,
    INTEGER,
    SHORT,
    VOID,
    ArrayType,
    DataType,
    MapType,
    Path,
    StructField,
    StructType,
    as_nullable,
    parse_schema,
    render_path,
    transform,
    walk,
)

_SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
_INT32 = (BYTE, SHORT, INTEGER)


def file_schema(footer: pq.FileMetaData, file: str) -> StructType:
    """The columns of one file, all nullable. Spark's files say more than Parquet's types do."""
    text = (footer.metadata or {}).get(_SPARK_SCHEMA)
    try:
        schema = _spark_schema(text) if text else None
        return as_nullable(schema or from_arrow_schema(_arrow_schema(footer)))
    except SchemaError as error:
        raise SchemaError(f"{file}: {error.message}", hint=error.hint) from error


def with_partitions(data: StructType, partitions: StructType) -> StructType:
    """Partition columns behind the others; where the files have them too, they stay in place."""
    fields = [partitions.find(each.name) or each for each in data.fields]
    known = {each.name.lower() for each in data.fields}
    more = [each for each in partitions.fields if each.name.lower() not in known]
    return StructType((*fields, *more))


def column_names(schema: StructType) -> frozenset[Path]:
    """The columns at every depth, letter by letter."""
    return frozenset(path for path, _ in walk(schema))


@dataclass
class SchemaMerge:
    """Takes the schemas of files one by one; `result` has all columns."""

    result: StructType = field(default_factory=lambda: StructType(()))
    _seen: list[tuple[StructType, str]] = field(default_factory=list)

    def add(self, schema: StructType, file: str) -> None:
        if any(schema == known for known, _ in self._seen):
            return
        self.result = self._structs(self.result, schema, (), file)
        self._seen.append((schema, file))

    def _structs(self, known: StructType, new: StructType, path: Path, file: str) -> StructType:
        fields = [self._field(each, new.find(each.name), path, file) for each in known.fields]
        names = {each.name.lower() for each in known.fields}
        more = [each for each in new.fields if each.name.lower() not in names]
        return StructType((*fields, *more))

    def _field(
        self, known: StructField, new: StructField | None, path: Path, file: str
    ) -> StructField:
        if new is None:
            return known
        kind = self._types(known.data_type, new.data_type, (*path, known.name), file)
        return replace(known, data_type=kind)

    def _types(self, known: DataType, new: DataType, path: Path, file: str) -> DataType:
        if isinstance(known, StructType) and isinstance(new, StructType):
            return self._structs(known, new, path, file)
        if isinstance(known, ArrayType) and isinstance(new, ArrayType):
            element = self._types(known.element_type, new.element_type, (*path, "element"), file)
            return replace(known, element_type=element)
        if isinstance(known, MapType) and isinstance(new, MapType):
            key = self._types(known.key_type, new.key_type, (*path, "key"), file)
            value = self._types(known.value_type, new.value_type, (*path, "value"), file)
            return replace(known, key_type=key, value_type=value)
        if known == new or new == VOID:
            return known
        if known == VOID:
            return new
        if known in _INT32 and new in _INT32:
            return max(known, new, key=_INT32.index)
        raise self._mismatch(known, new, path, file)

    def _mismatch(
        self, known: DataType, new: DataType, path: Path, file: str
    ) -> SchemaMismatchError:
        other = next((name for schema, name in self._seen if path[0] in schema), "other files")
        return SchemaMismatchError(
            f"the column {render_path(path)} is {known} in {other} but {new} in {file}",
            hint="nothing was changed; write one of the files anew with the type of the other",
        )


# --- one file -----------------------------------------------------------------------------------


def _spark_schema(text: bytes) -> StructType | None:
    try:
        schema = parse_schema(text.decode("utf-8"))
    except (LakebedError, UnicodeDecodeError):
        return None  # whatever wrote it, Parquet's own types are there
    return transform(schema, lambda _, each: replace(each, metadata=_comment(each)))


def _comment(column: StructField) -> dict[str, Any]:
    """Other keys belong to the table that the file was written for."""
    found = column.metadata.get(COMMENT)
    return {COMMENT: found} if isinstance(found, str) else {}


def _arrow_schema(footer: pq.FileMetaData) -> pa.Schema:
    """pyarrow takes INT96 for nanoseconds without a zone; Spark and Impala write instants so."""
    leaves = (footer.schema.column(number) for number in range(footer.num_columns))
    fields = footer.schema.to_arrow_schema()
    return pa.schema([each.with_type(_fixed(each.type, leaves, (each.name,))) for each in fields])


def _fixed(kind: pa.DataType, leaves: Iterator[Any], path: Path) -> pa.DataType:
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type

    def inside(each: pa.Field) -> pa.Field:
        return each.with_type(_fixed(each.type, leaves, (*path, each.name)))

    if pa.types.is_struct(kind):
        return pa.struct([inside(kind.field(number)) for number in range(kind.num_fields)])
    if pa.types.is_map(kind):
        return pa.map_(inside(kind.key_field), inside(kind.item_field))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(inside(kind.value_field))
    leaf = next(leaves)
    if not pa.types.is_timestamp(kind) or kind.unit != "ns":
        return kind
    if leaf.physical_type == "INT96":
        return pa.timestamp("us", tz="UTC")
    raise SchemaError(
        f"column {render_path(path)} has nanoseconds, which Delta has no type for",
        hint="write the files anew with microseconds",
    )
