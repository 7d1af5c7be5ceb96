"""The methods of `lakebed.DeltaTable` that copy tables, bring versions back and tell about them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from lakebed.catalog.entry import NewEntry
from lakebed.commands.clone.clone_table import CloneOptions, clone_table
from lakebed.commands.convert.convert_folder import ConvertOptions, convert_folder, partition_schema
from lakebed.commands.copy_files import Copied, CopyRequest, copy_files
from lakebed.commands.generate_files import generate_files
from lakebed.commands.health.health_report import Health
from lakebed.commands.health.table_health import table_health
from lakebed.commands.repair_table import repair_table
from lakebed.commands.restore_table import RestoreOptions, restore_table
from lakebed.commands.table_detail import table_detail
from lakebed.commands.target.row_target import RowTarget
from lakebed.commands.vacuum.vacuum import vacuum_table
from lakebed.commands.vacuum.vacuum_options import VacuumOptions, settings_of
from lakebed.commands.vacuum.vacuum_report import VacuumResult
from lakebed.errors import ArgumentTypeError, ArgumentValueError, InvalidArgumentError
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.settings.setting_table import (
    ALLOW_DOWNGRADE,
    COLLECT_STATS,
    DEFAULT_PROPERTIES,
    IGNORE_MISSING_FILES,
    USER_METADATA,
)
from lakebed.spark.catalog.session_catalog import replace_entry
from lakebed.spark.catalog.table_names import delta_location, find_table, is_name
from lakebed.spark.session.arrow_frames import arrow_frame
from lakebed.spark.session.session_kind import is_connect
from lakebed.spark.session.session_settings import all_settings
from lakebed.spark.session.timestamp_text import millis_of
from lakebed.spark.stores.location import open_location
from lakebed.spark.write.insert_columns import copied_by_name
from lakebed.spec.schema import StructType, parse_schema, schema_to_json
from lakebed.streaming.known_streams import known_streams
from lakebed.tables.merge_builder import counts_frame
from lakebed.tables.server_sessions import served_class

if TYPE_CHECKING:
    from typing_extensions import Self

_IDENTIFIER = re.compile(r"\s*(\w+)\s*\.\s*`((?:[^`]|``)+)`\s*")


class DeltaServiceMethods:
    """What `DeltaTable` inherits. Names, arguments and results are delta-spark's."""

    _session: SparkSession
    _log: TableLog
    _root: str
    _options: Mapping[str, str]
    _name: str | None

    @classmethod
    def forPath(
        cls,
        sparkSession: SparkSession,
        path: str,
        hadoopConf: Mapping[str, str] | None = None,
    ) -> Self:
        """The table in a folder; an error if there is none."""
        raise NotImplementedError

    @classmethod
    def convertToDelta(
        cls,
        sparkSession: SparkSession,
        identifier: str,
        partitionSchema: str | Any | None = None,
    ) -> Self:
        """Turn a folder of Parquet files, named as ``parquet.`/data/orders` ``, into a table.

        Folders such as `day=2026-01-31` need `partitionSchema`: a text like "day DATE", or a
        StructType. What is a Delta table already is left alone. `identifier` may be the name of a
        table of Parquet files: the name then leads to the Delta table.
        """
        if not isinstance(sparkSession, SparkSession) and not is_connect(sparkSession):
            raise ArgumentTypeError(
                f"{type(sparkSession).__name__} is not a Spark session",
                hint="give the session first: DeltaTable.convertToDelta(spark, 'parquet.`...`')",
            )
        if (served := served_class(sparkSession)) is not None:
            converted: Self = served.convertToDelta(sparkSession, identifier, partitionSchema)
            return converted
        path = _parquet_path(sparkSession, identifier)
        store, _ = open_location(sparkSession, path, {})
        settings = all_settings(sparkSession)
        if partitionSchema is None:
            partitionSchema = _partitions_in_catalog(sparkSession, identifier)
        options = ConvertOptions(
            partition_schema(_as_own(partitionSchema)),
            stats=COLLECT_STATS.read(settings),
            default_properties=DEFAULT_PROPERTIES.read(settings),
            user_metadata=USER_METADATA.read(settings),
        )
        log = TableLog(store)
        convert_folder(log, options)
        _rename_to_delta(sparkSession, identifier, log)
        return cls.forPath(sparkSession, path)

    def restoreToVersion(self, version: int) -> DataFrame:
        """Bring back the rows and the metadata of a version. One row with what was done."""
        if isinstance(version, bool) or not isinstance(version, int):
            raise ArgumentValueError(
                f"version needs to be an int but got '{type(version)}'",
                hint="give a whole number",
            )
        return self._restored(restore_table(self._log, version, options=self._restoring()).metrics)

    def restoreToTimestamp(self, timestamp: str) -> DataFrame:
        """Bring back the version of a time, such as "2026-01-31" or "2026-01-31 12:00:00"."""
        timestamp_ms = millis_of(self._session, _checked_text(timestamp, "timestamp"))
        done = restore_table(
            self._log, timestamp=timestamp_ms, options=self._restoring(), shown_timestamp=timestamp
        )
        return self._restored(done.metrics)

    def clone(
        self,
        target: str,
        isShallow: bool = False,
        replace: bool = False,
        properties: Mapping[str, str] | None = None,
    ) -> Self:
        """Another table with the rows and the metadata of the newest version.

        A deep clone copies the files, and only what has changed if it is repeated with `replace`. A
        shallow one refers to them. `properties` replace those of this table.
        """
        return self._cloned(self._log.snapshot(), target, isShallow, replace, properties)

    def cloneAtVersion(
        self,
        version: int,
        target: str,
        isShallow: bool = False,
        replace: bool = False,
        properties: Mapping[str, str] | None = None,
    ) -> Self:
        """As `clone`, of a version."""
        return self._cloned(self._log.at_version(version), target, isShallow, replace, properties)

    def cloneAtTimestamp(
        self,
        timestamp: str,
        target: str,
        isShallow: bool = False,
        replace: bool = False,
        properties: Mapping[str, str] | None = None,
    ) -> Self:
        """As `clone`, of the version of a time."""
        timestamp_ms = millis_of(self._session, _checked_text(timestamp, "timestamp"))
        snapshot = self._log.snapshot(timestamp=timestamp_ms)
        return self._cloned(snapshot, target, isShallow, replace, properties)

    def vacuum(
        self,
        retentionHours: float | None = None,
        *,
        dryRun: bool = False,
        mode: str | None = None,
        inventory: Any = None,
        enforceRetention: bool | None = None,
        streams: Sequence[str] | None = None,
    ) -> DataFrame:
        """Delete files that no version inside the retention needs.

        Returns an empty DataFrame, as delta-spark does; of a dry run the `path`s that would go.
        `vacuumForecast` says what it costs. `streams` are checkpoint locations of queries that read
        the table: a warning in the log names those that cannot go on.
        """
        options = {"mode": mode, "inventory": inventory, "enforce_retention": enforceRetention}
        options["streams"] = streams
        result = _vacuum(
            self._session, self._log, retention_hours=retentionHours, dry_run=dryRun, **options
        )
        return _vacuumed_frame(self._session, self._root, result)

    def vacuumForecast(
        self,
        retentionHours: float | None = None,
        *,
        mode: str | None = None,
        inventory: Any = None,
        streams: Sequence[str] | None = None,
    ) -> VacuumResult:
        """What a VACUUM would delete, and which versions could no longer be read after it.

        `streams` are checkpoint locations of queries that read the table: `broken_streams` of the
        result are those that could not go on.
        """
        return _vacuum(
            self._session,
            self._log,
            retention_hours=retentionHours,
            mode=mode,
            inventory=inventory,
            streams=streams,
            dry_run=True,
            enforce_retention=False,
        )

    def generate(self, mode: str) -> None:
        """For engines that cannot read the log: "symlink_format_manifest", or "iceberg"."""
        generate_files(self._log, mode)

    def detail(self) -> DataFrame:
        """One row about the table: id, location, size, properties, features ..."""
        found = table_detail(self._log.snapshot(), self._root, self._name)
        return self._session.createDataFrame(found)

    def health(self, columns: Sequence[str] | None = None, orphans: bool = False) -> Health:
        """What makes the table slow or large, and what mends it.

        `columns` are those that queries filter by. `orphans=True` lists the files of the table.
        """
        return table_health(self._log, columns, orphans=orphans)

    def copyInto(
        self,
        source: str,
        fileFormat: str,
        *,
        files: Sequence[str] | None = None,
        pattern: str | None = None,
        formatOptions: Mapping[str, str] | None = None,
        force: bool = False,
        mergeSchema: bool = False,
    ) -> DataFrame:
        """Load the files of a folder that are not loaded yet; columns go by name.

        The log remembers each file, so it can be repeated and run by several at once (SQL: COPY
        INTO). `force` loads files again. One row with `num_affected_rows`, `num_inserted_rows` and
        `num_skipped_corrupt_files`.
        """
        request = CopyRequest(
            _checked_text(source, "source"),
            _checked_text(fileFormat, "fileFormat"),
            lambda frame, snapshot: copied_by_name(frame, snapshot.schema),
            files,
            pattern,
            {} if formatOptions is None else formatOptions,
            force=force,
            merge_schema=mergeSchema,
        )
        return copied_frame(self._session, copy_files(self._target(), request))

    def repair(self, dryRun: bool = False) -> DataFrame:
        """Remove the entries of files that are gone (SQL: FSCK REPAIR TABLE); which they are."""
        metadata = USER_METADATA.of(self._session)
        found = repair_table(self._log, dry_run=dryRun, user_metadata=metadata)
        return repaired_frame(self._session, found)

    def _target(self) -> RowTarget:
        raise NotImplementedError

    def _restoring(self) -> RestoreOptions:
        return RestoreOptions(
            ignore_missing_files=IGNORE_MISSING_FILES.of(self._session),
            allow_downgrade=ALLOW_DOWNGRADE.of(self._session),
            user_metadata=USER_METADATA.of(self._session),
        )

    def _restored(self, metrics: Mapping[str, int]) -> DataFrame:
        self._target().plane.recache()
        return counts_frame(self._session, {_snake(name): n for name, n in metrics.items()})

    def _cloned(
        self,
        snapshot: Snapshot,
        target: str,
        shallow: bool,
        replace: bool,
        properties: Mapping[str, str] | None,
    ) -> Self:
        path = _checked_text(target, "target")
        # Hadoop knows s3a where the store says s3.
        scheme, rest = self._root.partition("://")[0], self._log.store.url.partition("://")[2]
        options = CloneOptions(
            shallow=shallow,
            replace=replace,
            properties={} if properties is None else properties,
            root=f"{scheme}://{rest}",
            user_metadata=USER_METADATA.of(self._session),
        )
        store, _ = open_location(self._session, path, self._options)
        clone_table(snapshot, TableLog(store), options)
        return self.forPath(self._session, path, self._options)


