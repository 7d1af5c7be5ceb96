"""What a query asks of its sink, checked before the query starts."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from lakebed.commands.target.write_options import WriteOptions
from lakebed.errors import (
    InvalidArgumentError,
    ObjectNotFoundError,
    SchemaMismatchError,
    TableNotFoundError,
    UnsupportedFeatureError,
)
from lakebed.log.table_log import TableLog
from lakebed.spark.stores.location import as_url, open_location
from lakebed.storage.locations import Location, parse_location

_MODES = ("Append", "Complete")
_VISIBLE = ("_delta_index", "_change_data")
"""VACUUM looks into these folders although their names begin with an underscore."""
_log = logging.getLogger("lakebed")


@dataclass(frozen=True)
class SinkRequest:
    """`checkpoint` is None where Spark chooses a folder."""

    location: str
    options: WriteOptions
    checkpoint: str | None = None

    def check(self, session: SparkSession) -> None:
        """An error if no batch could be written; nothing is changed."""
        if self.checkpoint is not None:
            _check_checkpoint(session, self.location, self.checkpoint)
        self._check_table(session)

    def _check_table(self, session: SparkSession) -> None:
        if self.options.partition_by is None:
            return
        try:
            snapshot = TableLog(open_location(session, self.location, {})[0]).snapshot()
        except TableNotFoundError:
            return
        check_partitioning(snapshot.partition_columns, self.options)


def check_mode(mode: str, replace_where: str | None) -> None:
    """`mode` is Spark's name of the output mode."""
    if mode not in _MODES:
        raise UnsupportedFeatureError(
            f"a stream cannot write to a Delta table in output mode {mode.lower()}: which rows of "
            "the table a changed row replaces is not known",
            hint="use outputMode('append') or outputMode('complete'), or foreachBatch with "
            "DeltaTable.merge, whose condition matches the rows",
        )
    if replace_where is not None:
        raise InvalidArgumentError(
            "replaceWhere is not an option of streams: output mode complete replaces all rows",
            hint="use foreachBatch, and df.write with replaceWhere in it",
        )


def of_batches(options: WriteOptions, *, reads_table: bool) -> WriteOptions:
    """The options without what holds for a single write of a DataFrame.

    Output mode complete replaces all rows, whatever the session says about partitions.
    """
    return replace(
        options,
        partition_overwrite="static",
        data_change=True,
        reads_table=reads_table,
        # The rows fit one version of the table: for another one they are cast again.
        retries=False,
    )


def check_partitioning(before: Sequence[str], options: WriteOptions) -> None:
    """Also where the schema is replaced: batches of a query do not change the layout."""
    asked = options.partition_by
    if asked is not None and [a.lower() for a in asked] != [b.lower() for b in before]:
        raise SchemaMismatchError(
            f"the table is partitioned by {list(before)}, not by {list(asked)}",
            hint="leave partitionBy out of the stream, or write to another table",
        )


def _check_checkpoint(session: SparkSession, location: str, checkpoint: str) -> None:
    """VACUUM takes the files of a checkpoint inside of the table for those of failed jobs."""
    table, found = parse_location(as_url(location)), parse_location(as_url(checkpoint))
    if not _is_exposed(table, found):
        return
    problem = (
        f"the checkpoint {checkpoint} is inside of the table {location}, where VACUUM would delete "
        "its files"
    )
    if _exists(session, checkpoint):
        # A job that has run like this for years does not stop because it moves to Lakebed.
        _log.warning("%s; move it to a folder whose name begins with an underscore", problem)
        return
    raise InvalidArgumentError(
        problem,
        hint="choose a folder outside of the table, or one whose name begins with an underscore: "
        f"{location.rstrip('/')}/_checkpoints/{found.path.rpartition('/')[2]}",
    )


def _is_exposed(table: Location, found: Location) -> bool:
    if (found.scheme, found.authority) != (table.scheme, table.authority):
        return False
    root = f"{table.path}/" if table.path else ""
    if not f"{found.path}/".startswith(root):
        return False
    names = found.path[len(root) :].split("/")
    return not any(name.startswith(("_", ".")) and name not in _VISIBLE for name in names)


def _exists(session: SparkSession, checkpoint: str) -> bool:
    try:
        open_location(session, checkpoint, {})[0].head("metadata")
    except ObjectNotFoundError:
        return False
    return True
