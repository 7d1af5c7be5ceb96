"""`Table` and `Scan`: a version of a table and its rows, without Spark."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakebed.arrow.scan import ScanPlan, pick_columns, plan_scan, read_batches
from lakebed.arrow.table_rows import TableRows
from lakebed.arrow.write.incoming import to_arrow_table
from lakebed.commands.clone.clone_table import CloneOptions, clone_table
from lakebed.commands.delete_rows import delete_rows
from lakebed.commands.generate_files import generate_files
from lakebed.commands.health.health_report import Health
from lakebed.commands.health.table_health import table_health
from lakebed.commands.optimize.optimize_request import OptimizeRequest
from lakebed.commands.optimize.optimize_table import optimize_table, sizes_within
from lakebed.commands.pin_versions import pin_version, pinned_versions, unpin_version
from lakebed.commands.restore_table import RestoreOptions, restore_table
from lakebed.commands.table_detail import table_detail
from lakebed.commands.table_target import TableTarget
from lakebed.commands.target.column_names import to_path
from lakebed.commands.target.write_options import WriteKeywords, WriteOptions
from lakebed.commands.update_rows import update_rows
from lakebed.commands.vacuum.vacuum import vacuum_table
from lakebed.commands.vacuum.vacuum_options import VacuumOptions
from lakebed.commands.vacuum.vacuum_report import VacuumResult
from lakebed.commands.write.write_rows import write_table
from lakebed.errors import InvalidArgumentError
from lakebed.expressions import Expression, parse_predicate
from lakebed.formats.arrow_types import to_arrow_schema
from lakebed.log.change_feed.change_range import ChangeRange
from lakebed.log.change_feed.changes import read_changes
from lakebed.log.listing.commit_times import to_millis
from lakebed.log.maintenance.checkpoint_writer import write_checkpoint
from lakebed.log.selection import SCAN_FIELDS, select_files
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.log.versions.readable import with_readable
from lakebed.settings.setting_table import CHANGE_MEMORY
from lakebed.spec.actions import Protocol
from lakebed.spec.schema import StructType
from lakebed.storage import open_store
from lakebed.streaming.known_streams import known_streams
from lakebed.tables.alter_methods import AlterMethods
from lakebed.tables.render import Facts, table_html, table_text
from lakebed.tables.table_changes import (
    Arranged,
    Changed,
    TableMerger,
    checked_predicate,
    checked_values,
    constants,
)
from lakebed.tables.table_sql import select

if TYPE_CHECKING:
    from typing_extensions import Unpack

Location = str | PathLike[str]
StorageOptions = Mapping[str, str]


class Scan:
    """Rows to be read. Goes as it is into DuckDB, Polars, pandas and pyarrow, again and again."""

    def __init__(self, schema: pa.Schema, plans: Sequence[ScanPlan]) -> None:
        """The rows of all plans, each with the columns of the schema."""
        self._schema = schema
        self._plans = tuple(plans)

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    @property
    def num_files(self) -> int:
        """The files that are left after skipping."""
        return sum(int(plan.files.num_rows) for plan in self._plans)

    def to_reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, iter(self))

    def to_arrow(self) -> pa.Table:
        return pa.Table.from_batches(self, schema=self.schema)

    def to_pandas(self) -> Any:
        return self.to_arrow().to_pandas()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return (batch for plan in self._plans for batch in read_batches(plan))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.to_reader().__arrow_c_stream__(requested_schema)


class Table(AlterMethods):
    """A version of a Delta table. Made by `lakebed.open`."""

    def __init__(self, log: TableLog, snapshot: Snapshot) -> None:
        self._log = log
        self._snapshot = snapshot

    @property
    def url(self) -> str:
        return self._log.store.url

    @property
    def version(self) -> int:
        return self._snapshot.version

    @property
    def timestamp(self) -> datetime:
        """When this version was committed."""
        return self._log.time_of(self._snapshot)

    @property
    def schema(self) -> StructType:
        return self._snapshot.schema

    @property
    def arrow_schema(self) -> pa.Schema:
        return to_arrow_schema(self.schema)

    @property
    def partition_columns(self) -> tuple[str, ...]:
        return self._snapshot.partition_columns

    @property
    def properties(self) -> dict[str, str]:
        return dict(self._snapshot.metadata.configuration)

    @property
    def protocol(self) -> Protocol:
        return self._snapshot.protocol

    @property
    def name(self) -> str | None:
        return self._snapshot.metadata.name

    @property
    def description(self) -> str | None:
        return self._snapshot.metadata.description

    @property
    def num_files(self) -> int:
        return self._snapshot.totals.num_files

    @property
    def size_in_bytes(self) -> int:
        return self._snapshot.totals.size_in_bytes

    @property
    def snapshot(self) -> Snapshot:
        """The log's view of this version, for tools."""
        return self._snapshot

    def files(self, where: str | None = None, *, stats: bool = False) -> pa.Table:
        """The data files that may hold rows for which `where` is true, as an Arrow table.

        Files are skipped by partition values and statistics. `stats=True` adds the statistics
        column of the log, a JSON string per file.
        """
        fields = (*SCAN_FIELDS, "stats") if stats else SCAN_FIELDS
        return select_files(self._snapshot, self._predicate(where), fields).files

    def scan(self, columns: Sequence[str] | None = None, where: str | None = None) -> Scan:
        """Rows for which `where`, a SQL predicate, is true; all columns unless some are named."""
        plan = plan_scan(self._snapshot, columns, self._predicate(where))
        return Scan(plan.schema, [plan])

    def sql(self, query: str, **tables: Table) -> pa.Table:
        """The rows of a SELECT by DuckDB, in which `self` is this table.

        Other tables are those of the keywords. Files that the query does not need are not read.
        """
        named = {"self": self, **tables}
        return select(query, {name: table.snapshot for name, table in named.items()})

    def changes(
        self,
        starting_version: int | None = None,
        ending_version: int | None = None,
        *,
        starting_timestamp: str | datetime | int | None = None,
        ending_timestamp: str | datetime | int | None = None,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        allow_out_of_range: bool = False,
    ) -> Scan:
        """The rows that versions inserted, deleted and updated (`delta.enableChangeDataFeed`).

        Both ends belong to the range, which goes to the newest version without an end. The columns
        of the table come first, then `_change_type`, `_commit_version` and `_commit_timestamp`.
        """
        times = (
            None if each is None else to_millis(each)
            for each in (starting_timestamp, ending_timestamp)
        )
        start, end = times
        asked = ChangeRange(starting_version, start, ending_version, end, allow_out_of_range)
        changes = read_changes(self._log, asked)
        checked = checked_predicate(where)
        predicate = None if checked is None else parse_predicate(checked, changes.schema)
        chosen = changes.schema if columns is None else pick_columns(changes.schema, columns)
        names = list(chosen.names)
        plans = [plan_scan(layer, names, predicate) for layer in changes.layers]
        return Scan(to_arrow_schema(chosen), plans)

    def to_arrow(self, columns: Sequence[str] | None = None, where: str | None = None) -> pa.Table:
        return self.scan(columns, where).to_arrow()

    def to_pandas(self, columns: Sequence[str] | None = None, where: str | None = None) -> Any:
        return self.scan(columns, where).to_pandas()

    def history(self, limit: int | None = None, *, readable: bool = False) -> pa.Table:
        """The commits of the table, newest first, with delta-spark's columns.

        Last comes `readable`: false where a VACUUM has recorded that a version lost files, else
        null. With `readable=True` the log and the files are looked at, and it is true or false.
        """
        if limit is not None and (not isinstance(limit, int) or limit < 0):
            raise InvalidArgumentError(f"limit={limit!r} is not a number of commits")
        found = self._log.history(limit)
        return with_readable(self._log.store, found) if readable else found

    def detail(self) -> pa.Table:
        """One row about this version: id, size, properties ..., with delta-spark's columns."""
        return table_detail(self._snapshot)

    def health(self, columns: Sequence[str] | None = None, *, orphans: bool = False) -> Health:
        """What makes the table slow or large, and what mends it; as it is in its newest version.

        `columns` are those that queries filter by. `orphans=True` lists the files of the table.
        """
        return table_health(self._log, columns, orphans=orphans)

    def refresh(self) -> Table:
        """The newest version, from this one and the commits since."""
        return Table(self._log, self._log.newer(self._snapshot))

    def write(self, data: Any, **options: Unpack[WriteKeywords]) -> Table:
        """Like `lakebed.write`, on this table; the table after the write."""
        chosen = WriteOptions.of(options)
        rows = rows_of(data, self._log, chosen)
        snapshot = write_table(self._log, rows, chosen, known=self._snapshot)
        return Table(self._log, snapshot)

    def delete(
        self, where: str | None = None, *, user_metadata: str | None = None
    ) -> Changed[Table]:
        """Delete the rows for which `where`, a SQL predicate, is true; all rows without it.

        Like all changes of rows it works on the newest version, and is one commit or none.
        """
        target = self._target(user_metadata)
        metrics = delete_rows(target, checked_predicate(where))
        deleted = metrics.get("numDeletedRows")
        return Changed(self.refresh(), num_deleted_rows=deleted, metrics=metrics)

    def update(
        self,
        set: Mapping[str, str] | None = None,
        where: str | None = None,
        *,
        new_values: Mapping[str, Any] | None = None,
        user_metadata: str | None = None,
    ) -> Changed[Table]:
        """Give columns of the rows for which `where` is true new values; of all rows without it.

        `set` has SQL expressions by the names of columns, `new_values` Python values.
        """
        values: dict[str, Any] = {} if set is None else checked_values(set, "set", "update")
        more = {} if new_values is None else constants(new_values)
        if both := sorted(values.keys() & more.keys()):
            raise InvalidArgumentError(f"set and new_values both have {both[0]!r}")
        target = self._target(user_metadata)
        metrics = update_rows(target, checked_predicate(where), {**values, **more})
        return Changed(self.refresh(), metrics["numUpdatedRows"], metrics=metrics)

    def merge(
        self,
        source: Any,
        predicate: str,
        *,
        source_alias: str | None = None,
        target_alias: str | None = None,
        merge_schema: bool = False,
        user_metadata: str | None = None,
    ) -> TableMerger[Table]:
        """Update, delete and insert rows by those of a source: the clauses of it are methods.

        `predicate` says which rows match, as in "target.id = source.id", by the aliases. The source
        is what `write` takes, or another table. With `merge_schema` columns that only the source
        has come into the table.
        """
        if checked_predicate(predicate) is None:
            raise InvalidArgumentError("a MERGE needs a predicate")
        target = self._target(user_metadata, target_alias)
        return TableMerger(
            target,
            lambda: arrow_of(source),
            predicate,
            source_alias,
            lambda _: self.refresh(),
            merge_schema,
        )

    def optimize(
        self,
        where: str | None = None,
        *,
        zorder_by: str | Sequence[str] | None = None,
        full: bool = False,
        purge: bool = False,
        target_size: int | None = None,
        user_metadata: str | None = None,
    ) -> Arranged[Table]:
        """Put small files together, or arrange rows; no row changes.

        `zorder_by` arranges the rows of each partition so that files have few values of these
        columns. A clustered table is arranged by its own columns, with `full=True` also what is
        arranged already. `purge=True` rewrites only files with deleted rows. `where` chooses
        partitions; files get about `target_size` bytes.
        """
        memory = CHANGE_MEMORY.read_environment(os.environ)
        sizes = sizes_within(memory)
        if target_size is not None:
            sizes = replace(sizes, min_file=target_size, max_file=target_size)
        names = [zorder_by] if isinstance(zorder_by, str) else zorder_by or ()
        request = OptimizeRequest(
            where=checked_predicate(where),
            zorder_by=tuple(map(to_path, names)),
            full=full,
            purge=purge,
            sizes=sizes,
        )
        done = optimize_table(self._log, request, memory, user_metadata)
        sums = (sum(add.size for add in adds) for adds in (done.added, done.removed))
        return Arranged(self.refresh(), len(done.added), len(done.removed), *sums)

    def restore(
        self,
        version: int | None = None,
        timestamp: str | datetime | int | None = None,
        *,
        ignore_missing_files: bool = False,
    ) -> Table:
        """A new version with the rows and the metadata of an earlier one; the table after it."""
        options = RestoreOptions(ignore_missing_files=ignore_missing_files)
        return Table(self._log, restore_table(self._log, version, timestamp, options).snapshot)

    def clone(
        self,
        target: Location,
        *,
        shallow: bool = False,
        replace: bool = False,
        properties: Mapping[str, str] | None = None,
        storage_options: StorageOptions | None = None,
    ) -> Table:
        """Another table with the rows and the metadata of this version; that table.

        A deep clone copies the files, and only what has changed if it is repeated with `replace`. A
        shallow one refers to them. `properties` replace those of this table.
        """
        log = TableLog(open_store(target, storage_options))
        options = CloneOptions(shallow=shallow, replace=replace, properties=properties or {})
        return Table(log, clone_table(self._snapshot, log, options).snapshot)

    def vacuum(
        self,
        retention_hours: float | None = None,
        *,
        dry_run: bool = False,
        mode: str = "full",
        inventory: Any = None,
        enforce_retention: bool = True,
        record: bool = True,
        streams: Sequence[Location] = (),
    ) -> VacuumResult:
        """Delete files that no version inside the retention needs; says which versions that costs.

        Without hours the table's `delta.deletedFileRetentionDuration` counts. `mode="lite"` takes
        the files from the log instead of listing the table; `inventory` is a list of files to go
        by (Arrow data with path, length, isDir, modificationTime). `record=False` leaves no
        VACUUM START and VACUUM END in the history. A dry run deletes and writes nothing.
        `streams` are checkpoint locations of queries that read the table: the result says which of
        them cannot go on.
        """
        options = VacuumOptions.of(
            retention_hours=retention_hours,
            dry_run=dry_run,
            mode=mode,
            inventory=inventory,
            enforce_retention=enforce_retention,
            record=record,
            streams=known_streams(map(open_store, streams), self._log) if streams else (),
        )
        return vacuum_table(self._log, options)

    def pin(self, name: str, version: int | None = None) -> None:
        """Keep a version, by default this one, readable under VACUUM until `unpin(name)`."""
        pin_version(self._log, name, self.version if version is None else version)

    def unpin(self, name: str) -> None:
        """Let the next VACUUM treat the version like any other."""
        unpin_version(self._log, name)

    def pins(self) -> dict[str, int]:
        """Versions by the names of their pins, as they are now."""
        return pinned_versions(self._log)

    def generate(self, mode: str = "symlink_format_manifest") -> None:
        """Write files about the newest version for engines that cannot read the log.

        "symlink_format_manifest", or "iceberg" for a table that is published as Iceberg.
        """
        generate_files(self._log, mode)

    def checkpoint(self) -> None:
        """Write a checkpoint of this version now."""
        write_checkpoint(self._snapshot)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self.scan().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return table_text(self._facts())

    def _repr_html_(self) -> str:
        return table_html(self._facts())

    def _facts(self) -> Facts:
        return Facts(
            url=self.url,
            version=self.version,
            num_files=self.num_files,
            size_in_bytes=self.size_in_bytes,
            schema=self.schema,
            partition_columns=self.partition_columns,
            properties=self.properties,
            protocol=self.protocol,
            name=self.name,
            description=self.description,
        )

    def _target(self, user_metadata: str | None, alias: str | None = None) -> TableTarget:
        return TableTarget(self._log, self._snapshot, alias, user_metadata=user_metadata)

    def _predicate(self, where: str | None) -> Expression | None:
        if where is None:
            return None
        if not isinstance(where, str):
            raise InvalidArgumentError(
                f"where={where!r} is not a SQL predicate", hint="give a text such as 'id > 3'"
            )
        return parse_predicate(where, self.schema)


def rows_of(data: Any, log: TableLog, options: WriteOptions) -> TableRows:
    return TableRows(log.store, arrow_of(data), options.max_rows_per_file)


def arrow_of(data: Any) -> pa.Table:
    """Tables of our own are read here: an Arrow stream would turn their errors into others."""
    return data.to_arrow() if isinstance(data, Table | Scan) else to_arrow_table(data)