def _vacuum(session: SparkSession, log: TableLog, **options: Any) -> VacuumResult:
    """VACUUM by the settings of the session, except for the options that are given."""
    chosen = {**settings_of(all_settings(session)), **_given(options)}
    if chosen.get("inventory") is not None:
        chosen["inventory"] = _collected(chosen["inventory"])
        chosen["mode"] = options.get("mode") or "full"
    if chosen.get("streams"):
        stores = [open_location(session, str(each), {})[0] for each in chosen["streams"]]
        chosen["streams"] = known_streams(stores, log)
    return vacuum_table(log, VacuumOptions.of(**chosen))


def _vacuumed_frame(session: SparkSession, root: str, result: VacuumResult) -> DataFrame:
    """One column `path`: the files that a dry run would delete; no row after a VACUUM.

    Arrow data become part of the plan: to make the DataFrame takes few calls, to show it no job.
    """
    paths = [f"{root}/{path}" for path in result.paths] if result.dry_run else []
    return arrow_frame(session, pa.table({"path": pa.array(paths, pa.string())}))


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _collected(inventory: Any) -> Any:
    """The inventory of a DataFrame comes to the driver, where the log is."""
    if isinstance(inventory, DataFrame) or is_connect(inventory):
        return inventory.toArrow()
    return inventory


