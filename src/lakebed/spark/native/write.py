"""Writing DataFrames as data files of a table with Spark's own Parquet writer.

PROTOCOL: Data Files, Partition Value Serialization, Writer Requirements for Column Mapping.
Each file goes straight to its final name in the folder of the table or of its partition. Spark
reports those of successful tasks, and their footers have the statistics. Nothing is visible before
a commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from lakebed.data_files.file_layout import FileLayout
from lakebed.formats.statistics.footer_stats import collect
from lakebed.spark.columns.projection import quote, spark_type
from lakebed.spark.columns.spark_types import PARQUET_FIELD_ID
from lakebed.spark.errors import jvm_errors
from lakebed.spark.internals.jvm import Jvm
from lakebed.spark.internals.parquet_sink import ParquetSink, WrittenFile
from lakebed.spark.plane.plane import FileSettings
from lakebed.spec.actions import Add
from lakebed.spec.columns.column_mapping import column_id, physical_name
from lakebed.spec.partition_values import parse_column, serialize_column
from lakebed.spec.paths import (
    DEFAULT_PARTITION,
    decode_path,
    encode_path,
    escape_name,
    random_prefix,
    unescape_name,
)
from lakebed.spec.schema import (
    BINARY,
    DOUBLE,
    FLOAT,
    ArrayType,
    DataType,
    MapType,
    Path,
    StructField,
    StructType,
    transform,
)
from lakebed.storage.store import Store


def write_files(
    jvm: Jvm,
    store: Store,
    root: str,
    frame: DataFrame,
    layout: FileLayout,
    settings: FileSettings,
    *,
    hadoop: Mapping[str, str] | None = None,
) -> list[Add]:
    """Writes all rows; the frame has the columns of the table, in its order and types.

    `hadoop` are settings of Hadoop for this write alone.
    """
    folder = "/".join(filter(None, [settings.folder, _random_folder(layout)]))
    names = _partition_names(layout)
    sink = ParquetSink(
        jvm, _session_settings(settings), {**_dictionary_settings(layout), **(hadoop or {})}
    )
    place = f"{root}/{folder}" if folder else root
    with _tidied(store, folder, names), jvm_errors.of_job("the job that writes the rows"):
        found = sink.write(
            _stored_rows(frame, layout, names), place, len(names), _options(settings)
        )
    files = [_file(each, folder, len(names)) for each in found]
    with ThreadPoolExecutor(_THREADS, thread_name_prefix="lakebed-footers") as pool:
        stats = list(pool.map(lambda file: _stats(store, layout, file), files))
    values = _partition_values(files, layout)
    adds = []
    for file, text, partition in zip(files, stats, values, strict=True):
        if text is None:
            # Spark writes one file even for no rows at all, for its columns.
            store.delete(file.path)
            store.prune(_made_by(folder, names))
        else:
            path = encode_path(file.path)
            tags = layout.tags or None
            adds.append(Add(path, partition, file.size, file.modified_ms, True, text, tags))
    return adds


def num_partitions(jvm: Jvm, frame: DataFrame) -> int:
    """How many tasks will write the frame, if the settings have `fixed_partitions`."""
    sink = ParquetSink(jvm, _session_settings(FileSettings(fixed_partitions=True)))
    return sink.num_partitions(frame)


# --- what Spark is asked to write ----------------------------------------------------------------


def _session_settings(settings: FileSettings) -> dict[str, str]:
    if settings.fixed_partitions:
        return _FIXED_PARTITIONS | _SESSION
    return _ADAPTIVE | _SESSION if settings.adaptive else _SESSION


def _dictionary_settings(layout: FileLayout) -> dict[str, str]:
    """No dictionaries of floating-point leaves, unless the table asks for them.

    Spark looks 0.0 up in the dictionary of a row group, where -0.0 is another value, and would skip
    the row group. Its writer does not tell whether there is a -0.0 (see
    `arrow.write.parquet_bytes`).
    """
    if layout.configuration.get(FLOAT_DICTIONARIES, "").lower() == "true":
        return {}
    paths = [path for path, kind in _leaf_paths(layout.physical, ()) if kind in (FLOAT, DOUBLE)]
    if any("." in part for path in paths for part in path):
        # The setting for one column takes such a name for that of a nested field.
        return {_DICTIONARY: "false"}
    return {f"{_DICTIONARY}#{'.'.join(path)}": "false" for path in paths}


def _leaf_paths(data_type: DataType, path: Path) -> Iterator[tuple[Path, DataType]]:
    """The leaves of a column under the names that they have in Parquet files."""
    if isinstance(data_type, StructType):
        for field in data_type.fields:
            yield from _leaf_paths(field.data_type, (*path, field.name))
    elif isinstance(data_type, ArrayType):
        yield from _leaf_paths(data_type.element_type, (*path, "list", "element"))
    elif isinstance(data_type, MapType):
        yield from _leaf_paths(data_type.key_type, (*path, "key_value", "key"))
        yield from _leaf_paths(data_type.value_type, (*path, "key_value", "value"))
    else:
        yield path, data_type


def _options(settings: FileSettings) -> dict[str, str]:
    # Partition values are strings in directory names; with UTC those of timestamps need no zone.
    options = {"timeZone": "UTC"}
    codec = settings.compression
    if codec is not None:
        options["compression"] = _SPARK_CODECS.get(codec.lower(), codec.lower())
    if settings.max_rows_per_file is not None:
        options["maxRecordsPerFile"] = str(settings.max_rows_per_file)
    return options


def _stored_rows(frame: DataFrame, layout: FileLayout, names: Sequence[str]) -> DataFrame:
    """The columns of the files, and those that Spark makes directories of."""
    has_them = layout.mode == "none" and tuple(frame.columns) == layout.stored.names
    if has_them and not names and not any(field.metadata for field in frame.schema.fields):
        # A projection takes some calls of the JVM for each column.
        return frame
    return frame.select(*_stored_columns(layout), *_partition_keys(layout, names))


def _stored_columns(layout: FileLayout) -> list[Column]:
    """The columns of the files, under their physical names and ids."""
    empty = layout.may_be_empty
    return [
        _stored_column(field, layout.mode, may_be_empty=field.name in empty)
        for field in layout.stored.fields
    ]


def _stored_column(field: StructField, mode: str, *, may_be_empty: bool) -> Column:
    value = F.col(quote(field.name))
    if may_be_empty:
        value = F.when(F.octet_length(value) > 0, value)
    if mode == "none":
        # Metadata of the DataFrame's columns would go into the footer.
        return value.alias(field.name, metadata={})
    physical = transform(StructType((field,)), lambda _, each: _physical(each)).fields[0]
    if isinstance(field.data_type, StructType | ArrayType | MapType):
        # By position, null structs stay null, and nested fields get their ids.
        value = value.cast(spark_type(physical.data_type))
    return value.alias(physical.name, metadata=dict(physical.metadata))


def _physical(field: StructField) -> StructField:
    metadata = {PARQUET_FIELD_ID: column_id(field)}
    return StructField(physical_name(field), field.data_type, field.nullable, metadata)


def _partition_names(layout: FileLayout) -> list[str]:
    """The columns that Spark makes directories of; none of them goes into the files.

    Where the files have partition columns too, two columns have the same name.
    """
    return [physical_name(field) for field in _partition_fields(layout)]


def _random_folder(layout: FileLayout) -> str:
    """One for all files of a write; delta-spark has one for each, but Spark's own tasks cannot."""
    properties = layout.properties
    length = properties.random_prefix_length if properties.randomize_file_prefixes else 0
    return random_prefix(length)


