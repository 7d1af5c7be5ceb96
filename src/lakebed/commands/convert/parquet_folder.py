"""A folder of Parquet files: its data files, their partition values and their common schema.

As in Spark: names that begin with `_` or `.` are hidden, unless they are folders of a partition;
names and values are escaped as Hive does; a folder that a streaming query wrote has a list of its
files, and only these count.

The schema is that of all files, merged as delta-spark does. Types must be the same; bytes, shorts
and integers, which Parquet stores alike, become the widest of them. A column that some files lack
is null there. PROTOCOL: Data Files (physical types).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from lakebed.errors import (
    InvalidArgumentError,
    LakebedError,
    LogCorruptedError,
    PartitionValueError,
    SchemaError,
    SchemaMismatchError,
)
from lakebed.formats.arrow_types import from_arrow_schema
from lakebed.spec.columns.column_metadata import COMMENT
from lakebed.spec.partition_values import parse_value, serialize_value
from lakebed.spec.paths import DEFAULT_PARTITION, unescape_name
from lakebed.spec.schema import (
    BYTE,
    DATE,
    INTEGER,
    LONG,
    SHORT,
    STRING,
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
from lakebed.storage.store import ObjectMeta, Store

_STREAM_LOG = "_spark_metadata"
_BATCH = re.compile(r"(\d+)(\.compact)?")
_TYPE_NAMES: Mapping[DataType, str] = {
    INTEGER: "INT",
    LONG: "BIGINT",
    DATE: "DATE",
    STRING: "STRING",
}


@dataclass(frozen=True)
class FoundFile:
    """A data file, and what the names of its folders say: (column, value) from the root down."""

    meta: ObjectMeta
    values: tuple[tuple[str, str | None], ...]


def find_files(store: Store) -> list[FoundFile]:
    """All data files of the folder, in the order of their paths."""
    listed = _written_by_stream(store)
    metas = [
        meta
        for meta in store.list_all()
        if (meta.path in listed if listed is not None else not _is_hidden(meta.path))
    ]
    gone = sorted((listed or set()) - {meta.path for meta in metas})
    if gone:
        raise InvalidArgumentError(
            f"{_STREAM_LOG} lists files that are gone, such as {gone[0]}",
            hint=f"bring them back; or delete {_STREAM_LOG} to convert all files that are there",
        )
    if not metas:
        raise InvalidArgumentError(
            f"there are no Parquet files in {store.url}",
            hint="give the folder that holds the files or the folders of their partitions",
            condition="DELTA_EMPTY_DIRECTORY",
        )
    return [FoundFile(meta, _folder_values(meta.path)) for meta in sorted(metas)]


def partition_values(file: FoundFile, columns: StructType) -> dict[str, str | None]:
    """The values as the log has them; refuses folders that are not those of the columns."""
    names = [name for name, _ in file.values]
    expected = [field.name for field in columns.fields]
    if [name.lower() for name in names] != [name.lower() for name in expected]:
        raise InvalidArgumentError(
            f"{file.meta.path} is in folders of the partition columns {names}, but the partition "
            f"schema has {expected}",
            hint="give the partition columns in the order of the folders",
            condition="DELTA_UNEXPECTED_PARTITION_COLUMN_FROM_FILE_NAME"
            if len(names) == len(expected)
            else "DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME",
        )
    pairs = zip(columns.fields, file.values, strict=True)
    return {
        field.name: _typed(file, field.name, text, field.data_type) for field, (_, text) in pairs
    }


def check_partitioned(files: Sequence[FoundFile], columns: StructType | None) -> StructType:
    """The partition columns; folders of partitions need a schema, as in delta-spark."""
    if columns is not None:
        return columns
    for file in files:
        if file.values:
            names = [name for name, _ in file.values]
            guess = ", ".join(f"{n} {_TYPE_NAMES[_guess(files, i)]}" for i, n in enumerate(names))
            raise InvalidArgumentError(
                f"{file.meta.path} is in folders of the partition columns {names}, but no "
                "partition schema was given",
                hint=f"give their types, such as partition_schema={guess!r}",
                condition="DELTA_UNEXPECTED_NUM_PARTITION_COLUMNS_FROM_FILE_NAME",
            )
    return StructType(())


def _typed(file: FoundFile, column: str, text: str | None, kind: DataType) -> str | None:
    if text is None:
        return None
    try:
        return serialize_value(parse_value(text, kind, column=column), kind, column=column)
    except PartitionValueError as error:
        raise PartitionValueError(f"{file.meta.path}: {error.message}", hint=error.hint) from error


def _folder_values(path: str) -> tuple[tuple[str, str | None], ...]:
    """From the file upwards, as far as the folders go on being those of a partition."""
    found: list[tuple[str, str | None]] = []
    for folder in reversed(path.split("/")[:-1]):
        name, equals, value = folder.partition("=")
        if not equals:
            if found:
                break
            continue
        if not name or not value:
            raise PartitionValueError(
                f"{path}: the folder {folder!r} has no {'value' if name else 'column'}",
                hint=f"an empty value is written as {DEFAULT_PARTITION}",
            )
        text = unescape_name(value)
        found.append((unescape_name(name), None if text == DEFAULT_PARTITION else text))
    return tuple(reversed(found))


def _is_hidden(path: str) -> bool:
    *folders, name = path.split("/")
    hidden = (folder for folder in folders if folder.startswith(("_", ".")) and "=" not in folder)
    return name.startswith(("_", ".")) or any(hidden)


def _guess(files: Sequence[FoundFile], place: int) -> DataType:
    """The first type that holds all values, for the hint alone."""
    texts = {file.values[place][1] for file in files if len(file.values) > place} - {None}
    for kind in (INTEGER, LONG, DATE):
        if texts and all(_fits(text, kind) for text in texts):
            return kind
    return STRING


def _fits(text: str | None, kind: DataType) -> bool:
    try:
        parse_value(text, kind)
    except PartitionValueError:
        return False
    return True


# --- folders that a streaming query wrote --------------------------------------------------------


def _written_by_stream(store: Store) -> set[str] | None:
    """The files that the query has committed; None if no query wrote the folder."""
    batches: dict[str, tuple[int, bool]] = {}
    for meta in store.list_from(f"{_STREAM_LOG}/"):
        match = _BATCH.fullmatch(meta.path.rpartition("/")[2])
        if match is not None:
            batches[meta.path] = (int(match[1]), match[2] is not None)
    if not batches:
        return None
    start = max((number for number, compact in batches.values() if compact), default=-1)
    used = [
        path
        for path, (number, compact) in sorted(batches.items(), key=lambda item: item[1])
        if number > start or (number == start and compact)
    ]
    files: set[str] = set()
    for path, data in zip(used, store.get_many(used), strict=True):
        for entry in _entries(path, data):
            home, name = store.resolve(str(entry["path"]))
            if home is not store:
                raise InvalidArgumentError(
                    f"{path} names {entry['path']}, which is not in {store.url}",
                    hint=f"the folder was moved; delete {_STREAM_LOG} to convert what is there",
                )
            (files.discard if entry.get("action") == "delete" else files.add)(name)
    return files


def _entries(path: str, data: bytes) -> list[Mapping[str, object]]:
    head, *lines = data.decode("utf-8").splitlines()
    try:
        return [orjson.loads(line) for line in lines if line.strip()]
    except orjson.JSONDecodeError as error:
        raise LogCorruptedError(f"version {head} of the list cannot be read", file=path) from error


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
            condition="DELTA_FAILED_MERGE_SCHEMA_FILE",
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
