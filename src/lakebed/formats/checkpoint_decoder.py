"""Reading the Parquet files of checkpoints: classic, parts, V2 and sidecars.

PROTOCOL: Checkpoint Schema. Columns are read when somebody asks for them, and row groups without
a row of the wanted kind are passed over.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakebed.errors import LogCorruptedError
from lakebed.formats import parquet_digest
from lakebed.formats.file_actions import ADD_SCHEMA, REMOVE_SCHEMA

SMALL = 8 * 1024 * 1024

# The field that is never null when the action is there.
_KEY_FIELDS = {
    "add": "path",
    "remove": "path",
    "txn": "appId",
    "metaData": "id",
    "protocol": "minReaderVersion",
    "domainMetadata": "domain",
    "sidecar": "path",
    "checkpointMetadata": "version",
}


class ParquetCheckpoint:
    """One Parquet file of a checkpoint."""

    def __init__(self, source: pa.NativeFile | pa.Buffer | bytes, name: str) -> None:
        self.name = name
        with self._errors():
            self._file = self._open(source)
            self._schema = self._file.schema_arrow

    @property
    def num_rows(self) -> int:
        return int(self._file.metadata.num_rows)

    def has(self, kind: str, field: str | None = None) -> bool:
        index = self._schema.get_field_index(kind)
        if index < 0:
            return False
        kind_type = self._schema.field(index).type
        return field is None or (
            pa.types.is_struct(kind_type) and kind_type.get_field_index(field) >= 0
        )

    def actions(self, kinds: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
        """The raw objects of actions that are few: everything but files."""
        found: list[tuple[str, dict[str, Any]]] = []
        for kind in kinds:
            with self._errors():
                column = self._rows(kind, None)
                if column is not None:
                    found += [(kind, _plain(row, column.type)) for row in column.to_pylist()]
        return found

    def files(self, kind: str, fields: Sequence[str]) -> pa.Table:
        """The `add` or `remove` rows of this file; fields that it lacks are null."""
        schema = ADD_SCHEMA if kind == "add" else REMOVE_SCHEMA
        with self._errors():
            column = self._rows(kind, fields)
            if column is None:
                return pa.schema([_target(schema, field) for field in fields]).empty_table()
            arrays = [_field(column, field, schema) for field in fields]
            return pa.table(arrays, names=list(fields))

    def _open(self, source: pa.NativeFile | pa.Buffer | bytes) -> pq.ParquetFile:
        if not isinstance(source, bytes | pa.Buffer) and source.size() <= SMALL:
            source = source.read_buffer()
        if isinstance(source, bytes | pa.Buffer):
            self._has_digest = parquet_digest.verify(memoryview(source), self.name)
            source = pa.BufferReader(source)
        else:
            self._has_digest = self._verify_footer(source)
        return pq.ParquetFile(
            source,
            pre_buffer=True,
            page_checksum_verification=True,
            # As nanoseconds, INT96 statistics outside the years 1677 to 2262 would wrap around.
            coerce_int96_timestamp_unit="us",
        )

    def _verify_footer(self, source: pa.NativeFile) -> bool:
        size = source.size()
        source.seek(size - 8)
        length = int.from_bytes(source.read(8)[:4], "little")
        if length + 12 > size:
            raise LogCorruptedError("not a Parquet file: its footer is cut off", file=self.name)
        source.seek(size - 8 - length)
        body = parquet_digest.verify_footer(source.read(length), self.name)
        source.seek(0)
        return body is not None

    def _rows(self, kind: str, fields: Sequence[str] | None) -> pa.ChunkedArray | None:
        """The struct column of a kind, only the rows that have it."""
        key = _KEY_FIELDS[kind]
        if not self.has(kind, key):
            return None
        groups = [i for i in range(self._file.num_row_groups) if self._may_have(i, kind, key)]
        if not groups:
            return None
        wanted = None if fields is None else [field for field in fields if self.has(kind, field)]
        columns = [kind] if wanted is None else [f"{kind}.{name}" for name in {key, *wanted}]
        table = self._file.read_row_groups(groups, columns=columns)
        self._check(table, groups)
        column = table.column(kind)
        return _keep(column, pc.struct_field(column, key).is_valid())

    def _check(self, table: pa.Table, groups: Sequence[int]) -> None:
        """pyarrow trusts the counts in page headers, and that all text is UTF-8."""
        if table.num_rows != sum(self._file.metadata.row_group(i).num_rows for i in groups):
            raise LogCorruptedError("has fewer rows than its footer says", file=self.name)
        if not self._has_digest:
            table.validate(full=True)

    def _may_have(self, group: int, kind: str, key: str) -> bool:
        meta = self._file.metadata.row_group(group)
        index = self._leaves.get(f"{kind}.{key}")
        if index is None:
            return True
        chunk = meta.column(index)
        stats = chunk.statistics
        if stats is None or not stats.has_null_count:
            return True
        return bool(stats.null_count < meta.num_rows)

    @property
    def _leaves(self) -> dict[str, int]:
        if not hasattr(self, "_leaf_index"):
            schema = self._file.schema
            self._leaf_index = {schema.column(i).path: i for i in range(len(schema))}
        return self._leaf_index

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """pyarrow raises many classes on damaged files; all of them mean one thing here."""
        try:
            yield
        except LogCorruptedError:
            raise
        except (
            pa.ArrowException,
            OSError,
            ValueError,
            TypeError,
            KeyError,
            IndexError,
            OverflowError,
            MemoryError,
            struct.error,
        ) as error:
            raise LogCorruptedError(f"cannot be read: {error}", file=self.name) from error


def conform(array: pa.ChunkedArray | pa.Array, kind: pa.DataType) -> pa.ChunkedArray | pa.Array:
    """The same values as `kind`: fields of structs by name, absent ones null."""
    if array.type == kind:
        return array
    if isinstance(array, pa.ChunkedArray):
        chunks = [conform(chunk, kind) for chunk in array.chunks]
        return pa.chunked_array(chunks, type=kind)
    if pa.types.is_struct(kind):
        return _conform_struct(array, kind)
    if pa.types.is_map(kind):
        return _conform_map(array, kind)
    return array.cast(kind)


def _conform_struct(array: pa.StructArray, kind: pa.StructType) -> pa.StructArray:
    children = []
    for position in range(kind.num_fields):
        field = kind.field(position)
        if array.type.get_field_index(field.name) < 0:
            children.append(pa.nulls(len(array), field.type))
        else:
            children.append(conform(pc.struct_field(array, field.name), field.type))
    fields = [kind.field(position) for position in range(kind.num_fields)]
    return pa.StructArray.from_arrays(children, fields=fields, mask=array.is_null())


def _conform_map(array: pa.MapArray, kind: pa.MapType) -> pa.MapArray:
    rows = [None if row is None else list(row) for row in array.to_pylist()]
    return pa.array(rows, type=kind)


def _field(column: pa.ChunkedArray, name: str, schema: pa.Schema) -> pa.ChunkedArray:
    target = _target(schema, name)
    if column.type.get_field_index(name) < 0:
        return pa.chunked_array([pa.nulls(len(column), target.type)])
    values = pc.struct_field(column, name)
    return values if target.type == pa.null() else conform(values, target.type)


def _target(schema: pa.Schema, name: str) -> pa.Field:
    """Parsed statistics and partition values have the types that the table gives them."""
    index = schema.get_field_index(name)
    return schema.field(index) if index >= 0 else pa.field(name, pa.null())


def _keep(column: pa.ChunkedArray, mask: pa.ChunkedArray) -> pa.ChunkedArray:
    count = pc.sum(mask).as_py() or 0
    if count == len(column):
        return column
    # The rows of a kind usually stand together: then this is a slice and copies nothing.
    first = pc.index(mask, True).as_py()
    if first >= 0 and pc.sum(mask.slice(first, count)).as_py() == count:
        return column.slice(first, count)
    return column.filter(mask)


def _plain(value: Any, kind: pa.DataType) -> Any:
    """Python objects as JSON has them: maps as objects, nulls left out."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        entries = {
            kind.field(i).name: _plain(value[kind.field(i).name], kind.field(i).type)
            for i in range(kind.num_fields)
        }
        return {name: entry for name, entry in entries.items() if entry is not None}
    if pa.types.is_map(kind):
        return {name: _plain(entry, kind.item_type) for name, entry in value}
    if pa.types.is_list(kind):
        return [_plain(entry, kind.value_type) for entry in value]
    return value
