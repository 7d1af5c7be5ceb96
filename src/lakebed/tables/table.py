"""`Table` and `Scan`: a version of a table and its rows, without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from os import PathLike
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakebed.arrow.scan import ScanPlan, plan_scan, read_batches
from lakebed.arrow.table_rows import TableRows
from lakebed.arrow.write.incoming import to_arrow_table
from lakebed.commands.clone.clone_table import CloneOptions, clone_table
from lakebed.commands.generate_files import generate_files
from lakebed.commands.health.health_report import Health
from lakebed.commands.health.table_health import table_health
from lakebed.commands.pin_versions import pin_version, pinned_versions, unpin_version
from lakebed.commands.restore_table import RestoreOptions, restore_table
from lakebed.commands.table_detail import table_detail
from lakebed.commands.target.write_options import WriteKeywords, WriteOptions
from lakebed.commands.vacuum.vacuum import vacuum_table
from lakebed.commands.vacuum.vacuum_options import VacuumOptions
from lakebed.commands.vacuum.vacuum_report import VacuumResult
from lakebed.commands.write.write_rows import write_table
from lakebed.errors import InvalidArgumentError
from lakebed.expressions import Expression, parse_predicate
from lakebed.formats.arrow_types import to_arrow_schema
from lakebed.log.maintenance.checkpoint_writer import write_checkpoint
from lakebed.log.selection import SCAN_FIELDS, select_files
from lakebed.log.snapshot import Snapshot
from lakebed.log.table_log import TableLog
from lakebed.log.versions.readable import with_readable
from lakebed.spec.actions import Protocol
from lakebed.spec.schema import StructType
from lakebed.storage import open_store
from lakebed.streaming.known_streams import known_streams
from lakebed.tables.alter_methods import AlterMethods
from lakebed.tables.render import Facts, table_html, table_text

if TYPE_CHECKING:
    from typing_extensions import Unpack

Location = str | PathLike[str]
StorageOptions = Mapping[str, str]


class Scan:
    """Rows to be read. Goes as it is into DuckDB, Polars, pandas and pyarrow, again and again."""

    def __init__(self, plan: ScanPlan) -> None:
        self._plan = plan

    @property
    def schema(self) -> pa.Schema:
        return self._plan.schema

    @property
    def num_files(self) -> int:
        """The files that are left after skipping."""
        return int(self._plan.files.num_rows)

    def to_reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(self.schema, read_batches(self._plan))

    def to_arrow(self) -> pa.Table:
        return pa.Table.from_batches(read_batches(self._plan), schema=self.schema)

    def to_pandas(self) -> Any:
        return self.to_arrow().to_pandas()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return read_batches(self._plan)

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
        return Scan(plan_scan(self._snapshot, columns, self._predicate(where)))

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

    def _predicate(self, where: str | None) -> Expression | None:
        if where is None:
            return None
        if not isinstance(where, str):
            raise InvalidArgumentError(
                f"where={where!r} is not a SQL predicate", hint="give a text such as 'id > 3'"
            )
        return parse_predicate(where, self.schema)


def rows_of(data: Any, log: TableLog, options: WriteOptions) -> TableRows:
    """Tables of our own are read here: an Arrow stream would turn their errors into others."""
    table = data.to_arrow() if isinstance(data, Table | Scan) else to_arrow_table(data)
    return TableRows(log.store, table, options.max_rows_per_file)
