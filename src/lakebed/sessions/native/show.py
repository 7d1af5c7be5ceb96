"""SHOW CREATE TABLE, SHOW COLUMNS and SHOW PARTITIONS."""

from __future__ import annotations

from pyspark.sql import DataFrame

from lakebed.catalog.entry import TableEntry
from lakebed.commands.target.clustering_columns import clustering_columns
from lakebed.log.snapshot import Snapshot
from lakebed.sessions.native.question import Question
from lakebed.sessions.native.read_plans import opened
from lakebed.spark.catalog.session_catalog import resolve
from lakebed.spark.columns.projection import quote
from lakebed.spark.session.session_kind import functions_of
from lakebed.spec.columns.column_mapping import strip
from lakebed.spec.columns.column_metadata import (
    comment,
    current_default,
    generation_expression,
    identity,
)
from lakebed.spec.schema import (
    CHAR_VARCHAR,
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    UserDefinedType,
)
from lakebed.tables.delta_table import DeltaTable


def show_create(asked: Question) -> DataFrame:
    """A statement that makes the same table again, with all that Spark does not know of."""
    entry = resolve(asked.session, tuple(asked.request["parts"]))
    text = _create_text(entry, opened(asked))
    return asked.session.createDataFrame([(text,)], "createtab_stmt STRING")


def show_columns(asked: Question) -> DataFrame:
    rows = [(name,) for name in opened(asked).schema.names]
    return asked.session.createDataFrame(rows, "col_name STRING")


def show_partitions(asked: Question) -> DataFrame:
    """A column for each partition column, a row for each partition."""
    frame = DeltaTable.forPath(asked.session, asked.path).toDF()
    f = functions_of(frame)
    names = [f.col(quote(name)) for name in asked.request["columns"]]
    chosen = frame.select(*names).distinct()
    for name, value in asked.request["values"].items():
        column = f.col(quote(name))
        chosen = chosen.where(column.eqNullSafe(f.lit(value).cast(frame.schema[name].dataType)))
    return chosen.orderBy(*names)


def _create_text(entry: TableEntry, snapshot: Snapshot) -> str:
    metadata = snapshot.metadata
    columns = ",\n  ".join(map(_column, strip(snapshot.schema).fields))
    parts = entry.parts if entry.is_path else ("spark_catalog", *entry.parts)
    lines = [f"CREATE TABLE {_quoted_parts(parts)} (\n  {columns})", "USING delta"]
    if metadata.partition_columns:
        lines.append(f"PARTITIONED BY ({', '.join(map(quote, metadata.partition_columns))})")
    clustering = clustering_columns(snapshot)
    if clustering:
        lines.append(f"CLUSTER BY ({', '.join(map(_quoted_parts, clustering))})")
    if metadata.description is not None:
        lines.append(f"COMMENT {_literal(metadata.description)}")
    if not entry.is_managed and not entry.is_path:
        lines.append(f"LOCATION {_literal(entry.location or '')}")
    properties = ",\n  ".join(f"{_literal(k)} = {_literal(v)}" for k, v in _properties(snapshot))
    if properties:
        lines.append(f"TBLPROPERTIES (\n  {properties})")
    return "\n".join(lines) + "\n"


def _properties(snapshot: Snapshot) -> list[tuple[str, str]]:
    """With what makes the same protocol again; names of hidden columns are the table's own."""
    found = dict(snapshot.metadata.configuration)
    protocol = snapshot.protocol
    found["delta.minReaderVersion"] = str(protocol.min_reader_version)
    found["delta.minWriterVersion"] = str(protocol.min_writer_version)
    for feature in protocol.writer_features or ():
        found[f"delta.feature.{feature}"] = "supported"
    own = ("delta.columnMapping.maxColumnId", "delta.rowTracking.materialized")
    return sorted((k, v) for k, v in found.items() if not k.startswith(own))


def _column(field: StructField) -> str:
    text = _column_text(field)
    generated, marks, default = generation_expression(field), identity(field), None
    if marks is None and generated is None:
        default = current_default(field)
    kind = ""
    if generated is not None:
        kind = f" GENERATED ALWAYS AS ({generated})"
    elif marks is not None:
        how = "BY DEFAULT" if marks.allow_explicit_insert else "ALWAYS"
        kind = f" GENERATED {how} AS IDENTITY (START WITH {marks.start} INCREMENT BY {marks.step})"
    elif default is not None:
        kind = f" DEFAULT {default}"
    return text + kind


def _quoted_parts(parts: tuple[str, ...]) -> str:
    return ".".join(map(quote, parts))


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _column_text(field: StructField) -> str:
    limits = field.metadata.get(CHAR_VARCHAR)
    kind = str(limits).upper() if isinstance(limits, str) else _type_text(field.data_type)
    text = f"{quote(field.name)} {kind}{'' if field.nullable else ' NOT NULL'}"
    note = comment(field)
    return text if note is None else f"{text} COMMENT {_literal(note)}"


def _type_text(data_type: DataType) -> str:
    if isinstance(data_type, StructType):
        return f"STRUCT<{', '.join(map(_member, data_type.fields))}>"
    if isinstance(data_type, ArrayType):
        return f"ARRAY<{_type_text(data_type.element_type)}>"
    if isinstance(data_type, MapType):
        return f"MAP<{_type_text(data_type.key_type)}, {_type_text(data_type.value_type)}>"
    if isinstance(data_type, UserDefinedType):
        return _type_text(data_type.sql_type)
    name = str(data_type).upper()
    return _SQL.get(name, name)


def _member(field: StructField) -> str:
    """COMMENT and NOT NULL are allowed inside of structs too."""
    note = comment(field)
    text = f"{quote(field.name)}: {_type_text(field.data_type)}"
    text = text if field.nullable else f"{text} NOT NULL"
    return text if note is None else f"{text} COMMENT {_literal(note)}"


_SQL = {"LONG": "BIGINT", "INTEGER": "INT", "SHORT": "SMALLINT", "BYTE": "TINYINT"}
