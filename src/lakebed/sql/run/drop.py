"""DROP, UNDROP, TRUNCATE, REFRESH, SHOW CREATE TABLE; what DROP SCHEMA CASCADE must not delete."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from lakebed.commands.alter.clustering_columns import clustering_columns
from lakebed.commands.dropped_tables import drop_table, undrop_table
from lakebed.errors import InvalidArgumentError, SchemaMismatchError, TableExistsError
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.spark.catalog_entry import NewEntry, TableEntry
from lakebed.spark.location import open_location
from lakebed.spark.mirrored_catalog import MirroredCatalog
from lakebed.spark.session_catalog import (
    catalog_of,
    find,
    move_entry,
    rename_entry,
)
from lakebed.spark.sql_text import column_text, literal, quoted, quoted_parts
from lakebed.spec.column_mapping import strip
from lakebed.spec.column_metadata import current_default, generation_expression, identity
from lakebed.spec.schema import StructField, schema_to_json
from lakebed.sql.context import SqlContext
from lakebed.sql.grammar.drop import (
    CreateSchema,
    DropSchema,
    DropTable,
    RefreshTable,
    RenameTable,
    SetLocation,
    ShowCreateTable,
    TruncateTable,
    UndropTable,
)
from lakebed.tables.delta_table import DeltaTable


def run_drop(context: SqlContext, statement: DropTable) -> DataFrame | None:
    entry = find(context.session, statement.table.parts)
    if entry is None or not entry.is_delta:
        return None
    if entry.is_path:
        raise InvalidArgumentError(
            f"{entry.location} is a path: it has no name that could be dropped",
            hint="delete the rows by DELETE FROM, or delete the folder",
        )
    if not drop_table(context.session, entry, purge=statement.purge) and not statement.if_exists:
        # Somebody else was faster: Spark says so.
        return None
    return context.empty()


def run_undrop(context: SqlContext, statement: UndropTable) -> DataFrame:
    undrop_table(context.session, statement.table.parts)
    return context.empty()


def run_drop_schema(context: SqlContext, statement: DropSchema) -> DataFrame | None:
    """Spark drops it, with the whole folder. External tables in there would lose their files."""
    parts = statement.table.parts
    catalog = catalog_of(context.session)
    if len(parts) != 1:
        return None
    if isinstance(catalog, MirroredCatalog):
        return _drop_namespace(context, catalog, statement)
    if not statement.cascade or not catalog.has_database(parts[0]):
        return None
    folder = _plain(catalog.database_location(parts[0]))
    for name in catalog.tables(parts[0]):
        entry = catalog.find(parts[0], name)
        if entry is None or not entry.is_delta or entry.is_managed:
            continue
        if _plain(entry.location or "").startswith(folder):
            raise InvalidArgumentError(
                f"{entry.name} is an external table inside of the folder of {parts[0]}, which "
                "DROP SCHEMA deletes",
                hint=f"DROP TABLE {entry.name} and move its folder {entry.location} first",
            )
    return None


def run_create_schema(context: SqlContext, statement: CreateSchema) -> DataFrame | None:
    """For an embedded catalog; Spark's own is Spark's matter."""
    catalog, parts = catalog_of(context.session), statement.table.parts
    if len(parts) != 1 or not isinstance(catalog, MirroredCatalog):
        return None
    made = catalog.create_namespace(
        parts[0], statement.location, statement.comment, if_not_exists=statement.if_not_exists
    )
    if not made:
        raise TableExistsError(f"there is a schema {parts[0]} already", hint="say IF NOT EXISTS")
    return context.empty()


def _drop_namespace(
    context: SqlContext, catalog: MirroredCatalog, statement: DropSchema
) -> DataFrame | None:
    """None: Spark says what is wrong."""
    name = statement.table.parts[0]
    if name.lower() == "default" or not catalog.drop_namespace(name, cascade=statement.cascade):
        return context.empty() if statement.if_exists and name.lower() != "default" else None
    return context.empty()


def run_rename(context: SqlContext, statement: RenameTable) -> DataFrame | None:
    entry = find(context.session, statement.table.parts)
    if entry is None or not entry.is_delta:
        return None
    if entry.is_path:
        raise InvalidArgumentError(
            f"{entry.location} is a path: it has no name that could change", hint="move the folder"
        )
    rename_entry(context.session, entry, statement.new_name)
    return context.empty()


def run_set_location(context: SqlContext, statement: SetLocation) -> DataFrame | None:
    entry = find(context.session, statement.table.parts)
    if entry is None or not entry.is_delta:
        return None
    set_location(context.session, entry, statement.location)
    return context.empty()


def set_location(session: SparkSession, entry: TableEntry, location: str) -> None:
    """The name leads to another table, which has the same columns."""
    if entry.is_path or entry.is_managed:
        what = "is a path" if entry.is_path else "is a managed table, whose files are its own"
        raise InvalidArgumentError(
            f"{entry.name} {what}: its location cannot change",
            hint="CREATE TABLE ... LOCATION gives a name to a table that is there",
        )
    store, root = open_location(session, location, {})
    new = TableLog(store).snapshot()
    store, _ = open_location(session, entry.location or "", {})
    if strip(new.schema) != strip(TableLog(store).snapshot().schema):
        raise SchemaMismatchError(
            f"the table at {location} has other columns than {entry.name}",
            hint="drop the name, and create it again with this location",
        )
    schema = schema_to_json(strip(new.schema))
    partitions = new.metadata.partition_columns
    database, name = entry.parts
    move_entry(
        session,
        NewEntry(database, name, root, False, schema, partitions, entry.comment, entry.owner),
    )


def run_truncate(context: SqlContext, statement: TruncateTable) -> DataFrame | None:
    entry = find(context.session, statement.table.parts)
    if entry is None or not entry.is_delta:
        return None
    DeltaTable.forPath(context.session, entry.location or "").delete()
    return context.empty()


def run_refresh(context: SqlContext, statement: RefreshTable) -> DataFrame | None:  # noqa: ARG001
    """Every query reads the newest version already: it is left to Spark."""
    return None


def run_show_create(context: SqlContext, statement: ShowCreateTable) -> DataFrame | None:
    entry = find(context.session, statement.table.parts)
    if entry is None or not entry.is_delta:
        return None
    store, _ = open_location(context.session, entry.location or "", {})
    text = create_text(entry, TableLog(store).snapshot())
    return context.frame(pa.table({"createtab_stmt": [text]}))


def create_text(entry: TableEntry, snapshot: Snapshot) -> str:
    metadata = snapshot.metadata
    columns = ",\n  ".join(map(_column, strip(snapshot.schema).fields))
    parts = entry.parts if entry.is_path else ("spark_catalog", *entry.parts)
    lines = [f"CREATE TABLE {quoted_parts(parts)} (\n  {columns})", "USING delta"]
    if metadata.partition_columns:
        lines.append(f"PARTITIONED BY ({', '.join(map(quoted, metadata.partition_columns))})")
    clustering = _clustering(snapshot)
    if clustering:
        lines.append(f"CLUSTER BY ({', '.join(map(quoted_parts, clustering))})")
    if metadata.description is not None:
        lines.append(f"COMMENT {literal(metadata.description)}")
    if not entry.is_managed and not entry.is_path:
        lines.append(f"LOCATION {literal(entry.location or '')}")
    properties = ",\n  ".join(f"{literal(k)} = {literal(v)}" for k, v in _properties(snapshot))
    if properties:
        lines.append(f"TBLPROPERTIES (\n  {properties})")
    return "\n".join(lines) + "\n"


def _clustering(snapshot: Snapshot) -> list[tuple[str, ...]]:
    return list(clustering_columns(snapshot) or ())


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
    text = column_text(field)
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


def _plain(location: str) -> str:
    """The path, however many slashes are before it, ending with one."""
    scheme, _, rest = location.rpartition(":")
    return f"{scheme}:/{rest.strip('/')}/"
