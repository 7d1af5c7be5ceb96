"""DESCRIBE and SHOW."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame

from lakebed.commands.alter.clustering_columns import clustering_columns
from lakebed.commands.alter.column_types import sql_text
from lakebed.log.snapshot import Snapshot
from lakebed.spark.catalog_entry import SESSION_CATALOG, TableEntry
from lakebed.spark.functions import functions_of
from lakebed.spark.projection import quote, spark_type
from lakebed.spark.session_catalog import resolve
from lakebed.spec.column_metadata import comment, current_default, generation_expression
from lakebed.spec.features import supported_features
from lakebed.spec.properties import FEATURE_PREFIX
from lakebed.spec.schema import StructField, StructType, find_path, render_path
from lakebed.sql.context import SqlContext
from lakebed.sql.grammar.describe import (
    DescribeDetail,
    DescribeHistory,
    DescribeTable,
    ShowColumns,
    ShowPartitions,
    ShowProperties,
)
from lakebed.sql.names_in import column_path, top_column
from lakebed.sql.tables import OpenTable, open_table

_HEAD = "col_name STRING, data_type STRING, comment STRING"
Row = tuple[str, str | None, str | None]


def run_history(context: SqlContext, statement: DescribeHistory) -> DataFrame | None:
    found = open_table(context, statement)
    return None if found is None else found.delta().history(statement.limit)


def run_detail(context: SqlContext, statement: DescribeDetail) -> DataFrame | None:
    """With the name that the statement calls the table by, as in delta-spark."""
    found = open_table(context, statement)
    if found is None:
        return None
    detail = found.delta().detail()
    if found.ref.path is not None:
        return detail
    f = functions_of(detail)
    name = ".".join(found.ref.parts)
    return detail.withColumn("name", f.coalesce(f.col("name"), f.lit(name)))


def run_describe(context: SqlContext, statement: DescribeTable) -> DataFrame | None:
    found = open_table(context, statement)
    if found is None:
        return None
    schema = found.snapshot.schema
    if statement.column is not None:
        path = column_path(context, statement.column, schema, found.names)
        return _column_frame(context, render_path(path), _field(schema, path))
    rows = [*_columns(schema), *_layout(found)]
    if statement.extended:
        rows += _details(found)
    return context.session.createDataFrame(rows, _HEAD)


def run_show_columns(context: SqlContext, statement: ShowColumns) -> DataFrame | None:
    found = open_table(context, statement)
    if found is None:
        return None
    rows = [(name,) for name in found.snapshot.schema.names]
    return context.session.createDataFrame(rows, "col_name STRING")


def run_show_properties(context: SqlContext, statement: ShowProperties) -> DataFrame | None:
    found = open_table(context, statement)
    if found is None:
        return None
    known = table_properties(found)
    rows = sorted(known.items())
    if statement.key is not None:
        absent = f"Table {'.'.join(found.ref.parts)} does not have property: {statement.key}"
        rows = [(statement.key, known.get(statement.key, absent))]
    return context.session.createDataFrame(rows, "key STRING, value STRING")


def run_show_partitions(context: SqlContext, statement: ShowPartitions) -> DataFrame | None:
    """A column for each partition column, a row for each partition."""
    found = open_table(context, statement)
    if found is None:
        return None
    schema, names = found.snapshot.schema, found.snapshot.partition_columns
    frame = found.delta().toDF()
    f = functions_of(frame)
    chosen = frame.select(*[f.col(quote(name)) for name in names]).distinct()
    for part in statement.parts:
        field = top_column(context, part.column, schema, found.names)
        if part.value is not None:
            value = context.column(part.value.text, part.value).cast(spark_type(field.data_type))
            chosen = chosen.where(f.col(quote(field.name)).eqNullSafe(value))
    return chosen.orderBy(*names)


def table_properties(found: OpenTable) -> dict[str, str]:
    return shown_properties(found.snapshot)


def shown_properties(snapshot: Snapshot) -> dict[str, str]:
    """Those that were set, and the protocol as delta-spark shows it."""
    protocol = snapshot.protocol
    shown = dict(snapshot.metadata.configuration)
    shown["delta.minReaderVersion"] = str(protocol.min_reader_version)
    shown["delta.minWriterVersion"] = str(protocol.min_writer_version)
    if protocol.min_writer_version >= 7:
        shown |= {f"{FEATURE_PREFIX}{name}": "supported" for name in supported_features(protocol)}
    return shown


def _columns(schema: StructType) -> list[Row]:
    return [(field.name, sql_text(field.data_type), comment(field)) for field in schema.fields]


def _layout(found: OpenTable) -> list[Row]:
    schema, partitions = found.snapshot.schema, found.snapshot.partition_columns
    rows: list[Row] = []
    if partitions:
        fields = StructType(tuple(schema.field(name) for name in partitions))
        rows += [("# Partition Information", "", ""), _TITLES, *_columns(fields)]
    clustered = clustering_columns(found.snapshot) or ()
    if clustered:
        rows += [("# Clustering Information", "", ""), _TITLES]
        rows += [
            (render_path(path), sql_text(_field(schema, path).data_type), None)
            for path in clustered
        ]
    return rows


_TITLES: Row = ("# col_name", "data_type", "comment")


def _details(found: OpenTable) -> list[Row]:
    metadata, entry = found.snapshot.metadata, resolve(found.context.session, found.ref.parts)
    shown = ",".join(f"{key}={value}" for key, value in sorted(table_properties(found).items()))
    rows: list[Row] = [
        ("", "", ""),
        ("# Detailed Table Information", "", ""),
        ("Name", ".".join(_full_name(entry)), ""),
        ("Type", "EXTERNAL" if entry.is_path else entry.kind, ""),
        ("Comment", metadata.description or "", ""),
        ("Location", found.location, ""),
        ("Provider", "delta", ""),
        ("Owner", entry.owner or "", ""),
        ("Table Properties", f"[{shown}]", ""),
    ]
    constraints = found.snapshot.properties.constraints
    rows += [(f"Constraint {name}", sql, "") for name, sql in sorted(constraints.items())]
    return [row for row in rows if row[0] not in _OPTIONAL or row[1]] + _expressions(found)


_OPTIONAL = ("Comment", "Owner")


def _full_name(entry: TableEntry) -> tuple[str, ...]:
    return entry.parts if entry.is_path else (SESSION_CATALOG, *entry.parts)


def _expressions(found: OpenTable) -> list[Row]:
    """Defaults and generated columns, of which plain types say nothing."""
    rows: list[Row] = []
    for field in found.snapshot.schema.fields:
        default, generated = current_default(field), generation_expression(field)
        if default is not None:
            rows.append((f"Default of {field.name}", default, ""))
        if generated is not None:
            rows.append((f"Generation of {field.name}", generated, ""))
    return rows


def _column_frame(context: SqlContext, name: str, field: StructField) -> DataFrame:
    rows = [
        ("col_name", name),
        ("data_type", sql_text(field.data_type)),
        ("comment", comment(field) or "NULL"),
    ]
    return context.session.createDataFrame(rows, "info_name STRING, info_value STRING")


def _field(schema: StructType, path: Sequence[str]) -> StructField:
    found = find_path(schema, tuple(path))
    assert found is not None
    return found[1]
