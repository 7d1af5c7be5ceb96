"""`lakebed.DeltaTable`: a table on Spark, with the names and arguments of delta-spark's class."""

from __future__ import annotations

import os
from collections.abc import Mapping
from html import escape
from typing import Any, cast, overload

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession

from lakebed.commands.delete_rows import delete_rows
from lakebed.commands.frame_target import FrameTarget
from lakebed.commands.pin_versions import pin_version, pinned_versions, unpin_version
from lakebed.commands.update_rows import update_rows
from lakebed.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    InvalidArgumentError,
    LakebedError,
    TableNotFoundError,
)
from lakebed.log.table_log import TableLog
from lakebed.log.versions.history import READABLE
from lakebed.log.versions.readable import with_readable
from lakebed.spark.catalog.table_names import delta_location, find_table, is_name, path_in
from lakebed.spark.columns.bound_columns import TableFrames
from lakebed.spark.errors.pyspark_kinds import raise_as_pyspark
from lakebed.spark.plane.plane import Plane
from lakebed.spark.plane_selection import plane_for
from lakebed.spark.read.read_request import follows_tables
from lakebed.spark.session.arrow_frames import arrow_frame
from lakebed.spark.session.session_kind import is_connect
from lakebed.spark.stores.location import open_location
from lakebed.storage.options import is_storage_option
from lakebed.tables.delta_alter_methods import DeltaAlterMethods
from lakebed.tables.delta_service_methods import DeltaServiceMethods
from lakebed.tables.merge_builder import (
    Condition,
    DeltaMergeBuilder,
    Values,
    checked_condition,
    checked_values,
    counts_frame,
)
from lakebed.tables.optimize_builder import DeltaOptimizeBuilder
from lakebed.tables.server_sessions import served_class

# Whoever has this class uses Spark, also without `lakebed.enable`.
raise_as_pyspark()


