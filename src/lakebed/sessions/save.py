"""Writes of a session, to a path or to a name."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from lakebed.commands.frame_write import FrameWrite, write_frame
from lakebed.commands.named_tables import Place, create_named, place_for, refuse_foreign
from lakebed.commands.write_options import WriteOptions
from lakebed.errors import InvalidArgumentError, SchemaMismatchError, UnsupportedFeatureError
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.sessions import settings as names
from lakebed.sessions.settings import SessionSettings
from lakebed.sessions.write_request import WriteRequest
from lakebed.spark.assigning import assigned_by_position
from lakebed.spark.catalog_entry import TableEntry
from lakebed.spark.enabled import is_enabled
from lakebed.spark.location import open_location
from lakebed.spark.session_catalog import find, name_taken
from lakebed.spark.table_names import is_name, parts_in
from lakebed.spec.schema import parse_schema
from lakebed.tables.delta_table import DeltaTable

_SOURCE = "spark.sql.sources.default"


def save(
    frame: DataFrame, request: WriteRequest, location: str, options: WriteOptions | None = None
) -> Snapshot:
    """`options` replace those of the request."""
    session = frame.sparkSession
    settings = SessionSettings.of(session)
    write = FrameWrite(
        frame,
        location,
        request.options(settings) if options is None else options,
        request.file_settings(settings),
        request.optimize(settings),
        request.others(),
    )
    written = write_frame(write, settings.values)
    if settings.flag(names.TXN_RESET, False) and settings.text(names.TXN_VERSION) is not None:
        session.conf.unset(names.TXN_VERSION)
    return written


def save_named(frame: DataFrame, request: WriteRequest, name: str) -> None:
    """What `saveAsTable` does. With the option `path` a new table is an external one."""
    save_at(frame, request, place_for(frame.sparkSession, parts_in(name), request.get("path")))


def save_at(frame: DataFrame, request: WriteRequest, place: Place) -> None:
    """The same for a place."""
    options = request.options(SessionSettings.of(frame.sparkSession))
    if options.mode == "ignore" and (place.is_foreign or place.has_table()):
        return
    refuse_foreign(place)
    if options.mode == "errorifexists" and place.entry is not None and place.has_table():
        raise name_taken(place.shown)
    schema = parse_schema(frame.schema.json())
    create_named(place, schema, lambda: save(frame, request, place.location, options))


def insert_by_position(frame: DataFrame, request: WriteRequest, entry: TableEntry) -> None:
    """What `insertInto` does: columns go by their places, whatever their names."""
    if request.partition_by is not None:
        raise InvalidArgumentError(
            "insertInto and partitionBy do not go together",
            hint="leave partitionBy out: the table knows its partitions",
        )
    assert entry.location is not None
    store, _ = open_location(frame.sparkSession, entry.location, request.others())
    schema = TableLog(store).snapshot().schema
    columns = schema.names
    if len(frame.columns) != len(columns):
        raise SchemaMismatchError(
            f"{entry.name} has {len(columns)} columns, and the data has {len(frame.columns)}",
            hint=f"columns go by position: {', '.join(columns)}",
        )
    if request.mode.lower() != "overwrite":
        request.mode = "append"
    save(assigned_by_position(frame, schema.fields), request, entry.location)


def create_in_catalog(
    session: SparkSession,
    name: str,
    path: str | None,
    source: str | None,
    schema: StructType | None,
    description: str | None,
    options: Mapping[str, str],
) -> DataFrame | None:
    """What `spark.catalog.createTable` does; None if it is no matter of Delta tables."""
    if not is_enabled(session) or not is_delta_target(session, name, source):
        return None
    builder = DeltaTable.create(session).tableName(name)
    location = path or options.get("path")
    if location is not None:
        builder = builder.location(location)
    if schema is not None:
        builder = builder.addColumns(schema)
    if description is not None:
        builder = builder.comment(description)
    return builder.execute().toDF()


def is_delta_target(session: SparkSession, name: str, source: str | None) -> bool:
    """Whether a write by name is Lakebed's: by its format, or by the table that is there."""
    if source is not None:
        return source.lower() == "delta" and is_own(session, name)
    default = str(session.conf.get(_SOURCE, "parquet")).lower()
    if default == "delta":
        return is_own(session, name)
    return delta_entry(session, name) is not None


def delta_entry(session: SparkSession, name: str) -> TableEntry | None:
    """The Delta table of a name or path; None for all else, which Spark knows how to refuse."""
    if not isinstance(name, str) or not is_name(name):
        return None
    found = find(session, parts_in(name))
    return found if found is not None and found.is_delta else None


def is_own(session: SparkSession, name: str) -> bool:
    """False for tables of other catalogs."""
    try:
        place_for(session, parts_in(name))
    except UnsupportedFeatureError:
        return False
    return True