def copied_frame(session: SparkSession, copied: Copied) -> DataFrame:
    """One row as Databricks gives it."""
    counts = {
        "num_affected_rows": copied.num_rows,
        "num_inserted_rows": copied.num_rows,
        "num_skipped_corrupt_files": 0,
    }
    return counts_frame(session, counts)


def repaired_frame(session: SparkSession, found: pa.Table) -> DataFrame:
    rows = [tuple(row.values()) for row in found.to_pylist()]
    return session.createDataFrame(rows, _REPAIRED)


_REPAIRED = (
    "dataFilePath STRING, dataFileMissing BOOLEAN, deletionVectorPath STRING, "
    "deletionVectorFileMissing BOOLEAN"
)


def _parquet_path(session: SparkSession, identifier: str) -> str:
    found = _IDENTIFIER.fullmatch(_checked_text(identifier, "identifier"))
    if found is None and is_name(identifier):
        return _named_path(session, identifier)
    if found is None:
        raise InvalidArgumentError(
            f"{identifier!r} is not the name of a folder of Parquet files",
            hint="write it as parquet.`/data/orders`",
        )
    # As in delta-spark, what is called a Delta table is left alone if it is one.
    if found[1].lower() not in ("parquet", "delta"):
        raise InvalidArgumentError(
            f"{found[1]} cannot be converted to Delta", hint="Parquet files can"
        )
    return found[2].replace("``", "`")