class DeltaTable(DeltaAlterMethods, DeltaServiceMethods):
    """A Delta table whose rows can be changed. Made by `DeltaTable.forPath` or `forName`.

    It always is the newest version of the table, whoever wrote it. Each change is one commit: it
    happens as a whole or not at all.
    """

    def __init__(
        self,
        sparkSession: SparkSession,
        log: TableLog,
        root: str,
        options: Mapping[str, str],
        aliasName: str | None = None,
        frames: TableFrames | None = None,
        name: str | None = None,
    ) -> None:
        """Use `forPath`. `root` is the folder of the table as Hadoop names it.

        `frames` are the DataFrames that `toDF` made, under whatever alias. `name` is what the
        catalog calls the table.
        """
        self._session = sparkSession
        self._log = log
        self._root = root
        self._options = options
        self._alias = aliasName
        self._frames = TableFrames() if frames is None else frames
        self._name = name

    @classmethod
    def forPath(
        cls,
        sparkSession: SparkSession,
        path: str,
        hadoopConf: Mapping[str, str] | None = None,
    ) -> DeltaTable:
        """The table in a folder; an error if there is none.

        `hadoopConf` says how to reach the store, under Hadoop's names (`fs.s3a.access.key`) or
        those of `storage_options` (`aws_access_key_id`).
        """
        options = _checked_options(hadoopConf)
        if (served := served_class(sparkSession)) is not None:
            return cast(DeltaTable, served.forPath(sparkSession, _checked_path(path), options))
        store, root = open_location(_checked_session(sparkSession), _checked_path(path), options)
        log = TableLog(store)
        # Opened for what it finds: no table, or one that this version of Lakebed cannot read.
        try:
            log.snapshot()
        except TableNotFoundError as error:
            raise TableNotFoundError(
                error.message,
                hint=error.hint,
                condition="DELTA_MISSING_DELTA_TABLE",
                parameters={"tableName": path},
            ) from error
        return cls(sparkSession, log, root, options)

    @classmethod
    def forName(cls, sparkSession: SparkSession, tableOrViewName: str) -> DeltaTable:
        """The table that the session's catalog has under a name, such as `shop.orders`.

        Delta tables alone, no views. A path may be given as ``delta.`/data/orders` ``.
        """
        name = _checked_name(tableOrViewName)
        if (served := served_class(sparkSession)) is not None:
            return cast(DeltaTable, served.forName(sparkSession, name))
        location = delta_location(_checked_session(sparkSession), name)
        try:
            table = cls.forPath(sparkSession, location)
            entry = find_table(sparkSession, name)
            table._name = None if entry is None else entry.full_name
            return table
        except TableNotFoundError as error:
            if path_in(name) is not None:
                raise
            raise TableNotFoundError(
                f"the catalog has {name} at {location}, but there is no Delta table",
                hint="write to this path or create a table there, or drop the name",
            ) from error

    @classmethod
    def isDeltaTable(cls, sparkSession: SparkSession, identifier: str) -> bool:
        """Whether the folder, ``delta.`/folder` `` or name of the catalog is a Delta table."""
        session, given = _checked_session(sparkSession), _checked_path(identifier)
        if (served := served_class(session)) is not None:
            return bool(served.isDeltaTable(session, given))
        if _has_table(session, path_in(given) or given):
            return True
        if not is_name(given) or path_in(given) is not None:
            return False
        found = find_table(session, given)
        return found is not None and found.is_delta and _has_table(session, found.location or "")

    def toDF(self) -> DataFrame:
        """The rows of the table: whenever the DataFrame runs, those of the newest version.

        Its columns stand for those of the table in changes: `table.delete(table.toDF().id == 3)`.
        """
        snapshot = self._log.snapshot()
        follows = follows_tables(self._session)
        frame = self._plane().scan(snapshot, self._options, follows=follows)
        if self._alias is not None:
            frame = frame.alias(self._alias)
        self._frames.add(frame, snapshot.schema)
        return frame

    def alias(self, aliasName: str) -> DeltaTable:
        """The same table under a name that expressions may use, as in `t.id = s.id`."""
        return DeltaTable(
            self._session,
            self._log,
            self._root,
            self._options,
            checked_alias(aliasName),
            self._frames,
            self._name,
        )

    def delete(self, condition: Condition | None = None) -> DataFrame:
        """Delete the rows for which the condition is true; all rows if there is none.

        One row with `num_affected_rows`; -1 where whole files went whose rows nobody counted.
        """
        return self._deleted(checked_condition(condition, "delete"))

    def _deleted(self, condition: Condition | None, said: Column | None = None) -> DataFrame:
        """`said` is what the history says where there is no condition."""
        metrics = delete_rows(self._target(), condition, said)
        return counts_frame(self._session, {"num_affected_rows": metrics.get("numDeletedRows", -1)})

    @overload
    def update(self, condition: Condition | None, set: Values) -> DataFrame: ...

    @overload
    def update(self, *, set: Values) -> DataFrame: ...

    def update(self, condition: Condition | None = None, set: Values | None = None) -> DataFrame:
        """Give columns new values in the rows for which the condition is true.

        `set` maps names of columns to SQL text or Columns; these see the row as it was. Without a
        condition it must be named: `update(set={"price": "price * 2"})`. One row with
        `num_affected_rows`.
        """
        values = checked_values(set, "set", "update")
        metrics = update_rows(self._target(), checked_condition(condition, "update"), values)
        return counts_frame(self._session, {"num_affected_rows": metrics.get("numUpdatedRows", 0)})

    def merge(self, source: DataFrame, condition: Condition) -> DeltaMergeBuilder:
        """Change the table by the rows of a DataFrame that match its own.

        Returns a builder that takes what to do with rows that match and rows that do not, and then
        `execute()`.
        """
        if not isinstance(source, DataFrame):
            kind = ArgumentValueError if source is None else ArgumentTypeError
            raise kind(
                f"the source of merge must be DataFrame, not {type(source).__name__}",
                hint="give a DataFrame of the same Spark session",
            )
        checked = checked_condition(condition, "merge")
        if checked is None:
            raise ArgumentValueError(
                "the condition of merge cannot be None",
                hint='say which rows belong together, as in "t.id = s.id"',
            )
        return DeltaMergeBuilder(self._target(), source, checked)

    def pin(self, name: str, version: int | None = None) -> None:
        """Keep a version, by default the newest, readable under VACUUM until `unpin(name)`."""
        pin_version(self._log, name, self._log.snapshot().version if version is None else version)

    def unpin(self, name: str) -> None:
        """Let the next VACUUM treat the version like any other."""
        unpin_version(self._log, name)

    def pins(self) -> dict[str, int]:
        """Versions by the names of their pins."""
        return pinned_versions(self._log)

    def optimize(self) -> DeltaOptimizeBuilder:
        """Fewer, larger or better arranged files; ends with `executeCompaction()` or
        `executeZOrderBy("column", ...)`.
        """
        return DeltaOptimizeBuilder(self._target())

    def history(self, limit: int | None = None, readable: bool = False) -> DataFrame:
        """The commits of the table, newest first; at most `limit` of them.

        With `readable` the log and the files are looked at, and a last column says whether a
        version can be read.
        """
        if limit is not None and (
            isinstance(limit, bool) or not isinstance(limit, int) or limit < 0
        ):
            raise ArgumentValueError(
                f"limit={limit!r} is not a number of commits", hint="give a whole number from 0 on"
            )
        found = self._log.history(limit)
        if readable:
            found = with_readable(self._log.store, found)
        else:
            found = found.drop_columns([READABLE])
        return arrow_frame(self._session, _with_structs(found))

    def __repr__(self) -> str:
        alias = "" if self._alias is None else f" AS {self._alias}"
        return f"Delta table {self._log.store.url}{alias}, {self._state()}"

    def _repr_html_(self) -> str:
        url = f"<code>{escape(self._log.store.url)}</code>"
        return f"<div><strong>Delta table</strong> {url}, {escape(self._state())}</div>"

    def _state(self) -> str:
        """To show a table that is gone must not fail: debuggers show whatever they find."""
        try:
            return f"version {self._log.snapshot().version}"
        except LakebedError as error:
            return f"which cannot be read: {error.message}"

    def _plane(self) -> Plane:
        """Chosen anew each time: the setting that decides may change."""
        return plane_for(self._session, self._log.store, self._root, self._options)

    def _target(self) -> FrameTarget:
        return FrameTarget(
            self._session, self._log, self._plane(), alias=self._alias, frames=self._frames
        )


