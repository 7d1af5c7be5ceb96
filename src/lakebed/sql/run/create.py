"""CREATE TABLE with columns, AS a query, LIKE another table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType as SparkStruct

from lakebed.commands.alter.change import AlterTarget
from lakebed.commands.alter.column_default import check_default
from lakebed.commands.alter.column_names import to_path
from lakebed.commands.alter.column_types import typed_field
from lakebed.commands.alter.generated_on_spark import check_generated
from lakebed.commands.create import Mode, TableDefinition, create_table
from lakebed.commands.frame_write import FrameWrite, default_properties, write_frame
from lakebed.commands.named_modes import (
    CREATE,
    IF_NOT_EXISTS,
    OR_REPLACE,
    REPLACE,
    adopted,
    adopts,
    is_there,
    leftover,
)
from lakebed.commands.named_tables import (
    Place,
    create_named,
    place_for,
)
from lakebed.commands.row_target import USER_METADATA
from lakebed.commands.write_options import WriteOptions
from lakebed.errors import (
    SchemaError,
    SqlError,
    UnsupportedFeatureError,
)
from lakebed.expressions.allowed import ExpressionKind
from lakebed.log.table_log import TableLog
from lakebed.spark.location import open_location
from lakebed.spark.session_catalog import find, not_found
from lakebed.spark.session_settings import all_settings
from lakebed.spark.sql_expressions import table_expression
from lakebed.spec.column_mapping import strip
from lakebed.spec.column_metadata import CURRENT_DEFAULT
from lakebed.spec.properties import CONSTRAINT_PREFIX
from lakebed.spec.schema import StructField, StructType, parse_schema
from lakebed.sql.context import SqlContext
from lakebed.sql.grammar.create import ColumnText, CreateLike, CreateTable, TableText
from lakebed.sql.statement import TableRef
from lakebed.tables.table_builder import IdentityGenerator, column_type, generated_field

_SOURCE = "spark.sql.sources.default"
_DEFAULTS_FEATURE = "delta.feature.allowColumnDefaults"


def run_create(context: SqlContext, statement: CreateTable) -> DataFrame | None:
    place = new_table_place(context, statement.table, statement.text)
    if place is None:
        return None
    if is_there(place, statement.mode):
        return context.empty()
    if statement.query is not None:
        _create_as(context, statement, place)
    else:
        _create(context, statement, place)
    return context.empty()


def run_create_like(context: SqlContext, statement: CreateLike) -> DataFrame | None:
    session, text = context.session, statement.text
    source = find(session, statement.source.parts)
    provider = text.provider or (source.provider if source is not None else None)
    if provider != "delta":
        return None
    place = new_table_place(context, statement.table, TableText("delta", location=text.location))
    if place is None:
        return None
    if source is None:
        raise not_found(session, statement.source.parts)
    if is_there(place, statement.mode):
        return context.empty()
    if source.is_delta:
        model = TableLog(open_location(session, source.location or "", {})[0]).snapshot()
        definition = TableDefinition(
            strip(model.schema),
            model.metadata.partition_columns,
            properties={**model.metadata.configuration, **text.properties},
            comment=text.comment or model.metadata.description,
            is_managed=place.is_managed,
        )
    else:
        columns = session.sql(f"SELECT * FROM {statement.source}").schema
        definition = TableDefinition(
            parse_schema(columns.json()),
            properties=text.properties,
            default_properties=default_properties(_settings(session)),
            comment=text.comment,
            is_managed=place.is_managed,
        )
    _make(place, definition, statement.mode)
    return context.empty()


def new_table_place(context: SqlContext, table: TableRef, text: TableText) -> Place | None:
    """None if the table is to be of another format, or in another catalog."""
    session = context.session
    provider = text.provider
    if provider is None and table.path is None:
        provider = str(session.conf.get(_SOURCE, "parquet")).lower()
    if provider not in (None, "delta"):
        return None
    try:
        return place_for(session, table.parts, text.location)
    except UnsupportedFeatureError:
        # A table of another catalog.
        return None


def _create(context: SqlContext, statement: CreateTable, place: Place) -> None:
    schema = _schema(context, statement)
    if adopts(place, statement.mode):
        text = statement.text
        stated = TableDefinition(schema, text.partition_by, properties=text.properties)
        create_named(place, lambda: adopted(place, stated))
        return
    if not len(schema):
        raise SqlError(
            f"{place.location} is not a Delta table, and the new one is given no columns",
            sql=context.sql,
            position=statement.table.position,
            hint="name the columns, or write AS and a query",
        )
    check_generated(context.session, schema)
    checks = _checks(context, statement, schema)
    text = statement.text
    properties = {**text.properties, **checks}
    if any(CURRENT_DEFAULT in field.metadata for field in schema):
        properties.setdefault(_DEFAULTS_FEATURE, "supported")
    definition = TableDefinition(
        schema,
        text.partition_by,
        tuple(to_path(column) for column in text.cluster_by),
        properties,
        _defaults(context.session, text.properties),
        comment=text.comment,
        is_managed=place.is_managed,
    )
    _make(place, definition, statement.mode)


def _make(place: Place, definition: TableDefinition, mode: str) -> None:
    target = AlterTarget(place.log, place.session.conf.get(USER_METADATA, None))
    create_named(place, lambda: create_table(target, definition, cast("Mode", mode)))


def _create_as(context: SqlContext, statement: CreateTable, place: Place) -> None:
    """All in one commit: a query that fails leaves neither a table nor a name."""
    replaces = statement.mode in (REPLACE, OR_REPLACE)
    if not replaces and place.has_table():
        raise leftover(place)
    assert statement.query is not None
    frame = context.query(statement.query.text, statement.query)
    settings, text = _settings(context.session), statement.text
    options = WriteOptions(
        mode="overwrite" if replaces else "errorifexists",
        overwrite_schema=replaces,
        replaces_table=replaces,
        partition_by=text.partition_by,
        cluster_by=text.cluster_by,
        properties=text.properties,
        default_properties=_defaults(context.session, text.properties),
        description=text.comment,
        user_metadata=settings.get(USER_METADATA),
        operation={
            "name": _NAMES[statement.mode],
            "isManaged": str(place.is_managed).lower(),
            "description": text.comment,
            "partitionBy": list(text.partition_by or ()),
            "clusterBy": list(text.cluster_by or ()),
            "properties": dict(text.properties),
        },
    )
    write = FrameWrite(frame, place.location, options)
    create_named(place, lambda: write_frame(write, settings))


_NAMES = {
    REPLACE: "REPLACE TABLE AS SELECT",
    OR_REPLACE: "CREATE OR REPLACE TABLE AS SELECT",
    CREATE: "CREATE TABLE AS SELECT",
    IF_NOT_EXISTS: "CREATE TABLE AS SELECT",
}


def _schema(context: SqlContext, statement: CreateTable) -> StructType:
    seen: set[str] = set()
    fields = []
    for column in statement.columns:
        if column.name.lower() in seen:
            raise _at(context, column, f"there are two columns {column.name!r}")
        seen.add(column.name.lower())
        try:
            fields.append(_field(column))
        except SchemaError as error:
            raise _at(context, column, error.message, error.hint) from error
    return StructType(tuple(fields))


def _field(column: ColumnText) -> StructField:
    field = typed_field(
        column.name,
        column_type(column.data_type.text),
        nullable=column.nullable,
        comment=column.comment,
    )
    if column.default is not None:
        check_default((column.name,), field, column.default.text)
        field = field.with_metadata({CURRENT_DEFAULT: column.default.text})
    if column.generated is not None:
        return generated_field(field, column.generated.text, None)
    if column.identity is not None:
        made = IdentityGenerator(column.identity.start, column.identity.step)
        always = made if column.identity.always else None
        return generated_field(field, always, None if column.identity.always else made)
    return field


def _checks(context: SqlContext, statement: CreateTable, schema: StructType) -> dict[str, str]:
    columns = SparkStruct.fromJson(schema.to_json())
    for name, condition in statement.checks.items():
        frame = context.session.createDataFrame([], columns)
        try:
            holds = table_expression(frame, condition.text, ExpressionKind.CHECK, name, schema)
            _ = frame.where(holds).schema
        except AnalysisException as error:
            raise SqlError(
                f"the constraint does not work: {str(error).splitlines()[0]}",
                sql=context.sql,
                position=condition.position,
            ) from error
    return {f"{CONSTRAINT_PREFIX}{name.lower()}": c.text for name, c in statement.checks.items()}


def _at(context: SqlContext, column: ColumnText, message: str, hint: str | None = None) -> SqlError:
    return SqlError(message, sql=context.sql, position=column.position, hint=hint)


def _settings(session: SparkSession) -> dict[str, str]:
    return all_settings(session)


def _defaults(session: SparkSession, asked: Mapping[str, str]) -> dict[str, str]:
    """The properties that the session gives to new tables, unless they are asked for."""
    given = {key.lower() for key in asked}
    found = default_properties(_settings(session))
    return {key: value for key, value in found.items() if key.lower() not in given}