def _named_path(session: SparkSession, identifier: str) -> str:
    """Where a table of the catalog is: one of Parquet files, or a Delta table by now."""
    found = find_table(session, identifier)
    if found is None or found.provider != "parquet" or found.location is None:
        return delta_location(session, identifier)
    return found.location


def _partitions_in_catalog(session: SparkSession, identifier: str) -> StructType | None:
    """The partition columns of a table of Parquet files, which the catalog knows."""
    found = None if _IDENTIFIER.fullmatch(identifier) else find_table(session, identifier)
    if found is None or found.provider != "parquet":
        return None
    schema = parse_schema(session.table(identifier).schema.json())
    columns = session.catalog.listColumns(identifier)
    names = [column.name for column in columns if column.isPartition]
    return StructType(tuple(schema.field(name) for name in names)) if names else None


def _rename_to_delta(session: SparkSession, identifier: str, log: TableLog) -> None:
    """The name leads to a Delta table from now on: Spark would go on to read every file."""
    found = None if _IDENTIFIER.fullmatch(identifier) else find_table(session, identifier)
    if found is None or found.provider != "parquet":
        return
    snapshot = log.snapshot()
    database, name = found.parts
    replace_entry(
        session,
        NewEntry(
            database,
            name,
            found.location or "",
            found.is_managed,
            schema_to_json(snapshot.schema),
            snapshot.metadata.partition_columns,
            found.comment,
            found.owner,
        ),
    )


def _as_own(schema: Any) -> Any:
    """Spark's schema as Lakebed's; anything else as it is, to be checked where it is used."""
    if hasattr(schema, "json") and hasattr(schema, "fields") and not isinstance(schema, StructType):
        return parse_schema(schema.json())
    return schema


def _checked_text(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise ArgumentValueError(
            f"{name} needs to be a string but got '{type(value)}'"
            if not isinstance(value, str)
            else f"{name} is empty",
            hint="give a string",
        )
    return value


def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", name)