def _partition_keys(layout: FileLayout, names: Sequence[str]) -> list[Column]:
    fields = _partition_fields(layout)
    return [_partition_key(field).alias(name) for field, name in zip(fields, names, strict=True)]


def _partition_key(field: StructField) -> Column:
    value = F.col(quote(field.name))
    # Spark would read bytes as text, which not all bytes are.
    return F.hex(value) if field.data_type == BINARY else value


def _partition_fields(layout: FileLayout) -> list[StructField]:
    return [layout.schema.field(name) for name in layout.partition_columns]


# --- what it wrote -------------------------------------------------------------------------------


@contextmanager
def _tidied(store: Store, folder: str, names: Sequence[str]) -> Iterator[None]:
    """A job that fails leaves no folders that it created on a disk, if they are empty."""
    is_new = not store.has_root()
    try:
        yield
    except BaseException:
        store.prune(_made_by(folder, names))
        if is_new:
            store.prune_root()
        raise


def _made_by(folder: str, names: Sequence[str]) -> Callable[[str], bool]:
    """Whether a folder of the root may be one that Spark created for a write."""
    if folder:
        top = folder.partition("/")[0]
        return lambda name: name == top
    prefixes = tuple(f"{escape_name(name)}=" for name in names[:1])
    return lambda name: name.startswith(prefixes)


@dataclass(frozen=True)
class _File:
    """`path` is below the root of the table, `directories` are those of the partition."""

    path: str
    directories: tuple[str, ...]
    size: int
    modified_ms: int


def _file(written: WrittenFile, folder: str, depth: int) -> _File:
    # From the end: the root may have other names than the one that it was given by.
    parts = decode_path(written.uri).split("/")[-1 - depth :]
    path = "/".join([folder, *parts] if folder else parts)
    return _File(path, tuple(parts[:-1]), written.size, written.modified_ms)


def _stats(store: Store, layout: FileLayout, file: _File) -> str | None:
    footer = pq.read_metadata(store.open_input(file.path))
    return collect(footer, layout.indexed, layout.properties) if footer.num_rows else None


def _partition_values(files: Sequence[_File], layout: FileLayout) -> list[dict[str, str | None]]:
    fields = _partition_fields(layout)
    columns = [
        _serialized([_value(file.directories[i]) for file in files], field)
        for i, field in enumerate(fields)
    ]
    keys = [physical_name(field) for field in fields]
    return [
        {key: column[row] for key, column in zip(keys, columns, strict=True)}
        for row in range(len(files))
    ]


def _value(directory: str) -> str | None:
    value = directory.partition("=")[2]
    return None if value == DEFAULT_PARTITION else unescape_name(value)


def _serialized(texts: list[str | None], field: StructField) -> list[str | None]:
    """The log's strings for Spark's."""
    if field.data_type == BINARY:
        raw = [None if text is None else bytes.fromhex(text) for text in texts]
        values = pa.array(raw, pa.binary())
    else:
        values = parse_column(pa.array(texts, pa.string()), field.data_type, column=field.name)
    found: list[str | None]
    found = serialize_column(values, field.data_type, column=field.name).to_pylist()
    return found


FLOAT_DICTIONARIES = "lakebed.parquet.floatDictionaries"
"""A property of tables: `true` lets Spark encode floating-point columns with dictionaries."""
_DICTIONARY = "parquet.enable.dictionary"
_THREADS = 16
_SPARK_CODECS = {"lz4": "lz4_raw"}
_SESSION = {
    # Spark's default, INT96, has no minimum and maximum.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.writeLegacyFormat": "false",
    # The protocol has the proleptic Gregorian calendar.
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.fieldId.write.enabled": "true",
    "spark.sql.variant.writeShredding.enabled": "false",
}
_FIXED_PARTITIONS = {"spark.sql.adaptive.enabled": "false"}
_ADAPTIVE = {"spark.sql.adaptive.enabled": "true"}
