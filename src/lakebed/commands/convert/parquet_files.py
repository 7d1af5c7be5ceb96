"""The files of a Parquet folder, and the partition values in the names of their folders.

As in Spark: names that begin with `_` or `.` are hidden, unless they are folders of a partition;
names and values are escaped as Hive does; a folder that a streaming query wrote has a list of its
files, and only these count.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from lakebed.errors import InvalidArgumentError, LogCorruptedError, PartitionValueError
from lakebed.spec.partition_values import parse_value, serialize_value
from lakebed.spec.paths import DEFAULT_PARTITION, unescape_name
from lakebed.spec.schema import DATE, INTEGER, LONG, STRING, DataType, StructType
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