_STRUCTS = {
    "job": ("jobId", "jobName", "jobRunId", "runId", "jobOwnerId", "triggerType"),
    "notebook": ("notebookId",),
}


def _with_structs(history: pa.Table) -> pa.Table:
    """delta-spark's types where Lakebed's own history has maps, which lose nothing."""
    for name, parts in _STRUCTS.items():
        kind = pa.struct([(part, pa.string()) for part in parts])
        rows = [None if row is None else dict(row) for row in history[name].to_pylist()]
        place = history.schema.get_field_index(name)
        history = history.set_column(place, name, pa.array(rows, kind))
    return history


def _checked_session(session: Any) -> SparkSession:
    if not isinstance(session, SparkSession) and not is_connect(session):
        raise ArgumentTypeError(
            f"{type(session).__name__} is not a Spark session",
            hint='give the session first: DeltaTable.forPath(spark, "/data/orders")',
        )
    return session


def checked_alias(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise ArgumentTypeError(
            f"{name!r} is not a name for a table", hint='give a text such as "t"'
        )
    return name


def _has_table(session: SparkSession, path: str) -> bool:
    store, _ = open_location(session, path, {})
    return TableLog(store).exists()


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not name.strip():
        raise ArgumentTypeError(
            f"{name!r} is not the name of a table",
            hint='give a text, such as DeltaTable.forName(spark, "shop.orders")',
        )
    return name


def _checked_path(path: Any) -> str:
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise ArgumentTypeError(
            f"{path!r} is not the path of a table",
            hint='give a folder or a URL, such as DeltaTable.forPath(spark, "/data/orders")',
        )
    return str(os.fspath(path))


def _checked_options(options: Any) -> dict[str, str]:
    """Values are never shown: they are secrets."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise ArgumentTypeError(
            f"hadoopConf is of type {type(options).__name__}",
            hint='give a dict, such as {"fs.s3a.access.key": "..."}',
        )
    for name, value in options.items():
        if not isinstance(name, str) or not _is_of_a_store(name):
            raise InvalidArgumentError(
                f"{name!r} in hadoopConf says nothing about a store",
                hint="names begin with fs. or dfs., or are storage options such as aws_region",
                condition="DELTA_TABLE_FOR_PATH_UNSUPPORTED_HADOOP_CONF",
            )
        if not isinstance(value, str):
            raise ArgumentTypeError(
                f"the value of {name!r} in hadoopConf is of type {type(value).__name__}",
                hint="give all values as text",
            )
    return dict(options)


def _is_of_a_store(name: str) -> bool:
    return name.startswith(("fs.", "dfs.")) or is_storage_option(name)
